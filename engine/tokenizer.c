#include "engine/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/bpe.h"
#include "engine/byte_alphabet.h"
#include "engine/name_index.h"
#include "engine/nfc.h"
#include "engine/pretokenizer.h"
#include "engine/special.h"

#define N_VOCAB_MAX      ((uint64_t)1 << 24) /* also of merges; the largest Qwen vocabulary has 248,320 */
#define PIECES_BYTES_MAX ((size_t)1 << 30)
#define TEXT_BYTES_MAX   ((size_t)1 << 30)

typedef enum token_flag { TOKEN_UNUSED = 1, TOKEN_CONTROL = 2, TOKEN_STOP = 4 } token_flag;

/* tokenizer.ggml.token_type */
enum { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER_DEFINED = 4, TYPE_UNUSED = 5, TYPE_BYTE = 6 };

struct tokenizer {
    pretokenizer pre;
    size_t n_vocab, n_real;
    char *pieces;        /* the bytes of all tokens, one after the other */
    uint32_t *piece_off; /* [n_vocab + 1] */
    uint8_t *flags;      /* [n_vocab] of token_flag */
    name_index index;    /* piece -> lowest id with it */
    special_set special; /* texts borrowed from pieces */
    bpe merges;
    uint32_t byte_ids[256]; /* token of a single byte */
};

static const char *piece_of(const void *items, size_t i, size_t *n_bytes) {
    const tokenizer *t = items;
    *n_bytes = t->piece_off[i + 1] - t->piece_off[i];
    return t->pieces + t->piece_off[i];
}

static uint32_t find_piece(const tokenizer *t, const char *text, size_t n_bytes) {
    return name_index_find(&t->index, t, piece_of, text, n_bytes);
}

void token_list_free(token_list *list) {
    free(list->ids);
    *list = (token_list){0};
}

convect_status token_list_push(token_list *list, int32_t id, convect_error *err) {
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        int32_t *ids = cap > SIZE_MAX / sizeof *ids ? NULL : realloc(list->ids, cap * sizeof *ids);
        if (!ids) return convect_fail(err, CONVECT_NO_FIT, "no memory for a list of %zu tokens", cap);
        list->ids = ids;
        list->cap = cap;
    }
    list->ids[list->n++] = id;
    return CONVECT_OK;
}

/* ---- create ---- */

/* An array of the wanted element type with at most N_VOCAB_MAX elements, or a failure that names the key. */
static convect_status need_array(const gguf *g, const char *key, bool of_strings, const gguf_kv **out,
                                 convect_error *err) {
    const gguf_kv *kv = gguf_kv_find(g, key);
    if (!kv) return convect_fail(err, CONVECT_DAMAGED, "the file has no %s: it holds no tokenizer", key);
    if (kv->type != GGUF_ARRAY || (kv->element_type == GGUF_STRING) != of_strings)
        return convect_fail(err, CONVECT_DAMAGED, "%s is no array of %s", key, of_strings ? "strings" : "integers");
    if (kv->n_elements > N_VOCAB_MAX)
        return convect_fail(err, CONVECT_DAMAGED, "%s has %llu entries; %llu are the most", key,
                            (unsigned long long)kv->n_elements, (unsigned long long)N_VOCAB_MAX);
    *out = kv;
    return CONVECT_OK;
}

static convect_status need_name(const gguf *g, const char *key, gguf_string *out, convect_error *err) {
    const gguf_kv *kv = gguf_kv_find(g, key);
    if (!kv || !gguf_read_string(kv, out))
        return convect_fail(err, CONVECT_DAMAGED, "the file has no string %s: it holds no tokenizer", key);
    return CONVECT_OK;
}

static int name_width(gguf_string s) {
    return s.n_bytes < 64 ? (int)s.n_bytes : 64;
} /* for %.*s in messages */

