#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "engine/base/json.h"
#include "engine/output_parser.h"

#define TOOLS                                                                                                          \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"        \
    "\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":"           \
    "\"object\"},\"n\":{\"type\":[\"string\",\"null\"]},\"m\":{\"type\":[\"integer\",\"string\"]},\"any\":{}}}}},"     \
    "{\"name\":\"flat\",\"input_schema\":{\"properties\":{\"s\":{\"type\":\"string\"}}}}]"

typedef struct record {
    char *text; /* T{thinking} C{content} [name arguments], neighbours of one kind joined */
    size_t n_bytes;
    int last;      /* kind that is open, -1 */
    size_t n_left; /* events until the reader stops */
} record;

static void append(record *r, const char *text, size_t n_bytes) {
    r->text = realloc(r->text, r->n_bytes + n_bytes + 1);
    assert_non_null(r->text);
    memcpy(r->text + r->n_bytes, text, n_bytes);
    r->n_bytes += n_bytes;
    r->text[r->n_bytes] = 0;
}

static void open_kind(record *r, int kind) {
    static const char *const begins[] = {"T{", "C{", "[", " "}, *const ends[] = {"}", "}", "", "]"};
    if (r->last == kind && kind <= OUTPUT_CONTENT) return;
    if (r->last >= 0) append(r, ends[r->last], strlen(ends[r->last]));
    if (kind >= 0) append(r, begins[kind], strlen(begins[kind]));
    r->last = kind;
}

static bool on_event(void *user, const output_event *event) {
    record *r = user;
    assert_true(event->n_bytes > 0);
    open_kind(r, (int)event->kind);
    append(r, event->text, event->n_bytes);
    return r->n_left == 0 || --r->n_left > 0;
}

typedef struct mode {
    bool starts, reads;
    const char *tools;
} mode;

/* The record of text[0..n_bytes) in pieces: the first of n_first bytes, then of n_piece. */
static char *parse(const mode *m, const char *text, size_t n_bytes, size_t n_first, size_t n_piece) {
    record r = {.last = -1};
    struct json_object *tools = NULL;
    if (m->tools) {
        char *copy = strdup(m->tools);
        assert_int_equal(json_text_read(copy, strlen(copy), &tools, NULL), CONVECT_OK);
        free(copy);
    }
    const output_options options = {m->starts, m->reads, tools, on_event, &r};
    output_parser *p = NULL;
    assert_int_equal(output_parser_create(&options, &p, NULL), CONVECT_OK);
    for (size_t off = 0; off < n_bytes;) {
        size_t n = off == 0 ? n_first : n_piece;
        if (n > n_bytes - off) n = n_bytes - off;
        char *piece = malloc(n + 1); /* of its own, so that ASan sees a read behind it */
        memcpy(piece, text + off, n);
        assert_int_equal(output_parser_push(p, piece, n, NULL), CONVECT_OK);
        free(piece);
        off += n;
        if (n == 0) n_first = 1;
    }
    assert_int_equal(output_parser_finish(p, NULL), CONVECT_OK);
    output_parser_destroy(p);
    json_object_put(tools);
    open_kind(&r, -1);
    append(&r, "", 0);
    return r.text;
}

static void check_pieces(const mode *m, const char *text, size_t n_bytes, const char *want) {
    for (size_t n = 1; n <= n_bytes; n++) { /* every cut in two; every size of pieces */
        char *cut = parse(m, text, n_bytes, n, n_bytes), *pieces = parse(m, text, n_bytes, n, n);
        if (strcmp(cut, want) != 0 || strcmp(pieces, want) != 0)
            fail_msg("%s\ncut at %zu: %s\npieces: %s\nwhole: %s", text, n, cut, pieces, want);
        free(cut);
        free(pieces);
    }
}

static void check(mode m, const char *text, const char *want) {
    char *whole = parse(&m, text, strlen(text), strlen(text), 1);
    assert_string_equal(whole, want);
    check_pieces(&m, text, strlen(text), want);
    free(whole);
}

static const mode plain = {.tools = TOOLS}, thinks = {.starts = true, .tools = TOOLS},
                  reads = {.reads = true, .tools = TOOLS};

