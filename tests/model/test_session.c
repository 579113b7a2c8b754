/* Bit-exactness of sessions: logits and hidden states do not depend on chunk size, resume point, snapshot restore,
 * thread count or kernel level; a step of n rows equals n single steps; rejected rows leave no trace. Every comparison
 * is of bytes, on two tiny models (F32; ten formats), with f16 and int8 KV. */
#include <fenv.h>

#include "engine/session.h"
#include "tests/model/session_fixture.h"

typedef struct world {
    const tiny_config *config;
    char path[32];
    convect_kv_type kv;
    int32_t text[N_TEXT], other[N_TEXT];
    convect_model *model;         /* one thread, best level: makes the expected values */
    float *prefilled[N_TEXT + 1]; /* output after a fresh prefill of n tokens; made on demand */
} world;

static void world_open(world *w, const tiny_config *config, bool is_mixed, convect_kv_type kv) {
    *w = (world){.config = config, .kv = kv};
    fixture_write(config, is_mixed, w->path);
    fixture_text(config, 1, w->text, N_TEXT);
    fixture_text(config, 2, w->other, N_TEXT);
    w->model = fixture_open(w->path, 1, NULL);
}

static void world_close(world *w) {
    for (size_t n = 0; n <= N_TEXT; n++) free(w->prefilled[n]);
    convect_model_close(w->model);
    (void)unlink(w->path);
}

/* Expected output after text[0..n). */
static const float *expected(world *w, size_t n) {
    if (w->prefilled[n]) return w->prefilled[n];
    convect_session *s = fixture_session(w->model, 512, w->kv);
    fixture_sync(s, w->text, n);
    w->prefilled[n] = fixture_output(s, w->config, 0);
    convect_session_destroy(s);
    return w->prefilled[n];
}

static void check_sync(world *w, convect_session *s, size_t n) {
    fixture_sync(s, w->text, n);
    fixture_same(s, w->config, 0, expected(w, n));
}

static const size_t lengths[] = {1, 2, 63, 64, 65, 127, 128, 129, 200, 256, 300, N_TEXT};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

/* Each length from nothing and as a continuation of the others, by chunk size and thread count. */
static inline void chunks_and_threads(world *w) {
    static const size_t chunks[] = {64, 128, 512};
    for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
        convect_model *model = fixture_open(w->path, n_threads, NULL);
        convect_session *s = fixture_session(model, chunks[n_threads - 1], w->kv);
        for (size_t i = 0; i < N_LENGTHS; i++) check_sync(w, s, lengths[i]);
        for (size_t i = N_LENGTHS; i-- > 0;) check_sync(w, s, lengths[i]);
        convect_session_destroy(s);
        for (size_t c = 0; c < 3; c++) {
            s = fixture_session(model, chunks[c], w->kv);
            check_sync(w, s, N_TEXT);
            convect_session_destroy(s);
        }
        convect_model_close(model);
    }
}

/* Plain C without vector instructions gives the same bits (slowly, so only a little of it). */
static inline void levels(world *w) {
    convect_model *model = fixture_open(w->path, 2, "ref");
    convect_session *s = fixture_session(model, 64, w->kv);
    check_sync(w, s, 85);
    convect_session *best = fixture_session(w->model, 64, w->kv);
    fixture_sync(best, w->text, 85);
    for (size_t n = 1; n <= 3; n++) {
        fixture_step(best, w->other, n, n);
        fixture_step(s, w->other, n, n);
        for (size_t i = 0; i < n; i++) {
            float *want = fixture_output(best, w->config, i);
            fixture_same(s, w->config, i, want);
            free(want);
        }
    }
    convect_session_destroy(best);
    convect_session_destroy(s);
    convect_model_close(model);
}