static convect_status read_kind(tokenizer *t, const gguf *g, convect_error *err) {
    gguf_string name;
    convect_status status = need_name(g, "tokenizer.ggml.model", &name, err);
    if (status != CONVECT_OK) return status;
    if (name.n_bytes != 4 || memcmp(name.data, "gpt2", 4) != 0)
        return convect_fail(err, CONVECT_NOT_SUPPORTED,
                            "tokenizer model \"%.*s\" is not supported, only \"gpt2\" (byte-level BPE)",
                            name_width(name), name.data);
    status = need_name(g, "tokenizer.ggml.pre", &name, err);
    if (status != CONVECT_OK) return status;
    if (!pretokenizer_find(name.data, name.n_bytes, &t->pre))
        return convect_fail(err, CONVECT_NOT_SUPPORTED,
                            "pre-tokenizer \"%.*s\" is not supported, only qwen2, deepseek-r1-qwen and qwen35",
                            name_width(name), name.data);
    const gguf_kv *bos = gguf_kv_find(g, "tokenizer.ggml.add_bos_token");
    uint64_t add_bos;
    if (bos && (!gguf_read_u64(bos, 0, &add_bos) || add_bos != 0))
        return convect_fail(err, CONVECT_NOT_SUPPORTED,
                            "tokenizer.ggml.add_bos_token is set; Qwen models begin without a BOS token");
    return CONVECT_OK;
}

/* Appends the bytes of token i. Ordinary tokens are written in the byte alphabet; special ones, and any that leave the
 * alphabet, stand for themselves; unused ones have none. */
static void store_piece(tokenizer *t, const byte_alphabet *alphabet, size_t i, gguf_string text, int64_t type) {
    size_t off = t->piece_off[i], n = 0;
    bool is_verbatim = type == TYPE_CONTROL || type == TYPE_USER_DEFINED;
    if (type == TYPE_UNUSED) {
        t->flags[i] = TOKEN_UNUSED;
    } else if (is_verbatim || !byte_alphabet_decode(alphabet, text.data, text.n_bytes, t->pieces + off, &n)) {
        n = text.n_bytes;
        if (n > 0) memcpy(t->pieces + off, text.data, n);
    }
    if (type == TYPE_CONTROL) t->flags[i] = TOKEN_CONTROL;
    if (type != TYPE_UNUSED) t->n_real = i + 1;
    t->piece_off[i + 1] = (uint32_t)(off + n);
    if (n == 0) return;
    bool is_first = name_index_add(&t->index, t, piece_of, (uint32_t)i) == i;
    if (is_verbatim && is_first) /* the text is filled in by index_special: pieces are all stored by then */
        t->special.tokens[t->special.n++] =
            (special_token){.id = (int32_t)i, .n_bytes = n, .is_control = type == TYPE_CONTROL};
}

static convect_status allocate_vocab(tokenizer *t, const gguf_string *texts, convect_error *err) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < t->n_vocab; i++) {
        if (texts[i].n_bytes > TOKENIZER_PIECE_BYTES_MAX)
            return convect_fail(err, CONVECT_DAMAGED, "token %zu has %zu bytes; %d are the most", i, texts[i].n_bytes,
                                TOKENIZER_PIECE_BYTES_MAX);
        n_bytes += texts[i].n_bytes;
    }
    if (n_bytes > PIECES_BYTES_MAX)
        return convect_fail(err, CONVECT_DAMAGED, "the vocabulary has %zu bytes of text; %zu are the most", n_bytes,
                            PIECES_BYTES_MAX);
    t->pieces = malloc(n_bytes + 1);
    t->piece_off = calloc(t->n_vocab + 1, sizeof *t->piece_off);
    t->flags = calloc(t->n_vocab, 1);
    t->special.tokens = calloc(t->n_vocab, sizeof *t->special.tokens);
    if (!t->pieces || !t->piece_off || !t->flags || !t->special.tokens || !name_index_init(&t->index, t->n_vocab))
        return convect_fail(err, CONVECT_NO_FIT, "no memory for a vocabulary of %zu tokens", t->n_vocab);
    return CONVECT_OK;
}

/* Sorts the special tokens and gives back what their array does not use. */
static convect_status index_special(tokenizer *t, convect_error *err) {
    for (size_t i = 0; i < t->special.n; i++) {
        special_token *s = &t->special.tokens[i];
        s->text = t->pieces + t->piece_off[s->id];
        if (s->n_bytes > SPECIAL_BYTES_MAX)
            return convect_fail(err, CONVECT_DAMAGED, "special token %d has %zu bytes; %d are the most", s->id,
                                s->n_bytes, SPECIAL_BYTES_MAX);
    }
    special_token *tokens = realloc(t->special.tokens, (t->special.n + 1) * sizeof *tokens);
    if (tokens) t->special.tokens = tokens;
    special_set_sort(&t->special);
    return CONVECT_OK;
}

