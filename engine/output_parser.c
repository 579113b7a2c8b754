#include "engine/output_parser.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/base/json.h"
#include "engine/output_arguments.h"

#define NAME_BYTES_MAX 256 /* of a function or a key */

/* START waits for a <think>; SKIP drops newlines behind one, behind </think> and behind a call; the states from
 * CALL on are inside <tool_call>. */
typedef enum parser_state {
    STATE_START,
    STATE_THINKING,
    STATE_SKIP,
    STATE_CONTENT,
    STATE_CALL,      /* behind <tool_call> */
    STATE_BODY,      /* behind <function=NAME> or a parameter */
    STATE_VALUE,     /* behind <parameter=KEY> */
    STATE_JSON,      /* in the object of a JSON call */
    STATE_CALL_TAIL, /* before </tool_call> */
} parser_state;

/*        begin           call               at        n_bytes
 *   ~~~~~~~|  white space  |<tool_call>......|...........|
 *   done     held back                       read         */
struct output_parser {
    output_options options;
    parser_state state, outer; /* outer: where a call goes back to if it is none */
    parser_state after_skip;
    char *text;
    size_t n_bytes, cap;
    size_t begin, at;
    size_t call, value; /* offsets: of the tag, of the value being read */
    size_t n_attempts, n_calls;
    char name[NAME_BYTES_MAX + 1], key[NAME_BYTES_MAX + 1];
    struct json_object *arguments; /* of an XML call */
    size_t json_end;               /* JSON call: end of its object, 0 while inside it */
    int json_depth;
    bool json_in_text, json_escapes;
    bool is_over; /* no more text comes */
    bool is_cancelled, lacks_memory;
};

/* What a step found: go on, or wait for more text. */
typedef enum step { STEP_GO, STEP_WAIT } step;

convect_status output_parser_create(const output_options *options, output_parser **out, convect_error *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) return convect_fail(err, CONVECT_NO_FIT, "no memory to read an answer");
    (*out)->options = *options;
    (*out)->state = options->starts_thinking || options->reads_thinking ? STATE_START : STATE_CONTENT;
    return CONVECT_OK;
}

void output_parser_destroy(output_parser *p) {
    if (!p) return;
    json_object_put(p->arguments);
    free(p->text);
    free(p);
}

/* ---- events ---- */

static void emit(output_parser *p, output_event_kind kind, const char *text, size_t n_bytes) {
    const output_event event = {kind, text, n_bytes, p->n_calls};
    if (p->is_cancelled || (n_bytes == 0 && kind <= OUTPUT_CONTENT)) return;
    p->is_cancelled = !p->options.sink(p->options.user, &event);
}

/* Hands text[begin, end) on. */
static void release(output_parser *p, output_event_kind kind, size_t end) {
    emit(p, kind, p->text + p->begin, end - p->begin);
    p->begin = end;
    if (p->at < end) p->at = end;
}

/* ---- tags ---- */

typedef enum tag_match { TAG_NO, TAG_PART, TAG_WHOLE } tag_match;

/* Whether tag begins at off; TAG_PART: the text ends before that is known. */
static tag_match match_tag(const output_parser *p, size_t off, const char *tag) {
    const size_t n = strlen(tag), n_left = p->n_bytes - off;
    if (memcmp(p->text + off, tag, n < n_left ? n : n_left) != 0) return TAG_NO;
    if (n <= n_left) return TAG_WHOLE;
    return p->is_over ? TAG_NO : TAG_PART;
}

