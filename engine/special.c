#include "engine/special.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    const special_token *x = a, *y = b;
    int c = memcmp(x->text, y->text, x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes);
    if (c != 0) return c;
    return x->n_bytes < y->n_bytes ? -1 : x->n_bytes > y->n_bytes;
}

void special_set_sort(special_set *set) {
    if (set->n > 0) qsort(set->tokens, set->n, sizeof *set->tokens, compare);
    size_t i = 0;
    for (size_t b = 0; b < 256; b++) {
        set->first[b] = i;
        while (i < set->n && (unsigned char)set->tokens[i].text[0] == b) i++;
    }
    set->first[256] = i;
}

void special_set_free(special_set *set) {
    free(set->tokens);
    *set = (special_set){0};
}

/* First token of [begin, end) whose byte at depth is >= b; all of them are longer than depth. */
static size_t lower_bound(const special_set *set, size_t begin, size_t end, size_t depth, unsigned b) {
    while (begin < end) {
        size_t mid = begin + (end - begin) / 2;
        if ((unsigned char)set->tokens[mid].text[depth] < b)
            begin = mid + 1;
        else
            end = mid;
    }
    return begin;
}

size_t special_match(const special_set *set, const char *text, size_t n_bytes, bool with_control, int32_t *id) {
    if (n_bytes == 0) return 0;
    size_t begin = set->first[(unsigned char)text[0]], end = set->first[(unsigned char)text[0] + 1], n_match = 0;
    /* [begin, end) holds the tokens that agree with the first depth bytes; the one of exactly that length is first */
    for (size_t depth = 1; begin < end; depth++) {
        const special_token *t = &set->tokens[begin];
        if (t->n_bytes == depth) {
            if (with_control || !t->is_control) {
                n_match = depth;
                *id = t->id;
            }
            begin++;
        }
        if (depth == n_bytes) break;
        unsigned b = (unsigned char)text[depth];
        begin = lower_bound(set, begin, end, depth, b);
        end = lower_bound(set, begin, end, depth, b + 1);
    }
    return n_match;
}
