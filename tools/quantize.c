/* convect quantize IN OUT: every tensor to the format its mix asks for, all metadata kept. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/mix.h"
#include "tools/commands.h"
#include "tools/evaluate_job.h"
#include "tools/interrupt.h"
#include "tools/output_path.h"
#include "tools/progress.h"
#include "tools/quantize_stream.h"
#include "tools/quantize_verify.h"

typedef struct tensor_plan {
    const gguf_tensor *tensor;
    format_id from;    /* FORMAT_COUNT: an integer type */
    format_id to;      /* FORMAT_COUNT: bytes are copied */
    mix_choice choice; /* valid if from is */
} tensor_plan;

typedef struct quantize_job {
    gguf *in;
    mix_id mix;
    tensor_plan *plans; /* [gguf_n_tensors] */
    size_t n_tensors;
    size_t n_requantised; /* from a format that had lost something already */
    uint64_t n_bytes_in;
    cpu_pool *pool;
    gguf_writer *writer;
    quantize_stream *stream;
} quantize_job;

static void job_close(quantize_job *job) {
    quantize_stream_destroy(job->stream);
    gguf_writer_abandon(job->writer);
    cpu_pool_destroy(job->pool);
    free(job->plans);
    gguf_close(job->in);
}

/* Integer at <architecture>.<name>, or 0. */
static uint64_t model_number(const gguf *g, const char *name) {
    gguf_string arch;
    const gguf_kv *kv = gguf_kv_find(g, "general.architecture");
    if (!kv || !gguf_read_string(kv, &arch) || arch.n_bytes > 64) return 0;
    char key[128];
    uint64_t value = 0;
    (void)snprintf(key, sizeof key, "%.*s.%s", (int)arch.n_bytes, arch.data, name);
    kv = gguf_kv_find(g, key);
    return kv && gguf_read_u64(kv, 0, &value) ? value : 0;
}

static bool is_lossy(format_id f) {
    return f != FORMAT_F32 && f != FORMAT_F16 && f != FORMAT_BF16;
}

static convect_status plan_tensors(quantize_job *job, convect_error *err) {
    job->n_tensors = gguf_n_tensors(job->in);
    job->plans = calloc(job->n_tensors ? job->n_tensors : 1, sizeof *job->plans);
    if (!job->plans) return convect_fail(err, CONVECT_NO_FIT, "out of memory for %zu tensors", job->n_tensors);
    mix_model model = {.n_layers = model_number(job->in, "block_count"),
                       .n_experts = model_number(job->in, "expert_count"),
                       .is_tied = !gguf_tensor_find(job->in, "output.weight")};
    for (size_t i = 0; i < job->n_tensors; i++) {
        const gguf_tensor *t = gguf_tensor_at(job->in, i);
        tensor_plan *p = &job->plans[i];
        job->n_bytes_in += t->n_bytes;
        *p = (tensor_plan){t, format_from_ggml(t->ggml_type), FORMAT_COUNT, {FORMAT_COUNT, FORMAT_COUNT}};
        if (p->from == FORMAT_COUNT || t->n_bytes == 0) continue;
        p->choice = mix_choose(job->mix, &model, &(mix_tensor){t->name, t->n_dims, t->ne[0]});
        if (p->choice.format != p->from) p->to = p->choice.format;
        job->n_requantised += p->to != FORMAT_COUNT && is_lossy(p->from) && is_lossy(p->to);
    }
    return CONVECT_OK;
}

static bool key_is(const gguf_kv *kv, const char *name) {
    return kv->key.n_bytes == strlen(name) && memcmp(kv->key.data, name, kv->key.n_bytes) == 0;
}

static void declare(quantize_job *job) {
    for (size_t i = 0; i < gguf_n_kv(job->in); i++) {
        const gguf_kv *kv = gguf_kv_at(job->in, i);
        bool is_split = kv->key.n_bytes > 6 && memcmp(kv->key.data, "split.", 6) == 0; /* one file is written */
        if (is_split || key_is(kv, "general.file_type") || key_is(kv, "general.quantization_version")) continue;
        gguf_writer_kv_copy(job->writer, kv);
    }
    gguf_writer_kv_u32(job->writer, "general.file_type", mix_file_type(job->mix));
    gguf_writer_kv_u32(job->writer, "general.quantization_version", 2);
    for (size_t i = 0; i < job->n_tensors; i++) {
        const tensor_plan *p = &job->plans[i];
        uint32_t type = p->to == FORMAT_COUNT ? p->tensor->ggml_type : format_get(p->to)->ggml_type;
        gguf_writer_tensor(job->writer, p->tensor->name, type, p->tensor->n_dims, p->tensor->ne);
    }
}

static convect_status write_tensors(quantize_job *job, bool is_quiet, convect_error *err) {
    progress bar;
    uint64_t n_done = 0;
    progress_begin(&bar, "quantising", "MB", 1e6, job->n_bytes_in, is_quiet);
    convect_status status = CONVECT_OK;
    for (size_t i = 0; i < job->n_tensors && !status; i++) {
        const tensor_plan *p = &job->plans[i];
        status = quantize_stream_tensor(job->stream, p->tensor, p->to, i, err);
        n_done += p->tensor->n_bytes;
        progress_show(&bar, n_done);
        if (!status && interrupt_seen()) status = convect_fail(err, CONVECT_CANCELLED, "interrupted");
    }
    progress_end(&bar);
    return status;
}