static bool is_space(char b) {
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

static void skip_space(output_parser *p) {
    while (p->at < p->n_bytes && is_space(p->text[p->at])) p->at++;
}

/* Offset from `at` of the first place where one of the tags begins or may begin. */
static size_t find_tag(const output_parser *p, const char *const *tags, size_t n_tags) {
    for (size_t off = p->at; off < p->n_bytes; off++) {
        const char *found = memchr(p->text + off, '<', p->n_bytes - off);
        if (!found) return p->n_bytes;
        off = (size_t)(found - p->text);
        for (size_t i = 0; i < n_tags; i++)
            if (match_tag(p, off, tags[i]) != TAG_NO) return off;
    }
    return p->n_bytes;
}

/* ---- calls ---- */

static void begin_call(output_parser *p, size_t call) {
    p->outer = p->state;
    p->call = call;
    p->at = call + strlen("<tool_call>");
    p->n_attempts++;
    p->json_depth = 0;
    p->json_end = 0;
    p->json_in_text = p->json_escapes = false;
    json_object_put(p->arguments);
    p->arguments = NULL;
    p->state = STATE_CALL;
}

/* It was none: the tag is text, and what follows is read again. */
static step refuse_call(output_parser *p) {
    p->state = p->outer;
    p->at = p->call + strlen("<tool_call>");
    release(p, p->outer == STATE_THINKING ? OUTPUT_THINKING : OUTPUT_CONTENT, p->at);
    return STEP_GO;
}

/* For want of text: waits, or gives up at the end and where the call is too long. */
static step wait_or_refuse(output_parser *p) {
    return p->is_over || p->n_bytes - p->call > OUTPUT_CALL_BYTES_MAX ? refuse_call(p) : STEP_WAIT;
}

static void emit_call(output_parser *p, const char *name, const char *arguments) {
    emit(p, OUTPUT_CALL_BEGIN, name, strlen(name));
    emit(p, OUTPUT_CALL_END, arguments, strlen(arguments));
    p->n_calls++;
    p->begin = p->at;
    p->state = STATE_SKIP;
    p->after_skip = STATE_CONTENT;
}

static step end_xml_call(output_parser *p) {
    char *arguments = output_arguments_text(p->arguments);
    if (arguments)
        emit_call(p, p->name, arguments);
    else
        p->lacks_memory = true;
    free(arguments);
    return STEP_GO;
}

/* {"name": NAME, "arguments": OBJECT or a text that holds one} */
static step end_json_call(output_parser *p) {
    const size_t begin = p->value, n = p->json_end - p->value;
    struct json_object *o = NULL, *arguments = NULL, *inner = NULL;
    char *copy = malloc(n + 1);
    if (!copy) {
        p->lacks_memory = true;
        return STEP_GO;
    }
    memcpy(copy, p->text + begin, n);
    copy[n] = 0;
    bool is_call = !memchr(copy, 0, n) && json_text_read(copy, n, &o, NULL) == CONVECT_OK &&
                   json_object_is_type(o, json_type_object);
    struct json_object *name = is_call ? json_object_object_get(o, "name") : NULL;
    is_call = json_object_is_type(name, json_type_string) && json_object_get_string_len(name) > 0;
    if (is_call) arguments = json_object_object_get(o, "arguments");
    if (json_object_is_type(arguments, json_type_string)) {
        char *text = strdup(json_object_get_string(arguments));
        if (text && json_text_read(text, strlen(text), &inner, NULL) == CONVECT_OK) arguments = inner;
        free(text);
    }
    is_call = is_call && (!arguments || json_object_is_type(arguments, json_type_object));
    if (is_call)
        emit_call(p, json_object_get_string(name),
                  arguments ? json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_NOSLASHESCAPE) : "{}");
    json_object_put(inner);
    json_object_put(o);
    free(copy);
    return is_call ? STEP_GO : refuse_call(p);
}

/* Reads NAME> into out; false: not there yet (*is_bad: never). */
static bool read_name(output_parser *p, size_t off, char out[NAME_BYTES_MAX + 1], bool *is_bad) {
    size_t n = 0;
    *is_bad = false;
    while (off + n < p->n_bytes && p->text[off + n] != '>') {
        const char b = p->text[off + n];
        *is_bad = n == NAME_BYTES_MAX || b == '\n' || b == '<' || b == 0;
        if (*is_bad) return false;
        n++;
    }
    if (off + n == p->n_bytes) return false;
    *is_bad = n == 0;
    memcpy(out, p->text + off, n);
    out[n] = 0;
    p->at = off + n + 1;
    return n > 0;
}

/* A tag <function= or <parameter= at `at`, and its name. */
static step read_named_tag(output_parser *p, const char *tag, char name[NAME_BYTES_MAX + 1], parser_state next) {
    bool is_bad;
    if (!read_name(p, p->at + strlen(tag), name, &is_bad)) return is_bad ? refuse_call(p) : wait_or_refuse(p);
    p->value = p->at;
    p->state = next;
    return STEP_GO;
}

