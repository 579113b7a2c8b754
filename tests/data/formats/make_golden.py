#!/usr/bin/env python3
"""Makes tests/data/formats/*.bin: weight blocks and the f32 values they stand for (README.md says in which form).

    python3 make_golden.py OUT_DIR [path of libggml-base.so from llama-cpp-python]

Values come from the `gguf` package where it knows the format, else from libggml; with a library given, every format is
computed by both and any difference stops the script.
"""
import ctypes
import sys
import zlib
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as T, quants

# format: (elements, bytes, offsets of f16 factors)
FORMATS = {
    "F32": (1, 4, ()), "F16": (1, 2, ()), "BF16": (1, 2, ()),
    "Q4_0": (32, 18, (0,)), "Q4_1": (32, 20, (0, 2)), "Q5_0": (32, 22, (0,)), "Q5_1": (32, 24, (0, 2)),
    "Q8_0": (32, 34, (0,)), "Q2_K": (256, 84, (80, 82)), "Q3_K": (256, 110, (108,)), "Q4_K": (256, 144, (0, 2)),
    "Q5_K": (256, 176, (0, 2)), "Q6_K": (256, 210, (208,)), "IQ2_XXS": (256, 66, (0,)), "IQ2_XS": (256, 74, (0,)),
    "IQ3_XXS": (256, 98, (0,)), "IQ1_S": (256, 50, (0,)), "IQ4_NL": (32, 18, (0,)), "IQ3_S": (256, 110, (0,)),
    "IQ2_S": (256, 82, (0,)), "IQ4_XS": (256, 136, (0,)), "IQ1_M": (256, 56, ()), "TQ1_0": (256, 54, (52,)),
    "TQ2_0": (256, 66, (64,)), "MXFP4": (32, 17, ()), "NVFP4": (64, 36, ()), "Q1_0": (128, 18, (0,)),
    "Q2_0": (64, 18, (0,)),
}
SPECIAL = [0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x3C00, 0x0400]  # zeros, denormals, largest, one


def set_factors(rng, name, block, i, offsets):
    """Finite factors, with the special ones in the first blocks."""
    for o in offsets:
        h = SPECIAL[i] if i < len(SPECIAL) else int(rng.integers(4, 14)) << 10 | int(rng.integers(0, 1024)) | \
            (int(rng.integers(0, 2)) << 15)
        block[o:o + 2] = [h & 255, h >> 8]
    if name == "IQ1_M":  # d is spread over the top nibbles of four words
        h = SPECIAL[i] if i < len(SPECIAL) else int(rng.integers(4, 14)) << 10 | int(rng.integers(0, 1024))
        for k in range(4):
            block[49 + 2 * k] = block[49 + 2 * k] & 15 | (h >> 4 * k & 15) << 4
    if name == "MXFP4":
        block[0] = [0, 1, 2, 3, 254, 255, 127, 128][i] if i < 8 else rng.integers(100, 150)
    if name == "NVFP4" and i < 8:
        block[0:4] = [[0, 0x7F, 0x7E, 1], [7, 8, 9, 0x77], [0x80, 0xFE, 0x81, 0x88], [0x38, 0x38, 0, 0x40]][i % 4]


def make_blocks(name):
    elems, size, offsets = FORMATS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n = {1: 512, 256: 16, 128: 24}.get(elems, 48)
    blocks = rng.integers(0, 256, (n, size), dtype=np.uint8)
    if elems == 1:  # all finite; the first ones special
        blocks[:, -1] &= 0xBF
        blocks[:16, :] = 0
        blocks[1:16, -1] = np.arange(1, 16) * 0x11 & 0xBF
        return blocks
    for i in range(n):
        if i in (2, 4, 6):
            blocks[i] = 255
        if i in (3, 5):
            blocks[i] = 0
        set_factors(rng, name, blocks[i], i, offsets)
    return blocks


def from_package(name, blocks):
    if name in ("F32", "F16", "BF16"):
        kind = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[name]
        values = blocks.reshape(-1).view(kind)
        return (values.astype("<u4") << 16).view("<f4") if name == "BF16" else values.astype("<f4")
    if getattr(T, name, None) not in quants._type_traits:
        return None
    return quants.dequantize(blocks, T[name]).reshape(-1).astype("<f4")


def from_library(lib, name, blocks):
    fn = getattr(lib, "dequantize_row_" + name.replace("_K", "_k").lower().replace("_k", "_K"), None)
    elems = FORMATS[name][0]
    if fn is None or elems == 1:
        return None
    fn.argtypes, fn.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
    out = np.empty(len(blocks) * elems, "<f4")
    fn(blocks.ctypes.data, out.ctypes.data, out.size)
    return out


def main():
    out_dir = Path(sys.argv[1])
    lib = ctypes.CDLL(sys.argv[2]) if len(sys.argv) > 2 else None
    for name, (elems, size, _) in FORMATS.items():
        blocks = np.ascontiguousarray(make_blocks(name))
        with np.errstate(all="ignore"):
            package = from_package(name, blocks)
        library = from_library(lib, name, blocks) if lib else None
        if package is not None and library is not None and package.tobytes() != library.tobytes():
            bad = np.flatnonzero(package.view("<u4") != library.view("<u4"))
            sys.exit(f"{name}: {len(bad)} values differ, first at {bad[0]}: {package[bad[0]]!r} {library[bad[0]]!r}")
        values = package if package is not None else library
        if values is None:
            print(f"{name}: skipped, needs libggml-base.so")
            continue
        head = np.array([len(blocks)], "<u4")
        (out_dir / f"{name}.bin").write_bytes(head.tobytes() + blocks.tobytes() + values.tobytes())
        engines = [e for e, v in (("gguf", package), ("libggml", library)) if v is not None]
        print(f"{name:8} {len(blocks):4} blocks  {' = '.join(engines)}")


if __name__ == "__main__":
    main()
