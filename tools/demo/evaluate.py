"""Measurements in the training code: right answers, MTP drafts, expert use, and agreement of two sets of weights."""
import collections
import itertools

import torch

import decode
import documents
import items
import tokenizer
from data import Encoder

MAX_NEW = 192


def share(values):
    return round(100 * sum(values) / len(values), 2)


def score(group, docs, texts):
    """-> check -> per cent, plus switch_on / switch_off as lists of booleans"""
    checks, switches = collections.defaultdict(list), {True: [], False: []}
    for doc, text in zip(docs, texts):
        result = documents.check(doc.kind, doc.think, doc.answer, documents.check_data(doc), text)
        switches[doc.think].append(result.pop("switch"))
        for name, good in result.items():
            checks[name].append(good)
    return {name: share(v) for name, v in checks.items()}, switches


def answers(net, t, docs):
    """Greedy outputs as ids, short prompts and long ones in a batch each."""
    prompts = [tokenizer.encode(t, d.prompt()) for d in docs]
    eos, out = t.token_to_id("<|im_end|>"), {}
    for low, high in ((0, 160), (160, 1 << 30)):
        some = [i for i, p in enumerate(prompts) if low <= len(p) < high]
        if some:
            out.update(zip(some, decode.greedy(net, [prompts[i] for i in some], MAX_NEW, eos)))
    return prompts, [out[i] for i in range(len(docs))]


def accuracy(net, t, groups, n, seed=items.SEED):
    """-> results per group, the switch shares, failures [(group, wanted, got)], and (prompt, output) ids of every item"""
    sets = [(g, items.make(g, n, seed)) for g in groups]
    docs = [d for _, ds in sets for d in ds]
    prompts, outputs = answers(net, t, docs)
    texts = [tokenizer.decode(t, o) for o in outputs]
    results, switches, bad, at = {}, {True: [], False: []}, [], 0
    for group, ds in sets:
        part = texts[at:at + len(ds)]
        results[group.name], s = score(group, ds, part)
        for think in s:
            switches[think] += s[think]
        bad += [(group.name, d.output(), x) for d, x in zip(ds, part) if not documents.check(d.kind, d.think, d.answer, documents.check_data(d), x)["ok"]]
        at += len(ds)
    return results, {"on": share(switches[True]), "off": share(switches[False])}, bad, list(zip(prompts, outputs))


def missed(results, switch):
    """Floors that results do not reach."""
    out = [f"{g.name} {c} {results[g.name][c]} < {f}" for g in items.FLOORS for c, f in g.floor.items() if results[g.name][c] < f]
    return out + [f"thinking {k} {v} < {items.SWITCH_FLOOR}" for k, v in switch.items() if v < items.SWITCH_FLOOR]


def padded(docs, chunk):
    """-> tokens [B, T+1] padded with <|endoftext|>, answer mask of the same shape; T a multiple of chunk"""
    encoder = Encoder()
    coded = [encoder.encode(d) for d in docs]
    T = -(-max(len(ids) for ids, _ in coded) // chunk) * chunk
    tokens = torch.full((len(docs), T + 1), encoder.tokenizer.token_to_id("<|endoftext|>"), dtype=torch.long)
    answer, real = torch.zeros(tokens.shape, dtype=torch.bool), torch.zeros(tokens.shape, dtype=torch.bool)
    for i, (ids, weights) in enumerate(coded):
        tokens[i, :len(ids)] = torch.tensor(ids)
        answer[i, :len(ids)] = torch.tensor(weights) > 1
        real[i, :len(ids)] = True
    return tokens, answer, real


def drafts_and_routing(net, groups, n, seed=items.SEED + 1):
    """Teacher-forced over n documents a group.

    -> drafts: group -> (first MTP draft equal to the text, to the trunk's own choice) in per cent over answer tokens;
       routing: least and most used expert of each layer in per cent of its picks, and total variation between groups
    """
    drafts, use = {}, {}
    for g in groups:
        tokens, answer, real = (x.to(net.device) for x in padded(items.make(g, n, seed), net.c.chunk))
        trunk, mtp, picks = net.logits(tokens)
        mask = answer[:, 2:]
        guess = mtp[:, :-1].argmax(-1)
        drafts[g.name] = (share((guess == tokens[:, 2:])[mask].float().tolist()), share((guess == trunk[:, 1:].argmax(-1))[mask].float().tolist()))
        use[g.name] = (picks & real[:, :-1].reshape(-1)[None, :, None]).sum(1).double()
    use = {k: u / u.sum(-1, keepdim=True) for k, u in use.items()}
    mean = sum(use.values()) / len(use)
    variation = {f"{a}/{b}": float((use[a] - use[b]).abs().sum(-1).mean() / 2) for a, b in itertools.combinations(use, 2)}
    routing = dict(least=[round(100 * x, 3) for x in mean.min(-1).values.tolist()], most=[round(100 * x, 3) for x in mean.max(-1).values.tolist()],
                   variation_mean=round(sum(variation.values()) / len(variation), 4), variation_least=min(variation.items(), key=lambda x: x[1]),
                   variation_most=max(variation.items(), key=lambda x: x[1]))
    return drafts, routing


def agreement(net, other, groups, n, seed=items.SEED + 2):
    """Teacher-forced over all tokens, group -> (mean KL(net || other), top-1 equal in per cent, changes where net's top-2 gap is >= 0.1)"""
    out = {}
    for g in groups:
        tokens, _, real = (x.to(net.device) for x in padded(items.make(g, n, seed), net.c.chunk))
        mask = real[:, :-1]
        p, q = (x.logits(tokens)[0][mask].log_softmax(-1) for x in (net, other))
        top = p.topk(2, -1)
        changed = p.argmax(-1) != q.argmax(-1)
        out[g.name] = (float((p.exp() * (p - q)).sum(-1).mean()), round(100 - 100 * float(changed.float().mean()), 2), int((changed & (top.values[:, 0] - top.values[:, 1] >= .1)).sum()))
    return out
