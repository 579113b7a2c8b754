/* Values that are JSON are handed on as they were written: no number loses digits on the way. So the set maps keys to
 * the JSON text of their value. */
#include "engine/output_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/base/json.h"
#include "engine/character.h"

#define VALUE_JSON_BYTES_MAX ((size_t)16 << 20)

struct json_object *output_arguments_new(void) {
    return json_object_new_object();
}

/* ---- schema ---- */

static struct json_object *field(struct json_object *o, const char *name) {
    return json_object_is_type(o, json_type_object) ? json_object_object_get(o, name) : NULL;
}

static bool text_is(struct json_object *o, const char *text) {
    return json_object_is_type(o, json_type_string) && strcmp(json_object_get_string(o), text) == 0;
}

/* Schema of one argument; NULL: there is none. */
static struct json_object *find_schema(struct json_object *tools, const char *function, const char *key) {
    const size_t n = json_object_is_type(tools, json_type_array) ? json_object_array_length(tools) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i), *inner = field(tool, "function");
        if (inner) tool = inner;
        if (!text_is(field(tool, "name"), function)) continue;
        struct json_object *parameters = field(tool, "parameters");
        if (!parameters) parameters = field(tool, "input_schema");
        return field(field(parameters, "properties"), key);
    }
    return NULL;
}

typedef enum value_type { TYPE_UNKNOWN, TYPE_TEXT, TYPE_JSON, TYPE_JSON_OR_TEXT } value_type;

static value_type type_of(struct json_object *schema) {
    struct json_object *type = field(schema, "type");
    if (json_object_is_type(type, json_type_string)) return text_is(type, "string") ? TYPE_TEXT : TYPE_JSON;
    if (!json_object_is_type(type, json_type_array)) return TYPE_UNKNOWN;
    bool has_text = false, has_null = false;
    const size_t n = json_object_array_length(type);
    for (size_t i = 0; i < n; i++) {
        has_text = has_text || text_is(json_object_array_get_idx(type, i), "string");
        has_null = has_null || text_is(json_object_array_get_idx(type, i), "null");
    }
    if (has_text) return n == 1 ? TYPE_TEXT : n == 2 && has_null ? TYPE_TEXT : TYPE_JSON_OR_TEXT;
    return TYPE_JSON;
}

/* ---- values ---- */

/* The value as JSON if it is some; NULL: it is none, or no memory (then text it is). */
static struct json_object *json_value(const char *value, size_t n_bytes) {
    static const char *const python[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    for (size_t i = 0; i < 3; i++)
        if (n_bytes == strlen(python[i][0]) && memcmp(value, python[i][0], n_bytes) == 0)
            return json_object_new_string(python[i][1]);
    char *copy =
        n_bytes > 0 && n_bytes < VALUE_JSON_BYTES_MAX && !memchr(value, 0, n_bytes) ? malloc(n_bytes + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, value, n_bytes);
    copy[n_bytes] = 0;
    struct json_object *parsed = NULL;
    const convect_status status = json_text_read(copy, n_bytes, &parsed, NULL); /* rewrites its text */
    json_object_put(parsed);
    free(copy);
    return status == CONVECT_OK ? json_object_new_string_len(value, (int)n_bytes) : NULL;
}

/* The value as a JSON text; bytes that are no UTF-8 become U+FFFD. */
static struct json_object *text_value(const char *value, size_t n_bytes) {
    char *clean = malloc(3 * n_bytes + 1);
    size_t n = 0;
    int32_t code;
    if (!clean) return NULL;
    for (size_t off = 0; off < n_bytes;) {
        off += character_read(value + off, n_bytes - off, &code);
        n += character_write(code & CHARACTER_RAW ? 0xFFFD : code, clean + n);
    }
    struct json_object *text = json_object_new_string_len(clean, (int)n);
    const char *quoted = text ? json_object_to_json_string_ext(text, JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
    struct json_object *out = quoted ? json_object_new_string(quoted) : NULL;
    json_object_put(text);
    free(clean);
    return out;
}

bool output_arguments_add(struct json_object *arguments, struct json_object *tools, const char *function,
                          const char *key, const char *value, size_t n_bytes) {
    struct json_object *schema = find_schema(tools, function, key);
    const value_type type = type_of(schema);
    const bool is_null = n_bytes == 4 && (memcmp(value, "null", 4) == 0 || memcmp(value, "None", 4) == 0);
    const bool may_be_null = json_object_is_type(field(schema, "type"), json_type_array) && is_null;
    struct json_object *o = type != TYPE_TEXT || may_be_null ? json_value(value, n_bytes) : NULL;
    if (!o) o = text_value(value, n_bytes);
    if (!o) return false;
    if (json_object_object_add(arguments, key, o) == 0) return true;
    json_object_put(o);
    return false;
}

char *output_arguments_text(struct json_object *arguments) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *f = open_memstream(&text, &n_bytes);
    if (!f) return NULL;
    (void)fputc('{', f);
    const char *separator = "";
    bool is_good = true;
    struct json_object_iter at; /* the form of the macro that is plain C, for clang */
    json_object_object_foreachC(arguments, at) {
        struct json_object *quoted = text_value(at.key, strlen(at.key));
        is_good = is_good && quoted && fputs(separator, f) >= 0 && fputs(json_object_get_string(quoted), f) >= 0 &&
                  fputs(": ", f) >= 0 && fputs(json_object_get_string(at.val), f) >= 0;
        json_object_put(quoted);
        separator = ", ";
    }
    is_good = is_good && fputc('}', f) != EOF;
    if (fclose(f) == 0 && is_good) return text;
    free(text);
    return NULL;
}
