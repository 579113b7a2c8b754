#include "engine/text_escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <utf8proc.h>

#include "engine/base/check.h"

/* Length of the valid character at data, or 0. */
static size_t next_character(const char *data, size_t n_bytes, utf8proc_int32_t *c) {
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)data, (utf8proc_ssize_t)n_bytes, c);
    return n > 0 ? (size_t)n : 0;
}

static bool is_shown(utf8proc_int32_t c) {
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CN: /* unassigned */
    case UTF8PROC_CATEGORY_CC: /* control */
    case UTF8PROC_CATEGORY_CF: /* format: direction, zero width */
    case UTF8PROC_CATEGORY_CS: /* surrogate */
    case UTF8PROC_CATEGORY_CO: /* private use */
    case UTF8PROC_CATEGORY_ZL: /* line and paragraph separators */
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return c != '\\';
    }
}

static int escape_one(char out[16], unsigned char byte, size_t n, utf8proc_int32_t c) {
    if (n == 0 || c < 0x20 || c == 0x7f) {
        static const char letters[] = "\nn\rr\tt";
        const char *letter = byte ? strchr(letters, byte) : NULL;
        return letter && n > 0 ? snprintf(out, 16, "\\%c", letter[1]) : snprintf(out, 16, "\\x%02x", byte);
    }
    return c == '\\' ? snprintf(out, 16, "\\\\") : snprintf(out, 16, "\\u{%04x}", (unsigned)c);
}

size_t text_escape(char *out, size_t capacity, const char *data, size_t n_bytes) {
    CONVECT_CHECK(capacity >= 8);
    size_t n_out = 0, n_safe = 0; /* n_safe: the last end after which "..." fits */
    for (size_t i = 0; i < n_bytes;) {
        utf8proc_int32_t c = 0;
        char piece[16];
        const char *from = data + i;
        size_t n = next_character(from, n_bytes - i, &c), n_piece = n;
        if (n == 0 || !is_shown(c)) {
            n_piece = (size_t)escape_one(piece, (unsigned char)data[i], n, c);
            from = piece;
        }
        if (n_out + n_piece >= capacity) {
            memcpy(out + n_safe, "...", 4);
            return n_safe + 3;
        }
        memcpy(out + n_out, from, n_piece);
        n_out += n_piece;
        if (n_out + 4 <= capacity) n_safe = n_out;
        i += n ? n : 1;
    }
    out[n_out] = 0;
    return n_out;
}

size_t text_to_utf8(char *out, const char *data, size_t n_bytes) {
    size_t n_out = 0;
    for (size_t i = 0; i < n_bytes;) {
        utf8proc_int32_t c;
        size_t n = next_character(data + i, n_bytes - i, &c);
        if (n > 0)
            memcpy(out + n_out, data + i, n);
        else
            memcpy(out + n_out, "\xef\xbf\xbd", 3);
        n_out += n ? n : 3;
        i += n ? n : 1;
    }
    out[n_out] = 0;
    return n_out;
}
