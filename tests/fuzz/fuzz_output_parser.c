/* libFuzzer target: the first byte says what the parser expects (bit 0: starts in the thinking, bit 1: reads <think>,
 * bit 2: knows the tools), the second the size of pieces, the rest is an answer. In whole and in pieces it gives the
 * same events; arguments are a JSON object. */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/base/json.h"
#include "engine/output_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

typedef struct event_log {
    char *text;
    size_t n_bytes, cap;
    int last;
} event_log;

static void append(event_log *log, const char *text, size_t n_bytes) {
    if (log->n_bytes + n_bytes > log->cap) {
        log->cap = 2 * (log->n_bytes + n_bytes);
        log->text = realloc(log->text, log->cap);
        CONVECT_CHECK(log->text != NULL);
    }
    memcpy(log->text + log->n_bytes, text, n_bytes);
    log->n_bytes += n_bytes;
}

static void check_arguments(const output_event *event) {
    struct json_tokener *tokener = json_tokener_new_ex(64);
    struct json_object *o = json_tokener_parse_ex(tokener, event->text, (int)event->n_bytes);
    CONVECT_CHECK(json_object_is_type(o, json_type_object));
    json_object_put(o);
    json_tokener_free(tokener);
}

static bool on_event(void *user, const output_event *event) {
    event_log *log = user;
    CONVECT_CHECK(event->n_bytes > 0);
    if (event->kind == OUTPUT_CALL_END) check_arguments(event);
    if ((int)event->kind != log->last || event->kind > OUTPUT_CONTENT) append(log, &"TCNA"[event->kind], 1);
    log->last = (int)event->kind;
    append(log, event->text, event->n_bytes);
    return true;
}

static event_log parse(const output_options *wanted, const char *text, size_t n_bytes, size_t n_piece) {
    event_log log = {.last = -1};
    output_options options = *wanted;
    output_parser *p = NULL;
    options.sink = on_event;
    options.user = &log;
    CONVECT_CHECK(output_parser_create(&options, &p, NULL) == CONVECT_OK);
    for (size_t off = 0; off < n_bytes; off += n_piece)
        CONVECT_CHECK(output_parser_push(p, text + off, n_piece < n_bytes - off ? n_piece : n_bytes - off, NULL) ==
                      CONVECT_OK);
    CONVECT_CHECK(output_parser_finish(p, NULL) == CONVECT_OK);
    output_parser_destroy(p);
    return log;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static struct json_object *tools; /* lives as long as the process */
    char schema[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"s\":{\"type\":"
        "\"string\"},\"i\":{\"type\":\"integer\"},\"u\":{\"type\":[\"string\",\"null\"]}}}}}]";
    if (!tools) CONVECT_CHECK(json_text_read(schema, sizeof schema - 1, &tools, NULL) == CONVECT_OK);
    if (n_bytes < 2) return 0;
    const output_options options = {.starts_thinking = (data[0] & 1) != 0,
                                    .reads_thinking = (data[0] & 2) != 0,
                                    .tools = (data[0] & 4) != 0 ? tools : NULL};
    const char *text = (const char *)data + 2;
    event_log whole = parse(&options, text, n_bytes - 2, n_bytes);
    event_log pieces = parse(&options, text, n_bytes - 2, 1 + data[1] % 32);
    CONVECT_CHECK(whole.n_bytes == pieces.n_bytes);
    CONVECT_CHECK(whole.n_bytes == 0 || memcmp(whole.text, pieces.text, whole.n_bytes) == 0);
    free(whole.text);
    free(pieces.text);
    return 0;
}