/* Stops at every grid point and at odd places around it, then goes on; another text in between shares a prefix. */
static inline void resumes(world *w) {
    convect_session *s = fixture_session(w->model, 64, w->kv);
    int32_t mixed[N_TEXT];
    for (size_t g = 0; g <= N_TEXT; g += CONVECT_GRID_TOKENS) {
        if (g > 0) check_sync(w, s, g);
        check_sync(w, s, N_TEXT);
        memcpy(mixed, w->text, sizeof mixed);
        memcpy(mixed + g, w->other + g, (N_TEXT - g) * sizeof *mixed);
        fixture_sync(s, mixed, N_TEXT - 7);
        check_sync(w, s, g + 5);
        check_sync(w, s, N_TEXT);
    }
    convect_session_destroy(s);
}

static inline void snapshots(world *w) {
    convect_session *s = fixture_session(w->model, 128, w->kv);
    convect_error err = {0};
    check_sync(w, s, 128);
    assert_int_equal(convect_session_snapshot_save(s, 0, &err), CONVECT_OK);
    check_sync(w, s, 256);
    assert_int_equal(convect_session_snapshot_save(s, 1, &err), CONVECT_OK);
    check_sync(w, s, N_TEXT);
    fixture_step(s, w->other, 3, 3);
    assert_int_equal(convect_session_snapshot_save(s, 0, &err), CONVECT_USAGE); /* made by steps */
    assert_int_equal(convect_session_snapshot_restore(s, 0, &err), CONVECT_OK);
    assert_int_equal(convect_session_n_tokens(s), 128);
    fixture_same(s, w->config, 0, expected(w, 128));
    check_sync(w, s, 300);
    assert_int_equal(convect_session_snapshot_restore(s, 0, &err), CONVECT_OK);
    fixture_step(s, w->other, 8, 0); /* dropped rows overwrite positions above the snapshot only */
    assert_int_equal(convect_session_snapshot_restore(s, 0, &err), CONVECT_OK);
    check_sync(w, s, 200);
    err = (convect_error){0};
    assert_int_equal(convect_session_snapshot_restore(s, 1, &err), CONVECT_USAGE); /* its positions were written */
    assert_non_null(strstr(err.text, "written again"));
    assert_int_equal(convect_session_snapshot_restore(s, 2, NULL), CONVECT_USAGE);
    check_sync(w, s, 128);
    fixture_sync(s, w->other, 40);
    assert_int_equal(convect_session_snapshot_restore(s, 0, NULL), CONVECT_USAGE);
    check_sync(w, s, N_TEXT);
    convect_session_destroy(s);
}

/* What steps wrote is history only after prefill wrote it again: a state that steps brought to a grid position, and
 * keys that steps wrote below an older grid point, are no places to resume from. */
static inline void steps_are_no_history(world *w) {
    convect_session *s = fixture_session(w->model, 64, w->kv);
    convect_error err = {0};
    check_sync(w, s, 60);
    fixture_step(s, w->text + 60, 4, 4);
    check_sync(w, s, 100);
    check_sync(w, s, 64);
    assert_int_equal(convect_session_snapshot_save(s, 0, &err), CONVECT_OK);
    check_sync(w, s, 130); /* the last grid point is 128 now */
    assert_int_equal(convect_session_snapshot_restore(s, 0, &err), CONVECT_OK);
    for (size_t p = 64; p < 136; p += 8) fixture_step(s, w->text + p, 8, 8);
    check_sync(w, s, 200);
    convect_session_destroy(s);
}

#define N_STEPS 12

