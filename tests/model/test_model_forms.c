/* Forms that files of this family come in: other integer widths, per-layer arrays, a 2-D shared gate, scale tensors,
 * two experts' matrices in one. Each is made by rewriting one tiny file, and gives the same bits as it. */
#include "tests/model/session_fixture.h"

#include "engine/gguf.h"

typedef struct rewrite {
    bool is_wide;     /* u32 metadata as i32 and u64 */
    bool has_arrays;  /* head_count_kv per layer, 0 on DeltaNet layers; recurrent_layers instead of the interval */
    bool has_2d_gate; /* ffn_gate_inp_shexp [H, 1] */
    bool has_scales;  /* half the values in experts and attn_q, with .scale 2; one per expert, one for all */
} rewrite;

static void copy_kv(gguf_writer *w, const gguf_kv *kv, const rewrite *r) {
    char key[128];
    (void)snprintf(key, sizeof key, "%.*s", (int)kv->key.n_bytes, kv->key.data);
    uint64_t value = 0;
    const bool is_u32 = kv->type == GGUF_U32 && gguf_read_u64(kv, 0, &value);
    if (r->has_arrays && strstr(key, "attention.head_count_kv")) {
        const int32_t counts[3] = {0, 0, (int32_t)value};
        gguf_writer_kv_i32s(w, key, counts, 3);
    } else if (r->has_arrays && strstr(key, "full_attention_interval")) {
        const int32_t is_recurrent[3] = {1, 1, 0};
        gguf_writer_kv_i32s(w, "qwen35moe.attention.recurrent_layers", is_recurrent, 3);
    } else if (r->is_wide && is_u32 && strlen(key) % 2 == 0) {
        gguf_writer_kv_u64(w, key, value);
    } else if (r->is_wide && is_u32) {
        gguf_writer_kv_i32(w, key, (int32_t)value);
    } else {
        gguf_writer_kv_copy(w, kv);
    }
}

static bool is_scaled(const char *name) {
    return strstr(name, "_exps.weight") || strstr(name, "attn_q.weight") || strstr(name, "token_embd.weight");
}

/* Declares the tensors; returns how many were declared before the scales. */
static void declare(gguf_writer *w, const gguf *g, const rewrite *r) {
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        const bool is_gate = r->has_2d_gate && strstr(t->name, "ffn_gate_inp_shexp");
        gguf_writer_tensor(w, t->name, t->ggml_type, is_gate ? 2 : t->n_dims, t->ne);
    }
    for (size_t i = 0; r->has_scales && i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        if (!is_scaled(t->name)) continue;
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s.scale", (int)(strlen(t->name) - strlen(".weight")), t->name);
        const uint64_t ne[4] = {strstr(name, "down") ? 1 : t->ne[2], 1, 1, 1}; /* one for all experts of down */
        gguf_writer_tensor(w, name, 0, 1, ne);
    }
}

static void write_data(gguf_writer *w, const gguf *g, const rewrite *r, convect_error *err) {
    size_t i_scale = gguf_n_tensors(g);
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        float *x = malloc((size_t)t->n_bytes);
        assert_non_null(x);
        memcpy(x, t->data, (size_t)t->n_bytes);
        if (r->has_scales && is_scaled(t->name)) {
            for (size_t j = 0; j < t->n_bytes / sizeof *x; j++) x[j] *= 0.5F; /* exact, and so is the product's half */
            float twos[64];
            for (size_t j = 0; j < 64; j++) twos[j] = 2;
            const size_t n = strstr(t->name, "down") ? 1 : (size_t)t->ne[2];
            assert_int_equal(gguf_write_at(w, i_scale++, 0, twos, n * sizeof *twos, err), CONVECT_OK);
        }
        assert_int_equal(gguf_write_at(w, i, 0, x, (size_t)t->n_bytes, err), CONVECT_OK);
        free(x);
    }
}

