#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row {
    convect_status status;
    int exit_code;
    const char *name;
    const char *text;
} status_row;

static const status_row rows[] = {
#define X(symbol, value, exit_code, text) {CONVECT_##symbol, exit_code, #symbol, text},
    CONVECT_STATUS_LIST(X)
#undef X
};

static const status_row *row_of(convect_status status) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status) return &rows[i];
    return &rows[1]; /* INTERNAL: an unknown number is our bug */
}

static void clean(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

#undef convect_fail
convect_status convect_fail(convect_error *err, convect_status status, const char *fmt, ...) {
    if (!err || err->status != CONVECT_OK) return status;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    clean(err->text);
    err->status = status;
    return status;
}

void convect_error_context(convect_error *err, const char *fmt, ...) {
    if (!err || err->status == CONVECT_OK) return;
    char head[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(head, sizeof head, fmt, args);
    va_end(args);
    clean(head);
    char whole[sizeof err->text];
    size_t n_head = strlen(head);
    memcpy(whole, head, n_head);
    (void)snprintf(whole + n_head, sizeof whole - n_head, "%s", err->text);
    memcpy(err->text, whole, sizeof whole);
}

void convect_error_clear(convect_error *err) {
    if (!err) return;
    err->status = CONVECT_OK;
    err->text[0] = 0;
}

const char *convect_status_name(convect_status status) {
    return row_of(status)->name;
}

const char *convect_status_text(convect_status status) {
    return row_of(status)->text;
}

int convect_status_exit_code(convect_status status) {
    return row_of(status)->exit_code;
}
