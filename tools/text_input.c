#include "tools/text_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void text_input_free(text_input *t) {
    free(t->data);
    *t = (text_input){0};
}

/* Room for n more bytes and a NUL. */
static convect_status grow(text_input *t, size_t n, convect_error *err) {
    if (n > TEXT_INPUT_BYTES_MAX - t->n_bytes)
        return convect_fail(err, CONVECT_USAGE, "the text is longer than %zu MiB", TEXT_INPUT_BYTES_MAX >> 20);
    if (t->n_bytes + n < t->cap) return CONVECT_OK;
    size_t cap = 2 * (t->n_bytes + n) + 4096;
    char *data = realloc(t->data, cap);
    if (!data) return convect_fail(err, CONVECT_NO_FIT, "no memory for %zu bytes of text", cap);
    t->data = data;
    t->cap = cap;
    return CONVECT_OK;
}

convect_status text_input_append(text_input *t, const char *data, size_t n_bytes, convect_error *err) {
    convect_status status = grow(t, n_bytes, err);
    if (status != CONVECT_OK) return status;
    if (n_bytes > 0) memcpy(t->data + t->n_bytes, data, n_bytes);
    t->n_bytes += n_bytes;
    t->data[t->n_bytes] = 0;
    return CONVECT_OK;
}

/* Reads up to a byte equal to stop (-1: never), which is taken and not kept, or to the end. */
static convect_status read_until(text_input *t, FILE *in, int stop, bool *is_stopped, convect_error *err) {
    t->n_bytes = 0;
    *is_stopped = false;
    convect_status status = grow(t, 0, err); /* an empty text has an address too */
    for (int c; status == CONVECT_OK && (c = getc_unlocked(in)) != EOF;) {
        *is_stopped = c == stop;
        if (*is_stopped) break;
        status = grow(t, 1, err);
        if (status == CONVECT_OK) t->data[t->n_bytes++] = (char)c;
    }
    if (status != CONVECT_OK) return status;
    t->data[t->n_bytes] = 0;
    if (ferror(in)) return convect_fail(err, CONVECT_IO, "cannot read the input: %s", strerror(errno));
    return CONVECT_OK;
}

convect_status text_input_read_all(text_input *t, FILE *in, convect_error *err) {
    bool is_stopped;
    return read_until(t, in, -1, &is_stopped, err);
}

convect_status text_input_read_line(text_input *t, FILE *in, bool *is_end, convect_error *err) {
    bool is_stopped;
    convect_status status = read_until(t, in, '\n', &is_stopped, err);
    *is_end = !is_stopped && t->n_bytes == 0;
    return status;
}
