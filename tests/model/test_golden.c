/* Golden parity: tiny random qwen35moe models, f32 weights, against transformers in float32
 * (tests/golden/make_golden.py). Every layer's output, the hidden state after the last norm and the logits agree within
 * 1e-4 relative (largest difference over the root mean square of the reference), by prefill (chunked DeltaNet) and
 * token by token (recurrence). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <unistd.h>

#include "engine/convect.h"
#include "tests/model/tiny_model.h"

#define TOLERANCE 1e-4

typedef struct golden {
    tiny_config config;
    const char *name;
    int32_t *tokens;
    size_t n_tokens;
    float *layers; /* [n_layers][n_tokens][n_embd] */
    float *hidden; /* [n_tokens][n_embd] */
    float *logits; /* [n_tokens][n_vocab] */
} golden;

typedef struct seen { /* what the engine produced, filled by the tap: same shapes as golden */
    const golden *g;
    float *layers;
    size_t pos; /* position of the first row of the current chunk */
    size_t n_rows;
} seen;

static uint32_t number(json_object *o, const char *key) {
    json_object *v = json_object_object_get(o, key);
    assert_non_null(v);
    return (uint32_t)json_object_get_int64(v);
}

static tiny_config read_config(json_object *o) {
    tiny_config c = {.n_embd = number(o, "n_embd"),
                     .n_layers = number(o, "n_layers"),
                     .interval = number(o, "interval"),
                     .n_mtp = number(o, "n_mtp"),
                     .n_head = number(o, "n_head"),
                     .n_head_kv = number(o, "n_head_kv"),
                     .head_dim = number(o, "head_dim"),
                     .rope_dims = number(o, "rope_dims"),
                     .n_k_heads = number(o, "n_k_heads"),
                     .n_v_heads = number(o, "n_v_heads"),
                     .state_dim = number(o, "state_dim"),
                     .conv = number(o, "conv"),
                     .n_experts = number(o, "n_experts"),
                     .top_k = number(o, "top_k"),
                     .expert_width = number(o, "expert_width"),
                     .shared_width = number(o, "shared_width"),
                     .n_vocab = number(o, "n_vocab"),
                     .n_ctx = number(o, "n_ctx"),
                     .rope_theta = (float)json_object_get_double(json_object_object_get(o, "rope_theta")),
                     .eps = (float)json_object_get_double(json_object_object_get(o, "eps")),
                     .tied = json_object_get_boolean(json_object_object_get(o, "tied"))};
    return c;
}

static void read_golden(json_object *o, golden *g) {
    g->config = read_config(o);
    g->name = json_object_get_string(json_object_object_get(o, "name"));
    json_object *tokens = json_object_object_get(o, "tokens");
    g->n_tokens = json_object_array_length(tokens);
    g->tokens = calloc(g->n_tokens, sizeof *g->tokens);
    assert_non_null(g->tokens);
    for (size_t i = 0; i < g->n_tokens; i++) g->tokens[i] = json_object_get_int(json_object_array_get_idx(tokens, i));
    const tiny_config *c = &g->config;
    size_t n_layers = (size_t)c->n_layers * g->n_tokens * c->n_embd, n_hidden = g->n_tokens * c->n_embd;
    size_t n_all = n_layers + n_hidden + g->n_tokens * c->n_vocab;
    g->layers = malloc(n_all * sizeof(float));
    assert_non_null(g->layers);
    g->hidden = g->layers + n_layers, g->logits = g->hidden + n_hidden;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/golden/%s.f32", TEST_DATA, g->name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(g->layers, sizeof(float), n_all, f), n_all);
    (void)fclose(f);
}

static void on_layer(void *user, size_t i_layer, size_t n_rows, const float *x) {
    seen *s = user;
    size_t n_embd = s->g->config.n_embd;
    memcpy(s->layers + (i_layer * s->g->n_tokens + s->pos) * n_embd, x, n_rows * n_embd * sizeof *x);
    s->n_rows = n_rows;
    if (i_layer + 1 == s->g->config.n_layers) s->pos += n_rows;
}

