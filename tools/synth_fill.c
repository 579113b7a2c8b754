#include "tools/synth_fill.h"

#include <math.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/mix.h"
#include "kernels/quantize.h"
#include "tools/synth_random.h"
#include "tools/synth_router.h"

/* With a skew (tools/synth_router.h). */
#define SLOW_KEY_TAP   4.0F
#define SLOW_VALUE_TAP 0.2F
#define SLOW_GATE      4.0F
#define SLOW_OUT       1.0F

/* Gain of a matrix: root mean square of its product with a vector of unit root mean square. Projections that add to the
 * residual stream get 0.5, so that eighty of them grow it by a few times only. */
static float gain_of(const char *name, mix_role role, const synth_style *style) {
    switch (role) {
    case MIX_ROLE_HEAD: return 3.0F; /* logits that differ */
    case MIX_ROLE_ATTN_OUTPUT:
    case MIX_ROLE_SHARED_DOWN:
    case MIX_ROLE_EXPERT_DOWN: return 0.5F;
    case MIX_ROLE_SSM:
        if (!strstr(name, "ssm_out")) return 1.0F;
        return style->skew > 0 ? SLOW_OUT : 0.5F; /* see tools/synth_router.h */
    case MIX_ROLE_ATTN_INNER: return style->skew > 0 && strstr(name, "attn_gate") ? SLOW_GATE : 1.0F;
    default: return 1.0F;
    }
}

static synth_kind kind_of(const list_tensor *t, mix_role role) {
    if (strstr(t->name, "norm")) return SYNTH_NORM;
    if (strstr(t->name, "ssm_a") && !strstr(t->name, "ssm_alpha")) return SYNTH_DECAY;
    if (strstr(t->name, "ssm_dt")) return SYNTH_DT_BIAS;
    if (strstr(t->name, "ssm_conv1d")) return SYNTH_CONV;
    if (role == MIX_ROLE_ROUTER && t->n_dims == 2 && t->ne[1] > 1 && t->ne[1] <= 1024) return SYNTH_ROUTER;
    return synth_block_has(t->format) ? SYNTH_BLOCKS : SYNTH_NORMAL;
}

void synth_source_init(synth_source *s, const list_tensor *t, const synth_style *style,
                       const synth_block_maker *makers) {
    mix_role role = mix_role_of(t->name);
    s->tensor = *t;
    s->kind = kind_of(t, role);
    if (s->kind != SYNTH_BLOCKS && !quantize_has(t->format)) s->kind = SYNTH_BLOCKS; /* no way to write chosen values */
    s->key = random_key(style->seed, t->name);
    s->rms = gain_of(t->name, role, style) / sqrtf((float)t->ne[0]);
    if (role == MIX_ROLE_EMBEDDING) s->rms = style->is_tied ? 3.0F / sqrtf((float)t->ne[0]) : 1.0F;
    s->maker = &makers[t->format];
    bool has_slow_state = s->kind == SYNTH_CONV && style->skew > 0 && style->n_value_channels < t->ne[1];
    s->n_key_channels = has_slow_state ? t->ne[1] - style->n_value_channels : 0;
    if (s->kind != SYNTH_ROUTER) return;
    synth_router_sigma(t->ne[1], style->n_experts_used ? style->n_experts_used : 1, style->skew, s->key, s->row_rms,
                       NULL);
    for (size_t e = 0; e < t->ne[1]; e++) s->row_rms[e] /= sqrtf((float)t->ne[0]);
}

static float conv_tap(const synth_source *s, uint64_t i) {
    uint64_t n_taps = s->tensor.ne[0];
    float tap = 0.3F * random_normal(s->key, i) + (i % n_taps + 1 == n_taps ? 0.7F : 0.0F);
    if (s->n_key_channels == 0) return tap;
    return tap * (i / n_taps < s->n_key_channels ? SLOW_KEY_TAP : SLOW_VALUE_TAP);
}

static float value_at(const synth_source *s, uint64_t i) {
    switch (s->kind) {
    case SYNTH_NORM: return 1.0F + 0.05F * random_normal(s->key, i);
    case SYNTH_DECAY: return -0.5F - 1.5F * (float)random_unit(s->key, i);
    case SYNTH_DT_BIAS: return -3.0F + 2.0F * (float)random_unit(s->key, i);
    case SYNTH_CONV: return conv_tap(s, i);
    case SYNTH_ROUTER: return s->row_rms[i / s->tensor.ne[0]] * random_normal(s->key, i);
    case SYNTH_NORMAL:
    case SYNTH_BLOCKS: break;
    }
    return s->rms * random_normal(s->key, i);
}

void synth_source_fill(const synth_source *s, uint64_t first, size_t n, float *scratch, uint8_t *out) {
    uint32_t block_elems = format_get(s->tensor.format)->block_elems;
    if (s->kind == SYNTH_BLOCKS) {
        synth_block_fill(s->maker, s->rms, s->key, first / block_elems, n / block_elems, out);
        return;
    }
    for (size_t i = 0; i < n; i++) scratch[i] = value_at(s, first + i);
    CONVECT_CHECK(quantize_row(s->tensor.format, scratch, n, out));
}
