#include "engine/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/numerics.h"
#include "kernels/philox.h"

#define N_VOCAB_MAX ((size_t)1 << 24)
#define WEIGHT_ONE  0x1p40F /* weight of the best token; 2^24 of them still fit 64 bits */

typedef struct candidate {
    float logit;
    int32_t id;
} candidate;

struct sampler {
    sampler_options options;
    size_t n_vocab, n_real;
    const bool *banned; /* borrowed; may be NULL */
    candidate *heap;    /* [n_real]; best first, shrinks from the end as candidates are taken */
    size_t n_heap;
    candidate *taken; /* [n_real]; in order */
    uint64_t *sums;   /* [n_real]; running sums of the weights of taken */
};

static convect_status check_options(const sampler_options *o, convect_error *err) {
    if (!(o->temperature >= 0 && isfinite(o->temperature)))
        return convect_fail(err, CONVECT_USAGE, "the temperature must be a finite number >= 0");
    if (!(o->top_p > 0 && o->top_p <= 1) && o->temperature > 0)
        return convect_fail(err, CONVECT_USAGE, "top-p must be above 0 and at most 1");
    if (!(o->min_p >= 0 && o->min_p < 1) && o->temperature > 0)
        return convect_fail(err, CONVECT_USAGE, "min-p must be at least 0 and below 1");
    return CONVECT_OK;
}

static bool is_banned(const sampler *s, size_t id) {
    return s->banned && s->banned[id];
}

convect_status sampler_create(const sampler_options *options, size_t n_vocab, size_t n_real, const bool *banned,
                              sampler **out, convect_error *err) {
    *out = NULL;
    convect_status status = check_options(options, err);
    if (status != CONVECT_OK) return status;
    if (n_vocab < 1 || n_vocab > N_VOCAB_MAX || n_real < 1 || n_real > n_vocab)
        return convect_fail(err, CONVECT_USAGE, "cannot sample %zu of %zu tokens", n_real, n_vocab);
    size_t n_allowed = 0;
    for (size_t i = 0; i < n_real; i++) n_allowed += !(banned && banned[i]);
    if (n_allowed == 0) return convect_fail(err, CONVECT_USAGE, "every token is banned");
    sampler *s = calloc(1, sizeof *s);
    if (s) {
        *s = (sampler){.options = *options, .n_vocab = n_vocab, .n_real = n_real, .banned = banned};
        s->heap = malloc(n_real * sizeof *s->heap);
        s->taken = malloc(n_real * sizeof *s->taken);
        s->sums = malloc(n_real * sizeof *s->sums);
    }
    if (!s || !s->heap || !s->taken || !s->sums) {
        sampler_destroy(s);
        return convect_fail(err, CONVECT_NO_FIT, "no memory for a sampler of %zu tokens", n_real);
    }
    *out = s;
    return CONVECT_OK;
}

void sampler_destroy(sampler *s) {
    if (!s) return;
    free(s->heap);
    free(s->taken);
    free(s->sums);
    free(s);
}

/* The best allowed token; checks every logit. */
static convect_status find_best(const sampler *s, const float *logits, candidate *best, convect_error *err) {
    *best = (candidate){.id = -1};
    for (size_t i = 0; i < s->n_vocab; i++) {
        if (!isfinite(logits[i]))
            return convect_fail(err, CONVECT_DAMAGED,
                                "the logit of token %zu is not a finite number: the weights are damaged; \"convect "
                                "check --full\" looks for the place",
                                i);
        if (i >= s->n_real || is_banned(s, i)) continue;
        if (best->id < 0 || logits[i] > best->logit) *best = (candidate){logits[i], (int32_t)i};
    }
    return CONVECT_OK;
}

static uint64_t weight(const sampler *s, float logit, float logit_max) {
    return (uint64_t)(numerics_exp((logit - logit_max) / s->options.temperature) * WEIGHT_ONE);
}

