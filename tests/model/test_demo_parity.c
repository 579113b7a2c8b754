/* The demo model (Q8_0) teacher-forced on the held-out text of every task kind, against transformers in float32 on the
 * original weights (tests/data/demo/README.md): mean KL <= 2e-4, first choices equal at >= 97 % of all positions, and
 * at most 2 of those where transformers' first two are 0.1 or more apart differ. Token by token against prefill: mean
 * KL <= 1e-4. Prints a table by kind and every changed choice with its gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/convect.h"

#define DOCUMENTS_MAX 256
#define KINDS_MAX     32

typedef struct document {
    const char *kind; /* borrowed from root */
    int32_t *tokens;
    size_t n_tokens;
    size_t first; /* row of its first token in the whole text */
    json_object *root;
} document;

typedef struct text {
    document docs[DOCUMENTS_MAX];
    size_t n_docs, n_rows, n_vocab;
    float *prefill; /* [n_rows][n_vocab] logits */
} text;

typedef struct reference {
    uint32_t n_rows, k, n_vocab;
    uint16_t *ids; /* [n_rows][k], best first */
    float *logp;   /* [n_rows][k] */
    float *rest;   /* [n_rows] log mass of all other ids */
} reference;

typedef struct tally {
    const char *kind;
    size_t n, n_same;
    double kl;
} tally;

static void read_text(text *t) {
    FILE *f = fopen(TEST_DATA "/demo/heldout.jsonl", "r");
    assert_non_null(f);
    char *line = malloc(1 << 20);
    assert_non_null(line);
    while (fgets(line, 1 << 20, f)) {
        assert_true(t->n_docs < DOCUMENTS_MAX);
        document *d = &t->docs[t->n_docs++];
        d->root = json_tokener_parse(line);
        assert_non_null(d->root);
        d->kind = json_object_get_string(json_object_object_get(d->root, "kind"));
        json_object *ids = json_object_object_get(d->root, "ids");
        d->n_tokens = json_object_array_length(ids);
        d->first = t->n_rows;
        t->n_rows += d->n_tokens;
        d->tokens = calloc(d->n_tokens, sizeof *d->tokens);
        assert_non_null(d->tokens);
        for (size_t i = 0; i < d->n_tokens; i++) d->tokens[i] = json_object_get_int(json_object_array_get_idx(ids, i));
    }
    free(line);
    (void)fclose(f);
}

static void *read_array(FILE *f, size_t n, size_t bytes) {
    void *p = malloc(n * bytes);
    assert_non_null(p);
    assert_int_equal(fread(p, bytes, n, f), n);
    return p;
}

static void read_reference(reference *r) {
    FILE *f = fopen(TEST_DATA "/demo/reference.bin", "rb");
    assert_non_null(f);
    char magic[8];
    uint32_t head[3];
    assert_int_equal(fread(magic, 1, 8, f), 8);
    assert_memory_equal(magic, "CVREF001", 8);
    assert_int_equal(fread(head, sizeof head[0], 3, f), 3);
    r->n_rows = head[0], r->k = head[1], r->n_vocab = head[2];
    size_t n = (size_t)r->n_rows * r->k;
    r->ids = read_array(f, n, sizeof *r->ids);
    r->logp = read_array(f, n, sizeof *r->logp);
    r->rest = read_array(f, r->n_rows, sizeof *r->rest);
    (void)fclose(f);
}

static bool on_row(void *user, size_t position, const float *logits, const float *hidden) {
    (void)hidden;
    const text *t = ((void **)user)[0];
    const document *d = ((void **)user)[1];
    memcpy(t->prefill + (d->first + position) * t->n_vocab, logits, t->n_vocab * sizeof *logits);
    return true;
}

static convect_model *open_demo(void) {
    convect_model *model = NULL;
    convect_error err = {0};
    convect_model_options options = {.n_threads = 2};
    if (convect_model_open(TEST_SOURCE "/tools/demo/convect-demo.gguf", &options, &model, &err) != CONVECT_OK)
        fail_msg("%s", err.text);
    return model;
}

static convect_session *open_session(convect_model *model) {
    convect_session *session = NULL;
    convect_error err = {0};
    if (convect_session_create(model, &(convect_session_options){.n_ctx_tokens = 1024}, &session, &err) != CONVECT_OK)
        fail_msg("%s", err.text);
    return session;
}

static void prefill_all(convect_model *model, text *t) {
    convect_session *session = open_session(model);
    convect_error err = {0};
    for (size_t i = 0; i < t->n_docs; i++) {
        const void *user[2] = {t, &t->docs[i]};
        if (convect_session_sync_all(session, t->docs[i].tokens, t->docs[i].n_tokens, on_row, user, &err) != CONVECT_OK)
            fail_msg("%s", err.text);
    }
    convect_session_destroy(session);
}

static double log_sum(const float *x, size_t n) {
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, (double)x[i]);
    for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - max);
    return max + log(fmax(sum, 1e-300)); /* the floor only tells the analyzer that n > 0 */
}

static size_t best(const float *x, size_t n) {
    size_t b = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[b]) b = i;
    return b;
}

/* KL over the reference's k ids and one bin for all others. */
static double divergence(const reference *r, size_t row, const float *logits) {
    double all = log_sum(logits, r->n_vocab), kl = 0, mass = 0;
    for (size_t i = row * r->k; i < (row + 1) * r->k; i++) {
        double p = (double)r->logp[i], q = (double)logits[r->ids[i]] - all;
        kl += exp(p) * (p - q);
        mass += exp(q);
    }
    double rest = log(fmax(1 - mass, 1e-12));
    return kl + exp((double)r->rest[row]) * ((double)r->rest[row] - rest);
}

