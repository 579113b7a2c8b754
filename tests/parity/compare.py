"""Compares two files of teacher-forced logits (logits_dump, engine_logits.py) position by position.

    python3 compare.py TOKENS.jsonl BASE.f32 OTHER.f32 [TITLE]

Prints the mean KL(base || other) in nats, how often the two first choices agree, and every position where they do not and
base's gap between its first and second logit is 0.1 or more; then a table by the documents' "kind".
"""
import collections
import json
import sys

import numpy as np


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def main(tokens_path, base_path, other_path, title=""):
    docs = [json.loads(line) for line in open(tokens_path)]
    n = sum(len(d["ids"]) for d in docs)
    base = np.fromfile(base_path, "<f4").reshape(n, -1)
    other = np.fromfile(other_path, "<f4").reshape(n, -1)
    p, q = log_softmax(base), log_softmax(other)
    kl = (np.exp(p) * (p - q)).sum(-1)
    same = base.argmax(-1) == other.argmax(-1)
    top2 = np.sort(base, -1)[:, -2:]
    gap = top2[:, 1] - top2[:, 0]
    kinds = collections.defaultdict(list)
    row = 0
    for i, d in enumerate(docs):
        for j in range(len(d["ids"])):
            kinds[d.get("kind", "all")].append(row)
            if not same[row] and gap[row] >= 0.1:
                print(f"  document {i} position {j}: {base[row].argmax()} -> {other[row].argmax()}, gap {gap[row]:.4f}")
            row += 1
    print(f"{title}: {n} tokens, mean KL {kl.mean():.2e}, max KL {kl.max():.2e}, top-1 equal {100 * same.mean():.3f} % "
          f"({(~same).sum()} differ, {(~same & (gap >= 0.1)).sum()} of them with a gap >= 0.1)")
    for k, rows in sorted(kinds.items()):
        print(f"  {k:12} {len(rows):6} tokens  KL {kl[rows].mean():.2e}  top-1 {100 * same[rows].mean():.2f} %")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
