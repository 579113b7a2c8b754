/* The layer operations of one level. */
#include "kernels/level/layer_ops.h"

const kernel_ops KERNEL(kernel_ops) = {
    .rms_norm = KERNEL(ops_rms_norm),
    .l2_norm = KERNEL(ops_l2_norm),
    .rope = KERNEL(ops_rope),
    .add = KERNEL(ops_add),
    .scale = KERNEL(ops_scale),
    .sigmoid_gate = KERNEL(ops_sigmoid_gate),
    .silu_gate = KERNEL(ops_silu_gate),
    .deltanet_gates = KERNEL(ops_deltanet_gates),
    .router = KERNEL(ops_router),
    .moe_combine = KERNEL(ops_moe_combine),
    .kv_store = KERNEL(ops_kv_store),
    .attention = KERNEL(ops_attention),
    .conv_silu = KERNEL(ops_conv_silu),
    .deltanet_steps = KERNEL(ops_deltanet_steps),
    .deltanet_group = KERNEL(ops_deltanet_group),
};