static step run_call(output_parser *p) {
    skip_space(p);
    if (p->at == p->n_bytes) return wait_or_refuse(p);
    if (p->text[p->at] == '{') {
        p->value = p->at;
        p->state = STATE_JSON;
        return STEP_GO;
    }
    const tag_match match = match_tag(p, p->at, "<function=");
    if (match != TAG_WHOLE) return match == TAG_NO ? refuse_call(p) : wait_or_refuse(p);
    if (!p->arguments) p->arguments = output_arguments_new();
    p->lacks_memory = p->lacks_memory || !p->arguments;
    return read_named_tag(p, "<function=", p->name, STATE_BODY);
}

static step run_body(output_parser *p) {
    skip_space(p);
    if (p->at == p->n_bytes) return wait_or_refuse(p);
    const tag_match parameter = match_tag(p, p->at, "<parameter="), end = match_tag(p, p->at, "</function>");
    if (parameter == TAG_WHOLE) return read_named_tag(p, "<parameter=", p->key, STATE_VALUE);
    if (end == TAG_WHOLE) p->at += strlen("</function>");
    if (end == TAG_WHOLE || match_tag(p, p->at, "</tool_call>") == TAG_WHOLE) { /* </function> is forgotten at times */
        p->state = STATE_CALL_TAIL;
        return STEP_GO;
    }
    const bool may_come = parameter == TAG_PART || end == TAG_PART || match_tag(p, p->at, "</tool_call>") == TAG_PART;
    return may_come ? wait_or_refuse(p) : refuse_call(p);
}

/* A value in lines of its own ends at a newline and the tag, one in the line of its tag at the tag. */
static step run_value(output_parser *p) {
    if (p->value == p->n_bytes) return wait_or_refuse(p);
    const bool has_lines = p->text[p->value] == '\n';
    const char *end = has_lines ? "\n</parameter>" : "</parameter>";
    const size_t n_end = strlen(end);
    const char *found = memmem(p->text + p->at, p->n_bytes - p->at, end, n_end);
    if (!found) { /* next time only what is new is searched */
        if (p->n_bytes - p->at >= n_end) p->at = p->n_bytes - n_end + 1;
        return wait_or_refuse(p);
    }
    size_t begin = p->value;
    const size_t value_end = (size_t)(found - p->text);
    if (has_lines && value_end > begin) begin++;
    if (!output_arguments_add(p->arguments, p->options.tools, p->name, p->key, p->text + begin, value_end - begin))
        p->lacks_memory = true;
    p->at = value_end + n_end;
    p->state = STATE_BODY;
    return STEP_GO;
}

static step run_json(output_parser *p) {
    for (; p->at < p->n_bytes; p->at++) {
        const char b = p->text[p->at];
        if (p->json_in_text) {
            if (!p->json_escapes && b == '"') p->json_in_text = false;
            p->json_escapes = !p->json_escapes && b == '\\';
            continue;
        }
        p->json_in_text = b == '"';
        p->json_depth += (b == '{' || b == '[') - (b == '}' || b == ']');
        if (p->json_depth > 0) continue;
        p->json_end = ++p->at;
        p->state = STATE_CALL_TAIL;
        return STEP_GO;
    }
    return wait_or_refuse(p);
}

static step run_call_tail(output_parser *p) {
    skip_space(p);
    const char *tag = "</tool_call>";
    const size_t n = strlen(tag), n_left = p->n_bytes - p->at;
    if (memcmp(p->text + p->at, tag, n < n_left ? n : n_left) != 0) return refuse_call(p);
    if (n_left < n && !p->is_over) return wait_or_refuse(p); /* at the end of the answer the tag may be missing */
    p->at += n < n_left ? n : n_left;
    if (p->at - p->call > OUTPUT_CALL_BYTES_MAX) return refuse_call(p);
    return p->json_end > 0 ? end_json_call(p) : end_xml_call(p);
}

/* ---- text ---- */

static step run_start(output_parser *p) {
    const parser_state other = p->options.starts_thinking ? STATE_THINKING : STATE_CONTENT;
    size_t off = p->at;
    while (off < p->n_bytes && is_space(p->text[off])) off++;
    const tag_match match = off < p->n_bytes ? match_tag(p, off, "<think>") : p->is_over ? TAG_NO : TAG_PART;
    if (match == TAG_PART) return STEP_WAIT;
    p->state = match == TAG_NO ? other : STATE_SKIP;
    if (match == TAG_NO) return STEP_GO;
    p->after_skip = STATE_THINKING;
    p->begin = p->at = off + strlen("<think>");
    return STEP_GO;
}

