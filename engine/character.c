#include "engine/character.h"

#include <utf8proc.h>

size_t character_read(const char *text, size_t n_bytes, int32_t *code) {
    utf8proc_int32_t c;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n_bytes, &c);
    *code = n > 0 ? c : (unsigned char)text[0] | CHARACTER_RAW;
    return n > 0 ? (size_t)n : 1;
}

size_t character_write(int32_t code, char out[4]) {
    if (code & CHARACTER_RAW) {
        out[0] = (char)(code & 0xFF);
        return 1;
    }
    return (size_t)utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
}

bool character_is_space(int32_t code) {
    if ((code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85) return true;
    if (code < 0x80 || code & CHARACTER_RAW) return false;
    const utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}
