#!/usr/bin/env python3
"""Writes the seeds of fuzz_tokenizer: texts, and vocabulary-only GGUF files. Standard library only.

usage: make_tokenizer_seeds.py [FOLDER]   (default: corpus/tokenizer beside this script)
"""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

TEXTS = [
    "Hello, world! don't I'LL 123\n\n  x \t y\r\n",
    "<|im_start|>user\nHi<|im_end|>!<think></think><|im_",
    "e\u0301 a\u0323\u0301 \u0301\u0323 \u1100\u1161\u11a8 \ub80c\u11a7 \u212b \u0958",
    "\u0939\u093f\u0928 \u0e19\u0e49\u0e33 \u0663 \u4e2d\u6587 \U0001f468\u200d\U0001f469",
    "aaaaaaaaaaaaaaaaaaaaaaaabababcabc  a a",
    "\u00a0\u2003\u2028\u0085 !!\n\n",
]
INVALID = b"\xff\xfe\xc3(\xe2\x82\xf0\x9f\x98\xed\xa0\x80ok\0"


def load_writer():
    path = os.path.join(HERE, "..", "..", "tools", "tokenizer2gguf.py")
    spec = importlib.util.spec_from_file_location("tokenizer2gguf", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def byte_texts():
    """The byte alphabet, by byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return [chr(b if b in printable else 256 + others.index(b)) for b in range(256)]


def vocabularies():
    """tokenizer.json contents that tokenizer2gguf reads."""
    texts = byte_texts() + ["aa", "aaaa", "ab", "\u0120a"]
    vocab = {text: i for i, text in enumerate(texts)}
    special = [("<|im_start|>", True), ("<|im_end|>", True), ("<think>", False)]
    added = [{"id": len(texts) + i, "content": c, "special": s} for i, (c, s) in enumerate(special)]
    merges = ["a b", "a a", "aa aa", "\u0120 a"]
    yield {"model": {"vocab": vocab, "merges": merges}, "added_tokens": added}
    yield {"model": {"vocab": vocab, "merges": [["a", "a"]]}, "added_tokens": []}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus", "tokenizer")
    os.makedirs(folder, exist_ok=True)
    seeds = [bytes([mode]) + text.encode() for mode in (0, 2, 6) for text in TEXTS]
    seeds += [b"\0" + INVALID, b"\2" + INVALID]
    writer = load_writer()
    for i, vocabulary in enumerate(vocabularies()):
        seeds.append(b"\1" + writer.file_bytes(writer.metadata(vocabulary, ("qwen2", "qwen35")[i], "qwen35moe", 264 + i)))
    for i, seed in enumerate(seeds):
        with open(os.path.join(folder, f"{i:02}"), "wb") as f:
            f.write(seed)


if __name__ == "__main__":
    main()