static step run_thinking(output_parser *p) {
    static const char *const tags[] = {"</think>", "<tool_call>"};
    const size_t off = find_tag(p, tags, p->n_attempts < OUTPUT_CALLS_MAX ? 2 : 1);
    release(p, OUTPUT_THINKING, off);
    if (off < p->n_bytes && match_tag(p, off, tags[0]) == TAG_WHOLE) {
        p->begin = p->at = off + strlen(tags[0]);
        p->state = STATE_SKIP;
        p->after_skip = STATE_CONTENT;
        return STEP_GO;
    }
    if (off == p->n_bytes || match_tag(p, off, tags[1]) != TAG_WHOLE) return STEP_WAIT;
    begin_call(p, off);
    return STEP_GO;
}

/* White space is held back: before a call it belongs to the form. */
static step run_content(output_parser *p) {
    static const char *const tags[] = {"<tool_call>"};
    const size_t off = find_tag(p, tags, p->n_attempts < OUTPUT_CALLS_MAX ? 1 : 0);
    size_t end = off;
    while (end > p->at && is_space(p->text[end - 1])) end--;
    if (end > p->at) release(p, OUTPUT_CONTENT, end);
    p->at = off;
    if (off < p->n_bytes && match_tag(p, off, tags[0]) == TAG_WHOLE) {
        begin_call(p, off);
        return STEP_GO;
    }
    if (p->is_over && p->begin < p->n_bytes) release(p, OUTPUT_CONTENT, p->n_bytes);
    return STEP_WAIT;
}

/* Newlines behind a tag belong to the form. */
static step run_skip(output_parser *p) {
    while (p->at < p->n_bytes && (p->text[p->at] == '\n' || p->text[p->at] == '\r')) p->at++;
    p->begin = p->at;
    if (p->at == p->n_bytes) return STEP_WAIT;
    p->state = p->after_skip;
    return STEP_GO;
}

static step run_state(output_parser *p) {
    switch (p->state) {
    case STATE_START: return run_start(p);
    case STATE_THINKING: return run_thinking(p);
    case STATE_SKIP: return run_skip(p);
    case STATE_CONTENT: return run_content(p);
    case STATE_CALL: return run_call(p);
    case STATE_BODY: return run_body(p);
    case STATE_VALUE: return run_value(p);
    case STATE_JSON: return run_json(p);
    default: return run_call_tail(p);
    }
}

static convect_status run(output_parser *p, convect_error *err) {
    while (!p->is_cancelled && !p->lacks_memory && run_state(p) == STEP_GO) continue;
    if (p->lacks_memory) return convect_fail(err, CONVECT_NO_FIT, "no memory to read an answer");
    if (p->is_cancelled) return convect_fail(err, CONVECT_CANCELLED, "the reader of the answer has stopped");
    return CONVECT_OK;
}

/* Drops what is done; later offsets move. */
static void compact(output_parser *p) {
    const size_t n = p->begin;
    if (n == 0 || n < p->n_bytes / 2) return;
    memmove(p->text, p->text + n, p->n_bytes - n);
    p->n_bytes -= n;
    p->at -= n;
    p->begin = 0;
    p->call -= p->call < n ? p->call : n;
    p->value -= p->value < n ? p->value : n;
    if (p->json_end > 0) p->json_end -= n;
}

convect_status output_parser_push(output_parser *p, const char *text, size_t n_bytes, convect_error *err) {
    compact(p);
    if (n_bytes > SIZE_MAX / 4 - p->n_bytes) return convect_fail(err, CONVECT_NO_FIT, "the answer is too long");
    if (p->n_bytes + n_bytes > p->cap) {
        const size_t cap = 2 * (p->n_bytes + n_bytes) + 256;
        char *larger = realloc(p->text, cap);
        if (!larger) return convect_fail(err, CONVECT_NO_FIT, "no memory for %zu bytes of an answer", cap);
        p->text = larger;
        p->cap = cap;
    }
    if (n_bytes > 0) memcpy(p->text + p->n_bytes, text, n_bytes);
    p->n_bytes += n_bytes;
    return run(p, err);
}

convect_status output_parser_finish(output_parser *p, convect_error *err) {
    p->is_over = true;
    return p->text ? run(p, err) : CONVECT_OK;
}
