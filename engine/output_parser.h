/* Takes a model's answer apart while it arrives: thinking, content, tool calls.
 *
 *   [<think>] thinking </think> newlines content <tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n
 *   ...</function>\n</tool_call> ...
 *
 * Text that may turn out to be a tag is held back until it is known, and so is white space before a call, which belongs
 * to the form. A call is reported once it is complete, since until then it may turn out to be text; the end of the
 * answer stands in for a missing </tool_call>. A call inside the thinking ends it: models forget the closing tag at
 * times. Calls in JSON ({"name": ..., "arguments": {...}}, as Qwen3 writes them) are read too. What is no call after
 * all comes out as the text it is, byte for byte.
 *
 * Arguments are typed by the tool's JSON schema: string stays as it is; integer, number, boolean, object, array and
 * null are read as JSON (True, False and None too), and stay text if they are none. Without a schema: JSON, else text.
 * A value ends at the first "\n</parameter>"; one newline at each end belongs to the form.
 *
 * The same bytes give the same events whatever the pieces they arrive in: texts may be cut elsewhere, but their
 * concatenation and the order are the same. One thread. */
#ifndef CONVECT_ENGINE_OUTPUT_PARSER_H
#define CONVECT_ENGINE_OUTPUT_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"

#define OUTPUT_CALL_BYTES_MAX ((size_t)4 << 20) /* of one call's text; a longer one is content */
#define OUTPUT_CALLS_MAX      1024              /* what looks like a call after so many that did is text */

struct json_object;
typedef struct output_parser output_parser;

typedef enum output_event_kind {
    OUTPUT_THINKING,   /* text */
    OUTPUT_CONTENT,    /* text */
    OUTPUT_CALL_BEGIN, /* text: the name of the function */
    OUTPUT_CALL_END    /* text: the arguments as a JSON object, keys in the order of the answer */
} output_event_kind;

typedef struct output_event {
    output_event_kind kind;
    const char *text; /* [n_bytes], not NUL-terminated; until the callback returns */
    size_t n_bytes;
    size_t i_call; /* calls: 0, 1, ... */
} output_event;

/* Receives events in order; false stops the parser: push returns CANCELLED. */
typedef bool (*output_sink)(void *user, const output_event *event);

typedef struct output_options {
    bool starts_thinking;      /* the prompt ended inside the think block */
    bool reads_thinking;       /* a leading <think> begins one (true for models that write it themselves) */
    struct json_object *tools; /* array as in a request, or NULL: then arguments have no types; borrowed */
    output_sink sink;
    void *user;
} output_options;

convect_status output_parser_create(const output_options *options, output_parser **out,
                                    convect_error *err) CONVECT_MUST_CHECK;
void output_parser_destroy(output_parser *p); /* NULL is fine */

/* More of the answer, any bytes. Errors: CANCELLED, NO_FIT. */
convect_status output_parser_push(output_parser *p, const char *text, size_t n_bytes,
                                  convect_error *err) CONVECT_MUST_CHECK;

/* The answer is over: what was held back comes out; a call that lacks its end is content. Once. */
convect_status output_parser_finish(output_parser *p, convect_error *err) CONVECT_MUST_CHECK;

#endif
