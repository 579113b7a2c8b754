#!/usr/bin/env python3
"""Writes the seeds of fuzz_gguf: small GGUF files, each with something the others lack. Standard library only.

usage: make_gguf_seeds.py [FOLDER]   (default: corpus/gguf beside this script)
"""
import os
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
# type id: (elements, bytes) of a block
BLOCK = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210), 30: (1, 2), 39: (32, 17)}


def string(text):
    return struct.pack("<Q", len(text)) + text


def value(kind, v):
    return string(v) if kind == STRING else struct.pack("<" + PACK[kind], v)


def kv(key, kind, v, element=None):
    head = string(key) + struct.pack("<i", kind)
    if kind == ARRAY:
        return head + struct.pack("<iQ", element, len(v)) + b"".join(value(element, x) for x in v)
    return head + value(kind, v)


def gguf(kvs, tensors, version=3, alignment=32, tail=True):
    """tensors: (name, ne, type); placed one after the other."""
    infos, data = b"", b""
    for name, ne, kind in tensors:
        elems, n_bytes = BLOCK[kind]
        for n in ne:
            n_bytes *= n
        infos += string(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
        infos += struct.pack("<iQ", kind, len(data))
        data += bytes(n_bytes // elems)
        data += bytes(-len(data) % alignment)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(kvs)) + b"".join(kvs) + infos
    if tensors:
        head += bytes(-len(head) % alignment)
    whole = head + data
    return whole if tail else whole.rstrip(b"\0")


def model():
    p = b"qwen35moe."
    kvs = [kv(b"general.architecture", STRING, b"qwen35moe"), kv(p + b"block_count", U32, 2),
           kv(p + b"nextn_predict_layers", U32, 1), kv(p + b"expert_count", U32, 2),
           kv(p + b"expert_used_count", U32, 1), kv(b"tokenizer.ggml.tokens", ARRAY, [b"a", b"", b"\xff"], STRING)]
    tensors = [(b"token_embd.weight", (32, 3), 8), (b"blk.0.ssm_a", (4,), 0),
               (b"blk.0.ffn_up_exps.weight", (32, 2, 2), 2), (b"blk.1.nextn.eh_proj.weight", (64, 32), 1),
               (b"output_norm.weight", (32,), 0)]
    return gguf(kvs, tensors)


def every_kind():
    kvs = [kv(b"k%d" % kind, kind, 1) for kind in PACK]
    kvs += [kv(b"a%d" % kind, ARRAY, [0, 1], kind) for kind in PACK]
    kvs += [kv(b"s", STRING, b"\x1b[0m\xc3\xbc"), kv(b"empty", ARRAY, [], STRING)]
    return gguf(kvs, [])


def seeds():
    yield "empty_v2", gguf([], [], version=2)
    yield "model", model()
    yield "every_kind", every_kind()
    yield "alignment", gguf([kv(b"general.alignment", U32, 64)], [(b"a", (256,), 12), (b"b", (256, 2), 14)], alignment=64)
    yield "formats", gguf([], [(b"t%d" % k, (256, 1, 1, 1), k) for k in BLOCK])
    yield "split", gguf([kv(b"split.no", U16, 1), kv(b"split.count", U16, 3), kv(b"split.tensors.count", I32, 1)], [])
    yield "big_endian", struct.pack(">4sIQQ", b"GGUF", 3, 0, 0)
    yield "version_1", b"GGUF" + struct.pack("<III", 1, 0, 0)
    yield "safetensors", struct.pack("<Q", 2) + b"{}"
    yield "html", b"<!doctype html><title>404</title>"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "gguf")
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
