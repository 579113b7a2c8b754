#include "engine/base/build.h"

#include "convect_build_config.h"

const convect_build *convect_build_get(void) {
    static const convect_build build = {
        .version = CONVECT_BUILD_VERSION,
        .commit = CONVECT_BUILD_COMMIT,
        .dirty = CONVECT_BUILD_DIRTY,
        .type = CONVECT_BUILD_TYPE,
        .sanitize = CONVECT_BUILD_SANITIZE,
        .compiler = CONVECT_BUILD_COMPILER,
        .cuda = CONVECT_BUILD_CUDA,
        .libraries = CONVECT_BUILD_LIBRARIES,
    };
    return &build;
}
