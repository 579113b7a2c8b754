/* Perplexity and divergence of a tiny model, against the same figures made the slow way from its logits. */
#include <float.h>

#include "tests/model/session_fixture.h"

#include "engine/evaluate.h"

#define N_WINDOW 100
#define N_ROWS   49 /* of a window: N_WINDOW - 1 - N_WINDOW / 2 */

static char path[32], base_path[64];
static convect_model *model;
static int32_t text[N_TEXT];

static int open_world(void **state) {
    (void)state;
    fixture_write(&config_plain, false, path);
    model = fixture_open(path, 2, NULL);
    fixture_text(&config_plain, 3, text, N_TEXT);
    (void)snprintf(base_path, sizeof base_path, "%s.logits", path);
    return 0;
}

static int close_world(void **state) {
    (void)state;
    convect_model_close(model);
    (void)unlink(base_path);
    return unlink(path);
}

static evaluate_options options_of(convect_kv_type kv) {
    return (evaluate_options){.session = {.n_ctx_tokens = N_WINDOW, .kv_type = kv}, .n_changes_max = 5};
}

static convect_status evaluate(const evaluate_options *o, evaluate_result *out) {
    convect_error err = {0};
    const convect_status status = evaluate_text(model, text, N_TEXT, o, out, &err);
    if (status != CONVECT_OK && !err.text[0]) fail_msg("no message");
    return status;
}

static void save(size_t n_top, convect_kv_type kv) {
    evaluate_options o = options_of(kv);
    evaluate_result r;
    o.save_path = base_path;
    o.n_top = n_top;
    assert_int_equal(evaluate(&o, &r), CONVECT_OK);
    assert_false(r.has_kl);
    evaluate_free(&r);
}

static evaluate_result compare(convect_kv_type kv) {
    evaluate_options o = options_of(kv);
    evaluate_result r;
    o.base_path = base_path;
    assert_int_equal(evaluate(&o, &r), CONVECT_OK);
    assert_true(r.has_kl);
    return r;
}

/* log-probabilities of the predicted positions, [window][row][vocabulary] */
typedef struct all_logps {
    double *x;
    size_t n;
} all_logps;

static bool take_row(void *user, size_t position, const float *logits, const float *hidden) {
    (void)hidden;
    all_logps *all = user;
    if (position < N_WINDOW / 2 || position + 1 == N_WINDOW) return true;
    double sum = 0, *out = all->x + all->n++ * config_plain.n_vocab;
    for (size_t i = 0; i < config_plain.n_vocab; i++) sum += exp((double)logits[i]);
    for (size_t i = 0; i < config_plain.n_vocab; i++) out[i] = (double)logits[i] - log(sum);
    return true;
}

static double *slow_logps(convect_kv_type kv) {
    all_logps all = {calloc((size_t)N_ROWS * 3 * config_plain.n_vocab, sizeof(double)), 0};
    assert_non_null(all.x);
    convect_session *s = fixture_session(model, 64, kv);
    for (size_t i = 0; i < 3; i++) {
        convect_error err = {0};
        assert_int_equal(convect_session_sync_all(s, text + i * N_WINDOW, N_WINDOW, take_row, &all, &err), CONVECT_OK);
    }
    assert_int_equal(all.n, N_ROWS * 3);
    convect_session_destroy(s);
    return all.x;
}

static void perplexity(void **state) {
    (void)state;
    evaluate_options o = options_of(CONVECT_KV_F16);
    evaluate_result r;
    double *logps = slow_logps(CONVECT_KV_F16), sum = 0;
    for (size_t i = 0; i < 3 * N_ROWS; i++) {
        const size_t target = i / N_ROWS * N_WINDOW + N_WINDOW / 2 + i % N_ROWS + 1;
        sum -= logps[i * config_plain.n_vocab + (size_t)text[target]];
    }
    assert_int_equal(evaluate(&o, &r), CONVECT_OK);
    assert_int_equal(r.n_windows, 3);
    assert_int_equal(r.n_left_out, N_TEXT - 3 * N_WINDOW);
    assert_int_equal(r.n_predicted, 3 * N_ROWS);
    assert_true(fabs(r.nll_mean - sum / (3 * N_ROWS)) < 1e-9);
    assert_true(fabs(r.perplexity - exp(r.nll_mean)) < 1e-9);
    assert_true(r.nll_error > 0 && r.nll_error < r.nll_mean);
    evaluate_free(&r);
    free(logps);
}

static void itself(void **state) {
    (void)state;
    for (size_t n_top = 0; n_top < 100; n_top = n_top * 3 + 1) {
        save(n_top, CONVECT_KV_F16);
        evaluate_result r = compare(CONVECT_KV_F16);
        assert_true(r.kl.mean == 0 && r.kl.max == 0 && r.kl.p99 == 0);
        assert_int_equal(r.kl.n_same_top, r.n_predicted);
        assert_true(r.kl.is_same_model);
        assert_true(r.kl.is_full == (n_top == 0));
        assert_true(fabs(r.kl.base_perplexity - r.perplexity) < 1e-4);
        assert_true(n_top == 0 ? r.kl.base_rest_mean == 0 : r.kl.base_rest_mean > 0);
        evaluate_free(&r);
    }
}

/* f16 and int8 KV differ, so there is a divergence to measure; the whole vocabulary gives the true one, fewer tokens a
 * lower bound. */
