/* Unicode normalisation form C of text that may hold invalid bytes. utf8proc supplies the tables; the canonical
 * ordering is our own because utf8proc's is quadratic in a run of combining marks. */
#ifndef CONVECT_ENGINE_NFC_H
#define CONVECT_ENGINE_NFC_H

#include "engine/base/status.h"

typedef struct nfc_text {
    const char *data; /* the result: the caller's bytes when they need no change, else owned */
    size_t n_bytes;
    char *owned; /* NULL or the allocation behind data */
} nfc_text;

/* Normalises every stretch of valid UTF-8; other bytes stay as they are. *out lives as long as text does; release it
 * with nfc_free. Linear time; peak memory about 12 times the text when a change is possible. Error: NO_FIT. */
convect_status nfc_normalize(const char *text, size_t n_bytes, nfc_text *out, convect_error *err) CONVECT_MUST_CHECK;
void nfc_free(nfc_text *t);

#endif
