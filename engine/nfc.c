#include "engine/nfc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "engine/base/check.h"

#define N_CLASSES     256    /* canonical combining classes are bytes */
#define HANGUL_T_BASE 0x11A7 /* a starter that composes with nothing; utf8proc 2.8 drops it after a syllable */

/* Code points of the current stretch, and the bytes written so far. */
typedef struct normalizer {
    utf8proc_int32_t *points;
    size_t n_points, cap_points;
    char *bytes;
    size_t n_bytes, cap_bytes;
    utf8proc_int32_t *spare; /* for sorting; cap_spare elements */
    size_t cap_spare;
} normalizer;

/* Room for n elements of elem bytes behind *p; doubles, so that appending is linear. */
static bool grow(void **p, size_t *cap, size_t n, size_t elem) {
    if (n <= *cap) return true;
    size_t cap_new = n > 2 * *cap ? n : 2 * *cap;
    if (cap_new > SIZE_MAX / elem) return false;
    void *q = realloc(*p, cap_new * elem);
    if (!q) return false;
    *p = q;
    *cap = cap_new;
    return true;
}

static bool push_bytes(normalizer *z, const char *data, size_t n) {
    if (n == 0) return true;
    void *p = z->bytes;
    bool ok = grow(&p, &z->cap_bytes, z->n_bytes + n, 1);
    z->bytes = p;
    if (!ok) return false;
    memcpy(z->bytes + z->n_bytes, data, n);
    z->n_bytes += n;
    return true;
}

/* Appends the canonical decomposition of c: at most 4 code points (Unicode 14, all of them checked by the test). */
static bool push_decomposed(normalizer *z, utf8proc_int32_t c) {
    void *p = z->points;
    bool ok = grow(&p, &z->cap_points, z->n_points + 4, sizeof *z->points);
    z->points = p;
    if (!ok) return false;
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(c, z->points + z->n_points, 4, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    CONVECT_CHECK(n > 0 && n <= 4);
    z->n_points += (size_t)n;
    return true;
}

static unsigned combining_class(utf8proc_int32_t c) {
    return (unsigned)utf8proc_get_property(c)->combining_class;
}

/* Stable counting sort of a run of marks by combining class. */
static bool sort_run(normalizer *z, size_t begin, size_t end) {
    size_t starts[N_CLASSES + 1] = {0}, n = end - begin;
    void *p = z->spare;
    bool ok = grow(&p, &z->cap_spare, n, sizeof *z->spare);
    z->spare = p;
    if (!ok) return false;
    memcpy(z->spare, z->points + begin, n * sizeof *z->spare);
    for (size_t i = 0; i < n; i++) starts[combining_class(z->spare[i]) + 1]++;
    for (size_t i = 1; i <= N_CLASSES; i++) starts[i] += starts[i - 1];
    for (size_t i = 0; i < n; i++) z->points[begin + starts[combining_class(z->spare[i])]++] = z->spare[i];
    return true;
}

/* Canonical ordering: marks between two starters, by class, equal classes in the order of the text. */
static bool order_marks(normalizer *z) {
    for (size_t i = 0; i < z->n_points;) {
        size_t begin = i;
        bool sorted = true;
        for (unsigned last = 0, class; i < z->n_points && (class = combining_class(z->points[i])) != 0; i++) {
            sorted = sorted && class >= last;
            last = class;
        }
        if (!sorted && !sort_run(z, begin, i)) return false;
        if (i == begin) i++;
    }
    return true;
}

/* Ends a stretch of valid UTF-8: orders, composes and writes it. */
static bool flush(normalizer *z) {
    if (z->n_points == 0) return true;
    if (!order_marks(z)) return false;
    utf8proc_ssize_t n =
        utf8proc_normalize_utf32(z->points, (utf8proc_ssize_t)z->n_points, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    CONVECT_CHECK(n >= 0);
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        utf8proc_uint8_t encoded[4];
        utf8proc_ssize_t n_encoded = utf8proc_encode_char(z->points[i], encoded);
        if (!push_bytes(z, (const char *)encoded, (size_t)n_encoded)) return false;
    }
    z->n_points = 0;
    return true;
}

static bool normalize(normalizer *z, const char *text, size_t n_bytes) {
    for (size_t off = 0; off < n_bytes;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text + off, (utf8proc_ssize_t)(n_bytes - off), &c);
        bool is_kept = n <= 0 || c == HANGUL_T_BASE;
        size_t n_char = n > 0 ? (size_t)n : 1;
        if (is_kept ? !flush(z) || !push_bytes(z, text + off, n_char) : !push_decomposed(z, c)) return false;
        off += n_char;
    }
    return flush(z);
}

/* Below U+0300 (lead byte 0xCC) nothing composes or decomposes in form C. */
static bool is_inert(const char *text, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        if ((unsigned char)text[i] >= 0xCC) return false;
    return true;
}

convect_status nfc_normalize(const char *text, size_t n_bytes, nfc_text *out, convect_error *err) {
    *out = (nfc_text){.data = text, .n_bytes = n_bytes};
    if (is_inert(text, n_bytes)) return CONVECT_OK;
    normalizer z = {0};
    bool ok = normalize(&z, text, n_bytes);
    free(z.points);
    free(z.spare);
    if (!ok) {
        free(z.bytes);
        return convect_fail(err, CONVECT_NO_FIT, "no memory to normalise %zu bytes of text", n_bytes);
    }
    *out = (nfc_text){.data = z.bytes, .n_bytes = z.n_bytes, .owned = z.bytes};
    return CONVECT_OK;
}

void nfc_free(nfc_text *t) {
    free(t->owned);
    *t = (nfc_text){0};
}
