/* A growing, bounded text: appended to, or read from a stream. */
#ifndef CONVECT_TOOLS_TEXT_INPUT_H
#define CONVECT_TOOLS_TEXT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/base/status.h"

#define TEXT_INPUT_BYTES_MAX ((size_t)64 << 20) /* of a prompt or of one line */

typedef struct text_input { /* start from {0}; text_input_free */
    char *data;             /* owned; NUL-terminated after a read, may hold NULs */
    size_t n_bytes;
    size_t cap;
} text_input;

void text_input_free(text_input *t);

/* Appends bytes, keeping the NUL. Errors: USAGE (more than TEXT_INPUT_BYTES_MAX in all), NO_FIT. */
convect_status text_input_append(text_input *t, const char *data, size_t n_bytes,
                                 convect_error *err) CONVECT_MUST_CHECK;

/* Replaces t by everything up to the end of the stream. Errors: USAGE (more than TEXT_INPUT_BYTES_MAX), IO, NO_FIT. */
convect_status text_input_read_all(text_input *t, FILE *in, convect_error *err) CONVECT_MUST_CHECK;

/* Replaces t by the next line without its newline; *is_end instead at the end of the stream. Errors as above. */
convect_status text_input_read_line(text_input *t, FILE *in, bool *is_end, convect_error *err) CONVECT_MUST_CHECK;

#endif
