/* How well a model predicts a text, and how far its predictions are from those of another one on the same text: the
 * figures of `convect ppl` and `convect quantize --verify`.
 *
 * The text is cut into windows of n_ctx_tokens that know nothing of each other; what is left at the end is not used (a
 * text shorter than a window is one window). In each window the tokens from the middle on are predicted, so each has at
 * least half a window before it. Perplexity is exp of the mean negative log-likelihood of those tokens.
 *
 * KL(base || model) at a position compares the base's stored record (logits_file.h) with this model's logits, in nats,
 * each log-probability rounded to f32. A record that leaves tokens out makes it the divergence between the two
 * distributions over "listed token i" and "any other": never more than the full divergence (merging outcomes cannot add
 * information), and equal to it if the two agree about the proportions inside the rest, whose mean mass is reported. */
#ifndef CONVECT_ENGINE_EVALUATE_H
#define CONVECT_ENGINE_EVALUATE_H

#include "engine/convect.h"
#include "engine/logits_file.h"

#define EVALUATE_TOKENS_MIN 4 /* of a text */

typedef struct evaluate_options {
    convect_session_options session; /* n_ctx_tokens: the window, >= EVALUATE_TOKENS_MIN */
    const char *save_path;           /* file to write the distributions to, or NULL */
    size_t n_top;                    /* tokens of a record to save; 0 or more than the vocabulary: all */
    const char *base_path;           /* file to compare with, or NULL */
    size_t n_changes_max;            /* how many changes to list */
    convect_progress progress;       /* tokens; false cancels; may be NULL */
    void *progress_user;
} evaluate_options;

/* A position where the two models disagree about the most likely token. A gap says how much more likely, as a
 * difference of log-probabilities, a model finds its own choice than the other's. */
typedef struct evaluate_change {
    uint64_t position; /* of the predicted token in the text */
    int32_t base_id, id;
    float base_gap;
    bool base_gap_is_least; /* id is not in the record: the gap is at least this */
    float gap;
} evaluate_change;

typedef struct evaluate_kl {
    double mean, median, p99, max; /* nats */
    uint64_t max_position;
    uint64_t n_same_top; /* positions where the most likely tokens agree */
    uint64_t n_changes;  /* the others */
    evaluate_change *changes;
    size_t n_listed; /* the first n_changes_max of them */
    bool is_full;    /* the records hold the whole vocabulary */
    size_t n_top;
    double base_rest_mean; /* mass of what the records leave out */
    double base_perplexity;
    logits_header base;
    bool is_same_model; /* by the hash of its description and of samples of its weights */
} evaluate_kl;

typedef struct evaluate_result {
    size_t n_window_tokens, n_windows;
    uint64_t n_predicted, n_left_out; /* tokens */
    double nll_mean, nll_error;       /* nats; standard error of the mean */
    double perplexity;
    bool has_kl;
    evaluate_kl kl;
} evaluate_result;

/* Runs the text through a session of its own. Memory: the session, a record, and 4 bytes for each predicted token.
 * Errors: USAGE (text too short, made for another text), DAMAGED and NOT_SUPPORTED (base file), DAMAGED (logits that
 * are not finite), IO, NO_FIT, CANCELLED. On success the caller calls evaluate_free. */
convect_status evaluate_text(convect_model *model, const int32_t *tokens, size_t n_tokens,
                             const evaluate_options *options, evaluate_result *out,
                             convect_error *err) CONVECT_MUST_CHECK;
void evaluate_free(evaluate_result *result);

/* Hash of the metadata, the tensor list and the first bytes of each tensor. */
uint64_t evaluate_model_hash(const convect_model *model);

#endif
