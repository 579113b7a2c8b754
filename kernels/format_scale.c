#include "kernels/format_scale.h"

#include "engine/base/check.h"
#include "kernels/half.h"

typedef enum field_kind { KIND_NONE, KIND_HALF, KIND_BF16, KIND_F32, KIND_E8M0, KIND_NIBBLES } field_kind;

typedef struct field {
    field_kind kind;
    uint16_t off; /* in the block */
    const char *name;
} field;

/* Up to two fields a block; offsets as in kernels/FORMATS.md. */
static const field fields[FORMAT_COUNT][2] = {
    [FORMAT_F32] = {{KIND_F32, 0, "weight"}},
    [FORMAT_F16] = {{KIND_HALF, 0, "weight"}},
    [FORMAT_BF16] = {{KIND_BF16, 0, "weight"}},
    [FORMAT_Q4_0] = {{KIND_HALF, 0, "d"}},
    [FORMAT_Q4_1] = {{KIND_HALF, 0, "d"}, {KIND_HALF, 2, "m"}},
    [FORMAT_Q5_0] = {{KIND_HALF, 0, "d"}},
    [FORMAT_Q5_1] = {{KIND_HALF, 0, "d"}, {KIND_HALF, 2, "m"}},
    [FORMAT_Q8_0] = {{KIND_HALF, 0, "d"}},
    [FORMAT_Q2_K] = {{KIND_HALF, 80, "d"}, {KIND_HALF, 82, "dmin"}},
    [FORMAT_Q3_K] = {{KIND_HALF, 108, "d"}},
    [FORMAT_Q4_K] = {{KIND_HALF, 0, "d"}, {KIND_HALF, 2, "dmin"}},
    [FORMAT_Q5_K] = {{KIND_HALF, 0, "d"}, {KIND_HALF, 2, "dmin"}},
    [FORMAT_Q6_K] = {{KIND_HALF, 208, "d"}},
    [FORMAT_IQ2_XXS] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ2_XS] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ2_S] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ3_XXS] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ3_S] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ1_S] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ1_M] = {{KIND_NIBBLES, 48, "d"}},
    [FORMAT_IQ4_NL] = {{KIND_HALF, 0, "d"}},
    [FORMAT_IQ4_XS] = {{KIND_HALF, 0, "d"}},
    [FORMAT_TQ1_0] = {{KIND_HALF, 52, "d"}},
    [FORMAT_TQ2_0] = {{KIND_HALF, 64, "d"}},
    [FORMAT_MXFP4] = {{KIND_E8M0, 0, "scale"}},
    [FORMAT_NVFP4] = {{KIND_NONE, 0, "scale"}},
    [FORMAT_Q1_0] = {{KIND_HALF, 0, "d"}},
    [FORMAT_Q2_0] = {{KIND_HALF, 0, "d"}},
};

/* All exponent bits set. */
static bool half_is_faulty(uint32_t h) {
    return (h & 0x7c00U) == 0x7c00U;
}

static bool is_faulty(field_kind kind, const uint8_t *p) {
    switch (kind) {
    case KIND_NONE: return false;
    case KIND_HALF: return half_is_faulty(half_load(p));
    case KIND_BF16: return (half_load(p) & 0x7f80U) == 0x7f80U;
    case KIND_F32: return (half_load(p + 2) & 0x7f80U) == 0x7f80U;
    case KIND_E8M0: return *p == 255;
    case KIND_NIBBLES: /* the top nibbles of four words, lowest first: the exponent is in the last two */
        return half_is_faulty((half_load(p + 4) >> 4 & 0xf00U) | (half_load(p + 6) & 0xf000U));
    }
    return false;
}

bool format_find_fault(format_id id, const uint8_t *blocks, size_t n_blocks, format_fault *out) {
    CONVECT_CHECK((unsigned)id < FORMAT_COUNT);
    const size_t block_bytes = format_get(id)->block_bytes;
    const field a = fields[id][0], b = fields[id][1];
    CONVECT_CHECK(a.name);
    for (size_t i = 0; i < n_blocks; i++) {
        const uint8_t *p = blocks + i * block_bytes;
        const bool a_is_faulty = is_faulty(a.kind, p + a.off);
        if (!a_is_faulty && !is_faulty(b.kind, p + b.off)) continue;
        const field *f = a_is_faulty ? &a : &b;
        *out = (format_fault){i, i * block_bytes + f->off, f->name};
        return true;
    }
    return false;
}