/* ---- what came out ---- */

typedef struct part_sum {
    uint64_t n_elems, n_bytes;
    size_t n_by_format[FORMAT_COUNT];
} part_sum;

static void print_part(const char *name, const part_sum *s) {
    char types[256] = "";
    for (int f = 0; f < FORMAT_COUNT; f++) {
        size_t used = strlen(types);
        if (!s->n_by_format[f]) continue;
        (void)snprintf(types + used, sizeof types - used, "%s%zu %s", used ? ", " : "", s->n_by_format[f],
                       format_get((format_id)f)->name);
    }
    printf("%-22s %10.1f MB  %6.3f bits per weight  %s\n", name, (double)s->n_bytes / 1e6,
           8.0 * (double)s->n_bytes / (double)s->n_elems, types);
}

static void print_summary(const quantize_job *job) {
    part_sum parts[MIX_ROLE_COUNT] = {0};
    part_sum total = {0};
    for (size_t i = 0; i < job->n_tensors; i++) {
        const tensor_plan *p = &job->plans[i];
        if (p->from == FORMAT_COUNT) continue;
        format_id f = p->to == FORMAT_COUNT ? p->from : p->to;
        part_sum *s = &parts[mix_role_of(p->tensor->name)];
        uint64_t n = p->tensor->ne[0] * p->tensor->ne[1] * p->tensor->ne[2] * p->tensor->ne[3];
        s->n_elems += n;
        s->n_bytes += format_row_bytes(f, n);
        s->n_by_format[f]++;
        total.n_elems += n;
        total.n_bytes += format_row_bytes(f, n);
    }
    for (int r = 0; r < MIX_ROLE_COUNT; r++) {
        if (parts[r].n_elems) print_part(mix_role_name((mix_role)r), &parts[r]);
    }
    if (total.n_elems) print_part("total", &total);
}

/* One line for each pair (wanted, used) that differs. */
static void print_fallbacks(const quantize_job *job) {
    for (int wanted = 0; wanted < FORMAT_COUNT; wanted++) {
        for (int used = 0; used < FORMAT_COUNT; used++) {
            size_t n = 0;
            const gguf_tensor *first = NULL;
            for (size_t i = 0; i < job->n_tensors && wanted != used; i++) {
                const tensor_plan *p = &job->plans[i];
                if (p->from == FORMAT_COUNT || (int)p->choice.wanted != wanted || (int)p->choice.format != used)
                    continue;
                if (n++ == 0) first = p->tensor;
            }
            if (!first) continue;
            printf("%zu tensors are %s instead of %s, which needs rows of a multiple of %" PRIu32
                   " (first: %s, rows of %" PRIu64 ")\n",
                   n, format_get((format_id)used)->name, format_get((format_id)wanted)->name,
                   format_get((format_id)wanted)->block_elems, first->name, first->ne[0]);
        }
    }
}

static convect_status job_run(quantize_job *job, const command_context *ctx, convect_error *err) {
    const char *path_out = ctx->args[1];
    job->mix = (mix_id)option_choice(ctx->options, OPT_MIX);
    convect_status status = gguf_open(ctx->args[0], &job->in, err);
    if (!status) status = output_check_model(path_out, job->in, err); /* it is mapped */
    if (!status) status = plan_tensors(job, err);
    if (!status) status = cpu_pool_create(option_u64(ctx->options, OPT_THREADS), &job->pool, err);
    interrupt_watch(); /* from here on a half-written file has to be taken away */
    if (!status) status = gguf_writer_open(path_out, &job->writer, err);
    if (status) return status;
    if (job->n_requantised) {
        convect_log_write(ctx->log, CONVECT_LOG_WARN,
                          "%zu tensors of %s are quantised already: quantising them again adds their errors up; start "
                          "from an F16, BF16 or F32 file where there is one",
                          job->n_requantised, ctx->args[0]);
    }
    declare(job);
    status = gguf_writer_begin_data(job->writer, err);
    if (!status) status = quantize_stream_create(job->pool, job->writer, &job->stream, err);
    if (!status) status = write_tensors(job, option_flag(ctx->options, OPT_QUIET), err);
    if (status) return status;
    gguf_writer *writer = job->writer;
    job->writer = NULL; /* commit ends it in any case */
    return gguf_writer_commit(writer, err);
}

static convect_status quantize(const command_context *ctx, convect_error *err) {
    quantize_job job = {0};
    convect_status status = job_run(&job, ctx, err);
    if (!status && !option_flag(ctx->options, OPT_QUIET)) {
        print_summary(&job);
        print_fallbacks(&job);
    }
    job_close(&job);
    return status;
}

convect_status cmd_quantize(const command_context *ctx, convect_error *err) {
    if (!option_is_set(ctx->options, OPT_VERIFY)) return quantize(ctx, err);
    text_input text = {0};
    convect_status status = evaluate_read_text(option_text(ctx->options, OPT_VERIFY), &text, err);
    if (!status) status = quantize(ctx, err);
    if (!status) status = quantize_verify(ctx, &text, err);
    text_input_free(&text);
    return status;
}
