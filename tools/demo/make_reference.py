"""Runs transformers in float32 on the ORIGINAL weights over heldout.jsonl and writes what an engine is compared with.

python3 make_reference.py WEIGHTS_DIR DATA_DIR [MODEL.gguf]     writes DATA_DIR/reference.bin (format: DATA_DIR/README.md)

With MODEL.gguf it also prints how transformers on the file's own weights compares, which is the floor of what an engine can reach.
"""
import json
import pathlib
import struct
import sys

import numpy as np
import torch

import hf
import model
import to_hf
import weights

MAGIC = b"CVREF001"
TOP = 64


@torch.no_grad()
def log_probs(module, lines):
    """-> one float32 array [tokens, vocabulary] a document, each document from an empty state"""
    return [module(input_ids=torch.tensor([x["ids"]])).logits[0].double().log_softmax(-1).float().numpy() for x in lines]


def packed(rows):
    """rows [n, V] -> ids [n, TOP] best first, their log-probabilities, log of the remaining mass [n]"""
    order = np.argsort(-rows, axis=1, kind="stable")
    ids = order[:, :TOP]
    rest = np.exp(np.take_along_axis(rows, order[:, TOP:], 1).astype(np.float64)).sum(1)
    return ids.astype("<u2"), np.take_along_axis(rows, ids, 1).astype("<f4"), np.log(np.maximum(rest, 1e-300)).astype("<f4")


def write(path, rows):
    ids, top, rest = packed(rows)
    with open(path, "wb") as f:
        f.write(MAGIC + struct.pack("<III", len(ids), TOP, rows.shape[1]))
        for array in (ids, top, rest):
            f.write(array.tobytes())


def read(path):
    """-> ids [n, TOP], log-probabilities [n, TOP], log of the remaining mass [n]"""
    data = path.read_bytes()
    assert data[:8] == MAGIC
    n, k, _ = struct.unpack("<III", data[8:20])
    at = 20 + 2 * n * k
    return (np.frombuffer(data, "<u2", n * k, 20).reshape(n, k), np.frombuffer(data, "<f4", n * k, at).reshape(n, k), np.frombuffer(data, "<f4", n, at + 4 * n * k))


def compare(reference, rows):
    """KL over TOP + 1 bins, top-1 agreement, and positions that differ although the reference's top-2 gap is at least 0.1"""
    ids, top, rest = reference
    ours = np.take_along_axis(rows.astype(np.float64), ids.astype(np.int64), 1)
    ours_rest = np.log(np.maximum(1 - np.exp(ours).sum(1), 1e-12))
    kl = (np.exp(top) * (top - ours)).sum(1) + np.exp(rest) * (rest - ours_rest)
    changed = rows.argmax(1) != ids[:, 0]
    return kl, changed, changed & (top[:, 0] - top[:, 1] >= .1)


def report(kinds, kl, changed, firm):
    for kind in dict.fromkeys(kinds):
        m = np.array([k == kind for k in kinds])
        print(f"  {kind:9s} {m.sum():5d} tokens  KL {kl[m].mean():.2e}  top-1 {100 - 100 * changed[m].mean():6.2f} %  changed at a gap >= 0.1: {firm[m].sum()}")
    print(f"  all       {len(kl):5d} tokens  KL {kl.mean():.2e}  top-1 {100 - 100 * changed.mean():6.2f} %  changed at a gap >= 0.1: {firm.sum()}")


def main():
    folder, data = sys.argv[1], pathlib.Path(sys.argv[2])
    lines = [json.loads(x) for x in (data / "heldout.jsonl").read_text().splitlines()]
    kinds = [x["kind"] for x in lines for _ in x["ids"]]
    rows = np.concatenate(log_probs(hf.build(model.Config(), weights.load(folder)), lines))
    path = data / "reference.bin"
    write(path, rows)
    print(f"{path}: {len(rows)} positions, {path.stat().st_size} bytes")
    if len(sys.argv) > 3:
        other = np.concatenate(log_probs(hf.build(*to_hf.read(sys.argv[3])), lines))
        full = (np.exp(rows.astype(np.float64)) * (rows - other)).sum(1)
        kl, changed, firm = compare(read(path), other)
        print(f"transformers on the weights of {sys.argv[3]}: KL over the whole vocabulary {full.mean():.2e}, over {TOP + 1} bins:")
        report(kinds, kl, changed, firm)


if __name__ == "__main__":
    main()
