#include "engine/base/check.h"

#include <stdio.h>
#include <stdlib.h>

void convect_check_failed(const char *condition, const char *file, int line) {
    (void)fprintf(stderr, "convect: internal error: %s does not hold at %s:%d\n", condition, file, line);
    abort();
}
