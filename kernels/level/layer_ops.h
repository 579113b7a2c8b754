/* What the files of kernels/level/ for norms, attention, DeltaNet and routing define, once per level; collected by
 * kernels/level/layer_ops.c. Contracts: kernels/layer_ops.h. */
#ifndef CONVECT_KERNELS_LEVEL_LAYER_OPS_H
#define CONVECT_KERNELS_LEVEL_LAYER_OPS_H

#include "kernels/layer_ops.h"
#include "kernels/level.h"
#include "kernels/numerics.h"

void KERNEL(ops_rms_norm)(const float *x, const float *w, size_t n, float eps, float *y);
void KERNEL(ops_l2_norm)(const float *x, size_t n, float eps, float scale, float *y);
void KERNEL(ops_rope)(float *x, const float *cosines, const float *sines, size_t n_pairs);
void KERNEL(ops_add)(float *x, const float *y, size_t n);
void KERNEL(ops_scale)(float *y, float scale, size_t n);
void KERNEL(ops_sigmoid_gate)(float *x, const float *gate, size_t n);
void KERNEL(ops_silu_gate)(float *x, const float *gate, size_t n);
void KERNEL(ops_deltanet_gates)(float *alpha, float *beta, const float *a, const float *dt, size_t n);
void KERNEL(ops_router)(const float *logits, size_t n, size_t k, float *scratch, uint32_t *ids, float *weights);
void KERNEL(ops_moe_combine)(const float *const *o, const float *w, size_t k, const float *shared, float gate_logit,
                             size_t n, float *x);
void KERNEL(ops_kv_store)(ops_kv_type type, const float *x, size_t dim, uint8_t *dst);
void KERNEL(ops_attention)(const ops_attention_args *args);
void KERNEL(ops_conv_silu)(const ops_conv_args *args);
void KERNEL(ops_deltanet_steps)(const ops_deltanet_args *args);
void KERNEL(ops_deltanet_group)(const ops_deltanet_args *args);

extern const kernel_ops KERNEL(kernel_ops);

#endif
