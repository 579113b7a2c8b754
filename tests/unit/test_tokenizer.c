/* The tokenizer on small vocabularies: merging, special tokens, validity of files, hostile text, detokenising. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tokenizer.h"
#include "tests/unit/vocab_builder.h"

enum {
    NORMAL = 1,
    CONTROL = 3,
    USER = 4,
    UNUSED = 5,
    AA = 256,
    AAAA,
    AB,
    ABC,
    THINK,
    END,
    LONG_END,
    ACUTE,
    PAD,
};

static const vocab_token small_tokens[] = {
    {"aa", NORMAL},       {"aaaa", NORMAL},        {"ab", NORMAL},        {"abc", NORMAL},
    {"<think>", USER},    {"<|im_end|>", CONTROL}, {"<|im_end|>!", USER}, {"\xC3\x83\xC2\xA9", NORMAL},
    {"[PAD264]", UNUSED},
};
static const char *const small_merges[] = {"a b", "a a", "aa aa", "ab c", "\xC3\x83 \xC2\xA9"};

static vocab_spec small_spec(void) {
    return (vocab_spec){.model = "gpt2",
                        .pre = "qwen35",
                        .tokens = small_tokens,
                        .n_tokens = sizeof small_tokens / sizeof small_tokens[0],
                        .merges = small_merges,
                        .n_merges = sizeof small_merges / sizeof small_merges[0],
                        .lacks_byte = -1,
                        .eos = -1};
}

static convect_status create(const vocab_spec *spec, tokenizer **t, convect_error *err) {
    gguf_builder b = vb_build(spec);
    gguf *g = NULL;
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, err), CONVECT_OK);
    convect_status status = tokenizer_create(g, t, err);
    gguf_close(g);
    gb_free(&b); /* the tokenizer has copies */
    return status;
}

static tokenizer *small(void) {
    tokenizer *t = NULL;
    vocab_spec spec = small_spec();
    assert_int_equal(create(&spec, &t, NULL), CONVECT_OK);
    return t;
}

static void check_ids(const tokenizer *t, const char *text, size_t n_bytes, bool parse_special, const int32_t *ids,
                      size_t n) {
    token_list list = {0};
    assert_int_equal(tokenizer_encode(t, text, n_bytes, parse_special, &list, NULL), CONVECT_OK);
    assert_int_equal(list.n, n);
    if (n > 0) assert_memory_equal(list.ids, ids, n * sizeof *ids);
    token_list_free(&list);
}

