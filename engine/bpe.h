/* Byte-pair merging: joins the adjacent pair of lowest rank, leftmost first, until no pair has a merge. A doubly linked
 * list of symbols and a heap of their pairs make it n log n for any text; nothing recurses. A rank names a pair of
 * tokens, so an entry of the heap is out of date exactly if the symbol at its position has another rank by now.
 * A bpe is filled by one thread and then read by any; a bpe_work belongs to one thread. */
#ifndef CONVECT_ENGINE_BPE_H
#define CONVECT_ENGINE_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPE_NONE UINT32_MAX

typedef struct bpe_merge {
    uint32_t left, right; /* token ids */
    uint32_t rank;        /* BPE_NONE: free slot */
    uint32_t merged;      /* token id of left followed by right */
} bpe_merge;

typedef struct bpe {
    bpe_merge *slots; /* owned, open addressing, at least half free */
    size_t mask;      /* number of slots - 1 */
    uint64_t seed;    /* of the hash: not known to whoever made the file */
} bpe;

/* Room for n_merges (<= 2^28, checked by the caller). False if memory is short. */
bool bpe_init(bpe *b, size_t n_merges, uint64_t seed);
void bpe_deinit(bpe *b);

/* Adds a merge; of two for the same pair the first one stays. */
void bpe_add(bpe *b, bpe_merge merge);

typedef struct bpe_node {
    uint32_t prev, next; /* BPE_NONE at the ends */
    uint32_t id;         /* token of this symbol */
    uint32_t rank;       /* of the merge with next; BPE_NONE: none, or the symbol is gone */
    uint32_t merged;     /* its result */
} bpe_node;

typedef struct bpe_work { /* start from {0} */
    bpe_node *nodes;
    uint64_t *heap; /* rank << 32 | index of the left node; least first */
    size_t n_heap;
    size_t cap; /* nodes; the heap holds twice as many: each merge takes at least one entry and adds at most two */
} bpe_work;

void bpe_work_free(bpe_work *w);

/* Room for n symbols (< 2^31) in w->nodes. False if memory is short. */
bool bpe_work_reserve(bpe_work *w, size_t n);

/* Merges the n >= 1 symbols whose ids stand in w->nodes[0..n).id. Afterwards the tokens are those of the list that
 * starts at node 0 and is linked by next. */
void bpe_run(const bpe *b, bpe_work *w, size_t n);

#endif