static void rewrite_file(const char *from, const char *to, const rewrite *r) {
    gguf *g = NULL;
    gguf_writer *w = NULL;
    convect_error err = {0};
    assert_int_equal(gguf_open(from, &g, &err), CONVECT_OK);
    assert_int_equal(gguf_writer_open(to, &w, &err), CONVECT_OK);
    for (size_t i = 0; i < gguf_n_kv(g); i++) copy_kv(w, gguf_kv_at(g, i), r);
    declare(w, g, r);
    if (gguf_writer_begin_data(w, &err) != CONVECT_OK) fail_msg("%s", err.text);
    write_data(w, g, r, &err);
    if (gguf_writer_commit(w, &err) != CONVECT_OK) fail_msg("%s", err.text);
    gguf_close(g);
}

static float *run(const char *path) {
    int32_t text[80];
    fixture_text(&config_plain, 3, text, 80);
    convect_model *model = fixture_open(path, 1, NULL);
    convect_session *s = fixture_session(model, 64, CONVECT_KV_F16);
    fixture_sync(s, text, 70);
    fixture_step(s, text + 70, 10 - 2, 8);
    float *y = fixture_output(s, &config_plain, 7);
    convect_session_destroy(s);
    convect_model_close(model);
    return y;
}

static void forms(void **state) {
    (void)state;
    static const rewrite cases[] = {
        {.is_wide = true}, {.has_arrays = true}, {.has_2d_gate = true}, {.has_scales = true}};
    char path[32], other[48];
    fixture_write(&config_plain, false, path);
    float *want = run(path);
    (void)snprintf(other, sizeof other, "%s.form", path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rewrite_file(path, other, &cases[i]);
        float *have = run(other);
        assert_memory_equal(have, want, (config_plain.n_vocab + config_plain.n_embd) * sizeof *have);
        free(have);
        (void)unlink(other);
    }
    (void)unlink(path);
    tiny_config fused = config_plain;
    fused.fused_gate_up = true;
    fixture_write(&fused, false, path);
    float *have = run(path);
    assert_memory_equal(have, want, (config_plain.n_vocab + config_plain.n_embd) * sizeof *have);
    (void)unlink(path);
    free(have), free(want);
}

/* A stray tensor is a warning that counts, not an error. */
static void count_line(void *user, convect_log_level level, const char *line) {
    if (level == CONVECT_LOG_WARN && strstr(line, "1 tensors of the file are not used (the first: blk.0.stray)"))
        (*(int *)user)++;
}

static void stray_tensor(void **state) {
    (void)state;
    char path[32], other[48];
    fixture_write(&config_plain, false, path);
    (void)snprintf(other, sizeof other, "%s.form", path);
    gguf *g = NULL;
    gguf_writer *w = NULL;
    convect_error err = {0};
    const rewrite none = {0};
    assert_int_equal(gguf_open(path, &g, &err), CONVECT_OK);
    assert_int_equal(gguf_writer_open(other, &w, &err), CONVECT_OK);
    for (size_t i = 0; i < gguf_n_kv(g); i++) gguf_writer_kv_copy(w, gguf_kv_at(g, i));
    declare(w, g, &none);
    gguf_writer_tensor(w, "blk.0.stray", 0, 1, (const uint64_t[4]){8, 1, 1, 1});
    assert_int_equal(gguf_writer_begin_data(w, &err), CONVECT_OK);
    write_data(w, g, &none, &err);
    assert_int_equal(gguf_write_at(w, gguf_n_tensors(g), 0, (const float[8]){0}, 32, &err), CONVECT_OK);
    assert_int_equal(gguf_writer_commit(w, &err), CONVECT_OK);
    gguf_close(g);
    int n_lines = 0;
    const convect_log log = {.level = CONVECT_LOG_WARN, .sink = count_line, .user = &n_lines};
    const convect_model_options options = {.n_threads = 1, .log = &log};
    convect_model *model = NULL;
    assert_int_equal(convect_model_open(other, &options, &model, &err), CONVECT_OK);
    assert_int_equal(n_lines, 1);
    convect_model_close(model);
    (void)unlink(path), (void)unlink(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(stray_tensor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
