/* Mixes: roles by name, important layers, fall-backs for rows that no block fits. Sizes of whole files: test_synth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "engine/mix.h"

static const mix_model moe = {.n_layers = 40, .n_experts = 256, .is_tied = false};

static format_id choose(mix_id id, const mix_model *model, const char *name, uint64_t row_elems) {
    mix_tensor t = {.name = name, .n_dims = 2, .row_elems = row_elems};
    return mix_choose(id, model, &t).format;
}

static void roles_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name;
        mix_role role;
    } rows[] = {
        {"token_embd.weight", MIX_ROLE_EMBEDDING},
        {"output.weight", MIX_ROLE_HEAD},
        {"output_norm.weight", MIX_ROLE_PLAIN},
        {"blk.3.attn_q.weight", MIX_ROLE_ATTN_INNER},
        {"blk.3.attn_q_norm.weight", MIX_ROLE_PLAIN},
        {"blk.12.attn_qkv.weight", MIX_ROLE_ATTN_QKV},
        {"blk.0.ssm_dt.bias", MIX_ROLE_PLAIN},
        {"blk.0.ssm_a", MIX_ROLE_PLAIN},
        {"blk.0.ffn_gate_inp.weight", MIX_ROLE_ROUTER},
        {"blk.0.ffn_gate_up_exps.weight", MIX_ROLE_EXPERT_GATE_UP},
        {"blk.39.ffn_down_exps.weight", MIX_ROLE_EXPERT_DOWN},
        {"blk.40.nextn.eh_proj.weight", MIX_ROLE_ATTN_INNER},
        {"blk..attn_q.weight", MIX_ROLE_PLAIN},
        {"blk.1.output.weightx", MIX_ROLE_PLAIN},
        {".weight", MIX_ROLE_PLAIN},
        {"", MIX_ROLE_PLAIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_int_equal(mix_role_of(rows[i].name), rows[i].role);
    size_t layer = 0;
    assert_true(mix_layer_of("blk.17.attn_q.weight", &layer) && layer == 17);
    assert_false(mix_layer_of("output.weight", &layer));
}

static void q4_k_m_rules(void **state) {
    (void)state;
    char name[64];
    size_t n_important = 0;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.ffn_down_exps.weight", i);
        format_id f = choose(MIX_Q4_K_M, &moe, name, 512);
        assert_true(f == FORMAT_Q4_K || f == FORMAT_Q6_K);
        n_important += f == FORMAT_Q6_K;
        if (i < 5 || i >= 35 || i == 7) assert_int_equal(f, FORMAT_Q6_K);
        if (i == 5 || i == 6 || i == 33) assert_int_equal(f, FORMAT_Q4_K);
    }
    assert_int_equal(n_important, 20);
    assert_int_equal(choose(MIX_Q4_K_M, &moe, "blk.3.attn_v.weight", 2048), FORMAT_Q8_0);
    assert_int_equal(choose(MIX_Q4_K_M, &moe, "blk.3.attn_output.weight", 4096), FORMAT_Q5_K);
    assert_int_equal(choose(MIX_Q4_K_M, &moe, "output.weight", 2048), FORMAT_Q6_K);
    assert_int_equal(choose(MIX_Q4_K_M, &moe, "token_embd.weight", 2048), FORMAT_Q4_K);
    const mix_model tied_dense = {.n_layers = 40, .n_experts = 0, .is_tied = true};
    assert_int_equal(choose(MIX_Q4_K_M, &tied_dense, "token_embd.weight", 2048), FORMAT_Q6_K);
    assert_int_equal(choose(MIX_Q4_K_M, &tied_dense, "blk.3.attn_v.weight", 2048), FORMAT_Q6_K);
    assert_int_equal(choose(MIX_Q4_K_M, &tied_dense, "blk.6.attn_v.weight", 2048), FORMAT_Q4_K);
    assert_int_equal(choose(MIX_Q4_K_M, &tied_dense, "blk.3.attn_output.weight", 4096), FORMAT_Q4_K);
}

static void stays_f32(void **state) {
    (void)state;
    for (int id = 0; id < MIX_COUNT; id++) {
        assert_int_equal(choose((mix_id)id, &moe, "blk.0.ffn_gate_inp.weight", 2048), FORMAT_F32);
        assert_int_equal(choose((mix_id)id, &moe, "blk.0.ffn_gate_inp_shexp.weight", 2048), FORMAT_F32);
        assert_int_equal(choose((mix_id)id, &moe, "blk.0.ssm_conv1d.weight", 4), FORMAT_F32);
        mix_tensor norm = {.name = "blk.0.attn_norm.weight", .n_dims = 1, .row_elems = 2048};
        assert_int_equal(mix_choose((mix_id)id, &moe, &norm).format, FORMAT_F32);
    }
}

static void falls_back_by_row_length(void **state) {
    (void)state;
    mix_tensor down = {.name = "blk.5.ffn_down_exps.weight", .n_dims = 3, .row_elems = 640};
    mix_choice c = mix_choose(MIX_Q4_K_M, &moe, &down);
    assert_int_equal(c.format, FORMAT_IQ4_NL);
    assert_int_equal(c.wanted, FORMAT_Q4_K);
    down.name = "blk.0.ffn_down_exps.weight";
    c = mix_choose(MIX_Q4_K_M, &moe, &down);
    assert_int_equal(c.format, FORMAT_Q8_0);
    assert_int_equal(c.wanted, FORMAT_Q6_K);
    assert_int_equal(mix_fallback(FORMAT_Q2_K, 160), FORMAT_IQ4_NL);
    assert_int_equal(mix_fallback(FORMAT_Q8_0, 160), FORMAT_Q8_0);
    assert_int_equal(mix_fallback(FORMAT_Q4_K, 100), FORMAT_F16);
    assert_int_equal(mix_fallback(FORMAT_Q4_K, 512), FORMAT_Q4_K);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_by_name),
        cmocka_unit_test(q4_k_m_rules),
        cmocka_unit_test(stays_f32),
        cmocka_unit_test(falls_back_by_row_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