static bool is_before(candidate a, candidate b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

static void sift_down(sampler *s, size_t i) {
    candidate c = s->heap[i];
    for (size_t child; child = 2 * i + 1, child < s->n_heap; i = child) {
        if (child + 1 < s->n_heap && is_before(s->heap[child + 1], s->heap[child])) child++;
        if (!is_before(s->heap[child], c)) break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = c;
}

/* Fills the heap with the tokens of weight >= 1 and returns the sum of their weights. */
static uint64_t fill_heap(sampler *s, const float *logits, float logit_max) {
    uint64_t sum = 0;
    s->n_heap = 0;
    for (size_t i = 0; i < s->n_real; i++) {
        if (is_banned(s, i)) continue;
        uint64_t w = weight(s, logits[i], logit_max);
        if (w == 0) continue;
        sum += w;
        s->heap[s->n_heap++] = (candidate){logits[i], (int32_t)i};
    }
    for (size_t i = s->n_heap / 2; i-- > 0;) sift_down(s, i);
    return sum;
}

/* Moves the best of the heap to taken[i] and continues the running sum. */
static void take(sampler *s, size_t i, float logit_max) {
    s->taken[i] = s->heap[0];
    s->heap[0] = s->heap[--s->n_heap];
    if (s->n_heap > 0) sift_down(s, 0);
    s->sums[i] = (i > 0 ? s->sums[i - 1] : 0) + weight(s, s->taken[i].logit, logit_max);
}

/* Takes candidates in order until top-k, top-p and min-p are met; returns how many are kept, at least one. */
static size_t take_kept(sampler *s, uint64_t sum, float logit_max) {
    const sampler_options *o = &s->options;
    size_t n_max = o->top_k > 0 && o->top_k < s->n_heap ? o->top_k : s->n_heap, n = 0;
    if (n_max < s->n_heap) { /* the share of top-p is one of the top-k */
        while (n < n_max) take(s, n++, logit_max);
        sum = s->sums[n_max - 1];
    }
    double enough = (double)sum * (double)o->top_p, least = (double)WEIGHT_ONE * (double)o->min_p;
    for (size_t i = 0; i < n_max; i++) {
        if (i == n) take(s, n++, logit_max);
        uint64_t before = i > 0 ? s->sums[i - 1] : 0;
        if (i > 0 && (double)(s->sums[i] - before) < least) return i;
        if (o->top_p < 1 && (double)s->sums[i] >= enough) return i + 1;
    }
    return n_max;
}

/* floor(u * n / 2^64) by halves. */
static uint64_t scale(uint64_t u, uint64_t n) {
    uint64_t low = (u & 0xFFFFFFFFU) * (n & 0xFFFFFFFFU);
    uint64_t mid_1 = (u >> 32) * (n & 0xFFFFFFFFU) + (low >> 32);
    uint64_t mid_2 = (u & 0xFFFFFFFFU) * (n >> 32) + (mid_1 & 0xFFFFFFFFU);
    return (u >> 32) * (n >> 32) + (mid_1 >> 32) + (mid_2 >> 32);
}

/* The draw: a number below n_weights. */
static uint64_t draw(const sampler *s, uint64_t i_step, uint64_t n_weights) {
    philox_block block = philox((philox_block){{(uint32_t)i_step, (uint32_t)(i_step >> 32), 0, 0}}, s->options.seed);
    return scale((uint64_t)block.w[1] << 32 | block.w[0], n_weights);
}

static int32_t pick_kept(sampler *s, uint64_t sum, float logit_max, uint64_t i_step) {
    size_t n = take_kept(s, sum, logit_max), i = 0;
    uint64_t r = draw(s, i_step, s->sums[n - 1]);
    while (s->sums[i] <= r) i++;
    return s->taken[i].id;
}

/* Without top-k, top-p and min-p the sum is known beforehand: most candidates need no ordering. */
static int32_t pick_any(sampler *s, uint64_t sum, float logit_max, uint64_t i_step) {
    uint64_t r = draw(s, i_step, sum);
    for (size_t i = 0;; i++) {
        take(s, i, logit_max);
        if (s->sums[i] > r) return s->taken[i].id;
    }
}

convect_status sampler_pick(sampler *s, const float *logits, uint64_t i_step, int32_t *out, convect_error *err) {
    candidate best;
    convect_status status = find_best(s, logits, &best, err);
    if (status != CONVECT_OK) return status;
    *out = best.id;
    if (s->options.temperature == 0) return CONVECT_OK;
    uint64_t sum = fill_heap(s, logits, best.logit);
    bool keeps_all = s->options.top_k == 0 && s->options.top_p == 1 && s->options.min_p == 0;
    *out = keeps_all ? pick_any(s, sum, best.logit, i_step) : pick_kept(s, sum, best.logit, i_step);
    return CONVECT_OK;
}
