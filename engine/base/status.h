/* What a fallible call returns, and the sentence that goes with it.
 *
 * The world's faults (files, memory, device, network, clients) are a convect_status plus a message that a user can act
 * on; our own bugs abort (check.h). convect_error is caller-owned, fixed size, never allocates; every fallible function
 * takes it as its last parameter and accepts NULL. The first failure wins: convect_fail on an error that already holds
 * a failure keeps the older text. Threads: one convect_error belongs to one thread at a time. */
#ifndef CONVECT_BASE_STATUS_H
#define CONVECT_BASE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(symbol, value, exit code, default text). Values are pinned; exit codes are the command line's contract:
 * 0 ok, 1 internal, 2 usage, 3 file missing, 4 file damaged or unsupported, 5 does not fit in memory, 6 GPU or driver,
 * 7 address in use, 8 I/O error while running, 130 interrupted. */
#define CONVECT_STATUS_LIST(X)                                                                                         \
    X(OK, 0, 0, "ok")                                                                                                  \
    X(INTERNAL, 1, 1, "internal error")                                                                                \
    X(USAGE, 10, 2, "wrong usage")                                                                                     \
    X(NOT_FOUND, 20, 3, "file missing or unreadable")                                                                  \
    X(DAMAGED, 30, 4, "file damaged")                                                                                  \
    X(NOT_SUPPORTED, 31, 4, "not supported")                                                                           \
    X(NO_FIT, 40, 5, "does not fit in memory")                                                                         \
    X(DEVICE, 50, 6, "GPU or driver problem")                                                                          \
    X(ADDRESS, 60, 7, "address in use")                                                                                \
    X(IO, 70, 8, "input/output error")                                                                                 \
    X(CANCELLED, 80, 130, "interrupted")

typedef enum convect_status {
#define X(symbol, value, exit_code, text) CONVECT_##symbol = value,
    CONVECT_STATUS_LIST(X)
#undef X
} convect_status;

typedef struct convect_error {
    convect_status status; /* CONVECT_OK while nothing has failed */
    char text[512];        /* one sentence, no newline, NUL-terminated */
} convect_error;

#if defined(__GNUC__)
#define CONVECT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CONVECT_MUST_CHECK        __attribute__((warn_unused_result))
#else
#define CONVECT_PRINTF(fmt, args)
#define CONVECT_MUST_CHECK
#endif

/* Records a failure and returns its status, so that `return convect_fail(err, CONVECT_DAMAGED, "...", ...)` reads as
 * one step. err may be NULL. Control characters in the formatted text become '?': messages quote hostile files. */
convect_status convect_fail(convect_error *err, convect_status status, const char *fmt, ...) CONVECT_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* tells the analyzer, which sees one file at a time, that status comes back as given */
#define convect_fail(err, status, ...) ((void)convect_fail(err, status, __VA_ARGS__), (status))
#endif

/* Prepends context to a recorded failure ("layer 12: expert 40: ..."). No effect on an error that holds none. */
void convect_error_context(convect_error *err, const char *fmt, ...) CONVECT_PRINTF(2, 3);

/* Empties err for reuse. */
void convect_error_clear(convect_error *err);

const char *convect_status_name(convect_status status); /* "DAMAGED"; static storage */
const char *convect_status_text(convect_status status); /* default sentence; static storage */
int convect_status_exit_code(convect_status status);

#ifdef __cplusplus
}
#endif
#endif