/* Steps of n rows, of which some are rejected, against single steps. */
static inline void rows(world *w) {
    convect_session *single = fixture_session(w->model, 512, w->kv);
    const size_t starts[] = {3, 70, 128};
    for (size_t i_start = 0; i_start < 3; i_start++) {
        const size_t start = starts[i_start];
        float *want[N_STEPS];
        fixture_sync(single, w->text, start);
        for (size_t i = 0; i < N_STEPS; i++) {
            fixture_step(single, w->text + start + i, 1, 1);
            want[i] = fixture_output(single, w->config, 0);
        }
        for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
            convect_model *model = fixture_open(w->path, n_threads, NULL);
            convect_session *s = fixture_session(model, 64, w->kv);
            for (size_t n = 1; n <= CONVECT_STEP_ROWS_MAX; n++) {
                fixture_sync(s, w->text, start);
                convect_error err = {0};
                assert_int_equal(convect_session_step(s, w->text + start, n, &err), CONVECT_OK);
                for (size_t i = 0; i < n; i++) fixture_same(s, w->config, i, want[i]);
                const size_t n_kept = n / 2;
                assert_int_equal(convect_session_accept(s, n_kept, &err), CONVECT_OK);
                assert_int_equal(convect_session_n_tokens(s), start + n_kept);
                fixture_step(s, w->other, n, 0); /* rejected as a whole */
                fixture_step(s, w->text + start + n_kept, 4, 4);
                for (size_t i = 0; i < 4; i++) fixture_same(s, w->config, i, want[n_kept + i]);
                check_sync(w, s, start + n_kept + 3); /* tokens of steps are prefilled again */
            }
            convect_session_destroy(s);
            convect_model_close(model);
        }
        for (size_t i = 0; i < N_STEPS; i++) free(want[i]);
    }
    convect_session_destroy(single);
}

/* A caller's rounding mode (or flush-to-zero) changes no bit and is still there afterwards. */
static inline void callers_float_mode(world *w) {
    convect_session *s = fixture_session(w->model, 64, w->kv);
    fixture_sync(s, w->text, 70);
    fixture_step(s, w->text + 70, 1, 1);
    float *want = fixture_output(s, w->config, 0);
    const int old = fegetround();
    assert_int_equal(fesetround(FE_UPWARD), 0);
    fixture_sync(s, w->text, 70);
    fixture_step(s, w->text + 70, 1, 1);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fesetround(old), 0);
    fixture_same(s, w->config, 0, want);
    free(want);
    convect_session_destroy(s);
}

