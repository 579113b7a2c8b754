#!/usr/bin/env python3
"""Writes kernels/codebooks.h and kernels/codebooks.c from the `gguf` Python package (MIT, version printed below).

    python3 tools/import_codebooks.py [ROOT]

The codebooks of the IQ formats come from an offline search and follow no formula, so they are imported as data. Each
table is checked against the CRC-32 and SHA-256 that are written down here before anything is written; a unit test
checks the CRC-32 again in C.
"""
import hashlib
import sys
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
from gguf import quants

# name, class of the package, values of one element, crc32 and sha256 of the rows as bytes
TABLES = [
    ("iq2xxs", quants.IQ2_XXS, "8, 25, 43", 0x9924FF02,
     "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54"),
    ("iq2xs", quants.IQ2_XS, "8, 25, 43", 0xFA1E1BFD,
     "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de"),
    ("iq2s", quants.IQ2_S, "8, 25, 43", 0x25AE5BF1,
     "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88"),
    ("iq3xxs", quants.IQ3_XXS, "4, 12, 20, ... 52, 62", 0x07BA9ED0,
     "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d"),
    ("iq3s", quants.IQ3_S, "1, 3, 5, ... 15", 0xF576E4F3,
     "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f"),
    ("iq1s", quants.IQ1_S, "-1, 0, 1", 0xB85E6CCF,
     "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a"),
]

HEADER = """/* Codebooks of the IQ formats, imported as data by tools/import_codebooks.py from the `gguf` Python package (MIT;
 * tools/licenses/MANIFEST). A row is 8 elements in a uint64_t or 4 in a uint32_t, first element in the lowest byte, as
 * signed bytes. */
#ifndef CONVECT_KERNELS_CODEBOOKS_H
#define CONVECT_KERNELS_CODEBOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, rows, row type, crc32 of the bytes of all rows) */
#define CODEBOOK_LIST(X)"""


def table_rows(cls):
    cls.grid = None
    cls.init_grid()
    return np.ascontiguousarray(cls.grid.reshape(cls.grid_shape).astype(np.int8))


def c_rows(rows):
    width = rows.shape[1]
    words = rows.view("<u8" if width == 8 else "<u4").reshape(-1)
    per_line = 116 // (2 * width + 4)
    text = [f"0x{w:0{2 * width}x}" for w in words]
    return ",\n".join("    " + ", ".join(text[i:i + per_line]) for i in range(0, len(text), per_line)) + ",\n"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    lines, declarations, bodies = [HEADER], [], []
    for name, cls, values, crc, sha in TABLES:
        rows = table_rows(cls)
        data = rows.tobytes()
        if zlib.crc32(data) != crc or hashlib.sha256(data).hexdigest() != sha:
            sys.exit(f"import_codebooks: {name}: crc32 {zlib.crc32(data):08x} is not the expected {crc:08x}")
        kind = "uint64_t" if rows.shape[1] == 8 else "uint32_t"
        lines.append(f"    X({name}, {len(rows)}, {kind}, 0x{crc:08x}U)")
        declarations.append(f"{f'extern const {kind} codebook_{name}[{len(rows)}];':<44}/* {values} */")
        bodies.append(f"const {kind} codebook_{name}[{len(rows)}] = {{\n{c_rows(rows)}}};\n")
    header = lines[0] + " " * (119 - len(lines[0].splitlines()[-1])) + "\\\n"
    header += "\n".join(f"{l:<119}\\" for l in lines[1:-1]) + "\n" + lines[-1] + "\n\n"
    header += "\n".join(declarations) + "\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
    (root / "kernels/codebooks.h").write_text(header)
    (root / "kernels/codebooks.c").write_text(
        "/* Written by tools/import_codebooks.py; do not edit. */\n#include \"kernels/codebooks.h\"\n\n"
        "/* clang-format off */\n" + "\n".join(bodies))
    print(f"import_codebooks: {len(TABLES)} tables from gguf {version('gguf')}")


if __name__ == "__main__":
    main()