static void thinking(void **state) {
    (void)state;
    check(plain, "", "");
    check(plain, "Hello <b> </think> x", "C{Hello <b> </think> x}");
    check(thinks, "why\n</think>\n\nHello", "T{why\n}C{Hello}");
    check(thinks, "why</think>\n\n  code\n", "T{why}C{  code\n}");
    check(thinks, "<think>\nwhy</think>Hello", "T{why}C{Hello}");
    check(thinks, " \n<think>\n\nwhy</think>Hello", "T{why}C{Hello}");
    check(thinks, "never ends </thin", "T{never ends </thin}");
    check(thinks, "</think>", "");
    check(thinks, "\n\n</think>\n\nA", "T{\n\n}C{A}");
    check(thinks, "a</think>b</think>c", "T{a}C{b</think>c}");
    check(thinks, " <thi", "T{ <thi}");
    check(reads, "<think>\nwhy\n</think>\n\nHello", "T{why\n}C{Hello}");
    check(reads, "\n <thinker>", "C{\n <thinker>}");
    check(reads, "Hi <think>x</think>", "C{Hi <think>x</think>}");
    check(plain, "<think>x", "C{<think>x}");
}

#define CALL(body)    "<tool_call>\n<function=f>\n" body "</function>\n</tool_call>"
#define P(key, value) "<parameter=" key ">\n" value "\n</parameter>\n"

static void calls(void **state) {
    (void)state;
    check(plain, CALL(P("s", "Paris")), "[f {\"s\": \"Paris\"}]");
    check(plain, "Let me look.\n\n" CALL(P("s", "a")) "\n" CALL(""), "C{Let me look.}[f {\"s\": \"a\"}][f {}]");
    check(plain, "a \n<tool_call>", "C{a \n<tool_call>}");
    check(plain, CALL("") "\nand more\n", "[f {}]C{and more\n}");
    check(thinks, "hm\n" CALL(P("s", "x")), "T{hm\n}[f {\"s\": \"x\"}]");
    check(thinks, "a <tool_call> b</think>\nc", "T{a <tool_call> b}C{c}");
    check(thinks, "x</think>\n\n" CALL(""), "T{x}[f {}]");
    check(plain, "<tool_call><function=f><parameter=s>v</parameter></function></tool_call>", "[f {\"s\": \"v\"}]");
    check(plain, "<tool_call>\n<function=f>\n" P("s", "v") "</tool_call>", "[f {\"s\": \"v\"}]");
    check(plain, "<tool_call>\n<function=f>\n</function>\n", "[f {}]");
    check(plain, "<tool_call>\n<function=f>\n</function>\n</tool", "[f {}]");
    check(plain, CALL(P("s", "1") P("s", "2")), "[f {\"s\": \"2\"}]");
    check(plain, "<tool_call>\n<function=f>\n<parameter=s>\ncut", "C{<tool_call>\n<function=f>\n<parameter=s>\ncut}");
    check(plain, "<tool_call><function=>" CALL(""), "C{<tool_call><function=>}[f {}]");
    check(plain, "<tool_call>x" CALL(""), "C{<tool_call>x}[f {}]");
    check(plain, "<tool_call>\n<function=f\n>", "C{<tool_call>\n<function=f\n>}");
    check(plain, "<tool_call>\n<function=f>\nno</function></tool_call>",
          "C{<tool_call>\n<function=f>\nno</function></tool_call>}");
    check(plain, "<<tool_call>" CALL(""), "C{<<tool_call>}[f {}]");
}

static void values(void **state) {
    (void)state;
    check(plain, CALL(P("s", "5") P("i", "5") P("b", "True") P("o", "{\"a\": [1,  2.50]}")),
          "[f {\"s\": \"5\", \"i\": 5, \"b\": true, \"o\": {\"a\": [1,  2.50]}}]");
    check(plain, CALL(P("i", "five") P("b", "false") P("o", "None") P("any", "[1]") P("new", "x y")),
          "[f {\"i\": \"five\", \"b\": false, \"o\": null, \"any\": [1], \"new\": \"x y\"}]");
    check(plain, CALL(P("n", "null") P("m", "7") P("any", "12345678901234567890123")),
          "[f {\"n\": null, \"m\": 7, \"any\": 12345678901234567890123}]");
    check(plain, CALL(P("n", "5") P("m", "x") P("s", "null")), "[f {\"n\": \"5\", \"m\": \"x\", \"s\": \"null\"}]");
    check(plain, CALL(P("s", "") P("any", "") P("i", " 5 ")), "[f {\"s\": \"\", \"any\": \"\", \"i\":  5 }]");
    check(plain, CALL(P("s", "\n a\n\nb \n") P("any", "a</parameter>x<parameter=q>")),
          "[f {\"s\": \"\\n a\\n\\nb \\n\", \"any\": \"a</parameter>x<parameter=q>\"}]");
    check(plain, CALL(P("s", "\"q\" \\ / \t \xC3\xA9 \xFF <|im_end|>")),
          "[f {\"s\": \"\\\"q\\\" \\\\ / \\t \xC3\xA9 \xEF\xBF\xBD <|im_end|>\"}]");
    check((mode){0}, CALL(P("s", "5") P("t", "[1") P("u", "\"x\"")), "[f {\"s\": 5, \"t\": \"[1\", \"u\": \"x\"}]");
    check(plain, "<tool_call><function=flat><parameter=s>5</parameter></function></tool_call>",
          "[flat {\"s\": \"5\"}]");
}

