/* One logger: a level, and a sink callback with a user pointer. Everything that is not an answer or machine output goes
 * through here (stderr by default). A log object is owned by the program and passed down; there is no global one.
 * NULL is a valid log that drops everything. Threads: any; the sink must be thread-safe (the default one writes a line
 * with one call). Workers of a step never log. */
#ifndef CONVECT_BASE_LOG_H
#define CONVECT_BASE_LOG_H

#include "engine/base/status.h"

typedef enum convect_log_level {
    CONVECT_LOG_ERROR,
    CONVECT_LOG_WARN,
    CONVECT_LOG_INFO,
    CONVECT_LOG_DEBUG,
    CONVECT_LOG_TRACE,
    CONVECT_LOG_LEVEL_COUNT
} convect_log_level;

typedef void (*convect_log_sink)(void *user, convect_log_level level, const char *line);

typedef struct convect_log {
    convect_log_level level; /* lines above it are dropped */
    convect_log_sink sink;   /* NULL: stderr, "convect: <line>" */
    void *user;
} convect_log;

void convect_log_write(const convect_log *log, convect_log_level level, const char *fmt, ...) CONVECT_PRINTF(3, 4);

#endif
