/* Codebooks of the IQ formats, imported as data by tools/import_codebooks.py from the `gguf` Python package (MIT;
 * tools/licenses/MANIFEST). A row is 8 elements in a uint64_t or 4 in a uint32_t, first element in the lowest byte, as
 * signed bytes. */
#ifndef CONVECT_KERNELS_CODEBOOKS_H
#define CONVECT_KERNELS_CODEBOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, rows, row type, crc32 of the bytes of all rows) */
#define CODEBOOK_LIST(X)                                                                                               \
    X(iq2xxs, 256, uint64_t, 0x9924ff02U)                                                                              \
    X(iq2xs, 512, uint64_t, 0xfa1e1bfdU)                                                                               \
    X(iq2s, 1024, uint64_t, 0x25ae5bf1U)                                                                               \
    X(iq3xxs, 256, uint32_t, 0x07ba9ed0U)                                                                              \
    X(iq3s, 512, uint32_t, 0xf576e4f3U)                                                                                \
    X(iq1s, 2048, uint64_t, 0xb85e6ccfU)

extern const uint64_t codebook_iq2xxs[256]; /* 8, 25, 43 */
extern const uint64_t codebook_iq2xs[512];  /* 8, 25, 43 */
extern const uint64_t codebook_iq2s[1024];  /* 8, 25, 43 */
extern const uint32_t codebook_iq3xxs[256]; /* 4, 12, 20, ... 52, 62 */
extern const uint32_t codebook_iq3s[512];   /* 1, 3, 5, ... 15 */
extern const uint64_t codebook_iq1s[2048];  /* -1, 0, 1 */

#ifdef __cplusplus
}
#endif
#endif
