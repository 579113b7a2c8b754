// The scalar arithmetic of the numerics contract for device code (engine/ARCHITECTURE.md; kernels/numerics.h is the
// plain-C side): bits, binary16, exp, SwiGLU, and the scale of an activation block. Same operations, same order, same
// bits; needs -fmad=false, IEEE division and no flush-to-zero (tools/cmake/modules/ConvectCuda.cmake). Also compiled
// for the host, so that tests/gpu compares this source with plain C where there is no GPU.
#ifndef CONVECT_KERNELS_CUDA_CONTRACT_CUH
#define CONVECT_KERNELS_CUDA_CONTRACT_CUH

#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CONTRACT_FN static __host__ __device__ __forceinline__

CONTRACT_FN uint32_t contract_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

CONTRACT_FN float contract_float(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

// Exact widening; a NaN stays a NaN (its payload is not part of the contract).
CONTRACT_FN float contract_half_to_float(uint16_t h) {
    __half_raw raw;
    raw.x = h;
    return __half2float(__half(raw));
}

// Round to nearest even, overflow to infinity.
CONTRACT_FN uint16_t contract_half_from_float(float f) {
    return __half_raw(__float2half_rn(f)).x;
}

// 1.5 * 2^23: adding it rounds |x| < 2^22 to an integer, ties to even, in the low bits.
#define CONTRACT_MAGIC 12582912.0f

// e^x, x clamped to [-87, 88]; NaN stays NaN.
CONTRACT_FN float contract_exp(float x) {
    float c = x < -87.0f ? -87.0f : x;
    c = c > 88.0f ? 88.0f : c;
    float z = fmaf(c, 0x1.715476p+0f, CONTRACT_MAGIC);
    float n = z - CONTRACT_MAGIC;
    float r = fmaf(n, -0x1.62e430p-1f, c);
    r = fmaf(n, 0x1.05c610p-29f, r);
    float p = 0x1.a01a02p-13f;
    p = fmaf(p, r, 0x1.6c16c2p-10f);
    p = fmaf(p, r, 0x1.111112p-7f);
    p = fmaf(p, r, 0x1.555556p-5f);
    p = fmaf(p, r, 0x1.555556p-3f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    float y = contract_float(contract_bits(p) + (contract_bits(z) << 23));
    return x == x ? y : x; // a NaN's payload must not reach the exponent
}

CONTRACT_FN float contract_swiglu(float gate, float up) {
    return gate / (1.0f + contract_exp(-gate)) * up;
}

// Of a block of 32 whose largest magnitude has these bits: da, and inv = 127 / amax. inv = 0 marks a block whose codes
// are all zero: magnitude below 2^-60 (da = +0), or an infinity or NaN in it (da = the stored NaN).
typedef struct contract_scale {
    float da;
    float inv;
} contract_scale;

CONTRACT_FN contract_scale contract_block_scale(uint32_t magnitude) {
    contract_scale s = {0.0f, 0.0f};
    if (magnitude >= 0x7f800000u) {
        s.da = contract_float(0x7fc00000u);
    } else if (magnitude >= 0x21800000u) {
        float a = contract_float(magnitude);
        s.inv = 127.0f / a;
        s.da = a * 0x1.020408p-7f; // RN(1 / 127)
    }
    return s;
}

// Code of one element; |code| <= 127.
CONTRACT_FN int contract_code(float x, float inv) {
    return inv == 0.0f ? 0 : (int)(contract_bits(x * inv + CONTRACT_MAGIC) - 0x4b400000u);
}

// s of a block from its da and the sum of its 32 codes; the stored NaN stays as it is.
CONTRACT_FN float contract_block_s(float da, int sum) {
    return da == da ? da * (float)sum : da;
}

#endif
