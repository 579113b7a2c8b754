/* Shared by the session tests: tiny models of several shapes and formats, and short forms of the session calls that
 * fail the test on an error. Header-only; a test includes it once. */
#ifndef CONVECT_TESTS_SESSION_FIXTURE_H
#define CONVECT_TESTS_SESSION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "engine/convect.h"
#include "kernels/quantize.h"
#include "tests/model/tiny_model.h"

#define N_TEXT 330 /* five grid groups and a remainder */

/* nv = nk, untied, GQA 4; two DeltaNet layers and one of attention; all F32. */
static const tiny_config config_plain = {.n_embd = 64,
                                         .n_layers = 3,
                                         .interval = 3,
                                         .n_head = 8,
                                         .n_head_kv = 2,
                                         .head_dim = 64,
                                         .rope_dims = 32,
                                         .n_k_heads = 2,
                                         .n_v_heads = 2,
                                         .state_dim = 64,
                                         .conv = 4,
                                         .n_experts = 7,
                                         .top_k = 2,
                                         .expert_width = 64,
                                         .shared_width = 96,
                                         .n_vocab = 160,
                                         .n_ctx = 1024,
                                         .rope_theta = 10000,
                                         .eps = 1e-6F,
                                         .tied = false};

/* nv = 3 nk, tied, GQA 6, odd expert count, f = 640, an MTP block; formats by mixed_formats. */
static const tiny_config config_mixed = {.n_embd = 256,
                                         .n_layers = 2,
                                         .interval = 2,
                                         .n_mtp = 1,
                                         .n_head = 6,
                                         .n_head_kv = 1,
                                         .head_dim = 128,
                                         .rope_dims = 64,
                                         .n_k_heads = 1,
                                         .n_v_heads = 3,
                                         .state_dim = 32,
                                         .conv = 4,
                                         .n_experts = 9,
                                         .top_k = 4,
                                         .expert_width = 640,
                                         .shared_width = 256,
                                         .n_vocab = 200,
                                         .n_ctx = 1024,
                                         .rope_theta = 1e7F,
                                         .eps = 1e-6F,
                                         .tied = true,
                                         .fused_gate_up = false};

/* A format per tensor: K-quants where rows allow, floats of each width, F32 router. */
static uint32_t mixed_formats(void *user, const char *name, const float *x, size_t n_rows, size_t k, void *out,
                              size_t *n_bytes) {
    (void)user;
    static const struct {
        const char *part;
        format_id format;
    } choice[] = {{"ffn_gate_inp.", FORMAT_F32},  {"ffn_gate_exps", FORMAT_Q4_K}, {"ffn_up_exps", FORMAT_Q6_K},
                  {"ffn_down_exps", FORMAT_Q8_0}, {"attn_qkv", FORMAT_Q5_K},      {"attn_gate", FORMAT_F16},
                  {"attn_q.", FORMAT_Q3_K},       {"attn_k.", FORMAT_BF16},       {"attn_v.", FORMAT_IQ4_NL},
                  {"ssm_alpha", FORMAT_F32},      {"token_embd", FORMAT_Q6_K},    {"shexp", FORMAT_Q4_0}};
    format_id format = FORMAT_Q8_0;
    for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++) {
        if (strstr(name, choice[i].part)) format = choice[i].format;
    }
    const size_t row_bytes = format_row_bytes(format, k);
    for (size_t r = 0; r < n_rows; r++)
        CONVECT_CHECK(quantize_row(format, x + r * k, k, (uint8_t *)out + r * row_bytes));
    *n_bytes = n_rows * row_bytes;
    return format_get(format)->ggml_type;
}

/* Writes a model to a fresh temporary file; the caller unlinks it. */
static inline void fixture_write(const tiny_config *config, bool is_mixed, char path[32]) {
    (void)snprintf(path, 32, "/tmp/convect-test-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    tiny_model_write(path, config, is_mixed ? mixed_formats : NULL, NULL);
}

static inline convect_model *fixture_open(const char *path, size_t n_threads, const char *level) {
    const convect_model_options options = {.n_threads = n_threads, .kernel_level = level};
    convect_model *model = NULL;
    convect_error err = {0};
    if (convect_model_open(path, &options, &model, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return model;
}

static inline convect_session *fixture_session(convect_model *model, size_t n_chunk, convect_kv_type kv) {
    const convect_session_options options = {
        .n_ctx_tokens = 512, .kv_type = kv, .prefill_chunk_tokens = n_chunk, .n_snapshots = 2};
    convect_session *session = NULL;
    convect_error err = {0};
    if (convect_session_create(model, &options, &session, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return session;
}

/* Token i of text number i_text; texts differ from their first token on. */
static inline void fixture_text(const tiny_config *c, uint64_t i_text, int32_t *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)((tiny_uniform(i_text * 977 + 5, i) * 0.5 + 0.5) * (double)c->n_vocab);
    }
}

static inline void fixture_sync(convect_session *s, const int32_t *tokens, size_t n) {
    convect_error err = {0};
    if (convect_session_sync(s, tokens, n, NULL, NULL, &err) != CONVECT_OK) fail_msg("%s", err.text);
    assert_int_equal(convect_session_n_tokens(s), n);
    assert_memory_equal(convect_session_tokens(s), tokens, n * sizeof *tokens);
}

static inline void fixture_step(convect_session *s, const int32_t *tokens, size_t n, size_t n_accepted) {
    convect_error err = {0};
    if (convect_session_step(s, tokens, n, &err) != CONVECT_OK) fail_msg("%s", err.text);
    if (convect_session_accept(s, n_accepted, &err) != CONVECT_OK) fail_msg("%s", err.text);
}

/* Logits and hidden of an output row, copied; the caller frees. */
static inline float *fixture_output(const convect_session *s, const tiny_config *c, size_t i_row) {
    float *y = malloc((c->n_vocab + c->n_embd) * sizeof *y);
    assert_non_null(y);
    memcpy(y, convect_session_logits(s, i_row), c->n_vocab * sizeof *y);
    memcpy(y + c->n_vocab, convect_session_hidden(s, i_row), c->n_embd * sizeof *y);
    return y;
}

static inline void fixture_same(const convect_session *s, const tiny_config *c, size_t i_row, const float *want) {
    float *have = fixture_output(s, c, i_row);
    for (size_t i = 0; i < c->n_vocab; i++) assert_true(isfinite(have[i]));
    assert_memory_equal(have, want, (c->n_vocab + c->n_embd) * sizeof *have);
    free(have);
}

#endif
