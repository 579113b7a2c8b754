"""Training rows, made on the fly by worker processes: whole documents packed into rows, no row used twice."""
import multiprocessing
import os

import numpy as np

import documents
import tokenizer
from words import Draw

ROW = 512                        # positions; a row has two tokens more, the targets of the last trunk and MTP positions
ANSWER_WEIGHT, PROMPT_WEIGHT = 10, 1    # tenths
CACHE_SIZE = 5000


class Encoder:
    """Documents to ids and weights, piece by piece with a cache of the short pieces that recur."""

    def __init__(self):
        self.tokenizer = tokenizer.load()
        self.cache = {}

    def pieces(self, texts):
        fresh = [t for t in texts if t not in self.cache]
        made = dict(zip(fresh, (e.ids for e in self.tokenizer.encode_batch(fresh, add_special_tokens=False))))
        ids = [self.cache.get(t) or made[t] for t in texts]
        for t in fresh:
            if len(t) < 40 and len(self.cache) < CACHE_SIZE:
                self.cache[t] = made[t]
        return ids

    def encode(self, doc):
        """-> ids, weights of equal length; <|endoftext|> ends the document"""
        segments = doc.segments()
        ids, weights = [], []
        for part, (_, answer) in zip(self.pieces([s for s, _ in segments]), segments):
            ids += part
            weights += [ANSWER_WEIGHT if answer else PROMPT_WEIGHT] * len(part)
        return ids + [self.tokenizer.token_to_id("<|endoftext|>")], weights + [PROMPT_WEIGHT]


def rows(seed):
    """Endless rows of ROW + 2 ids and weights. Documents that do not fit are held over, so that long ones are not lost."""
    r, encoder, held = Draw(seed), Encoder(), []
    pad, size = encoder.tokenizer.token_to_id("<|endoftext|>"), ROW + 2
    while True:
        row, n, misses = [], 0, 0
        while n < size - 24 and misses < 5:
            ids, weights = held.pop() if held and misses == 0 else encoder.encode(documents.make(r))
            if len(ids) > size:
                continue
            if n + len(ids) > size:
                misses += 1
                if len(held) < 4:
                    held.append((ids, weights))
                continue
            row.append((ids, weights))
            n += len(ids)
        r.shuffle(row)
        yield [i for ids, _ in row for i in ids] + [pad] * (size - n), [w for _, ws in row for w in ws] + [0] * (size - n)


def _work(seed, n_rows, queue):
    os.nice(5)
    source = rows(seed)
    while True:
        batch = [next(source) for _ in range(n_rows)]
        queue.put((np.array([b[0] for b in batch], np.int16), np.array([b[1] for b in batch], np.uint8)))


class Feed:
    """Batches of n_rows rows from n_workers processes, taken in turn, so that the order does not depend on timing."""

    def __init__(self, n_workers, n_rows, seed=1000):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        context = multiprocessing.get_context("fork")
        self.queues = [context.Queue(maxsize=16) for _ in range(n_workers)]
        self.workers = [context.Process(target=_work, args=(seed + i, n_rows, q), daemon=True) for i, q in enumerate(self.queues)]
        for w in self.workers:
            w.start()
        self.taken = 0

    def next(self):
        """-> ids int16 [n_rows, ROW + 2], weights uint8 (tenths)"""
        queue = self.queues[self.taken % len(self.queues)]
        self.taken += 1
        return queue.get(timeout=60)

    def close(self):
        for w in self.workers:
            w.terminate()
