#include "tools/synth_router.h"

#include <math.h>

#include "engine/base/check.h"
#include "tools/synth_random.h"

#define SIGMA_MAX 2.0 /* of the steepest row: keeps the weights of the chosen experts from piling onto one */

static double law(double c, size_t rank, double skew) {
    return fmin(SYNTH_POPULARITY_MAX, c * pow((double)(rank + 1), -skew));
}

void synth_popularity(size_t n, size_t k, double skew, double *popularity) {
    CONVECT_CHECK(k >= 1 && (double)k <= SYNTH_POPULARITY_MAX * (double)n);
    double lo = 0;
    double hi = SYNTH_POPULARITY_MAX * pow((double)n, skew); /* every expert at the cap: sum >= k */
    for (int i = 0; i < 100; i++) {
        double c = 0.5 * (lo + hi);
        double sum = 0;
        for (size_t r = 0; r < n; r++) sum += law(c, r, skew);
        *(sum < (double)k ? &lo : &hi) = c;
    }
    for (size_t r = 0; r < n; r++) popularity[r] = law(hi, r, skew);
}

/* z with P(normal > z) = p, 0 < p < 1/2. */
static double upper_quantile(double p) {
    double lo = 0;
    double hi = 40;
    for (int i = 0; i < 80; i++) {
        double z = 0.5 * (lo + hi);
        *(0.5 * erfc(z * M_SQRT1_2) > p ? &lo : &hi) = z;
    }
    return lo;
}

void synth_router_sigma(size_t n, size_t k, double skew, uint64_t key, float *sigma, size_t *rank) {
    double popularity[1024];
    size_t expert[1024]; /* by rank */
    CONVECT_CHECK(n >= 1 && n <= 1024);
    for (size_t e = 0; e < n; e++) expert[e] = e;
    if (skew == 0 || (double)k > SYNTH_POPULARITY_MAX * (double)n) {
        for (size_t e = 0; e < n; e++) sigma[e] = 1.0F;
        for (size_t e = 0; rank && e < n; e++) rank[e] = e;
        return;
    }
    synth_popularity(n, k, skew, popularity);
    for (size_t r = n - 1; r > 0; r--) { /* Fisher-Yates */
        size_t other = random_u64(key, r) % (r + 1);
        size_t swap = expert[r];
        expert[r] = expert[other];
        expert[other] = swap;
    }
    double steepest = 1.0 / upper_quantile(popularity[0]);
    double even = 1.0 / upper_quantile((double)k / (double)n); /* rows of a model without skew have sigma 1 */
    double unit = fmin(1.0 / even, SIGMA_MAX / steepest);
    for (size_t r = 0; r < n; r++) {
        sigma[expert[r]] = (float)(unit / upper_quantile(popularity[r]));
        if (rank) rank[expert[r]] = r;
    }
}
