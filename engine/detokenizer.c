#include <string.h>

#include "engine/base/check.h"
#include "engine/tokenizer.h"

/* Bytes at the end of buf that begin a UTF-8 character and do not yet complete it: 0..3. Bytes that cannot become a
 * character are not waited for. */
static size_t incomplete_tail(const char *buf, size_t n_bytes) {
    for (size_t n = 1; n <= 3 && n <= n_bytes; n++) {
        unsigned char b = (unsigned char)buf[n_bytes - n];
        if ((b & 0xC0) == 0x80) continue; /* continuation: look for its lead */
        size_t n_char = b >= 0xF0 && b <= 0xF4 ? 4 : b >= 0xE0 && b < 0xF0 ? 3 : b >= 0xC2 && b < 0xE0 ? 2 : 1;
        return n < n_char ? n : 0;
    }
    return 0;
}

gguf_string detokenizer_push(detokenizer *d, gguf_string piece) {
    CONVECT_CHECK(piece.n_bytes <= TOKENIZER_PIECE_BYTES_MAX);
    d->n_bytes -= d->n_ready;
    memmove(d->buf, d->buf + d->n_ready, d->n_bytes);
    if (piece.n_bytes > 0) memcpy(d->buf + d->n_bytes, piece.data, piece.n_bytes);
    d->n_bytes += piece.n_bytes;
    d->n_ready = d->n_bytes - incomplete_tail(d->buf, d->n_bytes);
    return (gguf_string){d->buf, d->n_ready};
}

gguf_string detokenizer_flush(detokenizer *d) {
    gguf_string rest = {d->buf + d->n_ready, d->n_bytes - d->n_ready};
    d->n_bytes = d->n_ready = 0;
    return rest;
}
