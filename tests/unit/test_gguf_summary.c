/* Parts of the model, bytes per token, and text made safe to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "engine/gguf_summary.h"
#include "engine/text_escape.h"
#include "tests/unit/gguf_builder.h"

typedef struct row {
    const char *name;
    uint64_t ne[3];
    gguf_part part;
} row;

static const row rows[] = {
    {"token_embd.weight", {32, 10, 1}, GGUF_PART_EMBEDDING},
    {"blk.0.attn_norm.weight", {32, 1, 1}, GGUF_PART_NORMS},
    {"blk.0.attn_qkv.weight", {32, 8, 1}, GGUF_PART_DELTANET},
    {"blk.0.attn_gate.weight", {32, 8, 1}, GGUF_PART_DELTANET},
    {"blk.0.ssm_a", {8, 1, 1}, GGUF_PART_DELTANET},
    {"blk.0.ssm_norm.weight", {8, 1, 1}, GGUF_PART_NORMS},
    {"blk.0.ffn_gate_inp.weight", {32, 4, 1}, GGUF_PART_ROUTER},
    {"blk.0.ffn_gate_up_exps.weight", {32, 8, 4}, GGUF_PART_EXPERTS},
    {"blk.0.ffn_gate_inp_shexp.weight", {32, 1, 1}, GGUF_PART_SHARED_EXPERT},
    {"blk.0.ffn_up_shexp.weight", {32, 8, 1}, GGUF_PART_SHARED_EXPERT},
    {"blk.1.attn_q.weight", {32, 8, 1}, GGUF_PART_ATTENTION},
    {"blk.1.ffn_up.weight", {32, 8, 1}, GGUF_PART_FEED_FORWARD},
    {"blk.2.attn_q.weight", {32, 8, 1}, GGUF_PART_MTP},
    {"blk.2.nextn.eh_proj.weight", {64, 32, 1}, GGUF_PART_MTP},
    {"output_norm.weight", {32, 1, 1}, GGUF_PART_NORMS},
    {"rope_freqs.weight", {32, 1, 1}, GGUF_PART_OTHER},
    {"output.weight", {32, 10, 1}, GGUF_PART_HEAD}, /* last: left out for a tied head */
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static gguf_builder build(size_t n_rows, uint32_t n_used) {
    gguf_builder b = {0};
    gb_header(&b, 3, n_rows, 5);
    gb_kv_string(&b, "general.architecture", "qwen35moe");
    gb_kv_u32(&b, "qwen35moe.block_count", 3);
    gb_kv_u32(&b, "qwen35moe.nextn_predict_layers", 1);
    gb_kv_u32(&b, "qwen35moe.expert_count", 4);
    gb_kv_u32(&b, "qwen35moe.expert_used_count", n_used);
    uint64_t off = 0;
    for (size_t i = 0; i < n_rows; i++) {
        gb_tensor(&b, rows[i].name, 3, rows[i].ne, 0, off);
        off += 4 * rows[i].ne[0] * rows[i].ne[1] * rows[i].ne[2];
    }
    gb_align_data(&b, 32);
    gb_data(&b, off);
    return b;
}

