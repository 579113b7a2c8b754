/* Arguments of one tool call: values typed by the tool's JSON schema, in the order they came. Inside engine/ only. */
#ifndef CONVECT_ENGINE_OUTPUT_ARGUMENTS_H
#define CONVECT_ENGINE_OUTPUT_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/* An empty set of arguments; NULL without memory. The caller puts it. */
struct json_object *output_arguments_new(void);

/* Adds key = value, typed for the function of that name in tools (an array or NULL); of two values of one key the later
 * counts. function and key are NUL-terminated, the value has any bytes. False without memory. */
bool output_arguments_add(struct json_object *arguments, struct json_object *tools, const char *function,
                          const char *key, const char *value, size_t n_bytes);

/* The arguments as one JSON object, valid UTF-8; owned by the caller (free), NUL-terminated. NULL without memory. */
char *output_arguments_text(struct json_object *arguments);

#endif
