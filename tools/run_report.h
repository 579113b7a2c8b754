/* What a run of `convect run` did and how fast: one line for people, one JSON object for scripts. */
#ifndef CONVECT_TOOLS_RUN_REPORT_H
#define CONVECT_TOOLS_RUN_REPORT_H

#include "engine/convect.h"
#include "engine/sampler.h"

struct json_object;

typedef enum run_end {
    RUN_END_STOP, /* a stop token */
    RUN_END_LENGTH,
    RUN_END_CONTEXT,
    RUN_END_INTERRUPTED,
    RUN_END_FAILED,
    RUN_END_COUNT
} run_end;

typedef struct run_report {
    const char *path;
    convect_model_info model;
    convect_session_sizes session;
    convect_kv_type kv_type;
    size_t chunk_tokens;
    bool is_raw;
    sampler_options sampling;
    run_end end;
    size_t n_prompt; /* tokens prefilled */
    size_t n_answer; /* tokens produced, stop token included */
    size_t n_steps;  /* decode steps: the first token of an answer comes from the prompt's logits */
    uint64_t load_ns, prompt_ns, decode_ns;
    uint64_t peak_rss_bytes; /* before the bandwidth was measured */
    convect_read_rate read;  /* gb_per_s 0: not measured */
} run_report;

/* Bytes that a decode step read on average: weights, keys and values of the positions so far, recurrent state. */
double run_report_bytes_per_token(const run_report *r);

/* "prompt 9 tokens 310.2 tok/s; answer 12 tokens 95.1 tok/s; ..." into out, NUL-terminated. */
void run_report_line(const run_report *r, char *out, size_t n_bytes);

/* Everything, with commit and machine. The caller puts it; NULL if memory is short. */
struct json_object *run_report_json(const run_report *r);

#endif
