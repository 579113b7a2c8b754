/* What this binary was built from: the record that `convect version` and every bench print, so that a figure can be
 * traced to a commit. Filled by CMake (tools/cmake/modules/ConvectBuildInfo.cmake). Static storage; any thread. */
#ifndef CONVECT_BASE_BUILD_H
#define CONVECT_BASE_BUILD_H

#include <stdbool.h>

typedef struct convect_build {
    const char *version;   /* "0.1.0" */
    const char *commit;    /* 12 hex digits, or "unknown" for a tree without git */
    bool dirty;            /* the tree had uncommitted changes */
    const char *type;      /* "Release", "Debug" */
    const char *sanitize;  /* "" or e.g. "address,undefined" */
    const char *compiler;  /* "GNU 12.2.0" */
    const char *cuda;      /* "none", or toolkit version and architectures: "13.0.88 (75 80 90a)" */
    const char *libraries; /* "json-c 0.16, hwloc 2.9.0, ..." as found at configure time */
} convect_build;

const convect_build *convect_build_get(void);

#endif
