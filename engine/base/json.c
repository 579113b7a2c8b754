#include "engine/base/json.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_DEPTH_MAX 32

static convect_status write_text(const char *path, const char *text, convect_error *err) {
    FILE *file = fopen(path, "we");
    if (!file) return convect_fail(err, CONVECT_IO, "cannot write %s: %s", path, strerror(errno));
    bool is_good = fprintf(file, "%s\n", text) >= 0;
    is_good = fflush(file) == 0 && is_good;
    int saved_errno = errno;
    if (fclose(file) != 0 || !is_good)
        return convect_fail(err, CONVECT_IO, "cannot write %s: %s", path, strerror(saved_errno));
    return CONVECT_OK;
}

convect_status json_file_write(const char *path, struct json_object *o, convect_error *err) {
    const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return write_text(path, text, err);
    char part[PATH_MAX];
    int n = snprintf(part, sizeof part, "%s.part", path);
    if (n < 0 || (size_t)n >= sizeof part) return convect_fail(err, CONVECT_IO, "the file name is too long: %s", path);
    convect_status status = write_text(part, text, err);
    if (!status && rename(part, path) != 0)
        status = convect_fail(err, CONVECT_IO, "cannot rename %s to %s: %s", part, path, strerror(errno));
    if (status) (void)unlink(part);
    return status;
}

/* The code unit of an escape \uXXXX at text, or -1. */
static long escaped_unit(const char *text) {
    long unit = 0;
    if (text[0] != '\\' || text[1] != 'u') return -1;
    for (int i = 2; i < 6; i++) { /* a NUL is no digit: nothing behind the text is read */
        if (!isxdigit((unsigned char)text[i])) return -1;
        unit = unit * 16 + (text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10);
    }
    return unit;
}

/* Writes escaped surrogate pairs as UTF-8 (12 bytes become 4). json-c 0.16 takes the characters whose low 16 bits look
 * like a surrogate (U+1D8xx, U+2D8xx, ...) for unpaired ones and replaces them. Returns the new length. */
static size_t join_surrogates(char *text, size_t n_bytes) {
    size_t n_out = 0;
    for (size_t i = 0; i < n_bytes;) {
        long high = escaped_unit(text + i), low = high >> 10 == 0x36 ? escaped_unit(text + i + 6) : -1;
        if (low >= 0 && low >> 10 == 0x37) {
            unsigned long c = 0x10000 + (((unsigned long)high & 0x3FF) << 10) + ((unsigned long)low & 0x3FF);
            for (int shift = 18; shift >= 0; shift -= 6)
                text[n_out++] = (char)(shift == 18 ? 0xF0 | c >> 18 : 0x80 | (c >> shift & 0x3F));
            i += 12;
            continue;
        }
        if (text[i] == '\\' && i + 1 < n_bytes) text[n_out++] = text[i++]; /* an escaped backslash escapes nothing */
        text[n_out++] = text[i++];
    }
    text[n_out] = 0;
    return n_out;
}

convect_status json_text_read(char *text, size_t n_bytes, struct json_object **out, convect_error *err) {
    *out = NULL;
    struct json_tokener *tok = json_tokener_new_ex(JSON_DEPTH_MAX);
    if (!tok) return convect_fail(err, CONVECT_NO_FIT, "no memory for a JSON parser");
    n_bytes = join_surrogates(text, n_bytes);
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *out = json_tokener_parse_ex(tok, text, (int)n_bytes + 1); /* with the NUL: the value ends there */
    enum json_tokener_error error = json_tokener_get_error(tok);
    size_t end = json_tokener_get_parse_end(tok);
    json_tokener_free(tok);
    if (error == json_tokener_success && end >= n_bytes) return CONVECT_OK;
    json_object_put(*out);
    *out = NULL;
    return convect_fail(err, CONVECT_DAMAGED, "no JSON: %s at byte %zu",
                        error == json_tokener_success ? "more text after the value" : json_tokener_error_desc(error),
                        end);
}

convect_status json_file_read(const char *path, size_t n_bytes_max, struct json_object **out, convect_error *err) {
    *out = NULL;
    FILE *file = fopen(path, "re");
    if (!file) return convect_fail(err, CONVECT_NOT_FOUND, "cannot read %s: %s", path, strerror(errno));
    if (n_bytes_max > INT_MAX - 2) n_bytes_max = INT_MAX - 2; /* json-c counts in int */
    char *text = malloc(n_bytes_max + 2);
    convect_status status = CONVECT_OK;
    if (!text) status = convect_fail(err, CONVECT_NO_FIT, "no memory to read %s", path);
    size_t n = status ? 0 : fread(text, 1, n_bytes_max + 1, file);
    if (!status && ferror(file)) status = convect_fail(err, CONVECT_IO, "cannot read %s", path);
    if (!status && n > n_bytes_max)
        status = convect_fail(err, CONVECT_DAMAGED, "%s is larger than %zu bytes", path, n_bytes_max);
    if (!status) {
        text[n] = 0;
        status = json_text_read(text, n, out, err);
        if (status) convect_error_context(err, "%s: ", path);
    }
    free(text);
    (void)fclose(file);
    return status;
}
