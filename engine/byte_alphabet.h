/* The printable alphabet in which byte-level BPE vocabularies write bytes: 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are the
 * code point of the same number, the other 68 bytes in rising order are U+0100, U+0101, ... (GPT-2's published map). */
#ifndef CONVECT_ENGINE_BYTE_ALPHABET_H
#define CONVECT_ENGINE_BYTE_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTE_ALPHABET_POINTS 324 /* 256 + 68 */

typedef struct byte_alphabet {
    int16_t byte_of[BYTE_ALPHABET_POINTS]; /* by code point; -1: not in the alphabet */
} byte_alphabet;

void byte_alphabet_init(byte_alphabet *a);

/* Turns text into the bytes that it stands for; out holds n_bytes. False if a character is not in the alphabet. */
bool byte_alphabet_decode(const byte_alphabet *a, const char *text, size_t n_bytes, char *out, size_t *n_out);

#endif