static double divergence_logits(const float *a, const float *b, size_t n) {
    double za = log_sum(a, n), zb = log_sum(b, n), kl = 0;
    for (size_t i = 0; i < n; i++) kl += exp((double)a[i] - za) * ((double)a[i] - za - ((double)b[i] - zb));
    return kl;
}

static void add(tally *kinds, const char *kind, double kl, bool same) {
    size_t i = 0;
    while (i < KINDS_MAX && kinds[i].kind && strcmp(kinds[i].kind, kind) != 0) i++;
    assert_true(i < KINDS_MAX);
    kinds[i].kind = kind;
    kinds[i].n++, kinds[i].n_same += same, kinds[i].kl += kl;
}

static tally print_table(const tally *kinds) {
    tally all = {.kind = "all"};
    for (const tally *k = kinds; k < kinds + KINDS_MAX && k->kind; k++) {
        print_message("  %-10s %5zu tokens  KL %.2e  top-1 %6.2f %%\n", k->kind, k->n, k->kl / (double)k->n,
                      100.0 * (double)k->n_same / (double)k->n);
        all.n += k->n, all.n_same += k->n_same, all.kl += k->kl;
    }
    print_message("  all        %5zu tokens  KL %.2e  top-1 %6.2f %%\n", all.n, all.kl / (double)all.n,
                  100.0 * (double)all.n_same / (double)all.n);
    return all;
}

static void against_transformers(void **state) {
    const text *t = *state;
    reference r = {0};
    read_reference(&r);
    assert_int_equal(r.n_rows, t->n_rows);
    assert_int_equal(r.n_vocab, t->n_vocab);
    assert_true(t->n_rows >= 4000);
    tally kinds[KINDS_MAX] = {{0}};
    size_t n_wide = 0;
    for (size_t i = 0; i < t->n_docs; i++)
        for (size_t j = 0; j < t->docs[i].n_tokens; j++) {
            size_t row = t->docs[i].first + j, first = row * r.k;
            const float *logits = t->prefill + row * t->n_vocab;
            size_t ours = best(logits, t->n_vocab);
            double gap = (double)r.logp[first] - (double)r.logp[first + 1];
            bool same = ours == r.ids[first];
            add(kinds, t->docs[i].kind, divergence(&r, row, logits), same);
            if (!same)
                print_message("  document %zu position %zu: %u -> %zu, gap %.4f\n", i, j, r.ids[first], ours, gap);
            n_wide += !same && gap >= 0.1;
        }
    print_message("Q8_0 against transformers float32:\n");
    tally all = print_table(kinds);
    print_message("  %zu positions with a gap >= 0.1 differ\n", n_wide);
    assert_true(all.kl / (double)all.n <= 2e-4);
    assert_true((double)all.n_same >= 0.97 * (double)all.n);
    assert_true(n_wide <= 2);
    free(r.ids), free(r.logp), free(r.rest);
}

static void steps_against_prefill(void **state) {
    const text *t = *state;
    convect_model *model = open_demo();
    convect_error err = {0};
    tally kinds[KINDS_MAX] = {{0}};
    size_t stride = CONVECT_CHECK_TIER ? 6 : 1; /* sanitizer and debug builds: every sixth document, for time */
    for (size_t i = 0; i < t->n_docs; i += stride) {
        convect_session *session = open_session(model);
        for (size_t j = 0; j < t->docs[i].n_tokens; j++) {
            if (convect_session_step(session, t->docs[i].tokens + j, 1, &err) != CONVECT_OK ||
                convect_session_accept(session, 1, &err) != CONVECT_OK)
                fail_msg("%s", err.text);
            const float *steps = convect_session_logits(session, 0);
            const float *prefill = t->prefill + (t->docs[i].first + j) * t->n_vocab;
            size_t a = best(prefill, t->n_vocab), b = best(steps, t->n_vocab);
            add(kinds, t->docs[i].kind, divergence_logits(prefill, steps, t->n_vocab), a == b);
            if (a != b)
                print_message("  document %zu position %zu: %zu -> %zu, gap %.4f\n", i, j, a, b,
                              (double)prefill[a] - (double)prefill[b]);
        }
        convect_session_destroy(session);
    }
    print_message("Token by token against prefill, Q8_0:\n");
    tally all = print_table(kinds);
    assert_true(all.kl / (double)all.n <= 1e-4);
    convect_model_close(model);
}

static int set_up(void **state) {
    text *t = calloc(1, sizeof *t);
    assert_non_null(t);
    read_text(t);
    convect_model *model = open_demo();
    convect_model_info info;
    convect_model_describe(model, &info);
    t->n_vocab = info.n_vocab;
    t->prefill = malloc(t->n_rows * t->n_vocab * sizeof *t->prefill);
    assert_non_null(t->prefill);
    prefill_all(model, t);
    convect_model_close(model);
    *state = t;
    return 0;
}

static int tear_down(void **state) {
    text *t = *state;
    for (size_t i = 0; i < t->n_docs; i++) {
        json_object_put(t->docs[i].root);
        free(t->docs[i].tokens);
    }
    free(t->prefill), free(t);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_transformers), cmocka_unit_test(steps_against_prefill)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
