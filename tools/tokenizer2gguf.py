#!/usr/bin/env python3
"""Makes a vocabulary-only GGUF from a Hugging Face tokenizer.json or tokenizer.json.gz (byte-level BPE).

Usage: tokenizer2gguf.py IN.json[.gz] OUT.gguf [--pre qwen2|qwen35] [--n-vocab N] [--arch NAME]

The pre-tokenizer is read from the file's own pattern unless --pre names it; ids up to --n-vocab are filled with unused
[PADn] entries, as converters do for models whose embedding has more rows than the tokenizer has tokens. Added tokens
that are special or look like <|...|> become control tokens (type 3), the others user-defined ones (type 4).
Python's standard library is enough.
"""
import argparse
import gzip
import json
import os
import struct

U32, I32, BOOL, STRING, ARRAY = 4, 5, 7, 8, 9  # GGUF value types
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5  # tokenizer.ggml.token_type


def string(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def kv(key, type_, value):
    return string(key) + struct.pack("<I", type_) + value


def kv_string(key, text):
    return kv(key, STRING, string(text))


def kv_strings(key, texts):
    return kv(key, ARRAY, struct.pack("<IQ", STRING, len(texts)) + b"".join(map(string, texts)))


def kv_i32s(key, values):
    return kv(key, ARRAY, struct.pack(f"<IQ{len(values)}i", I32, len(values), *values))


def find_pre(tokenizer):
    pattern = json.dumps(tokenizer["pre_tokenizer"])
    if "\\p{M}" in pattern:
        return "qwen35"
    if "\\p{L}+" in pattern:
        return "qwen2"
    raise SystemExit("the pattern of the pre-tokenizer is unknown: name it with --pre")


def read_vocab(tokenizer, n_vocab):
    """Texts and types by id."""
    entries = {i: (text, NORMAL) for text, i in tokenizer["model"]["vocab"].items()}
    for added in tokenizer["added_tokens"]:
        text = added["content"]
        looks_special = text.startswith("<|") and text.endswith("|>")
        entries[added["id"]] = (text, CONTROL if added["special"] or looks_special else USER_DEFINED)
    n = max(n_vocab, max(entries) + 1)
    entries = [entries.get(i, (f"[PAD{i}]", UNUSED)) for i in range(n)]
    return [text for text, _ in entries], [type_ for _, type_ in entries]


def read_merges(tokenizer):
    """'left right', whichever of the two forms of tokenizer.json the file has."""
    return [m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]]


def metadata(tokenizer, pre, arch, n_vocab):
    texts, types = read_vocab(tokenizer, n_vocab)
    pairs = [
        kv_string("general.architecture", arch),
        kv_string("tokenizer.ggml.model", "gpt2"),
        kv_string("tokenizer.ggml.pre", pre),
        kv_strings("tokenizer.ggml.tokens", texts),
        kv_i32s("tokenizer.ggml.token_type", types),
        kv_strings("tokenizer.ggml.merges", read_merges(tokenizer)),
        kv("tokenizer.ggml.add_bos_token", BOOL, b"\0"),
    ]
    for key, text in (("eos", "<|im_end|>"), ("padding", "<|endoftext|>")):
        if text in texts:
            pairs.append(kv(f"tokenizer.ggml.{key}_token_id", U32, struct.pack("<I", texts.index(text))))
    return pairs


def file_bytes(pairs):
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--pre", choices=("qwen2", "qwen35"))
    parser.add_argument("--n-vocab", type=int, default=0)
    parser.add_argument("--arch", default="qwen35moe")
    args = parser.parse_args()
    with (gzip.open if args.source.endswith(".gz") else open)(args.source, "rt", encoding="utf-8") as f:
        tokenizer = json.load(f)
    if tokenizer["model"]["type"] != "BPE":
        raise SystemExit(f"{args.source}: the model is {tokenizer['model']['type']}, not BPE")
    pairs = metadata(tokenizer, args.pre or find_pre(tokenizer), args.arch, args.n_vocab)
    part = args.target + ".part"
    with open(part, "wb") as f:
        f.write(file_bytes(pairs))
    os.replace(part, args.target)


if __name__ == "__main__":
    main()
