/* Router rows of made-up models with a chosen popularity law.
 *
 * With hidden states of unit root mean square and no preferred direction, the logit of expert e is nearly normal with
 * standard deviation sigma_e = rms of its row times sqrt(n_embd). An expert is among the top k where its logit passes a
 * threshold t that hardly varies, so P(e) = Q(t / sigma_e), Q the upper tail of the normal law. The wanted P(e) is
 * Zipf: c * rank^-skew, sum k, no expert above SYNTH_POPULARITY_MAX (rows cannot get past 1/2, and real models stay
 * below that), and sigma_e = t / Qinv(P(e)). Ranks are dealt out to expert indices at random, anew for each layer.
 *
 * Neighbouring tokens: with a skew (tools/synth_fill.c) the convolution taps of DeltaNet queries and keys are four
 * times larger, which makes SiLU nearly a rectifier, so that all queries and keys share a direction and the state is
 * read as a decaying sum of the last ten or so values; value taps are small, so that SiLU is nearly linear and values
 * have no common mean; attn_gate and ssm_out are larger, so that this sum carries much of the residual stream. Measured
 * on 8 layers at skew 1 and random tokens: cosine of the residual stream 0.19-0.34 between neighbours and 0.04-0.09 at
 * distance 100; neighbours share 1.4-1.7 of 8 experts, distant tokens 0.9-1.2, and 0.3 without a skew. */
#ifndef CONVECT_TOOLS_SYNTH_ROUTER_H
#define CONVECT_TOOLS_SYNTH_ROUTER_H

#include <stddef.h>
#include <stdint.h>

#define SYNTH_POPULARITY_MAX 0.3

/* Fills popularity[n] by rank: P(top k holds the expert of that rank); falling, sum k. 1 <= k <= 0.3 n (checked). */
void synth_popularity(size_t n, size_t k, double skew, double *popularity);

/* Fills sigma[n], by expert index, and rank[n] where not NULL. skew 0: all 1, ranks in order. */
void synth_router_sigma(size_t n, size_t k, double skew, uint64_t key, float *sigma, size_t *rank);

#endif