/* Largest |a - b| over rms(b). */
static double distance(const float *a, const float *b, size_t n) {
    double worst = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= worst)) worst = d;
        sum += (double)b[i] * (double)b[i];
    }
    return worst / sqrt(sum / (double)n);
}

static convect_session *open_session(convect_model *model) {
    convect_session_options options = {.n_ctx_tokens = 512, .kv_type = CONVECT_KV_F32};
    convect_session *session = NULL;
    convect_error err = {0};
    if (convect_session_create(model, &options, &session, &err) != CONVECT_OK) fail_msg("%s", err.text);
    return session;
}

static void by_prefill(convect_model *model, const golden *g) {
    convect_session *session = open_session(model);
    seen s = {.g = g, .layers = calloc((size_t)g->config.n_layers * g->n_tokens * g->config.n_embd, sizeof(float))};
    assert_non_null(s.layers);
    convect_session_tap(session, on_layer, &s);
    convect_error err = {0};
    if (convect_session_sync(session, g->tokens, g->n_tokens, NULL, NULL, &err) != CONVECT_OK) fail_msg("%s", err.text);
    assert_int_equal(s.pos, g->n_tokens);
    size_t n = g->n_tokens * g->config.n_embd, last = g->n_tokens - 1;
    for (size_t i = 0; i < g->config.n_layers; i++) {
        double d = distance(s.layers + i * n, g->layers + i * n, n);
        print_message("%s prefill layer %zu: %.2e\n", g->name, i, d);
        assert_true(d <= TOLERANCE);
    }
    double dh = distance(convect_session_hidden(session, 0), g->hidden + last * g->config.n_embd, g->config.n_embd);
    double dl = distance(convect_session_logits(session, 0), g->logits + last * g->config.n_vocab, g->config.n_vocab);
    print_message("%s prefill hidden %.2e logits %.2e\n", g->name, dh, dl);
    assert_true(dh <= TOLERANCE && dl <= TOLERANCE);
    free(s.layers);
    convect_session_destroy(session);
}

static void by_steps(convect_model *model, const golden *g) {
    convect_session *session = open_session(model);
    convect_error err = {0};
    double worst_logits = 0, worst_hidden = 0;
    for (size_t i = 0; i < g->n_tokens; i++) {
        if (convect_session_step(session, g->tokens + i, 1, &err) != CONVECT_OK) fail_msg("%s", err.text);
        if (convect_session_accept(session, 1, &err) != CONVECT_OK) fail_msg("%s", err.text);
        size_t n_embd = g->config.n_embd, n_vocab = g->config.n_vocab;
        worst_hidden = fmax(worst_hidden, distance(convect_session_hidden(session, 0), g->hidden + i * n_embd, n_embd));
        worst_logits =
            fmax(worst_logits, distance(convect_session_logits(session, 0), g->logits + i * n_vocab, n_vocab));
    }
    print_message("%s steps: hidden %.2e logits %.2e\n", g->name, worst_hidden, worst_logits);
    assert_true(worst_logits <= TOLERANCE && worst_hidden <= TOLERANCE);
    convect_session_destroy(session);
}

static void check_model(json_object *card, bool fused) {
    golden g = {0};
    read_golden(card, &g);
    g.config.fused_gate_up = fused;
    char path[] = "/tmp/convect-golden-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    tiny_model_write(path, &g.config, NULL, NULL);
    convect_model_options options = {.n_threads = 2};
    convect_model *model = NULL;
    convect_error err = {0};
    convect_status status = convect_model_open(path, &options, &model, &err);
    (void)unlink(path);
    if (status != CONVECT_OK) fail_msg("%s: %s", g.name, err.text);
    by_prefill(model, &g);
    by_steps(model, &g);
    convect_model_close(model);
    free(g.layers), free(g.tokens);
}

static void golden_models(void **state) {
    (void)state;
    json_object *root = json_object_from_file(TEST_DATA "/golden/golden.json");
    assert_non_null(root);
    json_object *models = json_object_object_get(root, "models");
    assert_true(json_object_array_length(models) >= 4);
    for (size_t i = 0; i < json_object_array_length(models); i++)
        check_model(json_object_array_get_idx(models, i), i % 2 == 1);
    json_object_put(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
