/* Gated DeltaNet: causal convolution, gates, the recurrence and the chunked form over 64 positions. Formulas: the
 * delta rule with decay as in transformers' Qwen3.5 model; the chunked form solves the same equations at once. */
#include <string.h>

#include "kernels/level/layer_ops.h"

void KERNEL(ops_deltanet_gates)(float *alpha, float *beta, const float *a, const float *dt, size_t n) {
    for (size_t i = 0; i < n; i++) {
        alpha[i] = a[i] * numerics_softplus(alpha[i] + dt[i]);
        beta[i] = numerics_sigmoid(beta[i]);
    }
}

/* Column t of the input, counted from the first row of this call; negative t are history. */
static const float *conv_column(const ops_conv_args *a, size_t t_plus_history) {
    const size_t n_history = a->n_taps - 1;
    if (t_plus_history < n_history) return a->hist_in + t_plus_history * a->n_channels;
    return a->m + (t_plus_history - n_history) * a->m_stride;
}

void KERNEL(ops_conv_silu)(const ops_conv_args *a) {
    for (size_t t = 0; t < a->n_rows; t++) {
        float *u = a->u + t * a->u_stride;
        for (size_t c = a->c_begin; c < a->c_end; c++) u[c] = 0;
        for (size_t tap = 0; tap < a->n_taps; tap++) {
            const float *m = conv_column(a, t + tap), *w = a->w + tap * a->n_channels;
            for (size_t c = a->c_begin; c < a->c_end; c++) u[c] = fmaf(w[c], m[c], u[c]);
        }
        for (size_t c = a->c_begin; c < a->c_end; c++) u[c] = numerics_silu(u[c]);
    }
    /* history moves forward: column i is read before it is written, also when hist_out is hist_in */
    for (size_t i = 0; i + 1 < a->n_taps; i++) {
        memmove(a->hist_out + i * a->n_channels + a->c_begin, conv_column(a, a->n_rows + i) + a->c_begin,
                (a->c_end - a->c_begin) * sizeof(float));
    }
}

void KERNEL(ops_deltanet_steps)(const ops_deltanet_args *a) {
    const size_t dk = a->dk;
    const float *from = a->state_in;
    for (size_t t = 0; t < a->n_rows; t++) {
        const float *q = a->q + t * a->qk_stride, *k = a->k + t * a->qk_stride, *v = a->v + t * a->v_stride;
        const float decay = numerics_exp(a->g[t * a->gate_stride]), beta = a->beta[t * a->gate_stride];
        float *o = a->out + t * a->out_stride;
        for (size_t j = 0; j < a->dv; j++) {
            const float *s = from + j * dk;
            float *y = a->state_out + j * dk;
            for (size_t i = 0; i < dk; i++) y[i] = s[i] * decay;
            const float d = beta * (v[j] - numerics_dot(y, k, dk));
            for (size_t i = 0; i < dk; i++) y[i] = fmaf(d, k[i], y[i]);
            o[j] = numerics_dot(y, q, dk);
        }
        from = a->state_out;
    }
}

/* Working set of one group; pieces of the caller's scratch. */
typedef struct group {
    float *a;      /* [64][64] beta_i (k_i k_j) e^(G_i - G_j), j < i */
    float *p;      /* [64][64] (q_i k_j) e^(G_i - G_j), j <= i */
    float *w;      /* [64][dk] then solved in place */
    float *u;      /* [64][dv] then solved in place, then V' = U - W S */
    float *sum_g;  /* [64] G_i = chain of g */
    float *decay;  /* [64] e^G_i */
    float *to_end; /* [64] e^(G_63 - G_i) */
} group;

static group group_at(float *scratch, size_t dk, size_t dv) {
    const size_t n = OPS_GROUP_TOKENS;
    group s;
    s.a = scratch;
    s.p = s.a + n * n;
    s.w = s.p + n * n;
    s.u = s.w + n * dk;
    s.sum_g = s.u + n * dv;
    s.decay = s.sum_g + n;
    s.to_end = s.decay + n;
    return s;
}

