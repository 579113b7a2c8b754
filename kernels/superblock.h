/* One super-block of a weight row, unpacked: 256 elements, or fewer at the end of a row whose length is no multiple of
 * 256. Every quantised format unpacks to this one shape, so that dequantisation and each rule of the product are
 * written once (kernels/FORMATS.md says what each format puts here). Pure data; any thread. */
#ifndef CONVECT_KERNELS_SUPERBLOCK_H
#define CONVECT_KERNELS_SUPERBLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { SUPERBLOCK_ELEMS = 256, SUPERBLOCK_BLOCKS = 8, BLOCK_ELEMS = 32 };

/* Index [h][b]: half h (16 elements) of block b (32 elements); element e belongs to b = e / 32, h = e / 16 % 2. */
typedef struct superblock {
    _Alignas(32) int8_t code[SUPERBLOCK_ELEMS];       /* integer codes with offset, sign and codebook applied */
    _Alignas(32) int16_t scale[2][SUPERBLOCK_BLOCKS]; /* integer scale; 1 where the format has none */
    int16_t min[2][SUPERBLOCK_BLOCKS];                /* SUPER_MIN: [0][b] for 32 elements; SUPER_MIN16: each half */
    float d[2 * SUPERBLOCK_BLOCKS]; /* SUPER*: [0], [1] of the two units; BLOCK*: [b]; HALF: [2 * b + h] */
    float m[SUPERBLOCK_BLOCKS];     /* BLOCK_MIN: offset of block b */
    float dmin;                     /* SUPER_MIN*: factor of min */
} superblock;

/* Unpacks the super-block at p (any alignment), of which n_blocks (1-8) blocks of 32 exist. Fields of missing blocks
 * and fields the format's rule does not name are left as they were. */
typedef void (*superblock_decode_fn)(const uint8_t *p, size_t n_blocks, superblock *out);

#endif
