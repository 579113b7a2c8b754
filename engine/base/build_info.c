#include "engine/base/build_info.h"

/* Written into the build folder by tools/cmake/commit.cmake, which runs with every build. */
extern const char build_commit[];
extern const char build_dirty_mark[];

/* The BUILD_* names are definitions made by CMakeLists.txt. */
static const build_library libraries[] = {
    {"hwloc", BUILD_HWLOC},  {"liburing", BUILD_LIBURING}, {"mimalloc", BUILD_MIMALLOC}, {"openblas", BUILD_OPENBLAS},
    {"json-c", BUILD_JSONC}, {"utf8proc", BUILD_UTF8PROC}, {"libmd", BUILD_MD},
};

static const build_info info = {
    .version = BUILD_VERSION,
    .commit = build_commit,
    .dirty_mark = build_dirty_mark,
    .compiler = BUILD_COMPILER,
    .configuration = BUILD_CONFIGURATION,
    .sanitizers = BUILD_SANITIZERS,
    .has_cuda = BUILD_HAS_CUDA,
    .libraries = libraries,
    .n_libraries = sizeof libraries / sizeof libraries[0],
};

const build_info *build_info_get(void) {
    return &info;
}