static void divergence(void **state) {
    (void)state;
    const size_t V = config_plain.n_vocab;
    double *p = slow_logps(CONVECT_KV_F16), *q = slow_logps(CONVECT_KV_INT8), mean = 0, max = 0;
    size_t n_same = 0;
    for (size_t i = 0; i < 3 * N_ROWS; i++) {
        double kl = 0;
        size_t top_p = 0, top_q = 0;
        for (size_t j = 0; j < V; j++) {
            kl += exp(p[i * V + j]) * (p[i * V + j] - q[i * V + j]);
            if (p[i * V + j] > p[i * V + top_p]) top_p = j;
            if (q[i * V + j] > q[i * V + top_q]) top_q = j;
        }
        mean += kl / (3 * N_ROWS);
        max = kl > max ? kl : max;
        n_same += top_p == top_q;
    }
    save(0, CONVECT_KV_F16);
    evaluate_result full = compare(CONVECT_KV_INT8);
    assert_true(mean > 1e-7);
    assert_true(fabs(full.kl.mean - mean) < 1e-3 * mean);
    assert_true(fabs(full.kl.max - max) < 1e-3 * max);
    assert_true(full.kl.median > 0 && full.kl.median <= full.kl.p99 && full.kl.p99 <= full.kl.max);
    assert_int_equal(full.kl.n_same_top, n_same);
    assert_int_equal(full.kl.n_changes, 3 * N_ROWS - n_same);
    assert_true(full.kl.n_listed == (full.kl.n_changes < 5 ? full.kl.n_changes : 5));
    for (size_t i = 0; i < full.kl.n_listed; i++) {
        assert_true(full.kl.changes[i].gap >= 0 && full.kl.changes[i].base_gap >= 0);
        assert_int_not_equal(full.kl.changes[i].id, full.kl.changes[i].base_id);
    }
    save(6, CONVECT_KV_F16);
    evaluate_result some = compare(CONVECT_KV_INT8);
    assert_true(some.kl.mean > 0 && some.kl.mean < full.kl.mean);
    assert_false(some.kl.is_full);
    assert_int_equal(some.kl.n_same_top, n_same);
    evaluate_free(&full);
    evaluate_free(&some);
    free(p);
    free(q);
}

static void refusals(void **state) {
    (void)state;
    evaluate_result r;
    convect_error err = {0};
    save(4, CONVECT_KV_F16);
    evaluate_options o = options_of(CONVECT_KV_F16);
    o.base_path = base_path;
    text[7] ^= 1;
    assert_int_equal(evaluate_text(model, text, N_TEXT, &o, &r, &err), CONVECT_USAGE);
    assert_non_null(strstr(err.text, "another text"));
    text[7] ^= 1;
    convect_error_clear(&err);
    o.session.n_ctx_tokens = 128;
    assert_int_equal(evaluate_text(model, text, N_TEXT, &o, &r, &err), CONVECT_USAGE);
    assert_non_null(strstr(err.text, "use --ctx 100"));
    convect_error_clear(&err);
    o.base_path = NULL;
    assert_int_equal(evaluate_text(model, text, 3, &o, &r, &err), CONVECT_USAGE);
    assert_non_null(strstr(err.text, "3 tokens"));
    assert_int_equal(evaluate_text(model, text, 4, &o, &r, NULL), CONVECT_OK); /* one window, one prediction */
    assert_int_equal(r.n_predicted, 1);
    evaluate_free(&r);
}

static bool stop_soon(void *user, uint64_t n_done, uint64_t n_total) {
    (void)n_total;
    *(uint64_t *)user = n_done;
    return n_done < 120;
}

/* A cancelled run writes nothing over an older file. */
static void cancelled(void **state) {
    (void)state;
    save(4, CONVECT_KV_F16);
    evaluate_options o = options_of(CONVECT_KV_F16);
    evaluate_result r;
    uint64_t n_done = 0;
    o.save_path = base_path;
    o.n_top = 9;
    o.progress = stop_soon;
    o.progress_user = &n_done;
    assert_int_equal(evaluate(&o, &r), CONVECT_CANCELLED);
    assert_int_equal(n_done, 120);
    r = compare(CONVECT_KV_F16);
    assert_int_equal(r.kl.n_top, 4);
    evaluate_free(&r);
}

/* A weight so large that sums overflow makes logits that are no numbers: an error, not a figure. */
static void not_finite(void **state) {
    (void)state;
    char copy[32];
    fixture_write(&config_plain, false, copy);
    convect_model *broken = fixture_open(copy, 1, NULL);
    const gguf_tensor *t = gguf_tensor_find(convect_model_gguf(broken), "blk.1.attn_norm.weight");
    assert_non_null(t);
    const long off = (long)t->file_off;
    const float huge = FLT_MAX; /* itself finite: opening refuses what is not */
    convect_model_close(broken);
    FILE *f = fopen(copy, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, off, SEEK_SET), 0);
    assert_int_equal(fwrite(&huge, sizeof huge, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    broken = fixture_open(copy, 1, NULL);
    evaluate_options o = options_of(CONVECT_KV_F16);
    evaluate_result r;
    convect_error err = {0};
    assert_int_equal(evaluate_text(broken, text, N_TEXT, &o, &r, &err), CONVECT_DAMAGED);
    assert_non_null(strstr(err.text, "not finite"));
    convect_model_close(broken);
    (void)unlink(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perplexity), cmocka_unit_test(itself),    cmocka_unit_test(divergence),
        cmocka_unit_test(refusals),   cmocka_unit_test(cancelled), cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
