#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>

void convect_log_write(const convect_log *log, convect_log_level level, const char *fmt, ...) {
    if (!log || level > log->level) return;
    char line[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (log->sink) {
        log->sink(log->user, level, line);
        return;
    }
    static const char *const mark[CONVECT_LOG_LEVEL_COUNT] = {"error: ", "warning: ", "", "", ""};
    (void)fprintf(stderr, "convect: %s%s\n", mark[level], line);
}