#define CHECK_IDS(t, text, special, ...)                                                                               \
    check_ids(t, text, sizeof(text) - 1, special, (const int32_t[]){__VA_ARGS__},                                      \
              sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void merging(void **state) {
    (void)state;
    tokenizer *t = small();
    check_ids(t, "", 0, true, NULL, 0);
    CHECK_IDS(t, "aaa", false, AA, 'a'); /* leftmost of equal rank */
    CHECK_IDS(t, "aaaaa", false, AAAA, 'a');
    CHECK_IDS(t, "aab", false, 'a', AB); /* the lower rank first */
    CHECK_IDS(t, "abc", false, ABC);
    CHECK_IDS(t, "a a", false, 'a', ' ', 'a');
    CHECK_IDS(t, "e\xCC\x81", false, ACUTE); /* NFC */
    CHECK_IDS(t, "\xC3\xFF", false, 0xC3, 0xFF);
    CHECK_IDS(t, "a\0a", false, 'a', 0, 'a');
    tokenizer_destroy(t);
}

static void special_tokens(void **state) {
    (void)state;
    tokenizer *t = small();
    CHECK_IDS(t, "a<think>a", false, 'a', THINK, 'a');
    CHECK_IDS(t, "<think", false, '<', 't', 'h', 'i', 'n', 'k');
    CHECK_IDS(t, "<|im_end|>", true, END);
    CHECK_IDS(t, "<|im_end|>", false, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>');
    CHECK_IDS(t, "<<|im_end|>!", true, '<', LONG_END); /* longest */
    CHECK_IDS(t, "<|im_end|>!", false, LONG_END);
    CHECK_IDS(t, "<|im_end|>?", true, END, '?');
    CHECK_IDS(t, "[PAD264]", true, '[', 'P', 'A', 'D', '2', '6', '4', ']'); /* padding never matches */
    CHECK_IDS(t, "<think>\xCC\xB8", true, THINK, 0xCC, 0xB8); /* cut before NFC, which would make U+226F of it */
    tokenizer_destroy(t);
}

static void queries(void **state) {
    (void)state;
    tokenizer *t = small();
    assert_int_equal(tokenizer_n_vocab(t), PAD + 1);
    assert_int_equal(tokenizer_n_real(t), PAD);
    assert_true(tokenizer_is_unused(t, PAD));
    assert_false(tokenizer_is_unused(t, AA));
    assert_true(tokenizer_is_control(t, END));
    assert_false(tokenizer_is_control(t, THINK));
    assert_true(tokenizer_is_stop(t, END));
    assert_false(tokenizer_is_stop(t, LONG_END));
    assert_int_equal(tokenizer_find(t, "<think>"), THINK);
    assert_int_equal(tokenizer_find(t, "[PAD264]"), -1);
    assert_int_equal(tokenizer_find(t, "nothing"), -1);
    gguf_string piece = tokenizer_piece(t, ACUTE);
    assert_int_equal(piece.n_bytes, 2);
    assert_memory_equal(piece.data, "\xC3\xA9", 2);
    assert_int_equal(tokenizer_piece(t, PAD).n_bytes, 0);
    for (int32_t b = 0; b < 256; b++) {
        piece = tokenizer_piece(t, b);
        assert_int_equal(piece.n_bytes, 1);
        assert_int_equal((unsigned char)piece.data[0], b);
    }
    tokenizer_destroy(t);
}

static void expect_failure(const vocab_spec *spec, convect_status status, const char *part) {
    tokenizer *t = NULL;
    convect_error err = {0};
    assert_int_equal(create(spec, &t, &err), status);
    assert_null(t);
    if (!strstr(err.text, part)) fail_msg("\"%s\" does not name \"%s\"", err.text, part);
}

static void refuses_damage(void **state) {
    (void)state;
    vocab_spec s = small_spec();
    s.model = NULL;
    expect_failure(&s, CONVECT_DAMAGED, "tokenizer.ggml.model");
    s.model = "llama";
    expect_failure(&s, CONVECT_NOT_SUPPORTED, "\"llama\"");
    s = small_spec();
    s.pre = "gpt-5";
    expect_failure(&s, CONVECT_NOT_SUPPORTED, "\"gpt-5\"");
    s.pre = NULL;
    expect_failure(&s, CONVECT_DAMAGED, "tokenizer.ggml.pre");
    s = small_spec();
    s.n_types_missing = 1;
    expect_failure(&s, CONVECT_DAMAGED, "token_type 264");
    s = small_spec();
    s.lacks_byte = 'A';
    expect_failure(&s, CONVECT_DAMAGED, "0x41");
    s = small_spec();
    s.eos = PAD + 1;
    expect_failure(&s, CONVECT_DAMAGED, "eos_token_id");
    s.eos = 'z';
    tokenizer *t = NULL;
    assert_int_equal(create(&s, &t, NULL), CONVECT_OK);
    assert_true(tokenizer_is_stop(t, 'z'));
    tokenizer_destroy(t);
    s = small_spec();
    s.adds_bos = true;
    expect_failure(&s, CONVECT_NOT_SUPPORTED, "BOS");
}

static void refuses_bad_merges_and_tokens(void **state) {
    (void)state;
    static const char *const bad[] = {"aa", "a ", " a", "", "a  b", "a zz", "zz a", "b a", "\xFF a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vocab_spec s = small_spec();
        s.merges = &bad[i];
        s.n_merges = 1;
        expect_failure(&s, CONVECT_DAMAGED, "merge 0");
    }
    vocab_token tokens[2] = {{"aa", NORMAL}, {"aa", 7}};
    vocab_spec s = small_spec();
    s.tokens = tokens;
    s.n_tokens = 2;
    s.n_merges = 0;
    expect_failure(&s, CONVECT_DAMAGED, "token 257");
    char text[TOKENIZER_PIECE_BYTES_MAX + 2];
    memset(text, 'x', sizeof text);
    text[TOKENIZER_PIECE_BYTES_MAX + 1] = 0;
    tokens[1] = (vocab_token){text, NORMAL};
    expect_failure(&s, CONVECT_DAMAGED, "token 257 has 1025 bytes");
    text[257] = 0;
    tokens[1].type = CONTROL;
    expect_failure(&s, CONVECT_DAMAGED, "special token 257");
}

static void duplicates_take_the_first(void **state) {
    (void)state;
    static const vocab_token tokens[] = {
        {"aa", NORMAL}, {"aa", NORMAL}, {"<x>", USER}, {"<x>", CONTROL}, {"a", NORMAL}};
    static const char *const merges[] = {"a a", "a a"};
    vocab_spec s = small_spec();
    s.tokens = tokens;
    s.n_tokens = 5;
    s.merges = merges;
    s.n_merges = 2;
    tokenizer *t = NULL;
    assert_int_equal(create(&s, &t, NULL), CONVECT_OK);
    CHECK_IDS(t, "aa<x>a", true, 256, 258, 'a');
    tokenizer_destroy(t);
    s.n_merges = 0; /* bytes alone */
    assert_int_equal(create(&s, &t, NULL), CONVECT_OK);
    CHECK_IDS(t, "aa", true, 'a', 'a');
    tokenizer_destroy(t);
}

/* Ids of n copies of unit; they must spell the text again. */
static void check_long(const tokenizer *t, const char *unit, size_t n_total) {
    size_t n_unit = strlen(unit), n_bytes = n_total / n_unit * n_unit;
    char *text = malloc(n_bytes);
    assert_non_null(text);
    for (size_t i = 0; i < n_bytes; i += n_unit) memcpy(text + i, unit, n_unit);
    token_list list = {0};
    assert_int_equal(tokenizer_encode(t, text, n_bytes, true, &list, NULL), CONVECT_OK);
    size_t off = 0;
    for (size_t i = 0; i < list.n; i++) {
        gguf_string piece = tokenizer_piece(t, list.ids[i]);
        assert_true(piece.n_bytes <= n_bytes - off);
        assert_memory_equal(piece.data, text + off, piece.n_bytes);
        off += piece.n_bytes;
    }
    assert_int_equal(off, n_bytes);
    token_list_free(&list);
    free(text);
}

/* A quadratic tokenizer would not end within the test's time limit; a recursive one would run out of stack. */
static void hostile_text_ends(void **state) {
    (void)state;
    static const char *const units[] = {"A",
                                        "a",
                                        "ab",
                                        "aab",
                                        "\n",
                                        "\r\n ",
                                        " ",
                                        "\t ",
                                        "<",
                                        "<|im_end|",
                                        "'",
                                        "\xCC\xA3",
                                        "\xF0\x9F\x91\xA8\xE2\x80\x8D",
                                        "\xFF",
                                        "\xF0\x9F",
                                        "1",
                                        "!",
                                        "! \n"};
    tokenizer *t = small();
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) check_long(t, units[i], (size_t)1 << 20);
    tokenizer_destroy(t);
}

static void check_push(detokenizer *d, const char *piece, const char *want) {
    gguf_string out = detokenizer_push(d, (gguf_string){piece, strlen(piece)});
    assert_int_equal(out.n_bytes, strlen(want));
    assert_memory_equal(out.data, want, out.n_bytes);
}

static void detokenizer_keeps_characters_whole(void **state) {
    (void)state;
    detokenizer d = {0};
    check_push(&d, "a\xF0", "a");
    check_push(&d, "\x9F", "");
    check_push(&d, "", "");
    check_push(&d, "\x98\x80\xC3", "\xF0\x9F\x98\x80");
    check_push(&d,
               "\xA9"
               "b",
               "\xC3\xA9"
               "b");
    check_push(&d, "\xE2\x82", "");
    check_push(&d, "x", "\xE2\x82x"); /* cannot become a character: not held */
    check_push(&d, "\x80\x80\x80\xFF\xC1", "\x80\x80\x80\xFF\xC1");
    check_push(&d, "\xF4\x8F", "");
    gguf_string rest = detokenizer_flush(&d);
    assert_int_equal(rest.n_bytes, 2);
    assert_memory_equal(rest.data, "\xF4\x8F", 2);
    assert_int_equal(detokenizer_flush(&d).n_bytes, 0);
    char big[TOKENIZER_PIECE_BYTES_MAX];
    memset(big, 'x', sizeof big);
    check_push(&d, "\xF0\x9F\x98", "");
    assert_int_equal(detokenizer_push(&d, (gguf_string){big, sizeof big}).n_bytes, sizeof big + 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(queries),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(refuses_bad_merges_and_tokens),
        cmocka_unit_test(duplicates_take_the_first),
        cmocka_unit_test(hostile_text_ends),
        cmocka_unit_test(detokenizer_keeps_characters_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
