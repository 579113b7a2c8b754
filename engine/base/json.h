/* JSON files, with json-c doing the work. */
#ifndef CONVECT_BASE_JSON_H
#define CONVECT_BASE_JSON_H

#include <stddef.h>

#include "engine/base/status.h"

struct json_object;

/* Writes o and a newline to PATH: a regular file through PATH.part and a rename, so that a failure keeps the old one;
 * anything else (a pipe, /dev/stderr) directly. IO on failure. o stays the caller's. */
convect_status json_file_write(const char *path, struct json_object *o, convect_error *err) CONVECT_MUST_CHECK;

/* Reads one JSON value of nesting <= 32 from text[0..n_bytes], where text[n_bytes] is NUL and n_bytes < INT_MAX. text
 * is rewritten. The caller puts *out, which is NULL for the value null. DAMAGED with what is wrong, NO_FIT. */
convect_status json_text_read(char *text, size_t n_bytes, struct json_object **out,
                              convect_error *err) CONVECT_MUST_CHECK;

/* Reads one JSON value from a file of at most n_bytes_max bytes and nesting of 32; the caller puts *out. NOT_FOUND,
 * or DAMAGED with the file's name and what is wrong. */
convect_status json_file_read(const char *path, size_t n_bytes_max, struct json_object **out,
                              convect_error *err) CONVECT_MUST_CHECK;

#endif
