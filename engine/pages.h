/* Zeroed memory straight from the system, in whole pages that cost nothing until they are touched. */
#ifndef CONVECT_ENGINE_PAGES_H
#define CONVECT_ENGINE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* NULL if the system refuses or n_bytes exceeds the machine's memory. n_bytes 0 gives a valid, empty block. */
void *pages_alloc(size_t n_bytes);
void pages_free(void *block, size_t n_bytes); /* NULL is fine */

#endif