static void test_parts(void **state) {
    (void)state;
    gguf_builder b = build(N_ROWS, 3);
    gguf *g = NULL;
    gguf_summary s;
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, NULL), CONVECT_OK);
    gguf_summarise(g, &s);
    uint64_t n_all = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        const gguf_tensor *t = gguf_tensor_find(g, rows[i].name);
        if (gguf_part_of(g, &s, t) != rows[i].part) fail_msg("%s is part %d", t->name, (int)gguf_part_of(g, &s, t));
        n_all += t->n_bytes;
    }
    assert_int_equal(s.total.n_bytes, n_all);
    assert_int_equal(s.total.n_tensors, N_ROWS);
    assert_false(s.is_tied);
    assert_int_equal(s.parts[GGUF_PART_EMBEDDING].token_bytes, 32 * 4); /* one row */
    assert_int_equal(s.parts[GGUF_PART_HEAD].token_bytes, 32 * 10 * 4);
    assert_int_equal(s.parts[GGUF_PART_EXPERTS].token_bytes, 32 * 8 * 3 * 4);
    assert_int_equal(s.parts[GGUF_PART_MTP].token_bytes, 0);
    assert_int_equal(s.parts[GGUF_PART_ROUTER].token_bytes, s.parts[GGUF_PART_ROUTER].n_bytes);
    uint64_t n_skipped = 32 * 9 * 4 + 32 * 8 * 4 + s.parts[GGUF_PART_MTP].n_bytes; /* embedding rows, one expert */
    assert_int_equal(s.total.token_bytes, n_all - n_skipped);
    assert_int_equal(s.n_types, 1);
    assert_string_equal(s.types[0].type->name, "F32");
    assert_true(gguf_bits_per_weight(&s.total) == 32.0);
    gguf_close(g);
    gb_free(&b);
}

static void test_tied_and_unknown_use(void **state) {
    (void)state;
    gguf_builder b = build(N_ROWS - 1, 5); /* 5 of 4 experts: not believed */
    gguf *g = NULL;
    gguf_summary s;
    assert_int_equal(gguf_open_memory(b.data, b.n_bytes, &g, NULL), CONVECT_OK);
    gguf_summarise(g, &s);
    assert_true(s.is_tied);
    assert_int_equal(s.parts[GGUF_PART_EMBEDDING].token_bytes, 32 * 10 * 4);
    assert_false(s.has_expert_counts);
    assert_int_equal(s.parts[GGUF_PART_EXPERTS].token_bytes, s.parts[GGUF_PART_EXPERTS].n_bytes);
    gguf_close(g);
    gb_free(&b);
}

static void expect_escaped(const char *data, size_t n_bytes, size_t capacity, const char *want) {
    char out[128];
    memset(out, '#', sizeof out);
    size_t n = text_escape(out, capacity, data, n_bytes);
    assert_string_equal(out, want);
    assert_int_equal(n, strlen(want));
    assert_int_equal(out[capacity], '#');
}
#define EXPECT_ESCAPED(literal, capacity, want) expect_escaped(literal, sizeof(literal) - 1, capacity, want)

static void test_escape(void **state) {
    (void)state;
    EXPECT_ESCAPED("plain \xc3\xbc \xe4\xbd\xa0", 100, "plain \xc3\xbc \xe4\xbd\xa0");
    EXPECT_ESCAPED("\033[31m\a\0z\n\\", 100, "\\x1b[31m\\x07\\x00z\\n\\\\");
    EXPECT_ESCAPED("\xff\xc3", 100, "\\xff\\xc3");                     /* no UTF-8 */
    EXPECT_ESCAPED("\xed\xa0\x80", 100, "\\xed\\xa0\\x80");            /* a surrogate */
    EXPECT_ESCAPED("\xe2\x80\xae\xc2\x9b", 100, "\\u{202e}\\u{009b}"); /* right-to-left, C1 control */
    EXPECT_ESCAPED("0123456789", 11, "0123456789");
    EXPECT_ESCAPED("0123456789", 10, "012345...");
    EXPECT_ESCAPED("\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0", 9, "\xe4\xbd\xa0..."); /* no character is cut */
    EXPECT_ESCAPED("", 8, "");
}

static void test_to_utf8(void **state) {
    (void)state;
    static const char data[] = "a\xff\0\xc3\xbc\xe2\x82";
    char out[3 * sizeof data];
    size_t n = text_to_utf8(out, data, sizeof data - 1);
    static const char want[] = "a\xef\xbf\xbd\0\xc3\xbc\xef\xbf\xbd\xef\xbf\xbd";
    assert_int_equal(n, sizeof want - 1);
    assert_memory_equal(out, want, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_tied_and_unknown_use),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_to_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
