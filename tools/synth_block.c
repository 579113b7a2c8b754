#include "tools/synth_block.h"

#include <math.h>
#include <string.h>

#include "engine/base/check.h"
#include "kernels/half.h"
#include "kernels/quantize.h"
#include "kernels/table.h"
#include "tools/synth_random.h"

#define NO_FIELD 0xffffU

typedef enum scale_kind {
    SCALE_F16,   /* f16 at d_off */
    SCALE_IQ1_M, /* f16 spread over the high nibbles of four u16 at 48 */
    SCALE_E8M0,  /* MXFP4: power of two in byte 0 */
    SCALE_E4M3   /* NVFP4: four unsigned E4M3 bytes at 0 */
} scale_kind;

typedef struct recipe {
    uint16_t code_off, code_bytes; /* bytes that may hold anything */
    scale_kind kind;
    uint16_t d_off, min_off;
    float min_ratio; /* min = ratio * d where no quantiser makes the template; centres the codes on 0 */
} recipe;

/* Layouts: engine/ARCHITECTURE.md and ggml's block structs. code_bytes 0 marks a format without a recipe. */
static const recipe recipes[FORMAT_COUNT] = {
    [FORMAT_Q4_0] = {2, 16, SCALE_F16, 0, NO_FIELD, 0},    [FORMAT_Q4_1] = {4, 16, SCALE_F16, 0, 2, -7.5F},
    [FORMAT_Q5_0] = {2, 20, SCALE_F16, 0, NO_FIELD, 0},    [FORMAT_Q5_1] = {4, 20, SCALE_F16, 0, 2, -15.5F},
    [FORMAT_Q8_0] = {2, 32, SCALE_F16, 0, NO_FIELD, 0},    [FORMAT_Q2_K] = {16, 64, SCALE_F16, 80, 82, 0},
    [FORMAT_Q3_K] = {0, 96, SCALE_F16, 108, NO_FIELD, 0},  [FORMAT_Q4_K] = {16, 128, SCALE_F16, 0, 2, 0},
    [FORMAT_Q5_K] = {16, 160, SCALE_F16, 0, 2, 0},         [FORMAT_Q6_K] = {0, 192, SCALE_F16, 208, NO_FIELD, 0},
    [FORMAT_IQ2_XXS] = {2, 64, SCALE_F16, 0, NO_FIELD, 0}, [FORMAT_IQ2_XS] = {2, 72, SCALE_F16, 0, NO_FIELD, 0},
    [FORMAT_IQ3_XXS] = {2, 96, SCALE_F16, 0, NO_FIELD, 0}, [FORMAT_IQ1_S] = {2, 48, SCALE_F16, 0, NO_FIELD, 0},
    [FORMAT_IQ4_NL] = {2, 16, SCALE_F16, 0, NO_FIELD, 0},  [FORMAT_IQ3_S] = {2, 108, SCALE_F16, 0, NO_FIELD, 0},
    [FORMAT_IQ2_S] = {2, 80, SCALE_F16, 0, NO_FIELD, 0},   [FORMAT_IQ4_XS] = {8, 128, SCALE_F16, 0, NO_FIELD, 0},
    [FORMAT_IQ1_M] = {0, 48, SCALE_IQ1_M, 0, NO_FIELD, 0}, [FORMAT_TQ1_0] = {0, 52, SCALE_F16, 52, NO_FIELD, 0},
    [FORMAT_TQ2_0] = {0, 64, SCALE_F16, 64, NO_FIELD, 0},  [FORMAT_MXFP4] = {1, 16, SCALE_E8M0, 0, NO_FIELD, 0},
    [FORMAT_NVFP4] = {4, 32, SCALE_E4M3, 0, NO_FIELD, 0},  [FORMAT_Q1_0] = {2, 16, SCALE_F16, 0, NO_FIELD, 0},
    [FORMAT_Q2_0] = {2, 16, SCALE_F16, 0, NO_FIELD, 0},
};

bool synth_block_has(format_id format) {
    CONVECT_CHECK(format < FORMAT_COUNT);
    return recipes[format].code_bytes > 0;
}

/* Nearest unsigned E4M3 code of d, in the halved form that NVFP4 files use. */
static uint8_t e4m3_code(float d) {
    uint8_t best = 1;
    float best_distance = INFINITY;
    for (uint8_t c = 1; c < 0x7f; c++) {
        int e = c >> 3;
        float m = (float)(c & 7);
        float v = 0.5F * (e == 0 ? m * 0x1p-9F : (1.0F + m / 8.0F) * exp2f((float)(e - 7)));
        if (fabsf(v - d) >= best_distance) continue;
        best_distance = fabsf(v - d);
        best = c;
    }
    return best;
}

