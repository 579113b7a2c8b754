/* One forward pass of family qwen35moe in flight: where its rows lie in scratch, and the steps of a layer. Shared by
 * qwen35moe.c (order of layers), qwen35moe_mix.c (attention and DeltaNet) and qwen35moe_moe.c (experts). Each function
 * runs one or more regions on the pool and returns when all workers have finished. */
#ifndef CONVECT_ENGINE_QWEN35MOE_PASS_H
#define CONVECT_ENGINE_QWEN35MOE_PASS_H

#include "engine/base/arena.h"
#include "engine/qwen35moe.h"

/* A row's activation record beside its f32 values. */
typedef struct pass_rows {
    float *x;      /* [n_rows][k] */
    act_view *act; /* [n_rows] records of the same values */
    size_t k;
} pass_rows;

/* Scratch of n_rows_max rows; T stands for it in shapes. */
typedef struct pass_buffers {
    float *x;               /* [T][H] residual stream */
    pass_rows h;            /* [T][H] normed input of a sublayer; after the last layer the hidden states */
    float *mixed;           /* [T][max(C, n_head * 2 D)]: q with gates, or the convolution's input */
    float *conv;            /* [T][C] after the convolution; q and k normalised in place */
    float *z;               /* [T][Vd] output gate of DeltaNet */
    float *alpha, *beta;    /* [T][n_v_heads] */
    float *k, *v;           /* [T][n_head_kv * D] */
    float *cosines, *sines; /* [T][n_rope_pairs] */
    pass_rows o;            /* [T][n_head * D or Vd] heads' outputs, input of the output matrix */
    float *y;               /* [T][H] output of the output matrix, or of the shared expert */
    float *delta;           /* [n_workers] scratch of a DeltaNet group */
    float *router;          /* [T][E] logits */
    float *terms;           /* [T][E] scratch of the router */
    float *shared_logit;    /* [T] */
    uint32_t *ids;          /* [T][k] experts by rank */
    float *weights;         /* [T][k] */
    uint32_t *slots;        /* [T][k] slot of (row, rank); slots are sorted by expert, then row */
    uint32_t *slot_row;     /* [T k] row of a slot */
    uint32_t *first;        /* [E + 1] first slot of an expert */
    uint32_t *active;       /* [E] experts that have slots, rising */
    act_view *slot_act;     /* [T k] record of the slot's row of h */
    float *slot_x;          /* [T k][H] copy of the slot's row of h; only for float gate or up matrices, else NULL */
    float *gate, *up;       /* [T k][f] */
    pass_rows hidden;       /* [T k][f] SwiGLU of the two */
    float *out;             /* [T k][H] expert outputs */
    float *shared_gate, *shared_up; /* [T][fs] */
    pass_rows shared;               /* [T][fs] */
} pass_buffers;

typedef struct pass {
    const qwen35moe *model;
    const family_exec *exec;
    const family_step *step;
    const qwen35moe_layer *layer;
    size_t n_rows;
    size_t n_active; /* experts with slots */
    pass_buffers b;
} pass;

/* Takes the buffers from an arena: a measuring one first, then one over the scratch. */
void pass_buffers_lay(const qwen35moe *m, size_t n_rows_max, size_t n_workers, arena *a, pass_buffers *out);

/* Regions. pass_run_rows runs fn once on the caller if there is one row: a fork costs more than the work. */
typedef void (*pass_fn)(const pass *p, size_t i_worker, size_t n_workers);
void pass_run(const pass *p, pass_fn fn);
void pass_run_rows(const pass *p, pass_fn fn);

/* This worker's share of the rows of each job. */
void pass_jobs(const pass *p, const linear_job *jobs, size_t n_jobs, size_t i_worker, size_t n_workers);
/* Job of all rows of in into y. */
linear_job pass_job(const pass *p, const weight *w, const pass_rows *in, float *y);
void pass_quantize(const pass *p, const pass_rows *rows, size_t i_row);

/* y = attention or DeltaNet of h, [T][H]. */
void pass_attention(const pass *p);
void pass_deltanet(const pass *p);
/* x = x + experts(h) */
void pass_experts(pass *p);

#endif
