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
    w->heap = malloc(2 * cap * sizeof *w->heap);
    w->cap = cap;
    if (w->nodes && w->heap) return true;
    bpe_work_free(w);
    return false;
}

/* Four children a node: half the levels, and the children share a cache line. */
#define HEAP_WAYS 4

static void sift_down(bpe_work *w, size_t i, uint64_t entry) {
    for (size_t first; first = HEAP_WAYS * i + 1, first < w->n_heap;) {
        size_t end = first + HEAP_WAYS < w->n_heap ? first + HEAP_WAYS : w->n_heap, least = first;
        for (size_t child = first + 1; child < end; child++)
            if (w->heap[child] < w->heap[least]) least = child;
        if (w->heap[least] >= entry) break;
        w->heap[i] = w->heap[least];
        i = least;
    }
    w->heap[i] = entry;
}

static void push(bpe_work *w, uint64_t entry) {
    CONVECT_DEBUG_CHECK(w->n_heap < 2 * w->cap);
    size_t i = w->n_heap++;
    for (; i > 0 && w->heap[(i - 1) / HEAP_WAYS] > entry; i = (i - 1) / HEAP_WAYS)
        w->heap[i] = w->heap[(i - 1) / HEAP_WAYS];
    w->heap[i] = entry;
}

static uint64_t pop(bpe_work *w) {
    uint64_t least = w->heap[0], last = w->heap[--w->n_heap];
    if (w->n_heap > 0) sift_down(w, 0, last);
    return least;
}

/* Looks up the merge of node i with its successor. */
static void find_merge(const bpe *b, bpe_work *w, uint32_t i) {
    bpe_node *node = &w->nodes[i];
    node->rank = BPE_NONE;
    if (node->next == BPE_NONE) return;
    const bpe_merge *m = slot_of(b, node->id, w->nodes[node->next].id);
    node->rank = m->rank;
    node->merged = m->merged;
}

static uint64_t entry_of(const bpe_work *w, uint32_t i) {
    return (uint64_t)w->nodes[i].rank << 32 | i;
}

/* One of the two symbols of the pair that starts at node i has changed. */
static void update_pair(const bpe *b, bpe_work *w, uint32_t i) {
    find_merge(b, w, i);
    if (w->nodes[i].rank != BPE_NONE) push(w, entry_of(w, i));
}

static void start(const bpe *b, bpe_work *w, size_t n) {
    w->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        w->nodes[i].prev = i == 0 ? BPE_NONE : i - 1;
        w->nodes[i].next = i + 1 == n ? BPE_NONE : i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        find_merge(b, w, i);
        if (w->nodes[i].rank != BPE_NONE) w->heap[w->n_heap++] = entry_of(w, i);
    }
    for (size_t i = w->n_heap / HEAP_WAYS + 1; i-- > 0;)
        if (i < w->n_heap) sift_down(w, i, w->heap[i]);
}

void bpe_run(const bpe *b, bpe_work *w, size_t n) {
    CONVECT_CHECK(n >= 1 && n <= w->cap);
    start(b, w, n);
    while (w->n_heap > 0) {
        uint64_t entry = pop(w);
        uint32_t i = (uint32_t)entry;
        bpe_node *left = &w->nodes[i];
        if (left->rank != (uint32_t)(entry >> 32)) continue;
        bpe_node *right = &w->nodes[left->next];
        right->rank = BPE_NONE;
        left->id = left->merged;
        left->next = right->next;
        if (left->next != BPE_NONE) w->nodes[left->next].prev = i;
        update_pair(b, w, i);
        if (left->prev != BPE_NONE) update_pair(b, w, left->prev);
    }
}