static void store_scale(format_id format, uint8_t *block, float d, float min) {
    const recipe *r = &recipes[format];
    uint16_t h = half_from_float(d);
    switch (r->kind) {
    case SCALE_F16:
        half_store(block + r->d_off, h);
        if (r->min_off != NO_FIELD) half_store(block + r->min_off, half_from_float(min));
        break;
    case SCALE_IQ1_M:
        for (size_t i = 0; i < 4; i++) {
            uint8_t *high = block + 48 + 2 * i + 1;
            *high = (uint8_t)((*high & 15) | (h >> 4 * i & 15) << 4);
        }
        break;
    case SCALE_E8M0: block[0] = (uint8_t)(128 + lrintf(log2f(d))); break;
    case SCALE_E4M3: memset(block, e4m3_code(d), 4); break;
    }
}

/* Random codes of one block. TQ2_0 has no value for the code 3: its bits are cleared down to 2. */
static void fill_codes(format_id format, uint64_t key, uint64_t i_word, uint8_t *block) {
    const recipe *r = &recipes[format];
    uint8_t *out = block + r->code_off;
    for (size_t n = 0; n < r->code_bytes; n += 8) {
        uint64_t word = random_u64(key, i_word + n / 8);
        if (format == FORMAT_TQ2_0) word &= ~(word >> 1 & UINT64_C(0x5555555555555555));
        size_t left = r->code_bytes - n;
        memcpy(out + n, &word, left < 8 ? left : 8);
    }
}

static uint64_t words_per_block(format_id format) {
    return 1 + (recipes[format].code_bytes + 7U) / 8U;
}

/* Scales of a template: from the quantiser on normal data where there is one, else random bits and d = 1. */
static void make_template(synth_block_maker *m, size_t i, uint64_t key) {
    const recipe *r = &recipes[m->format];
    const format_traits *f = format_get(m->format);
    uint8_t *block = m->block[i];
    if (quantize_has(m->format)) {
        float x[256];
        for (size_t j = 0; j < f->block_elems; j++) x[j] = random_normal(key, i * 256 + j);
        CONVECT_CHECK(quantize_row(m->format, x, f->block_elems, block));
        m->d[i] = half_to_float(half_load(block + r->d_off));
        m->min[i] = r->min_off == NO_FIELD ? 0 : half_to_float(half_load(block + r->min_off));
        return;
    }
    for (size_t j = 0; j < f->block_bytes; j++) block[j] = (uint8_t)random_u64(key, (i << 16) + j);
    m->d[i] = 1.0F;
    m->min[i] = r->min_ratio;
}

void synth_block_init(synth_block_maker *m, format_id format) {
    CONVECT_CHECK(synth_block_has(format));
    const format_traits *f = format_get(format);
    uint64_t key = random_key(0, f->name);
    m->format = format;
    for (size_t i = 0; i < SYNTH_TEMPLATES; i++) make_template(m, i, key);
    double square = 0;
    for (size_t i = 0; i < SYNTH_TEMPLATES; i++) {
        float x[256];
        uint8_t block[SYNTH_BLOCK_BYTES_MAX];
        memcpy(block, m->block[i], f->block_bytes);
        fill_codes(format, key, i * words_per_block(format), block);
        store_scale(format, block, m->d[i], m->min[i]);
        kernel_table_get(KERNEL_LEVEL_REF)->dequantize[format](block, f->block_elems, x);
        for (size_t j = 0; j < f->block_elems; j++) square += (double)x[j] * x[j];
    }
    float per_rms = (float)sqrt(SYNTH_TEMPLATES * (double)f->block_elems / square);
    for (size_t i = 0; i < SYNTH_TEMPLATES; i++) {
        m->d[i] *= per_rms;
        m->min[i] *= per_rms;
    }
}

void synth_block_fill(const synth_block_maker *m, float rms, uint64_t key, uint64_t first, size_t n, uint8_t *out) {
    const format_traits *f = format_get(m->format);
    uint8_t scaled[SYNTH_TEMPLATES][SYNTH_BLOCK_BYTES_MAX];
    memcpy(scaled, m->block, sizeof scaled);
    for (size_t i = 0; i < SYNTH_TEMPLATES; i++) store_scale(m->format, scaled[i], m->d[i] * rms, m->min[i] * rms);
    uint64_t n_words = words_per_block(m->format);
    for (size_t b = 0; b < n; b++, out += f->block_bytes) {
        uint64_t word = (first + b) * n_words;
        memcpy(out, scaled[random_u64(key, word) % SYNTH_TEMPLATES], f->block_bytes);
        fill_codes(m->format, key, word + 1, out);
    }
}
