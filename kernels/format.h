/* The weight formats of GGUF files that Convect computes with: one list, from which come the enum, the traits table and
 * the kernel tables. Block layouts: ggml's (numbers from its type table); the arithmetic of each rule is the numerics
 * contract of engine/ARCHITECTURE.md. Pure data; any thread. */
#ifndef CONVECT_KERNELS_FORMAT_H
#define CONVECT_KERNELS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the row sum of a format is put together (unit = 4 blocks of 32, super-block = 2 units). */
typedef enum format_rule {
    FORMAT_RULE_FLOAT,       /* F32 F16 BF16: f32 activations, p = fma chain of 32, u = RN(u + p) */
    FORMAT_RULE_SUPER,       /* one d per super-block (Q1_0: per unit): u = fma(da, P, u), t = RN(d * u) */
    FORMAT_RULE_SUPER_MIN,   /* as SUPER, v = fma(s, m, v), t = fma(-dmin, v, t) */
    FORMAT_RULE_SUPER_MIN16, /* Q2_K, a min per 16: v = fma(da, sum of m * sum16 over the halves, v) */
    FORMAT_RULE_BLOCK,       /* d per block of 32: u = fma(RN(d * da), P, u), t = u */
    FORMAT_RULE_BLOCK_MIN,   /* as BLOCK, v = fma(m, s, v), t = RN(u + v) */
    FORMAT_RULE_HALF,        /* NVFP4: scale per 16: u = fma(RN(da * s16), P16, u) for each half */
    FORMAT_RULE_COUNT
} format_rule;

/* X(symbol, ggml type id, elements per block, bytes per block, rule, largest |P_b|; 0 for floats).
 * P bounds: the table of the contract; a unit test recomputes each from the codes and asserts < 2^24. */
#define FORMAT_LIST(X)                                                                                                 \
    X(F32, 0, 1, 4, FLOAT, 0)                                                                                          \
    X(F16, 1, 1, 2, FLOAT, 0)                                                                                          \
    X(Q4_0, 2, 32, 18, BLOCK, 32512)                                                                                   \
    X(Q4_1, 3, 32, 20, BLOCK_MIN, 60960)                                                                               \
    X(Q5_0, 6, 32, 22, BLOCK, 65024)                                                                                   \
    X(Q5_1, 7, 32, 24, BLOCK_MIN, 125984)                                                                              \
    X(Q8_0, 8, 32, 34, BLOCK, 520192)                                                                                  \
    X(Q2_K, 10, 256, 84, SUPER_MIN16, 182880)                                                                          \
    X(Q3_K, 11, 256, 110, SUPER, 520192)                                                                               \
    X(Q4_K, 12, 256, 144, SUPER_MIN, 3840480)                                                                          \
    X(Q5_K, 13, 256, 176, SUPER_MIN, 7936992)                                                                          \
    X(Q6_K, 14, 256, 210, SUPER, 16646144)                                                                             \
    X(IQ2_XXS, 16, 256, 66, SUPER, 5417312)                                                                            \
    X(IQ2_XS, 17, 256, 74, SUPER, 5417312)                                                                             \
    X(IQ3_XXS, 18, 256, 98, SUPER, 7811008)                                                                            \
    X(IQ1_S, 19, 256, 50, SUPER, 548640)                                                                               \
    X(IQ4_NL, 20, 32, 18, BLOCK, 516128)                                                                               \
    X(IQ3_S, 21, 256, 110, SUPER, 1889760)                                                                             \
    X(IQ2_S, 22, 256, 82, SUPER, 5417312)                                                                              \
    X(IQ4_XS, 23, 256, 136, SUPER, 16516096)                                                                           \
    X(IQ1_M, 29, 256, 56, SUPER, 548640)                                                                               \
    X(BF16, 30, 1, 2, FLOAT, 0)                                                                                        \
    X(TQ1_0, 34, 256, 54, SUPER, 4064)                                                                                 \
    X(TQ2_0, 35, 256, 66, SUPER, 8128)                                                                                 \
    X(MXFP4, 39, 32, 17, BLOCK, 48768)                                                                                 \
    X(NVFP4, 40, 64, 36, HALF, 24384)                                                                                  \
    X(Q1_0, 41, 128, 18, SUPER, 4064)                                                                                  \
    X(Q2_0, 42, 64, 18, BLOCK, 8128)

typedef enum format_id {
#define X(symbol, id, elems, bytes, rule, bound) FORMAT_##symbol,
    FORMAT_LIST(X)
#undef X
        FORMAT_COUNT
} format_id;

typedef struct format_traits {
    const char *name;     /* "Q4_K" */
    uint32_t ggml_type;   /* id in GGUF files */
    uint32_t block_elems; /* elements of a stored block */
    uint32_t block_bytes; /* bytes of a stored block */
    format_rule rule;     /* how a row sum is built */
    uint32_t p_bound;     /* largest |P_b| of a 32-element block (of a 16-element half for HALF); 0 for floats */
} format_traits;

/* Traits of a format; id must be < FORMAT_COUNT (checked). Static storage. */
const format_traits *format_get(format_id id);

/* The format with this GGUF type id, or FORMAT_COUNT if Convect has none (integer types, removed and foreign ids). */
format_id format_from_ggml(uint32_t ggml_type);

/* The format with this name, case-insensitive ("q4_k"), or FORMAT_COUNT. */
format_id format_from_name(const char *name);

/* Bytes of a row of k elements; k must be a multiple of block_elems (checked by the caller: the GGUF reader). */
size_t format_row_bytes(format_id id, size_t k);

#ifdef __cplusplus
}
#endif
#endif
