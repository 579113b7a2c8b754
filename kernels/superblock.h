/* One super-block of four weight rows, unpacked: 256 elements of each, or fewer at the end of rows whose length is no
 * multiple of 256. Every quantised format unpacks to this one shape, so that dequantisation and each rule of the
 * product are written once (kernels/FORMATS.md says what each format puts here). Factors of the four rows lie side by
 * side: one vector step of a rule serves four rows. Pure data; any thread. */
#ifndef CONVECT_KERNELS_SUPERBLOCK_H
#define CONVECT_KERNELS_SUPERBLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { SUPERBLOCK_ELEMS = 256, SUPERBLOCK_BLOCKS = 8, SUPERBLOCK_ROWS = 4, BLOCK_ELEMS = 32 };

/* One number of each of the four rows. */
typedef float row_floats __attribute__((vector_size(4 * SUPERBLOCK_ROWS)));
typedef int32_t row_ints __attribute__((vector_size(4 * SUPERBLOCK_ROWS)));

/* r is a row, h the half (16 elements) of block b (32 elements); element e belongs to b = e / 32, h = e / 16 % 2. */
typedef struct superblock {
    _Alignas(32) int8_t code[SUPERBLOCK_ROWS][SUPERBLOCK_ELEMS];       /* [r][e] offset, sign and codebook applied */
    _Alignas(32) int16_t scale[SUPERBLOCK_ROWS][2][SUPERBLOCK_BLOCKS]; /* [r][h][b] 1 where the format has none */
    row_ints min[2][SUPERBLOCK_BLOCKS];  /* [h][b][r] SUPER_MIN: [0][b] for 32 elements; SUPER_MIN16: each half */
    row_floats d[2 * SUPERBLOCK_BLOCKS]; /* SUPER*: [unit][r]; BLOCK*: [b][r]; HALF: [2 * b + h][r] */
    row_floats m[SUPERBLOCK_BLOCKS];     /* [b][r] BLOCK_MIN: offset of block b */
    row_floats dmin;                     /* [r] SUPER_MIN*: factor of min */
} superblock;

/* Unpacks the super-block at p (any alignment), of which n_blocks (1-8) blocks of 32 exist, as row r of out. Fields of
 * missing blocks and fields the format's rule does not name are left as they were. */
typedef void (*superblock_decode_fn)(const uint8_t *p, size_t n_blocks, size_t r, superblock *out);

#endif