static void group_decays(const ops_deltanet_args *a, group *s) {
    const size_t n = OPS_GROUP_TOKENS;
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = sum + a->g[i * a->gate_stride];
        s->sum_g[i] = sum;
        s->decay[i] = numerics_exp(sum);
    }
    for (size_t i = 0; i < n; i++) s->to_end[i] = numerics_exp(sum - s->sum_g[i]);
}

/* Exponents are differences G_i - G_j <= 0, never a product e^G_i * e^-G_j, so nothing overflows. */
static void group_products(const ops_deltanet_args *a, group *s) {
    const size_t n = OPS_GROUP_TOKENS;
    for (size_t i = 0; i < n; i++) {
        const float *q = a->q + i * a->qk_stride, *k = a->k + i * a->qk_stride;
        const float beta = a->beta[i * a->gate_stride];
        for (size_t j = 0; j <= i; j++) {
            const float *kj = a->k + j * a->qk_stride;
            const float e = numerics_exp(s->sum_g[i] - s->sum_g[j]);
            s->p[i * n + j] = numerics_dot(q, kj, a->dk) * e;
            if (j < i) s->a[i * n + j] = (beta * numerics_dot(k, kj, a->dk)) * e;
        }
    }
}

/* y = y - c x */
static void subtract_scaled(float *restrict y, const float *restrict x, float c, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = fmaf(-c, x[i], y[i]);
}

/* (I + A) U = diag(beta) V and (I + A) W = diag(beta e^G) K by forward substitution, rows in rising order. */
static void group_solve(const ops_deltanet_args *a, group *s) {
    const size_t n = OPS_GROUP_TOKENS;
    for (size_t i = 0; i < n; i++) {
        const float *k = a->k + i * a->qk_stride, *v = a->v + i * a->v_stride;
        const float beta = a->beta[i * a->gate_stride], beta_decay = beta * s->decay[i];
        float *u = s->u + i * a->dv, *w = s->w + i * a->dk;
        for (size_t d = 0; d < a->dv; d++) u[d] = beta * v[d];
        for (size_t d = 0; d < a->dk; d++) w[d] = beta_decay * k[d];
        for (size_t j = 0; j < i; j++) {
            subtract_scaled(u, s->u + j * a->dv, s->a[i * n + j], a->dv);
            subtract_scaled(w, s->w + j * a->dk, s->a[i * n + j], a->dk);
        }
    }
}

/* V' = U - W S_in and O = e^G Q S_in + P V' */
static void group_outputs(const ops_deltanet_args *a, group *s) {
    const size_t n = OPS_GROUP_TOKENS, dk = a->dk;
    for (size_t i = 0; i < n; i++) {
        const float *q = a->q + i * a->qk_stride;
        float *u = s->u + i * a->dv, *o = a->out + i * a->out_stride;
        for (size_t j = 0; j < a->dv; j++) {
            u[j] = u[j] - numerics_dot(s->w + i * dk, a->state_in + j * dk, dk);
            o[j] = s->decay[i] * numerics_dot(q, a->state_in + j * dk, dk);
        }
        for (size_t j = 0; j <= i; j++) subtract_scaled(o, s->u + j * a->dv, -s->p[i * n + j], a->dv);
    }
}

/* S_out = e^G_63 S_in + sum over i of e^(G_63 - G_i) V'_i k_i */
static void group_state(const ops_deltanet_args *a, group *s) {
    const size_t n = OPS_GROUP_TOKENS, dk = a->dk;
    for (size_t j = 0; j < a->dv; j++) {
        float *y = a->state_out + j * dk;
        const float *x = a->state_in + j * dk;
        for (size_t d = 0; d < dk; d++) y[d] = x[d] * s->decay[n - 1];
        for (size_t i = 0; i < n; i++) {
            subtract_scaled(y, a->k + i * a->qk_stride, -(s->u[i * a->dv + j] * s->to_end[i]), dk);
        }
    }
}

void KERNEL(ops_deltanet_group)(const ops_deltanet_args *a) {
    group s = group_at(a->scratch, a->dk, a->dv);
    group_decays(a, &s);
    group_products(a, &s);
    group_solve(a, &s);
    group_outputs(a, &s);
    group_state(a, &s);
}