static int32_t best_of(const convect_session *s, const tiny_config *c, size_t i_row) {
    const float *logits = convect_session_logits(s, i_row);
    size_t best = 0;
    for (size_t i = 1; i < c->n_vocab; i++) best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

static inline void proposals(world *w) {
    convect_session *s = fixture_session(w->model, 512, w->kv);
    int32_t answer[9];
    fixture_sync(s, w->text, 100);
    for (size_t i = 0; i < 9; i++) {
        answer[i] = best_of(s, w->config, 0);
        fixture_step(s, &answer[i], 1, 1);
    }
    for (size_t n_right = 0; n_right <= 7; n_right++) {
        int32_t proposed[7];
        memcpy(proposed, answer + 1, sizeof proposed);
        if (n_right < 7) proposed[n_right] = (proposed[n_right] + 1) % (int32_t)w->config->n_vocab;
        size_t n_accepted = 99;
        convect_error err = {0};
        fixture_sync(s, w->text, 100);
        assert_int_equal(convect_session_propose(s, answer[0], proposed, 7, &n_accepted, &err), CONVECT_OK);
        assert_int_equal(n_accepted, n_right);
        assert_int_equal(convect_session_n_tokens(s), 100 + 1 + n_right);
        assert_int_equal(best_of(s, w->config, n_right), answer[n_right + 1]);
    }
    convect_session_destroy(s);
}

/* One row of a pass that serves two sessions: token of s at position p, its state from slot to slot. */
static void mixed_row(convect_session *s, int32_t token, size_t p, size_t from, size_t to, size_t i, family_row *row,
                      family_segment *segment) {
    const int32_t at = (int32_t)p;
    *row = (family_row){.token = token, .positions = {at, at, at}, .i_kv = p, .kv = &s->kv};
    *segment = (family_segment){i, 1, state_pool_at(&s->states, from), state_pool_at(&s->states, to)};
}

/* Rows of two sequences in one pass, in turn: each as if its sequence were alone. */
static void two_sequences(world *w) {
    convect_session *a = fixture_session(w->model, 64, w->kv), *b = fixture_session(w->model, 64, w->kv);
    const size_t n_embd = w->config->n_embd, n_bytes = n_embd * sizeof(float);
    float *want = malloc(4 * n_bytes);
    assert_non_null(want);
    fixture_sync(a, w->text, 70);
    fixture_sync(b, w->other, 129);
    convect_error err = {0};
    assert_int_equal(convect_session_step(a, w->text + 70, 2, &err), CONVECT_OK);
    memcpy(want, convect_session_hidden(a, 0), 2 * n_bytes);
    assert_int_equal(convect_session_step(b, w->other + 129, 2, &err), CONVECT_OK);
    memcpy(want + 2 * n_embd, convect_session_hidden(b, 0), 2 * n_bytes);
    family_row mixed[4];
    family_segment segments[4];
    mixed_row(a, w->text[70], 70, a->live, a->row_slots[0], 0, &mixed[0], &segments[0]);
    mixed_row(b, w->other[129], 129, b->live, b->row_slots[0], 1, &mixed[1], &segments[1]);
    mixed_row(a, w->text[71], 71, a->row_slots[0], a->row_slots[1], 2, &mixed[2], &segments[2]);
    mixed_row(b, w->other[130], 130, b->row_slots[0], b->row_slots[1], 3, &mixed[3], &segments[3]);
    const family_step step = {.kind = FAMILY_DECODE, .rows = mixed, .n_rows = 4, .segments = segments, .n_segments = 4};
    const float *hidden = session_forward(a, &step);
    assert_memory_equal(hidden, want, n_bytes);
    assert_memory_equal(hidden + n_embd, want + 2 * n_embd, n_bytes);
    assert_memory_equal(hidden + 2 * n_embd, want + n_embd, n_bytes);
    assert_memory_equal(hidden + 3 * n_embd, want + 3 * n_embd, n_bytes);
    /* an embedding row in place of its token: the same again */
    float *embd = malloc(n_bytes);
    assert_non_null(embd);
    const struct gguf *g = convect_model_gguf(w->model);
    const gguf_tensor *t = gguf_tensor_find(g, "token_embd.weight");
    const format_id format = format_from_ggml(t->ggml_type);
    kernel_table_get(KERNEL_LEVEL_REF)
        ->dequantize[format](t->data + (size_t)w->text[71] * format_row_bytes(format, n_embd), n_embd, embd);
    mixed[2].token = 0;
    mixed[2].embd = embd;
    hidden = session_forward(a, &step);
    assert_memory_equal(hidden + 2 * n_embd, want + n_embd, n_bytes);
    free(embd), free(want);
    convect_session_destroy(a);
    convect_session_destroy(b);
}

typedef struct seen_rows {
    world *w;
    size_t n, n_wanted;
    float *last;
} seen_rows;

static bool on_row(void *user, size_t position, const float *logits, const float *hidden) {
    seen_rows *r = user;
    assert_int_equal(position, r->n++);
    const tiny_config *c = r->w->config;
    memcpy(r->last, logits, c->n_vocab * sizeof *logits);
    memcpy(r->last + c->n_vocab, hidden, c->n_embd * sizeof *hidden);
    if (r->n % CONVECT_GRID_TOKENS == 0) { /* ends a full group: what a prefill of n tokens gives */
        assert_memory_equal(r->last, expected(r->w, r->n), (c->n_vocab + c->n_embd) * sizeof *logits);
    }
    return r->n < r->n_wanted;
}

static inline void all_rows(world *w) {
    convect_session *s = fixture_session(w->model, 128, w->kv);
    seen_rows r = {.w = w, .n_wanted = 3, .last = malloc((w->config->n_vocab + w->config->n_embd) * sizeof(float))};
    assert_non_null(r.last);
    convect_error err = {0};
    check_sync(w, s, 100);
    assert_int_equal(convect_session_sync_all(s, w->text, N_TEXT, on_row, &r, &err), CONVECT_CANCELLED);
    assert_int_equal(r.n, 3);
    check_sync(w, s, 100); /* a stopped one leaves a timeline that goes on */
    r = (seen_rows){.w = w, .n_wanted = SIZE_MAX, .last = r.last};
    convect_error_clear(&err);
    assert_int_equal(convect_session_sync_all(s, w->text, N_TEXT, on_row, &r, &err), CONVECT_OK);
    assert_int_equal(r.n, N_TEXT);
    fixture_same(s, w->config, 0, r.last);
    fixture_same(s, w->config, 0, expected(w, N_TEXT));
    free(r.last);
    convect_session_destroy(s);
}

/* ThreadSanitizer looks for races, which formats and resume points do not change, and is slow: it gets one model and
 * the two parts that run threads. */
#if defined(__SANITIZE_THREAD__)
static void run_all(const tiny_config *config, bool is_mixed, convect_kv_type kv) {
    if (is_mixed) skip();
    world w;
    world_open(&w, config, is_mixed, kv);
    convect_model *model = fixture_open(w.path, 3, NULL);
    convect_session *s = fixture_session(model, 64, kv);
    check_sync(&w, s, 200);
    fixture_step(s, w.other, 8, 5);
    check_sync(&w, s, 65);
    convect_session_destroy(s);
    convect_model_close(model);
    two_sequences(&w);
    world_close(&w);
}
#else
static void run_all(const tiny_config *config, bool is_mixed, convect_kv_type kv) {
    world w;
    world_open(&w, config, is_mixed, kv);
    chunks_and_threads(&w);
    levels(&w);
    resumes(&w);
    snapshots(&w);
    steps_are_no_history(&w);
    rows(&w);
    callers_float_mode(&w);
    proposals(&w);
    two_sequences(&w);
    all_rows(&w);
    world_close(&w);
}
#endif

static void plain_f16(void **state) {
    (void)state;
    run_all(&config_plain, false, CONVECT_KV_F16);
}

static void mixed_f16(void **state) {
    (void)state;
    run_all(&config_mixed, true, CONVECT_KV_F16);
}

static void mixed_int8(void **state) {
    (void)state;
    run_all(&config_mixed, true, CONVECT_KV_INT8);
}

/* Token by token against chunked, F32 weights and KV: within 1e-4 of the largest logit. */
static void recurrence_agrees(void **state) {
    (void)state;
    world w;
    world_open(&w, &config_plain, false, CONVECT_KV_F32);
    convect_session *s = fixture_session(w.model, 512, w.kv);
    double worst = 0;
    for (size_t n = 1; n <= 256; n++) {
        fixture_step(s, w.text + n - 1, 1, 1);
        if (n % CONVECT_GRID_TOKENS != 0) continue;
        const float *want = expected(&w, n), *have = convect_session_logits(s, 0);
        double largest = 0, off = 0;
        for (size_t i = 0; i < config_plain.n_vocab; i++) {
            largest = fmax(largest, fabs((double)want[i]));
            off = fmax(off, fabs((double)have[i] - (double)want[i]));
        }
        worst = fmax(worst, off / largest);
    }
    print_message("token by token against chunked: %.2e\n", worst);
    assert_true(worst <= 1e-4);
    convect_session_destroy(s);
    world_close(&w);
}

static bool stop_after_128(void *user, uint64_t n_done, uint64_t n_total) {
    (void)user, (void)n_total;
    return n_done < 128;
}

static void misuse(void **state) {
    (void)state;
    world w;
    world_open(&w, &config_plain, false, CONVECT_KV_F16);
    convect_session *s = fixture_session(w.model, 64, w.kv);
    convect_error err = {0};
    const int32_t bad[2] = {3, 160};
    assert_int_equal(convect_session_sync(s, w.text, 0, NULL, NULL, NULL), CONVECT_USAGE);
    assert_int_equal(convect_session_sync(s, bad, 2, NULL, NULL, &err), CONVECT_USAGE);
    assert_non_null(strstr(err.text, "160"));
    assert_int_equal(convect_session_step(s, w.text, 0, NULL), CONVECT_USAGE);
    assert_int_equal(convect_session_step(s, w.text, 9, NULL), CONVECT_USAGE);
    assert_int_equal(convect_session_accept(s, 1, NULL), CONVECT_USAGE);
    assert_int_equal(convect_session_step(s, w.text, 2, NULL), CONVECT_OK);
    assert_int_equal(convect_session_step(s, w.text, 2, NULL), CONVECT_USAGE); /* accept first */
    assert_int_equal(convect_session_snapshot_save(s, 0, NULL), CONVECT_USAGE);
    check_sync(&w, s, 200);                                                     /* drops the waiting rows */
    assert_int_equal(convect_session_snapshot_save(s, 0, NULL), CONVECT_USAGE); /* 200 is off the grid */
    assert_int_equal(convect_session_sync(s, w.other, 300, stop_after_128, NULL, NULL), CONVECT_CANCELLED);
    assert_int_equal(convect_session_n_tokens(s), 128);
    assert_memory_equal(convect_session_tokens(s), w.other, 128 * sizeof *w.other);
    check_sync(&w, s, 200);
    int32_t full[513] = {0};
    err = (convect_error){0};
    assert_int_equal(convect_session_sync(s, full, 513, NULL, NULL, &err), CONVECT_USAGE);
    assert_non_null(strstr(err.text, "--ctx"));
    fixture_sync(s, full, 510);
    assert_int_equal(convect_session_step(s, full, 3, NULL), CONVECT_USAGE);
    fixture_step(s, full, 2, 2);
    assert_int_equal(convect_session_step(s, full, 1, NULL), CONVECT_USAGE);
    convect_session_destroy(s);
    world_close(&w);
}

static void options(void **state) {
    (void)state;
    world w;
    world_open(&w, &config_mixed, true, CONVECT_KV_F16);
    const convect_session_options bad[] = {{.prefill_chunk_tokens = 100},
                                           {.prefill_chunk_tokens = 1 << 20},
                                           {.n_ctx_tokens = 5000},
                                           {.kv_type = CONVECT_KV_COUNT},
                                           {.n_snapshots = 1 << 20}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        convect_session *s = NULL;
        assert_int_equal(convect_session_create(w.model, &bad[i], &s, NULL), CONVECT_USAGE);
        assert_null(s);
    }
    convect_session_sizes sizes;
    assert_int_equal(convect_session_measure(w.model, NULL, &sizes, NULL), CONVECT_OK);
    convect_model_info info;
    convect_model_describe(w.model, &info);
    assert_int_equal(sizes.n_ctx_tokens, 1024);
    assert_int_equal(info.n_mtp, 1), assert_int_equal(info.n_layers, 2), assert_int_equal(info.n_vocab, 200);
    assert_int_equal(info.kv_bytes_per_token[CONVECT_KV_F16], 2 * 1 * 1 * 128 * 2);
    assert_int_equal(info.kv_bytes_per_token[CONVECT_KV_INT8], 2 * 1 * 1 * (128 + 8));
    assert_int_equal(sizes.kv_bytes, 1024 * info.kv_bytes_per_token[CONVECT_KV_F16]);
    assert_int_equal(info.state_bytes, 3 * 32 * 32 * 4 + 3 * (5 * 32) * 4);
    convect_model *none = NULL;
    const convect_model_options level = {.kernel_level = "mmx"};
    assert_int_equal(convect_model_open(w.path, &level, &none, NULL), CONVECT_USAGE);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_f16),  cmocka_unit_test(mixed_f16),
                                       cmocka_unit_test(mixed_int8), cmocka_unit_test(recurrence_agrees),
                                       cmocka_unit_test(misuse),     cmocka_unit_test(options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
