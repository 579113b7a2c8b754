#include "tests/gpu/probe.h"

#include "kernels/cuda/contract.cuh"

#define THREADS 256
#define INDEX   ((size_t)blockIdx.x * THREADS + threadIdx.x)

static __global__ void k_exp(const float *x, size_t n, float *out) {
    if (INDEX < n) out[INDEX] = contract_exp(x[INDEX]);
}

static __global__ void k_half_to_float(const uint16_t *x, size_t n, float *out) {
    if (INDEX < n) out[INDEX] = contract_half_to_float(x[INDEX]);
}

static __global__ void k_half_from_float(const float *x, size_t n, uint16_t *out) {
    if (INDEX < n) out[INDEX] = contract_half_from_float(x[INDEX]);
}

static unsigned grid_for(size_t n) {
    return (unsigned)((n + THREADS - 1) / THREADS);
}

extern "C" cudaError_t probe_launch_exp(const float *x, size_t n, float *out) {
    k_exp<<<grid_for(n), THREADS>>>(x, n, out);
    return cudaGetLastError();
}

extern "C" cudaError_t probe_launch_half_to_float(const uint16_t *x, size_t n, float *out) {
    k_half_to_float<<<grid_for(n), THREADS>>>(x, n, out);
    return cudaGetLastError();
}

extern "C" cudaError_t probe_launch_half_from_float(const float *x, size_t n, uint16_t *out) {
    k_half_from_float<<<grid_for(n), THREADS>>>(x, n, out);
    return cudaGetLastError();
}

extern "C" float probe_host_exp(float x) {
    return contract_exp(x);
}

extern "C" float probe_host_swiglu(float gate, float up) {
    return contract_swiglu(gate, up);
}

extern "C" float probe_host_half_to_float(uint16_t h) {
    return contract_half_to_float(h);
}

extern "C" uint16_t probe_host_half_from_float(float x) {
    return contract_half_from_float(x);
}

extern "C" void probe_host_block(const float *x, int8_t *q, float *ds, int32_t *sum16) {
    uint32_t magnitude = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = contract_bits(x[i]) & 0x7fffffffu;
        magnitude = bits > magnitude ? bits : magnitude;
    }
    contract_scale scale = contract_block_scale(magnitude);
    sum16[0] = sum16[1] = 0;
    for (int i = 0; i < 32; i++) {
        q[i] = (int8_t)contract_code(x[i], scale.inv);
        sum16[i / 16] += q[i];
    }
    ds[0] = scale.da;
    ds[1] = contract_block_s(scale.da, sum16[0] + sum16[1]);
}
