"""Scores answers to eval.jsonl.

python3 score.py EVAL.jsonl ANSWERS.jsonl

ANSWERS has one {"i": index of the item, "text": what the model wrote} a line; the text begins behind the prompt (inside the thought when thinking
is on) and may end with <|im_end|>. Prints a table per group and ends with status 1 if a floor is missed. Items without an answer are not counted.
"""
import json
import sys
from collections import defaultdict

import documents
import items


def scored(item, text):
    return documents.check(item["kind"], item["think"], item["answer"], item.get("check", {}), text.removesuffix("\n").removesuffix(documents.END))


def main():
    evaluation = {x["i"]: x for x in map(json.loads, open(sys.argv[1]))}
    groups, switch = defaultdict(lambda: defaultdict(list)), {True: [], False: []}
    for line in map(json.loads, open(sys.argv[2])):
        item = evaluation[line["i"]]
        for name, good in scored(item, line["text"]).items():
            (switch[item["think"]] if name == "switch" else groups[item["group"]][name]).append(good)
    floors = {(g.name, c): f for g in items.FLOORS for c, f in g.floor.items()}
    floors |= {("thinking", k): items.SWITCH_FLOOR for k in ("on", "off")}
    groups["thinking"] = {"on": switch[True], "off": switch[False]}
    missed = 0
    for group, checks in groups.items():
        for name, values in checks.items():
            if not values:
                continue
            share, floor = 100 * sum(values) / len(values), floors.get((group, name))
            low = floor is not None and share < floor
            missed += low
            print(f"{group:9s} {name:6s} {share:6.2f} % of {len(values):4d}" + (f"  floor {floor}" if floor else "") + ("  MISSED" if low else ""))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
