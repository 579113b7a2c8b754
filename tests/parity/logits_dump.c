/* logits_dump MODEL.gguf TOKENS.jsonl OUT.f32 prefill|steps f16|f32|int8: teacher-forced logits of every position of
 * every document ({"ids": [token ids]} a line), float32, in order. For the comparisons in tests/parity/. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/convect.h"

#define LINE_BYTES_MAX (1 << 20)

typedef struct dump {
    convect_model *model;
    convect_session_options options;
    size_t n_vocab;
    FILE *out;
    bool failed;
} dump;

static bool on_row(void *user, size_t position, const float *logits, const float *hidden) {
    (void)position, (void)hidden;
    dump *d = user;
    if (fwrite(logits, sizeof *logits, d->n_vocab, d->out) != d->n_vocab) d->failed = true;
    return !d->failed;
}

static int32_t *read_tokens(const char *line, size_t *n) {
    json_object *doc = json_tokener_parse(line), *ids = NULL;
    if (!doc || !json_object_object_get_ex(doc, "ids", &ids)) {
        json_object_put(doc);
        return NULL;
    }
    *n = json_object_array_length(ids);
    int32_t *tokens = malloc((*n + 1) * sizeof *tokens);
    CONVECT_CHECK(tokens);
    for (size_t i = 0; i < *n; i++) tokens[i] = json_object_get_int(json_object_array_get_idx(ids, i));
    json_object_put(doc);
    return tokens;
}

static convect_status by_steps(dump *d, convect_session *session, const int32_t *tokens, size_t n, convect_error *err) {
    convect_status status = CONVECT_OK;
    for (size_t i = 0; status == CONVECT_OK && i < n; i++) {
        status = convect_session_step(session, tokens + i, 1, err);
        if (status == CONVECT_OK) status = convect_session_accept(session, 1, err);
        if (status == CONVECT_OK) (void)on_row(d, i, convect_session_logits(session, 0), NULL);
    }
    return status;
}

static convect_status dump_document(dump *d, const int32_t *tokens, size_t n, bool steps, convect_error *err) {
    convect_session *session = NULL;
    convect_status status = convect_session_create(d->model, &d->options, &session, err);
    if (status == CONVECT_OK)
        status =
            steps ? by_steps(d, session, tokens, n, err) : convect_session_sync_all(session, tokens, n, on_row, d, err);
    convect_session_destroy(session);
    return status;
}

static convect_status dump_all(dump *d, FILE *in, bool steps, convect_error *err) {
    char *line = malloc(LINE_BYTES_MAX);
    CONVECT_CHECK(line);
    convect_status status = CONVECT_OK;
    while (status == CONVECT_OK && !d->failed && fgets(line, LINE_BYTES_MAX, in)) {
        size_t n = 0;
        int32_t *tokens = read_tokens(line, &n);
        if (!tokens)
            status = convect_fail(err, CONVECT_USAGE, "a line holds no \"ids\"");
        else
            status = dump_document(d, tokens, n, steps, err);
        free(tokens);
    }
    free(line);
    if (d->failed) return convect_fail(err, CONVECT_IO, "cannot write the logits");
    return status;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        (void)fprintf(stderr, "usage: logits_dump MODEL.gguf TOKENS.jsonl OUT.f32 prefill|steps f16|f32|int8\n");
        return 2;
    }
    convect_error err = {0};
    dump d = {.options = {.n_ctx_tokens = 2048}, .out = fopen(argv[3], "wb")};
    d.options.kv_type = strcmp(argv[5], "int8") == 0  ? CONVECT_KV_INT8
                        : strcmp(argv[5], "f32") == 0 ? CONVECT_KV_F32
                                                      : CONVECT_KV_F16;
    FILE *in = fopen(argv[2], "r");
    if (!in || !d.out) {
        (void)fprintf(stderr, "cannot open %s or %s\n", argv[2], argv[3]);
        return 3;
    }
    convect_status status = convect_model_open(argv[1], &(convect_model_options){.n_threads = 2}, &d.model, &err);
    if (status == CONVECT_OK) {
        convect_model_info info;
        convect_model_describe(d.model, &info);
        d.n_vocab = info.n_vocab;
        status = dump_all(&d, in, strcmp(argv[4], "steps") == 0, &err);
    }
    if (status != CONVECT_OK) (void)fprintf(stderr, "logits_dump: %s\n", err.text);
    convect_model_close(d.model);
    (void)fclose(in);
    if (fclose(d.out) != 0) status = CONVECT_IO;
    return convect_status_exit_code(status);
}
