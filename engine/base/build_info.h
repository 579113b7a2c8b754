/* What this binary was built from and with. Static data, any thread. The commit and its dirty mark are recorded by a
 * build step (tools/cmake/commit.cmake), the rest when CMake configures. */
#ifndef CONVECT_BASE_BUILD_INFO_H
#define CONVECT_BASE_BUILD_INFO_H

#include <stdbool.h>
#include <stddef.h>

typedef struct build_library {
    const char *name;
    const char *version; /* "": not found when configured */
} build_library;

typedef struct build_info {
    const char *version;       /* "0.1.0" */
    const char *commit;        /* 12 hex digits, or "unknown" outside a git checkout */
    const char *dirty_mark;    /* "-dirty" if tracked files differed from the commit, else "" */
    const char *compiler;      /* "GNU 12.2.0" */
    const char *configuration; /* "Release", "Debug" */
    const char *sanitizers;    /* as given to -fsanitize=, "" for none */
    bool has_cuda;
    const build_library *libraries; /* optional ones */
    size_t n_libraries;
} build_info;

const build_info *build_info_get(void);

#endif
