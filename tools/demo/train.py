"""Trains the demo model and measures it.

python3 train.py --out DIR            one GPU, about 8 minutes (an H200), 10 with start and measurements
python3 train.py --out DIR --small --steps 50 --rows 4 --workers 1 --items 4      tries the whole script on a CPU

DIR gets weights-0..3.safetensors (float32 originals), results.json and log.txt.
"""
import argparse
import json
import pathlib
import time
import zlib

import numpy as np
import torch

import data
import evaluate
import hf
import items
import model
import optimizer
import quant
import tokenizer
import weights

START = time.time()
STEPS = 9000                     # fixed, so that a run can be repeated
ROWS = 128                       # a batch: 128 rows of 512 tokens


class Log:
    def __init__(self, path):
        self.file = open(path, "w")

    def __call__(self, *words):
        line = f"[{time.time() - START:6.1f}] " + " ".join(str(w) for w in words)
        print(line, flush=True)
        self.file.write(line + "\n")
        self.file.flush()


class Step:
    """One training step; on a GPU it is captured once as a CUDA graph, because launching its kernels takes longer than running them."""

    def __init__(self, net, opt, n_rows, device):
        self.net, self.opt, self.graph = net, opt, None
        self.tokens = torch.zeros(n_rows, data.ROW + 2, dtype=torch.long, device=device)
        self.weights = torch.zeros(n_rows, data.ROW + 2, device=device)
        self.sums = torch.zeros(4, device=device)                    # trunk loss, MTP loss, least and most used expert

    def run(self):
        total, first, second, shares = self.net.loss(self.tokens, self.weights)
        total.backward()
        self.opt.step()
        self.sums += torch.stack([first.detach(), second.detach(), shares.min() / self.net.c.top_k, shares.max() / self.net.c.top_k])

    def load(self, batch):
        ids, tenths = (torch.from_numpy(x) for x in batch)
        if self.tokens.is_cuda:
            ids, tenths = ids.pin_memory(), tenths.pin_memory()
        self.tokens.copy_(ids.to(self.tokens.device, non_blocking=True))
        self.weights.copy_(tenths.to(self.tokens.device, non_blocking=True))
        self.weights.mul_(.1)

    def capture(self):
        """Warms up on a side stream with learning rate zero and records the graph. Weights and momentum must be reset by the caller."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        self.graph = graph

    def __call__(self, batch, rate):
        self.load(batch)
        self.opt.rate.fill_(rate)
        self.graph.replay() if self.graph else self.run()


def prepare(step, feed, log, graph):
    """Compiles and captures on one batch, at learning rate zero, then forgets the momentum of it."""
    step.load(feed.next())
    step.opt.rate.zero_()
    step.run()
    if step.tokens.is_cuda:
        torch.cuda.synchronize()
        log("compiled")
        if graph:
            step.capture()
            log("captured")
    for b in step.opt.buffers.values():
        b.zero_()
    for state in step.opt.adam.state.values():
        for x in state.values():
            x.zero_()
    step.sums.zero_()


def train(step, feed, n_steps, log, every):
    start = last = time.time()
    for i in range(n_steps):
        step(feed.next(), optimizer.rate_at(i / n_steps))
        if (i + 1) % every == 0 or i + 1 == n_steps:
            n = every if (i + 1) % every == 0 else n_steps % every
            first, second, least, most = (step.sums / n).tolist()
            step.sums.zero_()
            now = time.time()
            log(f"step {i + 1} {now - start:.1f} s loss {first:.4f} mtp {second:.4f} expert use {100 * least:.2f}..{100 * most:.2f} % "
                f"{n * step.tokens.shape[0] * data.ROW / (now - last) / 1e3:.0f}k tok/s")
            last = now
    return time.time() - start


def measure(c, P, n_items, log):
    """-> everything the model card reports"""
    torch.set_float32_matmul_precision("highest")
    t = tokenizer.load()
    net = model.Net(c, P, torch.float32)
    packed = model.Net(c, quant.round_trip(P), torch.float32)
    out = {}
    for name, n, groups in (("floors_f32", net, items.FLOORS), ("floors_q8_0", packed, items.FLOORS), ("goals_q8_0", packed, items.GOALS)):
        results, switch, bad, pairs = evaluate.accuracy(n, t, groups, n_items if groups is items.FLOORS else max(4, n_items // 2))
        out[name] = dict(results=results, switch=switch)
        log(name, json.dumps(results), "thinking", switch)
        for group, wanted, got in bad[:: max(1, len(bad) // 25)]:
            log("  wrong:", group, json.dumps(wanted), "got", json.dumps(got[:200]))
        if groups is items.FLOORS:
            log(name, "missed:", evaluate.missed(results, switch) or "none")
        if name == "floors_f32":
            f32_pairs = pairs
    out["drafts"], out["routing"] = evaluate.drafts_and_routing(net, items.FLOORS, min(n_items, 100))
    log("first MTP draft equal to text / to trunk:", json.dumps(out["drafts"]))
    log("routing:", json.dumps(out["routing"]))
    out["agreement"] = evaluate.agreement(net, packed, items.FLOORS, min(n_items, 60))
    log("Q8_0 weights against float32:", json.dumps(out["agreement"]))
    out["transformers"] = hf.verify(c, P, net, f32_pairs[::1 if net.device.type == "cuda" else 8], t.token_to_id("<|im_end|>"))
    log("transformers:", out["transformers"])
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--steps", type=int, default=STEPS)
    p.add_argument("--rows", type=int, default=ROWS)
    p.add_argument("--workers", type=int, default=12)
    p.add_argument("--items", type=int, default=items.N_ITEMS)
    p.add_argument("--every", type=int, default=100)
    p.add_argument("--small", action="store_true")
    p.add_argument("--no-graph", action="store_true", help="launch every kernel of every step")
    p.add_argument("--cache", type=pathlib.Path, help="torch.compile artifacts of an earlier run: read if there, else written")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    log = Log(a.out / "log.txt")
    feed = data.Feed(a.workers, a.rows)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    c = model.SMALL if a.small else model.Config()
    if a.cache and a.cache.exists():
        torch.compiler.load_cache_artifacts(zlib.decompress(a.cache.read_bytes()))
    P = {n: w.to(device).requires_grad_(True) for n, w in model.init(c).items()}
    net = model.Net(c, P, torch.bfloat16 if device.type == "cuda" else torch.float32, device.type == "cuda")
    log("torch", torch.__version__, device, sum(w.numel() for w in P.values()), "parameters")
    step = Step(net, optimizer.Optimizer(P), a.rows, device)
    prepare(step, feed, log, not a.no_graph)
    if a.cache and not a.cache.exists():
        a.cache.write_bytes(zlib.compress(torch.compiler.save_cache_artifacts()[0], 6))
        log("compile artifacts", a.cache.stat().st_size)
    seconds = train(step, feed, a.steps, log, a.every)
    feed.close()
    P = {n: w.detach() for n, w in P.items()}
    weights.save(P, a.out)
    log("weights saved")
    del step, net
    results = dict(steps=a.steps, tokens=a.steps * a.rows * data.ROW, train_seconds=round(seconds, 1)) | measure(c, P, a.items, log)
    (a.out / "results.json").write_text(json.dumps(results, indent=1))
    log("done")


if __name__ == "__main__":
    main()
