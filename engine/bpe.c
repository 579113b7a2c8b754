#include "engine/bpe.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/check.h"

bool bpe_init(bpe *b, size_t n_merges, uint64_t seed) {
    CONVECT_CHECK(n_merges <= (size_t)1 << 28);
    size_t n_slots = 4;
    while (n_slots < 2 * n_merges) n_slots *= 2;
    *b = (bpe){.slots = malloc(n_slots * sizeof(bpe_merge)), .mask = n_slots - 1, .seed = seed};
    if (!b->slots) return false;
    memset(b->slots, 0xff, n_slots * sizeof(bpe_merge));
    return true;
}

void bpe_deinit(bpe *b) {
    free(b->slots);
    *b = (bpe){0};
}

/* The slot that holds the pair, or the free slot where it belongs. */
static bpe_merge *slot_of(const bpe *b, uint32_t left, uint32_t right) {
    uint32_t key[2] = {left, right};
    for (size_t i = (size_t)XXH3_64bits_withSeed(key, sizeof key, b->seed) & b->mask;; i = (i + 1) & b->mask) {
        bpe_merge *m = &b->slots[i];
        if (m->rank == BPE_NONE || (m->left == left && m->right == right)) return m;
    }
}

void bpe_add(bpe *b, bpe_merge merge) {
    bpe_merge *m = slot_of(b, merge.left, merge.right);
    if (m->rank == BPE_NONE) *m = merge;
}

void bpe_work_free(bpe_work *w) {
    free(w->nodes);
    free(w->heap);
    *w = (bpe_work){0};
}

bool bpe_work_reserve(bpe_work *w, size_t n) {
    if (n <= w->cap) return true;
    CONVECT_CHECK(n < (size_t)1 << 31);
    size_t cap = n > 2 * w->cap ? n : 2 * w->cap;
    bpe_work_free(w);
    w->nodes = malloc(cap * sizeof *w->nodes);
    w->heap = malloc(cap * sizeof *w->heap);
    w->cap = cap;
    if (w->nodes && w->heap) return true;
    bpe_work_free(w);
    return false;
}

/* Heap order: lower rank first, then the pair further left. Nodes keep their index, so the index is the position. */
static bool is_before(const bpe_work *w, uint32_t a, uint32_t b) {
    const bpe_node *x = &w->nodes[a], *y = &w->nodes[b];
    return x->rank != y->rank ? x->rank < y->rank : a < b;
}

static void heap_place(bpe_work *w, size_t i_heap, uint32_t i) {
    w->heap[i_heap] = i;
    w->nodes[i].i_heap = (uint32_t)i_heap;
}

static void sift_up(bpe_work *w, size_t i_heap) {
    uint32_t i = w->heap[i_heap];
    while (i_heap > 0 && is_before(w, i, w->heap[(i_heap - 1) / 2])) {
        heap_place(w, i_heap, w->heap[(i_heap - 1) / 2]);
        i_heap = (i_heap - 1) / 2;
    }
    heap_place(w, i_heap, i);
}

static void sift_down(bpe_work *w, size_t i_heap) {
    uint32_t i = w->heap[i_heap];
    for (size_t child; child = 2 * i_heap + 1, child < w->n_heap; i_heap = child) {
        if (child + 1 < w->n_heap && is_before(w, w->heap[child + 1], w->heap[child])) child++;
        if (!is_before(w, w->heap[child], i)) break;
        heap_place(w, i_heap, w->heap[child]);
    }
    heap_place(w, i_heap, i);
}

static void heap_remove(bpe_work *w, uint32_t i) {
    uint32_t i_heap = w->nodes[i].i_heap;
    if (i_heap == BPE_NONE) return;
    w->nodes[i].i_heap = BPE_NONE;
    uint32_t last = w->heap[--w->n_heap];
    if (i_heap == w->n_heap) return;
    heap_place(w, i_heap, last);
    sift_up(w, i_heap);
    sift_down(w, w->nodes[last].i_heap);
}

/* Looks up the merge of node i with its successor; leaves the heap alone. */
static void find_merge(const bpe *b, bpe_work *w, uint32_t i) {
    bpe_node *node = &w->nodes[i];
    node->rank = BPE_NONE;
    if (node->next == BPE_NONE) return;
    const bpe_merge *m = slot_of(b, node->id, w->nodes[node->next].id);
    node->rank = m->rank;
    node->merged = m->merged;
}

/* One of the two symbols of the pair that starts at node i has changed. */
static void update_pair(const bpe *b, bpe_work *w, uint32_t i) {
    heap_remove(w, i);
    find_merge(b, w, i);
    if (w->nodes[i].rank == BPE_NONE) return;
    heap_place(w, w->n_heap++, i);
    sift_up(w, w->n_heap - 1);
}

static void start(const bpe *b, bpe_work *w, size_t n) {
    w->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        w->nodes[i].prev = i == 0 ? BPE_NONE : i - 1;
        w->nodes[i].next = i + 1 == n ? BPE_NONE : i + 1;
        w->nodes[i].i_heap = BPE_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        find_merge(b, w, i);
        if (w->nodes[i].rank != BPE_NONE) heap_place(w, w->n_heap++, i);
    }
    for (size_t i = w->n_heap / 2; i-- > 0;) sift_down(w, i);
}

void bpe_run(const bpe *b, bpe_work *w, size_t n) {
    CONVECT_CHECK(n >= 1 && n <= w->cap);
    start(b, w, n);
    while (w->n_heap > 0) {
        uint32_t i = w->heap[0];
        bpe_node *left = &w->nodes[i];
        bpe_node *right = &w->nodes[left->next];
        heap_remove(w, left->next);
        left->id = left->merged;
        left->next = right->next;
        if (left->next != BPE_NONE) w->nodes[left->next].prev = i;
        update_pair(b, w, i);
        if (left->prev != BPE_NONE) update_pair(b, w, left->prev);
    }
}