static void json_calls(void **state) {
    (void)state;
    check(plain,
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"</tool_call> \\\" {\", \"i\": 5}}\n</tool_call>",
          "[f {\"s\":\"</tool_call> \\\" {\",\"i\":5}]");
    check(plain, "<tool_call>{\"name\": \"f\"}</tool_call>", "[f {}]");
    check(plain, "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"i\\\": 1}\"}</tool_call>", "[f {\"i\":1}]");
    check(plain, "<tool_call>{\"nam\": \"f\"}</tool_call>x", "C{<tool_call>{\"nam\": \"f\"}</tool_call>x}");
    check(plain, "<tool_call>{\"name\": \"f\", \"arguments\": 5}</tool_call>",
          "C{<tool_call>{\"name\": \"f\", \"arguments\": 5}</tool_call>}");
    check(plain, "<tool_call>{bad}</tool_call>", "C{<tool_call>{bad}</tool_call>}");
    check(plain, "<tool_call>{\"name\": \"f\"", "C{<tool_call>{\"name\": \"f\"}");
}

/* Fragments in random order: whatever comes out, it is the same in pieces. */
static void fragments(void **state) {
    static const char *const parts[] = {"<tool_call>",
                                        "\n",
                                        "<function=f>",
                                        "<parameter=s>",
                                        "</parameter>",
                                        "</function>",
                                        "</tool_call>",
                                        "<think>",
                                        "</think>",
                                        "x",
                                        " ",
                                        "<",
                                        "{\"name\": \"f\"}",
                                        "\n</parameter>\n"};
    uint32_t seed = 1;
    (void)state;
    for (int round = 0; round < 1500; round++) {
        char text[512] = "";
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525u + 1013904223u;
            const char *part = parts[(seed >> 16) % (sizeof parts / sizeof *parts)];
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", part);
        }
        const mode m = {.starts = round % 3 == 0, .reads = round % 3 == 1};
        char *whole = parse(&m, text, strlen(text), strlen(text), 1);
        check_pieces(&m, text, strlen(text), whole);
        free(whole);
    }
}

/* Nothing is held back that cannot become a tag. */
static void hold_back(void **state) {
    (void)state;
    record r = {.last = -1};
    const output_options options = {.sink = on_event, .user = &r};
    output_parser *p = NULL;
    assert_int_equal(output_parser_create(&options, &p, NULL), CONVECT_OK);
    assert_int_equal(output_parser_push(p, "abc", 3, NULL), CONVECT_OK);
    assert_string_equal(r.text, "C{abc");
    assert_int_equal(output_parser_push(p, " <tool_ca", 9, NULL), CONVECT_OK);
    assert_string_equal(r.text, "C{abc");
    assert_int_equal(output_parser_push(p, "t", 1, NULL), CONVECT_OK);
    assert_string_equal(r.text, "C{abc <tool_cat");
    r.n_left = 1; /* the reader stops */
    assert_int_equal(output_parser_push(p, "x", 1, NULL), CONVECT_CANCELLED);
    assert_int_equal(output_parser_push(p, "y", 1, NULL), CONVECT_CANCELLED);
    assert_string_equal(r.text, "C{abc <tool_catx");
    output_parser_destroy(p);
    free(r.text);
}

static void bounds(void **state) {
    (void)state;
    const size_t n = OUTPUT_CALL_BYTES_MAX + 100, n_tags = 100000;
    char *text = malloc(n + n_tags * 40);
    assert_non_null(text);
    memset(text, 'a', n);
    memcpy(text, "<tool_call><function=f><parameter=s>", 36);
    memcpy(text + n - 36, "</parameter></function></tool_call>!", 36);
    char *record_whole = parse(&plain, text, n, n, n), *record_pieces = parse(&plain, text, n, 4096, 4096);
    assert_memory_equal(record_whole, "C{<tool_call>", 13);
    assert_string_equal(record_whole, record_pieces);
    free(record_whole);
    free(record_pieces);
    /* many that have no end */
    size_t n_text = 0;
    for (size_t i = 0; i < n_tags; i++, n_text += 37)
        memcpy(text + n_text, "<tool_call><function=f><parameter=s>\n", 37);
    record_whole = parse(&plain, text, n_text, n_text, 1);
    assert_int_equal(strlen(record_whole), n_text + 3);
    free(record_whole);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thinking),   cmocka_unit_test(calls),     cmocka_unit_test(values),
        cmocka_unit_test(json_calls), cmocka_unit_test(fragments), cmocka_unit_test(hold_back),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
