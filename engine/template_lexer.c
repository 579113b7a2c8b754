/* Source to tokens: jinja2's rules for white space around tags, with trim_blocks (the newline after a block or comment
 * goes) and lstrip_blocks (blanks before a block or comment that is first on its line go). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/template_internal.h"

typedef struct lexer {
    template_context *c;
    const char *text; /* newlines are \n, the last one of the source is gone */
    size_t n_bytes, off;
    bool is_line_start; /* the last tag took a newline with it, or there was none yet */
    token *tokens;
    size_t n, cap;
} lexer;

static token *add_token(lexer *l, token_kind kind, const char *text, size_t n_bytes) {
    if (l->n == l->cap) {
        token *larger = template_take(l->c, 2 * (l->cap + 32) * sizeof *larger);
        if (l->n > 0) memcpy(larger, l->tokens, l->n * sizeof *larger);
        l->tokens = larger;
        l->cap = 2 * (l->cap + 32);
    }
    l->tokens[l->n] = (token){.kind = kind, .line = l->c->line, .text = text, .n_bytes = n_bytes};
    return &l->tokens[l->n++];
}

static bool starts_with(const lexer *l, size_t off, const char *text) {
    const size_t n = strlen(text);
    return l->n_bytes - off >= n && memcmp(l->text + off, text, n) == 0;
}

static void advance(lexer *l, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) l->c->line += l->text[l->off + i] == '\n';
    l->off += n_bytes;
}

/* White space at off, in bytes. */
static size_t n_space(const lexer *l, size_t off) {
    size_t n = 0;
    int32_t code;
    while (off + n < l->n_bytes) {
        const size_t n_char = character_read(l->text + off + n, l->n_bytes - off - n, &code);
        if (!character_is_space(code)) break;
        n += n_char;
    }
    return n;
}

/* n_bytes without the white space at their end. */
static size_t without_space(const char *text, size_t n_bytes) {
    size_t end = 0;
    int32_t code;
    for (size_t off = 0; off < n_bytes;) {
        off += character_read(text + off, n_bytes - off, &code);
        if (!character_is_space(code)) end = off;
    }
    return end;
}

/* Data of n_bytes before a tag whose sign is -, + or something else. */
static void add_data(lexer *l, size_t n_bytes, char sign, bool is_print) {
    const char *data = l->text + l->off;
    size_t n_kept = n_bytes;
    if (sign == '-') {
        n_kept = without_space(data, n_bytes);
    } else if (sign != '+' && !is_print) {
        const char *newline = n_bytes > 0 ? memrchr(data, '\n', n_bytes) : NULL;
        const size_t line = newline ? (size_t)(newline - data) + 1 : 0;
        if ((newline || l->is_line_start) && without_space(data + line, n_bytes - line) == 0) n_kept = line;
    }
    if (n_kept > 0) (void)add_token(l, TOKEN_DATA, data, n_kept);
    advance(l, n_bytes);
}

/* After the end of a tag: takes white space if its sign says so, else the newline of trim_blocks. */
static void end_tag(lexer *l, bool strips, bool trims) {
    if (strips)
        advance(l, n_space(l, l->off));
    else if (trims && l->off < l->n_bytes && l->text[l->off] == '\n')
        advance(l, 1);
    l->is_line_start = l->text[l->off - 1] == '\n';
}

/* ---- inside a tag ---- */

