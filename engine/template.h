/* Chat templates: an interpreter of the part of Jinja that such templates use, for `tokenizer.chat_template` of a GGUF
 * file. It behaves as jinja2 does in transformers (ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks and
 * loopcontrols; tojson = json.dumps with ensure_ascii off, so nothing is escaped for HTML):
 *
 *   statements  for/else/if, if/elif/else, set, set blocks, macro, filter, with, raw, break, continue, generation
 *   values      none, booleans, 64-bit integers, floats, text, lists, tuples, dicts, namespaces, macros, undefined
 *   the rest    inline if, comparison chains, slices, ~, in, is; range, namespace, dict, raise_exception, strftime_now;
 *               the filters, tests and methods of engine/template_{filter,sequence,test,method}.c
 *
 * What it leaves out fails with a sentence when it is reached: inheritance, include, import, call blocks, recursive
 * loops, * and ** in arguments. `safe` changes nothing, since nothing is escaped.
 *
 * Hostile templates are bounded: TEMPLATE_STEPS_MAX steps, TEMPLATE_BYTES_MAX bytes of text, TEMPLATE_MEMORY_MAX of
 * working memory, nesting of TEMPLATE_NESTING_MAX in the source and in macro calls.
 *
 * Every byte of the result knows where it came from: the template, or the variables (what a user or a tool wrote, the
 * names they chose). Who turns the result into tokens lets control tokens match in the template's bytes only.
 *
 * A chat_template is immutable after parse; any thread may render it. */
#ifndef CONVECT_ENGINE_TEMPLATE_H
#define CONVECT_ENGINE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "engine/base/status.h"

#define TEMPLATE_STEPS_MAX   1000000u
#define TEMPLATE_BYTES_MAX   ((size_t)16 << 20) /* source, result, and each text in between */
#define TEMPLATE_MEMORY_MAX  ((size_t)64 << 20) /* of one parse or one rendering */
#define TEMPLATE_NESTING_MAX 64                 /* blocks and brackets of the source; macros in macros; JSON */

struct json_object;
typedef struct chat_template chat_template;

typedef struct template_span {
    size_t offset, n_bytes;
    bool from_user; /* from the variables; false: from the template */
} template_span;

typedef struct template_result {
    char *text; /* [n_bytes] and a NUL; owned */
    size_t n_bytes;
    template_span *spans; /* [n_spans] owned; rising, without gaps, no two neighbours of one origin */
    size_t n_spans;
} template_result;

/* Reads a template; copies what it needs. Errors name the line: DAMAGED (not Jinja), NOT_SUPPORTED (Jinja that is left
 * out, a bound), NO_FIT. */
convect_status template_parse(const char *source, size_t n_bytes, chat_template **out,
                              convect_error *err) CONVECT_MUST_CHECK;
void template_destroy(chat_template *t); /* NULL is fine */

/* Renders with the variables of a JSON object (messages, tools, add_generation_prompt, enable_thinking, ...), which is
 * only read, and `now` for strftime_now (local time). The caller frees *out, which is empty after an error. Errors name
 * the line: USAGE (the template refuses the conversation: raise_exception), DAMAGED (it does what Python would not),
 * NOT_SUPPORTED (what is left out, a bound), NO_FIT. */
convect_status template_render(const chat_template *t, struct json_object *variables, time_t now, template_result *out,
                               convect_error *err) CONVECT_MUST_CHECK;
void template_result_free(template_result *result); /* empties it */

#endif
