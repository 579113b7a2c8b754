#include "kernels/rope.h"

#include <math.h>

/* pi/2 in three parts; the first two have 33 bits, so n times them is exact for n < 2^20 (fdlibm's split). */
#define PI_2_A   0x1.921fb544p+0
#define PI_2_B   0x1.0b4611a6p-34
#define PI_2_C   0x1.3198a2e037073p-69
#define TWO_PI_R 0x1.45f306dc9c883p-1 /* 2 / pi */
#define LN2_A    0x1.62e42feep-1
#define LN2_B    0x1.a39ef35793c76p-33
#define LOG2_E   0x1.71547652b82fep+0
#define ROUND_52 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to an integer */

static double round_even(double x) {
    return (x + ROUND_52) - ROUND_52;
}

/* Taylor sums on |r| <= pi/4: the terms left out are below 1e-18. */
static double sine_small(double r) {
    const double s = r * r;
    double sum = 0;
    for (int n = 17; n >= 3; n -= 2) sum = (sum + 1) * (-s / (n * (n - 1)));
    return r * (1 + sum);
}

static double cosine_small(double r) {
    const double s = r * r;
    double sum = 0;
    for (int n = 18; n >= 2; n -= 2) sum = (sum + 1) * (-s / (n * (n - 1)));
    return 1 + sum;
}

static void sine_cosine(double x, float *sine, float *cosine) {
    const double n = round_even(x * TWO_PI_R);
    const double r = ((x - n * PI_2_A) - n * PI_2_B) - n * PI_2_C;
    const double s = sine_small(r), c = cosine_small(r);
    switch ((int64_t)n & 3) {
    case 0: *sine = (float)s, *cosine = (float)c; break;
    case 1: *sine = (float)c, *cosine = (float)-s; break;
    case 2: *sine = (float)-s, *cosine = (float)-c; break;
    default: *sine = (float)-c, *cosine = (float)s; break;
    }
}

/* ln x = e ln 2 + 2 atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)) */
static double log_series(double x) {
    int e;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) m *= 2, e--;
    const double s = (m - 1) / (m + 1), q = s * s;
    double sum = 0;
    for (int n = 25; n >= 1; n -= 2) sum = sum * q + 1.0 / n;
    return e * LN2_A + (2 * s * sum + e * LN2_B);
}

static double exp_series(double x) {
    const double n = round_even(x * LOG2_E);
    const double r = (x - n * LN2_A) - n * LN2_B;
    double sum = 1;
    for (int i = 16; i >= 1; i--) sum = 1 + sum * r / i;
    return ldexp(sum, (int)n);
}

void rope_frequencies(double base, size_t n_pairs, float *out) {
    const double log_base = log_series(base);
    for (size_t i = 0; i < n_pairs; i++) {
        const float power = (float)exp_series(log_base * ((double)i / (double)n_pairs));
        out[i] = 1.0F / power;
    }
}

void rope_angles(const int32_t positions[3], const uint8_t *axes, const float *frequencies, size_t n_pairs,
                 float *cosines, float *sines) {
    for (size_t i = 0; i < n_pairs; i++) {
        const float angle = (float)positions[axes[i]] * frequencies[i];
        sine_cosine((double)angle, &sines[i], &cosines[i]);
    }
}

void rope_axes(const int64_t sections[3], size_t n_pairs, uint8_t *axes) {
    for (size_t i = 0; i < n_pairs; i++) {
        const int64_t pair = (int64_t)i;
        axes[i] = 0;
        if (pair % 3 == 1 && pair < 3 * sections[1]) axes[i] = 1;
        if (pair % 3 == 2 && pair < 3 * sections[2]) axes[i] = 2;
    }
}
