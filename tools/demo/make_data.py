"""Writes the committed measuring data: heldout.jsonl, eval.jsonl and chat.jsonl.

python3 make_data.py OUT_DIR        formats: tests/data/demo/README.md
"""
import json
import pathlib
import sys

import documents
import items
import tokenizer
from task import Want
from words import Draw

HELDOUT_SEED = 41
HELDOUT_TOKENS = 320        # of each kind at most, and at least 20 fewer
CHAT_SEED, CHAT_ITEMS = 43, 6


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def coded(t, doc):
    """One line of heldout.jsonl: the whole document, with the spans [first, end) of what the model has to write."""
    ids, spans = [], []
    for text, answer in doc.segments():
        part = tokenizer.encode(t, text)
        if answer:
            spans.append([len(ids), len(ids) + len(part)])
        ids += part
    text = "".join(s for s, _ in doc.segments())
    assert ids == tokenizer.encode(t, text)
    return dict(kind=doc.kind, think=doc.think, answer=spans, ids=ids, text=text)


def filled(draw):
    """Lines of draw() that have HELDOUT_TOKENS tokens or at most 20 fewer together; tries again when what is left fits nothing."""
    while True:
        lines, n, misses = [], 0, 0
        while n < HELDOUT_TOKENS - 20 and misses < 20:
            line = draw()
            if n + len(line["ids"]) > HELDOUT_TOKENS:
                misses += 1
                continue
            lines.append(line)
            n += len(line["ids"])
        if n >= HELDOUT_TOKENS - 20:
            return lines


def heldout(t):
    """Documents of every kind; two-digit sums are held-out pairs."""
    for kind in documents.KINDS:
        r = Draw(f"{HELDOUT_SEED} {kind}", flat=True)
        want = Want(held=kind.endswith("2"))
        yield from filled(lambda: coded(t, documents.make(r, kind=kind, want=want, bare=kind not in ("chat", "unknown"))))


def evaluation():
    """Every item of the measured floors, as training measures them."""
    i = 0
    for group in items.FLOORS:
        for doc in items.make(group, items.N_ITEMS):
            yield dict(i=i, group=group.name, kind=doc.kind, think=doc.think, prompt=doc.prompt(), answer=doc.answer) | {"check": d for d in [documents.check_data(doc)] if d}
            i += 1


def chats():
    """Conversations with everything the template handles, and their rendered prompts."""
    r = Draw(CHAT_SEED, flat=True)
    for i in range(CHAT_ITEMS):
        for kind in documents.KINDS:
            doc = documents.make(r, kind=kind, think=bool(i & 1))
            yield dict(messages=doc.messages[:-1], tools=doc.tools, enable_thinking=doc.think, prompt=doc.prompt())


def write(path, lines):
    lines = list(lines)
    path.write_text("".join(dump(x) + "\n" for x in lines))
    print(f"{path.name}: {len(lines)} lines, {path.stat().st_size} bytes" + (f", {sum(len(x['ids']) for x in lines)} tokens" if "ids" in lines[0] else ""))


def main():
    out = pathlib.Path(sys.argv[1])
    write(out / "heldout.jsonl", heldout(tokenizer.load()))
    write(out / "eval.jsonl", evaluation())
    write(out / "chat.jsonl", chats())


if __name__ == "__main__":
    main()
