#!/usr/bin/env python3
"""Compares `convect tokenize` with Hugging Face's tokenizers on random and real text, for both pre-tokenizers.

Usage: tokenizer_hf.py CONVECT TOKENIZER.json.gz [--n-lines N] [--seed N] [FILE...]

Not part of CI: wants the `tokenizers` package. Random lines mix scripts, marks, white space, contractions, digits, emoji
and special tokens; FILEs are cut into lines of 400 characters. Each side brings its own Unicode tables, so code points that
are unassigned in Python's version are left out, and so are the combining marks added since Unicode 3.2: the normaliser of
`tokenizers` 0.23 lacks some of them. Prints the number of lines and of differences.
"""
import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Tokenizer

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RANGES = [(0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x2B0, 0x370), (0x370, 0x530), (0x590, 0x780), (0x900, 0xE80),
          (0x1100, 0x1200), (0x1E00, 0x2100), (0x2100, 0x2C00), (0x3000, 0x3100), (0x4E00, 0x5000), (0xAC00, 0xAE00),
          (0xF900, 0xFB50), (0xFE00, 0xFFF0), (0x1D100, 0x1D800), (0x1F300, 0x1FAFF), (0x2F800, 0x2FA20), (1, 0x20000)]
SNIPPETS = ["'s", "'T", "'re", "'VE", "'m", "'ll", "'D", "'\u017f", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "\u00a0",
            "\u2003", "\u2028", "\u0085", "\u180e", "\u200d", "\ufe0f", "0", "42", "\u0663", "\u00bd", "the", " The", "!!", " ?",
            "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<|im_", "e\u0301", "a\u0323\u0301",
            "\u0301\u0323", "\u1100\u1161\u11a8", "\u212b", "\U0001f468\u200d\U0001f469"]


def is_usable(c):
    if 0xD800 <= ord(c) < 0xE000 or unicodedata.category(c) == "Cn":
        return False
    return unicodedata.combining(c) == 0 or unicodedata.ucd_3_2_0.category(c) != "Cn"


def random_line(rng):
    parts = []
    scripts = rng.sample(RANGES, 3)
    for _ in range(rng.randint(1, 40)):
        if rng.random() < 0.4:
            parts.append(rng.choice(SNIPPETS))
        else:
            c = chr(rng.randrange(*rng.choice(scripts)))
            parts.append(c if is_usable(c) else "x")
    return "".join(parts)


def file_lines(path):
    with open(path, encoding="utf-8", errors="ignore", newline="") as f:
        text = "".join(filter(is_usable, f.read()))
    return [text[i:i + 400] for i in range(0, len(text), 400)]


def reference(source, pre):
    """The tokenizer.json with the pattern of one pre-tokenizer."""
    data = json.loads(json.dumps(source))
    split = data["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    if pre == "qwen35":
        split["Regex"] = split["Regex"].replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
    return Tokenizer.from_str(json.dumps(data))


def convect_ids(convect, vocab, lines):
    data = "".join(json.dumps(line) + "\n" for line in lines)
    out = subprocess.run([convect, "tokenize", vocab, "--jsonl"], input=data, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("convect")
    parser.add_argument("tokenizer")
    parser.add_argument("--n-lines", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    args = parser.parse_intermixed_args()
    with gzip.open(args.tokenizer, "rt", encoding="utf-8") as f:
        source = json.load(f)
    rng = random.Random(args.seed)
    lines = [random_line(rng) for _ in range(args.n_lines)]
    for path in args.files:
        lines += file_lines(path)
    n_differ = 0
    for pre in ("qwen2", "qwen35"):
        with tempfile.TemporaryDirectory() as folder:
            vocab = os.path.join(folder, "vocab.gguf")
            subprocess.run([sys.executable, os.path.join(ROOT, "tools", "tokenizer2gguf.py"), args.tokenizer, vocab,
                            "--pre", pre], check=True)
            got = convect_ids(args.convect, vocab, lines)
        want = [e.ids for e in reference(source, pre).encode_batch(lines, add_special_tokens=False)]
        differ = [(line, a, b) for line, a, b in zip(lines, got, want) if a != b]
        for line, a, b in differ[:5]:
            print(f"{pre}: {line!r}\n  convect {a}\n  hf      {b}")
        print(f"{pre}: {len(lines)} lines, {sum(map(len, want))} tokens, {len(differ)} lines differ")
        n_differ += len(differ) + (len(got) != len(lines))
    sys.exit(n_differ > 0)


if __name__ == "__main__":
    main()