static convect_status store_vocab(tokenizer *t, const gguf_string *texts, const gguf_kv *types, convect_error *err) {
    convect_status status = allocate_vocab(t, texts, err);
    if (status != CONVECT_OK) return status;
    byte_alphabet alphabet;
    byte_alphabet_init(&alphabet);
    for (size_t i = 0; i < t->n_vocab; i++) {
        int64_t type;
        if (!gguf_read_i64(types, i, &type) || type < TYPE_NORMAL || type > TYPE_BYTE)
            return convect_fail(err, CONVECT_DAMAGED, "token %zu has an unknown tokenizer.ggml.token_type", i);
        store_piece(t, &alphabet, i, texts[i], type);
    }
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        t->byte_ids[b] = find_piece(t, &byte, 1);
        if (t->byte_ids[b] == NAME_INDEX_NONE)
            return convect_fail(err, CONVECT_DAMAGED, "the vocabulary has no token for the byte 0x%02x", b);
    }
    return index_special(t, err);
}

/* All strings of an array, to be freed by the caller. */
static convect_status read_texts(const gguf_kv *kv, gguf_string **out, convect_error *err) {
    *out = calloc((size_t)kv->n_elements + 1, sizeof **out); /* an empty array gets an address too */
    if (!*out)
        return convect_fail(err, CONVECT_NO_FIT, "no memory for %llu strings", (unsigned long long)kv->n_elements);
    if (gguf_read_strings(kv, *out)) return CONVECT_OK;
    return convect_fail(err, CONVECT_DAMAGED, "the file changed while it was being read"); /* its type was checked */
}

static convect_status read_vocab(tokenizer *t, const gguf *g, convect_error *err) {
    const gguf_kv *tokens, *types;
    convect_status status = need_array(g, "tokenizer.ggml.tokens", true, &tokens, err);
    if (status == CONVECT_OK) status = need_array(g, "tokenizer.ggml.token_type", false, &types, err);
    if (status != CONVECT_OK) return status;
    if (tokens->n_elements == 0) return convect_fail(err, CONVECT_DAMAGED, "tokenizer.ggml.tokens is empty");
    if (tokens->n_elements != types->n_elements)
        return convect_fail(err, CONVECT_DAMAGED, "tokenizer.ggml.tokens has %llu entries, token_type %llu",
                            (unsigned long long)tokens->n_elements, (unsigned long long)types->n_elements);
    t->n_vocab = (size_t)tokens->n_elements;
    gguf_string *texts;
    status = read_texts(tokens, &texts, err);
    if (status == CONVECT_OK) status = store_vocab(t, texts, types, err);
    free(texts);
    return status;
}

/* "left right": the first space after byte 0 separates the two. */
static convect_status add_merge(tokenizer *t, const byte_alphabet *alphabet, size_t rank, gguf_string text,
                                convect_error *err) {
    char bytes[2 * TOKENIZER_PIECE_BYTES_MAX];
    if (text.n_bytes > sizeof bytes)
        return convect_fail(err, CONVECT_DAMAGED, "merge %zu has %zu bytes", rank, text.n_bytes);
    const char *space = text.n_bytes > 2 ? memchr(text.data + 1, ' ', text.n_bytes - 1) : NULL;
    size_t n_left = space ? (size_t)(space - text.data) : 0, n_right = space ? text.n_bytes - n_left - 1 : 0;
    if (n_right == 0)
        return convect_fail(err, CONVECT_DAMAGED, "merge %zu is not two parts with a space between", rank);
    bpe_merge m = {.left = NAME_INDEX_NONE, .rank = (uint32_t)rank};
    if (byte_alphabet_decode(alphabet, text.data, n_left, bytes, &n_left) &&
        byte_alphabet_decode(alphabet, space + 1, n_right, bytes + n_left, &n_right)) {
        m.left = find_piece(t, bytes, n_left);
        m.right = find_piece(t, bytes + n_left, n_right);
        m.merged = find_piece(t, bytes, n_left + n_right);
    }
    if (m.left == NAME_INDEX_NONE || m.right == NAME_INDEX_NONE || m.merged == NAME_INDEX_NONE)
        return convect_fail(err, CONVECT_DAMAGED, "merge %zu (\"%.*s\") names a token that the vocabulary lacks", rank,
                            name_width(text), text.data);
    bpe_add(&t->merges, m);
    return CONVECT_OK;
}

