#include "tools/run_report.h"

#include <stdarg.h>
#include <stdio.h>

#include <json-c/json.h>

#include "cpu/machine.h"
#include "engine/base/build_info.h"

static const char *const end_names[RUN_END_COUNT] = {"stop", "length", "context", "interrupted", "failed"};

static const char *kv_name(convect_kv_type type) {
    return type == CONVECT_KV_INT8 ? "int8" : type == CONVECT_KV_F32 ? "f32" : "f16";
}

/* 0 where nothing was timed. */
static double per_second(size_t n, uint64_t ns) {
    return ns > 0 ? (double)n * 1e9 / (double)ns : 0;
}

double run_report_bytes_per_token(const run_report *r) {
    const double n_positions = (double)r->n_prompt + ((double)r->n_steps + 1) / 2;
    return (double)r->model.weight_bytes_per_token + (double)r->model.state_bytes +
           n_positions * (double)r->model.kv_bytes_per_token[r->kv_type];
}

static double decode_gb_per_s(const run_report *r) {
    return run_report_bytes_per_token(r) * per_second(r->n_steps, r->decode_ns) / 1e9;
}

/* Weights that stay in the caches are not read from memory: a share of its bandwidth would mean nothing. */
static bool fits_in_caches(const run_report *r) {
    return r->model.file_bytes <= r->read.cache_bytes;
}

CONVECT_PRINTF(4, 5) static void append(char *text, size_t n_bytes, size_t *n, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n_more = vsnprintf(text + *n, n_bytes - *n, fmt, args);
    va_end(args);
    if (n_more > 0) *n += (size_t)n_more < n_bytes - *n ? (size_t)n_more : n_bytes - *n - 1;
}

void run_report_line(const run_report *r, char *out, size_t n_bytes) {
    size_t n = 0;
    append(out, n_bytes, &n, "prompt %zu tokens, %.1f tok/s; answer %zu tokens", r->n_prompt,
           per_second(r->n_prompt, r->prompt_ns), r->n_answer);
    if (r->n_steps > 0) {
        append(out, n_bytes, &n, ", %.1f tok/s; %.4g MB read per token, %.1f GB/s",
               per_second(r->n_steps, r->decode_ns), run_report_bytes_per_token(r) / 1e6, decode_gb_per_s(r));
        if (r->read.gb_per_s > 0 && fits_in_caches(r))
            append(out, n_bytes, &n, " (the weights fit in the caches; memory reads at %.1f GB/s)", r->read.gb_per_s);
        else if (r->read.gb_per_s > 0)
            append(out, n_bytes, &n, " = %.0f %% of the %.1f GB/s this machine reads",
                   100 * decode_gb_per_s(r) / r->read.gb_per_s, r->read.gb_per_s);
    }
    if (r->kv_type == CONVECT_KV_INT8) append(out, n_bytes, &n, "; KV int8, lossy");
}

static void add_text(struct json_object *o, const char *key, const char *text) {
    json_object_object_add(o, key, json_object_new_string(text));
}

static void add_count(struct json_object *o, const char *key, uint64_t n) {
    json_object_object_add(o, key, json_object_new_uint64(n));
}

static void add_number(struct json_object *o, const char *key, double x) {
    json_object_object_add(o, key, json_object_new_double(x));
}

static void add_bool(struct json_object *o, const char *key, bool is_true) {
    json_object_object_add(o, key, json_object_new_boolean(is_true));
}

static struct json_object *machine_json(void) {
    cpu_machine machine;
    cpu_machine_describe(&machine);
    struct json_object *o = json_object_new_object();
    add_text(o, "device", "cpu");
    add_text(o, "cpu", machine.name);
    add_count(o, "n_cores", machine.n_cores);
    add_count(o, "ram_bytes", machine.ram_bytes);
    add_count(o, "cache_bytes", machine.cache_bytes);
    return o;
}

static struct json_object *model_json(const run_report *r) {
    struct json_object *o = json_object_new_object();
    add_text(o, "path", r->path);
    add_text(o, "architecture", r->model.architecture);
    add_count(o, "file_bytes", r->model.file_bytes);
    add_count(o, "n_layers", r->model.n_layers);
    add_count(o, "n_vocab", r->model.n_vocab);
    add_count(o, "n_embd", r->model.n_embd);
    add_count(o, "weight_bytes_per_token", r->model.weight_bytes_per_token);
    add_count(o, "kv_bytes_per_token", r->model.kv_bytes_per_token[r->kv_type]);
    add_count(o, "state_bytes", r->model.state_bytes);
    return o;
}

static struct json_object *settings_json(const run_report *r) {
    struct json_object *o = json_object_new_object();
    add_count(o, "n_threads", r->model.n_threads);
    add_text(o, "kernel_level", r->model.kernel_level);
    add_count(o, "n_ctx_tokens", r->session.n_ctx_tokens);
    add_count(o, "kv_bytes", r->session.kv_bytes);
    add_text(o, "kv", kv_name(r->kv_type));
    add_bool(o, "kv_is_lossy", r->kv_type == CONVECT_KV_INT8);
    add_count(o, "chunk_tokens", r->chunk_tokens);
    add_bool(o, "is_raw", r->is_raw);
    add_number(o, "temperature", (double)r->sampling.temperature);
    add_count(o, "top_k", r->sampling.top_k);
    add_number(o, "top_p", (double)r->sampling.top_p);
    add_number(o, "min_p", (double)r->sampling.min_p);
    add_count(o, "seed", r->sampling.seed);
    return o;
}

static struct json_object *result_json(const run_report *r) {
    struct json_object *o = json_object_new_object();
    add_text(o, "end", end_names[r->end]);
    add_count(o, "n_prompt_tokens", r->n_prompt);
    add_count(o, "n_answer_tokens", r->n_answer);
    add_count(o, "n_decode_steps", r->n_steps);
    add_number(o, "load_us", (double)r->load_ns / 1e3);
    add_number(o, "prompt_us", (double)r->prompt_ns / 1e3);
    add_number(o, "decode_us", (double)r->decode_ns / 1e3);
    add_number(o, "prompt_tokens_per_s", per_second(r->n_prompt, r->prompt_ns));
    add_number(o, "decode_tokens_per_s", per_second(r->n_steps, r->decode_ns));
    add_number(o, "read_bytes_per_token", run_report_bytes_per_token(r));
    add_number(o, "decode_gb_per_s", decode_gb_per_s(r));
    add_number(o, "machine_read_gb_per_s", r->read.gb_per_s);
    add_count(o, "machine_read_buffer_bytes", r->read.buffer_bytes);
    add_bool(o, "weights_fit_in_caches", fits_in_caches(r));
    const bool has_share = r->read.gb_per_s > 0 && !fits_in_caches(r) && r->n_steps > 0;
    json_object_object_add(o, "machine_read_share",
                           has_share ? json_object_new_double(decode_gb_per_s(r) / r->read.gb_per_s) : NULL);
    add_count(o, "peak_rss_bytes", r->peak_rss_bytes);
    return o;
}

struct json_object *run_report_json(const run_report *r) {
    const build_info *build = build_info_get();
    struct json_object *o = json_object_new_object();
    if (!o) return NULL;
    add_text(o, "version", build->version);
    add_text(o, "commit", build->commit);
    add_bool(o, "is_dirty", build->dirty_mark[0] != 0);
    add_text(o, "configuration", build->configuration);
    json_object_object_add(o, "machine", machine_json());
    json_object_object_add(o, "model", model_json(r));
    json_object_object_add(o, "settings", settings_json(r));
    json_object_object_add(o, "result", result_json(r));
    return o;
}
