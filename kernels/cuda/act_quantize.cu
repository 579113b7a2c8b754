// The activation record and SwiGLU (contract 2.1, 2.3). A warp makes one block of 32, a lane one element.
#include "kernels/cuda/contract.cuh"
#include "kernels/cuda/launch.h"

#define WARP      32
#define THREADS   256
#define FULL_MASK 0xffffffffu
#define GRID_MAX  4096 // blocks of THREADS; loops take the rest

// Sum over the 16 lanes of this lane's half of the warp.
static __device__ __forceinline__ int half_warp_sum(int v) {
    for (int step = 8; step >= 1; step /= 2) v += __shfl_xor_sync(FULL_MASK, v, step);
    return v;
}

static __device__ __forceinline__ uint32_t warp_max(uint32_t v) {
    for (int step = 16; step >= 1; step /= 2) v = max(v, __shfl_xor_sync(FULL_MASK, v, step));
    return v;
}

// Stage function: the whole warp quantises block b of a record of k elements; x is this lane's element.
static __device__ __forceinline__ void act_block_quantize(float x, size_t b, size_t k, uint8_t *record) {
    unsigned lane = threadIdx.x % WARP;
    contract_scale scale = contract_block_scale(warp_max(contract_bits(x) & 0x7fffffffu));
    int code = contract_code(x, scale.inv);
    int sum16 = half_warp_sum(code);
    int sum = sum16 + __shfl_xor_sync(FULL_MASK, sum16, 16);
    record[WARP * b + lane] = (uint8_t)code;
    float *ds = (float *)(record + k);
    int32_t *sums = (int32_t *)(record + k + k / 4);
    if (lane % 16 == 0) sums[2 * b + lane / 16] = sum16;
    if (lane == 0) ds[2 * b] = scale.da;
    if (lane == 1) ds[2 * b + 1] = contract_block_s(scale.da, sum);
}

static __global__ void k_act_quantize(const float *x, size_t k, size_t n_blocks, uint8_t *records) {
    size_t blocks_per_row = k / WARP, n_warps = (size_t)gridDim.x * (THREADS / WARP);
    size_t warp = ((size_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    for (size_t i = warp; i < n_blocks; i += n_warps) { // the same for all lanes of a warp
        uint8_t *record = records + i / blocks_per_row * (k + k / 2);
        act_block_quantize(x[i * WARP + threadIdx.x % WARP], i % blocks_per_row, k, record);
    }
}

static __global__ void k_swiglu(const float *gate, const float *up, size_t n, float *out) {
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
        out[i] = contract_swiglu(gate[i], up[i]);
    }
}

static unsigned grid_for(size_t n_threads) {
    size_t n = (n_threads + THREADS - 1) / THREADS;
    return (unsigned)(n < GRID_MAX ? n : GRID_MAX);
}

extern "C" cudaError_t launch_act_quantize(const float *x, size_t k, size_t n_rows, uint8_t *records,
                                           cudaStream_t stream) {
    size_t n_blocks = n_rows * (k / WARP);
    if (n_blocks == 0) return cudaSuccess;
    k_act_quantize<<<grid_for(n_blocks * WARP), THREADS, 0, stream>>>(x, k, n_blocks, records);
    return cudaGetLastError();
}

extern "C" cudaError_t launch_swiglu(const float *gate, const float *up, size_t n, float *out, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    k_swiglu<<<grid_for(n), THREADS, 0, stream>>>(gate, up, n, out);
    return cudaGetLastError();
}

extern "C" cudaError_t launch_check_device(void) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, k_swiglu);
}