static convect_status read_merges(tokenizer *t, const gguf *g, convect_error *err) {
    const gguf_kv *kv;
    gguf_string *texts;
    convect_status status = need_array(g, "tokenizer.ggml.merges", true, &kv, err);
    if (status == CONVECT_OK) status = read_texts(kv, &texts, err);
    if (status != CONVECT_OK) return status;
    if (!bpe_init(&t->merges, (size_t)kv->n_elements, t->index.seed))
        status = convect_fail(err, CONVECT_NO_FIT, "no memory for %llu merges", (unsigned long long)kv->n_elements);
    byte_alphabet alphabet;
    byte_alphabet_init(&alphabet);
    for (size_t i = 0; status == CONVECT_OK && i < kv->n_elements; i++)
        status = add_merge(t, &alphabet, i, texts[i], err);
    free(texts);
    return status;
}

/* Checks tokenizer.ggml.<name>_token_id against the vocabulary; eos and eot are stop tokens. */
static convect_status read_special_id(tokenizer *t, const gguf_kv *kv, convect_error *err) {
    static const char prefix[] = "tokenizer.ggml.", suffix[] = "_token_id";
    size_t n = kv->key.n_bytes, n_prefix = sizeof prefix - 1, n_suffix = sizeof suffix - 1;
    if (n < n_prefix + n_suffix || memcmp(kv->key.data, prefix, n_prefix) != 0 ||
        memcmp(kv->key.data + n - n_suffix, suffix, n_suffix) != 0)
        return CONVECT_OK;
    uint64_t id;
    if (kv->type == GGUF_ARRAY || !gguf_read_u64(kv, 0, &id) || id >= t->n_vocab)
        return convect_fail(err, CONVECT_DAMAGED, "%.*s is no id of the vocabulary (%zu tokens)", name_width(kv->key),
                            kv->key.data, t->n_vocab);
    const char *name = kv->key.data + n_prefix;
    size_t n_name = n - n_prefix - n_suffix;
    if (n_name == 3 && (memcmp(name, "eos", 3) == 0 || memcmp(name, "eot", 3) == 0)) t->flags[id] |= TOKEN_STOP;
    return CONVECT_OK;
}

static convect_status read_stops(tokenizer *t, const gguf *g, convect_error *err) {
    static const char *const texts[] = {"<|im_end|>", "<|endoftext|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int32_t id = tokenizer_find(t, texts[i]);
        if (id >= 0) t->flags[id] |= TOKEN_STOP;
    }
    for (size_t i = 0; i < gguf_n_kv(g); i++) {
        convect_status status = read_special_id(t, gguf_kv_at(g, i), err);
        if (status != CONVECT_OK) return status;
    }
    return CONVECT_OK;
}

convect_status tokenizer_create(const gguf *g, tokenizer **out, convect_error *err) {
    *out = NULL;
    tokenizer *t = calloc(1, sizeof *t);
    if (!t) return convect_fail(err, CONVECT_NO_FIT, "no memory for a tokenizer");
    convect_status status = read_kind(t, g, err);
    if (status == CONVECT_OK) status = read_vocab(t, g, err);
    if (status == CONVECT_OK) status = read_merges(t, g, err);
    if (status == CONVECT_OK) status = read_stops(t, g, err);
    if (status == CONVECT_OK)
        *out = t;
    else
        tokenizer_destroy(t);
    return status;
}

void tokenizer_destroy(tokenizer *t) {
    if (!t) return;
    free(t->pieces);
    free(t->piece_off);
    free(t->flags);
    name_index_free(&t->index);
    special_set_free(&t->special);
    bpe_deinit(&t->merges);
    free(t);
}

/* ---- encode ---- */

typedef struct encoder {
    const tokenizer *t;
    bpe_work work;
    token_list *out;
} encoder;

static convect_status encode_word(encoder *e, const char *text, size_t n_bytes, convect_error *err) {
    if (!bpe_work_reserve(&e->work, n_bytes))
        return convect_fail(err, CONVECT_NO_FIT, "no memory to tokenise a word of %zu bytes", n_bytes);
    for (size_t i = 0; i < n_bytes; i++) e->work.nodes[i].id = e->t->byte_ids[(unsigned char)text[i]];
    bpe_run(&e->t->merges, &e->work, n_bytes);
    for (uint32_t i = 0; i != BPE_NONE; i = e->work.nodes[i].next) {
        convect_status status = token_list_push(e->out, (int32_t)e->work.nodes[i].id, err);
        if (status != CONVECT_OK) return status;
    }
    return CONVECT_OK;
}

