"""Turns the demo GGUF back into transformers' Qwen3_5MoeForCausalLM in float32 (the class has no MTP block, so that is left out).

python3 to_hf.py MODEL.gguf --check [--weights DIR]      logits of transformers against the training code's on the file's weights,
                                                         and that the file is exactly what DIR's originals quantise to
python3 to_hf.py MODEL.gguf --save OUT_DIR               a folder that from_pretrained reads, with the tokenizer
"""
import argparse
import json

import gguf
import torch

import chat
import gguf_layout
import hf
import items
import model
import quant
import tokenizer
import weights


def _fields(reader):
    return {name: field.contents() for name, field in reader.fields.items()}


def read(path):
    """-> Config and parameters named as in training (model.* and mtp.*), from the file alone"""
    reader = gguf.GGUFReader(path)
    kv = {k.removeprefix("qwen35moe."): v for k, v in _fields(reader).items()}
    c = model.Config(vocab=len(kv["tokenizer.ggml.tokens"]), hidden=kv["embedding_length"], layers=kv["block_count"] - kv["nextn_predict_layers"], interval=kv["full_attention_interval"],
                     heads=kv["attention.head_count"], kv_heads=kv["attention.head_count_kv"], head_dim=kv["attention.key_length"], rotary=kv["rope.dimension_count"], theta=kv["rope.freq_base"],
                     linear_k_heads=kv["ssm.group_count"], linear_v_heads=kv["ssm.time_step_rank"], linear_dim=kv["ssm.state_size"], experts=kv["expert_count"], top_k=kv["expert_used_count"],
                     expert_dim=kv["expert_feed_forward_length"], shared_dim=kv["expert_shared_feed_forward_length"])
    tensors = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    P, halves = {}, {}
    for name, theirs, transform in gguf_layout.names(c):
        x = gguf_layout.from_gguf(c, tensors.pop(name), transform).contiguous()
        if transform in ("gate", "up"):
            halves.setdefault(theirs, []).append(x)
        else:
            P[theirs] = x
    assert not tensors, f"tensors left over: {list(tensors)}"
    return c, P | {n: torch.cat(x, 1) for n, x in halves.items()}


@torch.no_grad()
def check(path, folder):
    c, P = read(path)
    module, net = hf.build(c, P), model.Net(c, P, torch.float32)
    t, worst, largest = tokenizer.load(), 0.0, 0.0
    for group in items.FLOORS:
        text = "".join("".join(s for s, _ in d.segments()) for d in items.make(group, 6))
        ids = tokenizer.encode(t, text)
        tokens = torch.tensor([ids[:len(ids) // c.chunk * c.chunk + 1] if len(ids) % c.chunk else ids[:-c.chunk + 1]])
        theirs = module(input_ids=tokens[:, :-1]).logits
        worst, largest = max(worst, float((theirs - net.logits(tokens)[0]).abs().max())), max(largest, float(theirs.abs().max()))
    print(f"largest difference of a logit {worst:.2e}, largest logit {largest:.2f}")
    assert worst < 1e-3 * largest
    if folder:
        packed = quant.round_trip(weights.load(folder))
        difference = {n: float((packed[n] - w).abs().max()) for n, w in P.items()}
        exact = sum(d == 0 for d in difference.values())
        print(f"{exact} of {len(P)} tensors equal the quantised originals bit for bit; the others differ by at most {max(difference.values()):.1e}")
        assert set(packed) == set(P) and max(difference.values()) < 1e-6


def save(path, folder):
    from transformers import PreTrainedTokenizerFast
    c, P = read(path)
    hf.build(c, P).save_pretrained(folder)
    fast = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer.PATH), eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = chat.TEMPLATE_PATH.read_text()
    fast.save_pretrained(folder)
    print(json.dumps(dict(saved=str(folder))))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gguf")
    p.add_argument("--check", action="store_true")
    p.add_argument("--weights", help="folder with the float32 originals")
    p.add_argument("--save")
    a = p.parse_args()
    if a.check:
        check(a.gguf, a.weights)
    if a.save:
        save(a.gguf, a.save)


if __name__ == "__main__":
    main()
