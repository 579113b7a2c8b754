/* convect tokenize: text to ids and back, with a model's or a vocabulary-only GGUF's tokenizer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/base/json.h"
#include "engine/text_escape.h"
#include "engine/tokenizer.h"
#include "tools/commands.h"
#include "tools/text_input.h"

typedef struct tokenize_job {
    const tokenizer *t;
    bool parse_special;
    bool decode;
    token_list ids;  /* of the current line or text */
    text_input text; /* of the current line or text */
} tokenize_job;

/* The text as a JSON string value: bytes that are no UTF-8 become U+FFFD. */
static struct json_object *json_text(const char *text, size_t n_bytes) {
    struct json_object *o = NULL;
    char *repaired = malloc(3 * n_bytes + 1);
    if (!repaired) return NULL;
    const size_t n_out = text_to_utf8(repaired, text, n_bytes);
    if (n_out <= INT32_MAX) o = json_object_new_string_len(repaired, (int)n_out);
    free(repaired);
    return o;
}

static convect_status print_json_text(const char *text, size_t n_bytes, convect_error *err) {
    struct json_object *o = json_text(text, n_bytes);
    if (!o) return convect_fail(err, CONVECT_NO_FIT, "no memory to print %zu bytes of text", n_bytes);
    size_t n;
    const char *line = json_object_to_json_string_length(o, JSON_C_TO_STRING_NOSLASHESCAPE, &n);
    (void)fwrite(line, 1, n, stdout); /* output_flush reports failures */
    json_object_put(o);
    return CONVECT_OK;
}

/* Checks a JSON array of ids against the vocabulary and keeps it. */
static convect_status take_ids(tokenize_job *job, struct json_object *o, convect_error *err) {
    job->ids.n = 0;
    if (!json_object_is_type(o, json_type_array))
        return convect_fail(err, CONVECT_DAMAGED, "not a JSON array of token ids");
    for (size_t i = 0; i < json_object_array_length(o); i++) {
        struct json_object *element = json_object_array_get_idx(o, i);
        int64_t id = json_object_is_type(element, json_type_int) ? json_object_get_int64(element) : -1;
        if (id < 0 || (uint64_t)id >= tokenizer_n_vocab(job->t))
            return convect_fail(err, CONVECT_DAMAGED, "entry %zu is no token id: ids are whole numbers below %zu", i,
                                tokenizer_n_vocab(job->t));
        convect_status status = token_list_push(&job->ids, (int32_t)id, err);
        if (status != CONVECT_OK) return status;
    }
    return CONVECT_OK;
}

/* Spells job->ids into job->text. */
static convect_status spell(tokenize_job *job, convect_error *err) {
    job->text.n_bytes = 0;
    convect_status status = text_input_append(&job->text, "", 0, err); /* an empty text has an address too */
    for (size_t i = 0; status == CONVECT_OK && i < job->ids.n; i++) {
        gguf_string piece = tokenizer_piece(job->t, job->ids.ids[i]);
        status = text_input_append(&job->text, piece.data, piece.n_bytes, err);
    }
    return status;
}

static convect_status decode_line(tokenize_job *job, struct json_object *o, convect_error *err) {
    convect_status status = take_ids(job, o, err);
    if (status == CONVECT_OK) status = spell(job, err);
    if (status == CONVECT_OK) status = print_json_text(job->text.data, job->text.n_bytes, err);
    return status;
}

static convect_status encode_line(tokenize_job *job, struct json_object *o, convect_error *err) {
    if (!json_object_is_type(o, json_type_string)) return convect_fail(err, CONVECT_DAMAGED, "not a JSON string");
    job->ids.n = 0;
    convect_status status = tokenizer_encode(job->t, json_object_get_string(o), (size_t)json_object_get_string_len(o),
                                             job->parse_special, &job->ids, err);
    if (status != CONVECT_OK) return status;
    for (size_t i = 0; i < job->ids.n; i++) printf("%s%" PRId32, i == 0 ? "[" : ",", job->ids.ids[i]);
    (void)fputs(job->ids.n == 0 ? "[]" : "]", stdout);
    return CONVECT_OK;
}

static convect_status run_lines(tokenize_job *job, convect_error *err) {
    for (uint64_t i_line = 1;; i_line++) {
        bool is_end;
        struct json_object *o = NULL;
        convect_status status = text_input_read_line(&job->text, stdin, &is_end, err);
        if (status == CONVECT_OK && is_end) return CONVECT_OK;
        if (status == CONVECT_OK) status = json_text_read(job->text.data, job->text.n_bytes, &o, err);
        if (status == CONVECT_OK) status = job->decode ? decode_line(job, o, err) : encode_line(job, o, err);
        json_object_put(o);
        if (status != CONVECT_OK) {
            convect_error_context(err, "line %" PRIu64 ": ", i_line);
            return status;
        }
        (void)putc('\n', stdout);
        if (ferror(stdout)) return output_flush(err);
    }
}

/* One text: a line per token with its id and its bytes as a JSON string. */
static convect_status print_tokens(tokenize_job *job, convect_error *err) {
    convect_status status =
        tokenizer_encode(job->t, job->text.data, job->text.n_bytes, job->parse_special, &job->ids, err);
    for (size_t i = 0; status == CONVECT_OK && i < job->ids.n; i++) {
        gguf_string piece = tokenizer_piece(job->t, job->ids.ids[i]);
        printf("%7" PRId32 "  ", job->ids.ids[i]);
        status = print_json_text(piece.data, piece.n_bytes, err);
        (void)putc('\n', stdout);
    }
    return status;
}

/* One JSON array of ids: its bytes, nothing else. */
static convect_status print_text(tokenize_job *job, convect_error *err) {
    struct json_object *o = NULL;
    convect_status status = json_text_read(job->text.data, job->text.n_bytes, &o, err);
    if (status == CONVECT_OK) status = take_ids(job, o, err);
    json_object_put(o);
    if (status == CONVECT_OK) status = spell(job, err);
    if (status == CONVECT_OK) (void)fwrite(job->text.data, 1, job->text.n_bytes, stdout);
    return status;
}

static convect_status run_job(tokenize_job *job, const command_context *ctx, convect_error *err) {
    const char *text = ctx->n_args == 2 ? ctx->args[1] : "-";
    if (option_flag(ctx->options, OPT_JSONL)) {
        if (ctx->n_args == 2 && strcmp(text, "-") != 0)
            return convect_fail(err, CONVECT_USAGE,
                                "--jsonl reads its lines from standard input, not from an argument");
        return run_lines(job, err);
    }
    convect_status status = strcmp(text, "-") == 0 ? text_input_read_all(&job->text, stdin, err)
                                                   : text_input_append(&job->text, text, strlen(text), err);
    if (status != CONVECT_OK) return status;
    return job->decode ? print_text(job, err) : print_tokens(job, err);
}

convect_status cmd_tokenize(const command_context *ctx, convect_error *err) {
    gguf *g = NULL;
    tokenizer *t = NULL;
    convect_status status = gguf_open(ctx->args[0], &g, err);
    if (status == CONVECT_OK) status = tokenizer_create(g, &t, err);
    gguf_close(g);
    if (status != CONVECT_OK) return status;
    tokenize_job job = {.t = t,
                        .parse_special = !option_flag(ctx->options, OPT_NO_SPECIAL),
                        .decode = option_flag(ctx->options, OPT_DECODE)};
    status = run_job(&job, ctx, err);
    token_list_free(&job.ids);
    text_input_free(&job.text);
    tokenizer_destroy(t);
    return status;
}
