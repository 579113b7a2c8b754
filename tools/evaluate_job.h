/* A model file and a text in, evaluate.h's figures out: what `convect ppl` and `convect quantize --verify` share. */
#ifndef CONVECT_TOOLS_EVALUATE_JOB_H
#define CONVECT_TOOLS_EVALUATE_JOB_H

#include "engine/evaluate.h"
#include "engine/tokenizer.h"
#include "tools/progress.h"
#include "tools/text_input.h"

typedef struct evaluate_job {
    /* set by the caller, borrowed; evaluate_job_run takes care of the progress callbacks */
    const char *path; /* of the model */
    const text_input *text;
    bool reads_special; /* control tokens in the text are such; else plain text */
    const char *what;   /* progress: "perplexity:" */
    convect_model_options model_options;
    evaluate_options options;
    bool is_quiet;
    /* owned from evaluate_job_run to evaluate_job_close */
    convect_model *model;
    tokenizer *tokenizer;
    token_list tokens;
    convect_model_info info;
    evaluate_result result;
    uint64_t evaluate_ns;
    progress bar;
} evaluate_job;

/* Reads a whole text file, or standard input for "-". Errors: NOT_FOUND, USAGE (too long), IO, NO_FIT. */
convect_status evaluate_read_text(const char *path, text_input *out, convect_error *err) CONVECT_MUST_CHECK;

/* Opens the model, turns the text into tokens, evaluates. */
convect_status evaluate_job_run(evaluate_job *job, convect_error *err) CONVECT_MUST_CHECK;
void evaluate_job_close(evaluate_job *job); /* after a failed run too */

/* The result on stdout, for people or as one JSON object. */
void evaluate_job_print(const evaluate_job *job);
void evaluate_job_print_json(const evaluate_job *job);

#endif
