/* Norms, rotary positions and elementwise steps. */
#include "kernels/level/layer_ops.h"

void KERNEL(ops_rms_norm)(const float *x, const float *w, size_t n, float eps, float *y) {
    const float r = numerics_rsqrt(numerics_dot(x, x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++) y[i] = (x[i] * r) * w[i];
}

void KERNEL(ops_l2_norm)(const float *x, size_t n, float eps, float scale, float *y) {
    const float r = numerics_rsqrt(numerics_dot(x, x, n) + eps);
    for (size_t i = 0; i < n; i++) y[i] = (x[i] * r) * scale;
}

void KERNEL(ops_rope)(float *x, const float *cosines, const float *sines, size_t n_pairs) {
    for (size_t i = 0; i < n_pairs; i++) {
        const float a = x[i], b = x[i + n_pairs];
        x[i] = a * cosines[i] - b * sines[i];
        x[i + n_pairs] = b * cosines[i] + a * sines[i];
    }
}

void KERNEL(ops_add)(float *x, const float *y, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = x[i] + y[i];
}

void KERNEL(ops_scale)(float *y, float scale, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = y[i] * scale;
}

void KERNEL(ops_sigmoid_gate)(float *x, const float *gate, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = x[i] * numerics_sigmoid(gate[i]);
}

void KERNEL(ops_silu_gate)(float *x, const float *gate, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = x[i] * numerics_silu(gate[i]);
}