/* Text between special tokens. */
static convect_status encode_plain(encoder *e, const char *text, size_t n_bytes, convect_error *err) {
    nfc_text nfc;
    convect_status status = nfc_normalize(text, n_bytes, &nfc, err);
    if (status != CONVECT_OK) return status;
    for (size_t off = 0; status == CONVECT_OK && off < nfc.n_bytes;) {
        size_t n = pretokenizer_next(e->t->pre, nfc.data + off, nfc.n_bytes - off);
        status = encode_word(e, nfc.data + off, n, err);
        off += n;
    }
    nfc_free(&nfc);
    return status;
}

/* The longest special token that begins text[0..n_bytes); control tokens count within n_trusted bytes. */
static size_t match_special(const encoder *e, const char *text, size_t n_bytes, size_t n_trusted, int32_t *id) {
    int32_t trusted_id;
    const size_t n = special_match(&e->t->special, text, n_bytes, false, id);
    const size_t n_control = special_match(&e->t->special, text, n_trusted, true, &trusted_id);
    if (n_control > n) *id = trusted_id;
    return n_control > n ? n_control : n;
}

static convect_status encode_all(encoder *e, const char *text, size_t n_bytes, const tokenizer_range *trusted,
                                 size_t n_trusted, convect_error *err) {
    size_t begin = 0;
    for (size_t off = 0; off < n_bytes;) {
        int32_t id;
        while (n_trusted > 0 && trusted->end <= off) trusted++, n_trusted--;
        const bool is_trusted = n_trusted > 0 && trusted->begin <= off;
        size_t n = match_special(e, text + off, n_bytes - off, is_trusted ? trusted->end - off : 0, &id);
        if (n == 0) {
            off++;
            continue;
        }
        convect_status status = encode_plain(e, text + begin, off - begin, err);
        if (status == CONVECT_OK) status = token_list_push(e->out, id, err);
        if (status != CONVECT_OK) return status;
        begin = off += n;
    }
    return encode_plain(e, text + begin, n_bytes - begin, err);
}

convect_status tokenizer_encode(const tokenizer *t, const char *text, size_t n_bytes, bool parse_special,
                                token_list *out, convect_error *err) {
    const tokenizer_range whole = {0, n_bytes};
    return tokenizer_encode_mixed(t, text, n_bytes, &whole, parse_special, out, err);
}

convect_status tokenizer_encode_mixed(const tokenizer *t, const char *text, size_t n_bytes,
                                      const tokenizer_range *trusted, size_t n_trusted, token_list *out,
                                      convect_error *err) {
    if (n_bytes > TEXT_BYTES_MAX)
        return convect_fail(err, CONVECT_USAGE, "the text has %zu bytes; %zu are the most", n_bytes, TEXT_BYTES_MAX);
    CONVECT_CHECK(n_trusted == 0 || trusted[n_trusted - 1].end <= n_bytes);
    encoder e = {.t = t, .out = out};
    convect_status status = encode_all(&e, text, n_bytes, trusted, n_trusted, err);
    bpe_work_free(&e.work);
    return status;
}

/* ---- query ---- */

gguf_string tokenizer_piece(const tokenizer *t, int32_t id) {
    CONVECT_CHECK(id >= 0 && (size_t)id < t->n_vocab);
    gguf_string piece;
    piece.data = piece_of(t, (size_t)id, &piece.n_bytes);
    return piece;
}

size_t tokenizer_n_vocab(const tokenizer *t) {
    return t->n_vocab;
}

size_t tokenizer_n_real(const tokenizer *t) {
    return t->n_real;
}

static bool has_flag(const tokenizer *t, int32_t id, token_flag flag) {
    CONVECT_CHECK(id >= 0 && (size_t)id < t->n_vocab);
    return (t->flags[id] & flag) != 0;
}

bool tokenizer_is_unused(const tokenizer *t, int32_t id) {
    return has_flag(t, id, TOKEN_UNUSED);
}

bool tokenizer_is_control(const tokenizer *t, int32_t id) {
    return has_flag(t, id, TOKEN_CONTROL);
}

bool tokenizer_is_stop(const tokenizer *t, int32_t id) {
    return has_flag(t, id, TOKEN_STOP);
}

int32_t tokenizer_find(const tokenizer *t, const char *text) {
    uint32_t id = find_piece(t, text, strlen(text));
    return id == NAME_INDEX_NONE ? -1 : (int32_t)id;
}