static void read_word(lexer *l) {
    size_t n = 1;
    while (l->off + n < l->n_bytes) {
        const char b = l->text[l->off + n];
        if (!((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_')) break;
        n++;
    }
    char *name = template_take(l->c, n + 1);
    memcpy(name, l->text + l->off, n);
    (void)add_token(l, TOKEN_NAME, name, n);
    advance(l, n);
}

static size_t n_digits(const lexer *l, size_t off) {
    size_t n = 0;
    while (off + n < l->n_bytes && l->text[off + n] >= '0' && l->text[off + n] <= '9') n++;
    return n;
}

static void read_number(lexer *l) {
    const size_t n_whole = n_digits(l, l->off);
    const bool after_point = l->off > 0 && l->text[l->off - 1] == '.'; /* x.0.1 has two integers */
    size_t n = n_whole;
    if (!after_point) {
        if (starts_with(l, l->off + n, ".") && n_digits(l, l->off + n + 1) > 0) n += 1 + n_digits(l, l->off + n + 1);
        if (l->off + n < l->n_bytes && (l->text[l->off + n] | 0x20) == 'e') {
            const size_t n_sign = starts_with(l, l->off + n + 1, "+") || starts_with(l, l->off + n + 1, "-");
            const size_t n_exponent = n_digits(l, l->off + n + 1 + n_sign);
            if (n_exponent > 0) n += 1 + n_sign + n_exponent;
        }
    }
    char text[64];
    if (n >= sizeof text) template_fail(l->c, CONVECT_NOT_SUPPORTED, "a number of %zu digits", n);
    if (n == n_whole && n > 1 && l->text[l->off] == '0') template_fail(l->c, CONVECT_DAMAGED, "a number begins with 0");
    memcpy(text, l->text + l->off, n);
    text[n] = 0;
    errno = 0;
    token *t = add_token(l, n == n_whole ? TOKEN_INT : TOKEN_FLOAT, "number", 6);
    t->i = n == n_whole ? strtoll(text, NULL, 10) : 0;
    if (errno != 0) template_fail(l->c, CONVECT_NOT_SUPPORTED, "the number %s is too large", text);
    t->f = strtod(text, NULL);
    advance(l, n);
}

/* The code of n hexadecimal digits at off, which must be there. */
static int32_t read_hex(lexer *l, size_t off, size_t n, size_t end) {
    int32_t code = 0;
    for (size_t i = off; i < off + n; i++) {
        const char b = i < end ? (char)(l->text[i] | 0x20) : 0;
        const bool is_digit = i < end && l->text[i] >= '0' && l->text[i] <= '9', is_letter = b >= 'a' && b <= 'f';
        if ((!is_digit && !is_letter) || code > 0x10FFFF)
            template_fail(l->c, CONVECT_DAMAGED, "a bad \\x, \\u or \\U in a text");
        code = code * 16 + (is_digit ? l->text[i] - '0' : b - 'a' + 10);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        template_fail(l->c, CONVECT_NOT_SUPPORTED, "\\u%04x is no character of its own", (unsigned)code);
    return code;
}

/* One escape at off (behind the backslash); writes its bytes and returns how many bytes of source it took. */
static size_t read_escape(lexer *l, size_t off, size_t end, char *out, size_t *n_out) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char b = l->text[off];
    const char *found = b ? strchr(from, b) : NULL;
    if (found || b == '\n') { /* an escaped newline is none */
        if (found) out[(*n_out)++] = to[found - from];
        return 1;
    }
    const size_t n_hex = b == 'x' ? 2 : b == 'u' ? 4 : b == 'U' ? 8 : 0;
    if (n_hex > 0) {
        *n_out += character_write(read_hex(l, off + 1, n_hex, end), out + *n_out);
        return 1 + n_hex;
    }
    if (b >= '0' && b <= '7') {
        int32_t code = 0;
        size_t n = 0;
        for (; n < 3 && off + n < end && l->text[off + n] >= '0' && l->text[off + n] <= '7'; n++)
            code = code * 8 + (l->text[off + n] - '0');
        *n_out += character_write(code, out + *n_out);
        return n;
    }
    if (b == 'N') template_fail(l->c, CONVECT_NOT_SUPPORTED, "\\N{...} in a text");
    out[(*n_out)++] = '\\'; /* an unknown escape stands for itself */
    return 0;
}

static void read_text(lexer *l) {
    const char quote = l->text[l->off];
    const size_t begin = l->off + 1;
    size_t end = begin;
    while (end < l->n_bytes && l->text[end] != quote) end += l->text[end] == '\\' ? 2 : 1;
    if (end >= l->n_bytes) template_fail(l->c, CONVECT_DAMAGED, "a text has no end");
    char *out = template_take(l->c, 2 * (end - begin) + 4); /* an octal escape of two bytes may give two */
    size_t n_out = 0;
    for (size_t off = begin; off < end;) {
        if (l->text[off] == '\\')
            off += 1 + read_escape(l, off + 1, end, out, &n_out);
        else
            out[n_out++] = l->text[off++];
    }
    (void)add_token(l, TOKEN_TEXT, out, n_out);
    advance(l, end + 1 - l->off);
}

/* Returns the change of bracket depth. */
static int read_operator(lexer *l) {
    static const char *const operators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
                                            "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!starts_with(l, l->off, operators[i])) continue;
        (void)add_token(l, TOKEN_OPERATOR, operators[i], strlen(operators[i]));
        advance(l, strlen(operators[i]));
        return strchr("[({", operators[i][0]) ? 1 : strchr("])}", operators[i][0]) ? -1 : 0;
    }
    template_fail(l->c, CONVECT_DAMAGED, "unexpected character '%.1s'", l->text + l->off);
}

/* Whether the tag ends here; *n_bytes receives the length of the end with its sign. */
static bool at_end(const lexer *l, const char *end, bool takes_plus, size_t *n_bytes) {
    const bool has_sign = starts_with(l, l->off, "-") || (takes_plus && starts_with(l, l->off, "+"));
    *n_bytes = has_sign + 2u;
    return l->off + has_sign <= l->n_bytes && starts_with(l, l->off + has_sign, end);
}

static void read_inside(lexer *l, bool is_print) {
    const char *end = is_print ? "}}" : "%}";
    int depth = 0;
    for (;;) {
        size_t n_end;
        const size_t n = n_space(l, l->off);
        advance(l, n);
        if (l->off == l->n_bytes) template_fail(l->c, CONVECT_DAMAGED, "a tag has no end");
        if (depth == 0 && at_end(l, end, !is_print, &n_end)) {
            const char sign = l->text[l->off];
            (void)add_token(l, is_print ? TOKEN_PRINT_END : TOKEN_BLOCK_END, end, 2);
            advance(l, n_end);
            end_tag(l, sign == '-', !is_print && sign != '+');
            return;
        }
        const char b = l->text[l->off];
        if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b == '_')
            read_word(l);
        else if (b >= '0' && b <= '9')
            read_number(l);
        else if (b == '"' || b == '\'')
            read_text(l);
        else
            depth += read_operator(l);
        if (depth < 0) template_fail(l->c, CONVECT_DAMAGED, "a bracket closes that was not open");
    }
}

/* ---- between tags ---- */

static void read_comment(lexer *l) {
    const char *end = memmem(l->text + l->off, l->n_bytes - l->off, "#}", 2);
    if (!end) template_fail(l->c, CONVECT_DAMAGED, "a comment has no end");
    const size_t n = (size_t)(end - l->text) - l->off;
    const char sign = n > 0 ? end[-1] : 0;
    advance(l, n + 2);
    end_tag(l, sign == '-', sign != '+');
}

/* {% word %} at off, where the tag begins: its length, 0 if it is another tag. */
static size_t match_word_tag(const lexer *l, size_t off, const char *word, bool *strips, bool *trims) {
    size_t at = off + 2;
    if (starts_with(l, at, "-") || starts_with(l, at, "+")) at++;
    at += n_space(l, at);
    if (!starts_with(l, at, word)) return 0;
    at += strlen(word);
    at += n_space(l, at);
    const char sign = at < l->n_bytes ? l->text[at] : 0;
    at += sign == '-' || sign == '+';
    *strips = sign == '-';
    *trims = sign != '+';
    return starts_with(l, at, "%}") ? at + 2 - off : 0;
}

/* Takes a raw block if one begins here. */
static bool read_raw(lexer *l) {
    bool strips, trims;
    const size_t n_begin = match_word_tag(l, l->off, "raw", &strips, &trims);
    if (n_begin == 0 || (!trims && !strips)) return false; /* {% raw +%} is not known to jinja2 */
    advance(l, n_begin);
    if (strips) advance(l, n_space(l, l->off));
    l->is_line_start = l->text[l->off - 1] == '\n';
    for (size_t off = l->off; off < l->n_bytes; off++) {
        const size_t n_end = starts_with(l, off, "{%") ? match_word_tag(l, off, "endraw", &strips, &trims) : 0;
        if (n_end == 0) continue;
        add_data(l, off - l->off, l->text[off + 2], false);
        advance(l, n_end);
        end_tag(l, strips, trims);
        return true;
    }
    template_fail(l->c, CONVECT_DAMAGED, "raw has no endraw");
}

/* Offset of the next tag. */
static size_t find_tag(const lexer *l) {
    for (size_t off = l->off; off + 1 < l->n_bytes; off++)
        if (l->text[off] == '{' && (l->text[off + 1] == '{' || l->text[off + 1] == '%' || l->text[off + 1] == '#'))
            return off;
    return l->n_bytes;
}

static void read_next(lexer *l) {
    const size_t tag = find_tag(l);
    const char kind = tag < l->n_bytes ? l->text[tag + 1] : 0, sign = tag + 2 < l->n_bytes ? l->text[tag + 2] : 0;
    if (!kind) {
        if (tag > l->off) (void)add_token(l, TOKEN_DATA, l->text + l->off, tag - l->off);
        advance(l, tag - l->off);
        return;
    }
    add_data(l, tag - l->off, sign, kind == '{');
    if (kind == '%' && read_raw(l)) return;
    if (kind != '#') (void)add_token(l, kind == '{' ? TOKEN_PRINT_BEGIN : TOKEN_BLOCK_BEGIN, "tag", 3);
    advance(l, 2 + (sign == '-' || sign == '+'));
    if (kind == '#')
        read_comment(l);
    else
        read_inside(l, kind == '{');
}

/* \r\n and \r become \n; one newline at the end goes. */
static void take_source(lexer *l, const char *source, size_t n_bytes) {
    char *text = template_take(l->c, n_bytes + 1);
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        if (source[i] == '\r' && i + 1 < n_bytes && source[i + 1] == '\n') continue;
        text[n++] = source[i];
        if (source[i] == '\r') text[n - 1] = '\n';
    }
    if (n > 0 && text[n - 1] == '\n') n--;
    l->text = text;
    l->n_bytes = n;
}

token *template_read_tokens(template_context *c, const char *source, size_t n_bytes) {
    lexer l = {.c = c, .is_line_start = true};
    c->line = 1;
    take_source(&l, source, n_bytes);
    while (l.off < l.n_bytes) read_next(&l);
    (void)add_token(&l, TOKEN_END, "the end of the template", 23);
    return l.tokens;
}
