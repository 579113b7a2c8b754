#include "engine/byte_alphabet.h"

#include <string.h>

#include <utf8proc.h>

void byte_alphabet_init(byte_alphabet *a) {
    memset(a->byte_of, 0xff, sizeof a->byte_of);
    int next = 256;
    for (int b = 0; b < 256; b++) {
        bool is_printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        a->byte_of[is_printable ? b : next++] = (int16_t)b;
    }
}

bool byte_alphabet_decode(const byte_alphabet *a, const char *text, size_t n_bytes, char *out, size_t *n_out) {
    *n_out = 0;
    for (size_t off = 0; off < n_bytes;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text + off, (utf8proc_ssize_t)(n_bytes - off), &c);
        if (n <= 0 || c >= BYTE_ALPHABET_POINTS || a->byte_of[c] < 0) return false;
        out[(*n_out)++] = (char)a->byte_of[c];
        off += (size_t)n;
    }
    return true;
}
