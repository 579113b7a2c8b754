"""Golden data of tiny random qwen35moe models, computed by transformers in float32.

    python3 tests/golden/make_golden.py        (needs torch and transformers >= 5.17; not run by CI)

Weights are not stored: both this script and tests/model/tiny_model.c compute element i of GGUF tensor NAME from a hash of
(NAME, i), so only the configuration (golden.json) and the results (NAME.f32: every layer's output, the hidden state after
the last norm, the logits, all [tokens][width] float32) are committed. The weights are defined in GGUF order; hf_state()
below turns them into transformers' names and layout (undoing the V-head reorder and the +1 of the norms, spec/qwen35moe
2.1, 2.2), so the test also covers those two transforms.
"""
import json
import os
import sys

import numpy as np
import torch
from transformers import Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden")
N_TOKENS = 150  # two full grid groups of 64 and a remainder of 22

BASE = dict(n_embd=64, n_layers=4, interval=4, head_dim=128, rope_dims=32, rope_theta=10000.0, state_dim=128, conv=4,
            n_ctx=4096, n_vocab=192, eps=1e-6, n_mtp=0)
MODELS = [
    dict(BASE, name="gqa4_nv_eq_nk_untied", n_head=8, n_head_kv=2, n_k_heads=2, n_v_heads=2, n_experts=7, top_k=2,
         expert_width=512, shared_width=512, tied=False),
    dict(BASE, name="gqa6_nv2nk_tied", n_head=12, n_head_kv=2, n_k_heads=2, n_v_heads=4, n_experts=9, top_k=3,
         expert_width=640, shared_width=640, tied=True, head_dim=256, rope_dims=64, interval=2),
    dict(BASE, name="gqa8_nv3nk_untied", n_head=16, n_head_kv=2, n_k_heads=2, n_v_heads=6, n_experts=5, top_k=4,
         expert_width=640, shared_width=64, tied=False, n_embd=96, n_mtp=1),
    dict(BASE, name="gqa16_one_kv_tied", n_head=16, n_head_kv=1, n_k_heads=1, n_v_heads=2, n_experts=11, top_k=10,
         expert_width=768, shared_width=96, tied=True, n_layers=3, interval=3),
]


# ------------------------------------------------------------------ weights (mirrored in tests/model/tiny_model.c)
def fnv1a(name):
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = (h ^ b) * 0x100000001B3 % (1 << 64)
    return h


def uniform(name, n):
    """n values in [-1, 1), multiples of 2^-15: splitmix64 of (fnv1a(name) + i * golden ratio), top 16 bits"""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a(name)) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(48)).astype(np.int64) - 32768).astype(np.float32) * np.float32(2.0**-15)


def matrix_scale(k):
    """largest power of two <= 2.5 / sqrt(k)"""
    return np.float32(2.0 ** np.floor(np.log2(2.5 / np.sqrt(k))))


def tensor(name, ne):
    """GGUF tensor NAME with dims ne (ne[0] fastest) as an array of shape reversed(ne)"""
    u = uniform(name, int(np.prod(ne))).reshape(tuple(reversed(ne)))
    if name.endswith("norm.weight"):
        return np.float32(1) + np.float32(0.25) * u
    if name.endswith("ssm_a"):
        return np.float32(-1) + np.float32(0.875) * u
    if name.endswith("ssm_dt.bias"):
        return np.float32(0.5) * u - np.float32(2)
    if name.endswith("ssm_conv1d.weight"):
        return np.float32(0.5) * u
    if name == "token_embd.weight":
        return u
    scale = matrix_scale(ne[0])
    if name.endswith(("ffn_gate_inp.weight", "attn_q.weight", "attn_k.weight")):
        scale *= np.float32(2)  # sharper routing and attention, so that a wrong one shows
    return scale * u


# ------------------------------------------------------------------ to transformers' layout
def untile(a, nk, nv, width):
    """rows of V heads, GGUF's tiled order (j * nk + k) to HF's grouped order (k * r + j)"""
    r = nv // nk
    rest = a.shape[1:]
    return a.reshape(r, nk, width, *rest).swapaxes(0, 1).reshape(nv * width, *rest)


def hf_state(c):
    H, D, nk, nv, d = c["n_embd"], c["head_dim"], c["n_k_heads"], c["n_v_heads"], c["state_dim"]
    E, f, fs = c["n_experts"], c["expert_width"], c["shared_width"]
    key_dim, value_dim = nk * d, nv * d
    conv_dim = 2 * key_dim + value_dim
    s = {"model.embed_tokens.weight": tensor("token_embd.weight", [H, c["n_vocab"]]),
         "model.norm.weight": tensor("output_norm.weight", [H]) - 1}
    s["lm_head.weight"] = s["model.embed_tokens.weight"] if c["tied"] else tensor("output.weight", [H, c["n_vocab"]])
    for i in range(c["n_layers"]):
        g, p = f"blk.{i}.", f"model.layers.{i}."
        s[p + "input_layernorm.weight"] = tensor(g + "attn_norm.weight", [H]) - 1
        s[p + "post_attention_layernorm.weight"] = tensor(g + "post_attention_norm.weight", [H]) - 1
        if (i + 1) % c["interval"] == 0:
            a = p + "self_attn."
            s[a + "q_proj.weight"] = tensor(g + "attn_q.weight", [H, c["n_head"] * 2 * D])
            s[a + "k_proj.weight"] = tensor(g + "attn_k.weight", [H, c["n_head_kv"] * D])
            s[a + "v_proj.weight"] = tensor(g + "attn_v.weight", [H, c["n_head_kv"] * D])
            s[a + "o_proj.weight"] = tensor(g + "attn_output.weight", [c["n_head"] * D, H])
            s[a + "q_norm.weight"] = tensor(g + "attn_q_norm.weight", [D]) - 1
            s[a + "k_norm.weight"] = tensor(g + "attn_k_norm.weight", [D]) - 1
        else:
            a = p + "linear_attn."
            split = lambda w: np.concatenate([w[:2 * key_dim], untile(w[2 * key_dim:], nk, nv, d)])
            s[a + "in_proj_qkv.weight"] = split(tensor(g + "attn_qkv.weight", [H, conv_dim]))
            s[a + "conv1d.weight"] = split(tensor(g + "ssm_conv1d.weight", [c["conv"], conv_dim]))[:, None, :]
            s[a + "in_proj_z.weight"] = untile(tensor(g + "attn_gate.weight", [H, value_dim]), nk, nv, d)
            s[a + "in_proj_b.weight"] = untile(tensor(g + "ssm_beta.weight", [H, nv]), nk, nv, 1)
            s[a + "in_proj_a.weight"] = untile(tensor(g + "ssm_alpha.weight", [H, nv]), nk, nv, 1)
            s[a + "dt_bias"] = untile(tensor(g + "ssm_dt.bias", [nv]), nk, nv, 1)
            s[a + "A_log"] = np.log(-untile(tensor(g + "ssm_a", [nv]), nk, nv, 1).astype(np.float64)).astype(np.float32)
            s[a + "norm.weight"] = tensor(g + "ssm_norm.weight", [d])
            s[a + "out_proj.weight"] = untile(tensor(g + "ssm_out.weight", [value_dim, H]).T, nk, nv, d).T
        m = p + "mlp."
        s[m + "gate.weight"] = tensor(g + "ffn_gate_inp.weight", [H, E])
        s[m + "experts.gate_up_proj"] = np.concatenate([tensor(g + "ffn_gate_exps.weight", [H, f, E]),
                                                        tensor(g + "ffn_up_exps.weight", [H, f, E])], axis=1)
        s[m + "experts.down_proj"] = tensor(g + "ffn_down_exps.weight", [f, H, E])
        s[m + "shared_expert.gate_proj.weight"] = tensor(g + "ffn_gate_shexp.weight", [H, fs])
        s[m + "shared_expert.up_proj.weight"] = tensor(g + "ffn_up_shexp.weight", [H, fs])
        s[m + "shared_expert.down_proj.weight"] = tensor(g + "ffn_down_shexp.weight", [fs, H])
        s[m + "shared_expert_gate.weight"] = tensor(g + "ffn_gate_inp_shexp.weight", [H])[None]
    return {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in s.items()}


def sections(rope_dims):
    pairs = rope_dims // 2
    h = (pairs - 1) // 3
    return [pairs - 2 * h, h, h]


def hf_config(c):
    full = ["full_attention" if (i + 1) % c["interval"] == 0 else "linear_attention" for i in range(c["n_layers"])]
    return Qwen3_5MoeTextConfig(
        vocab_size=c["n_vocab"], hidden_size=c["n_embd"], num_hidden_layers=c["n_layers"],
        num_attention_heads=c["n_head"], num_key_value_heads=c["n_head_kv"], head_dim=c["head_dim"],
        max_position_embeddings=c["n_ctx"], tie_word_embeddings=c["tied"], rms_norm_eps=c["eps"],
        rope_parameters=dict(rope_type="default", rope_theta=c["rope_theta"], mrope_interleaved=True,
                             partial_rotary_factor=c["rope_dims"] / c["head_dim"],
                             mrope_section=sections(c["rope_dims"])),
        linear_conv_kernel_dim=c["conv"], linear_key_head_dim=c["state_dim"], linear_value_head_dim=c["state_dim"],
        linear_num_key_heads=c["n_k_heads"], linear_num_value_heads=c["n_v_heads"],
        moe_intermediate_size=c["expert_width"], shared_expert_intermediate_size=c["shared_width"],
        num_experts_per_tok=c["top_k"], num_experts=c["n_experts"], layer_types=full)


def run(c):
    torch.manual_seed(0)
    model = Qwen3_5MoeForCausalLM(hf_config(c)).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict(hf_state(c), strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    tokens = (uniform("tokens." + c["name"], N_TOKENS).astype(np.float64) * 0.5 + 0.5) * c["n_vocab"]
    tokens = tokens.astype(np.int64)
    taps, gaps = [], []
    for layer in model.model.layers:
        layer.register_forward_hook(lambda _m, _a, out: taps.append((out[0] if isinstance(out, tuple) else out)[0]))
        layer.mlp.gate.register_forward_hook(lambda _m, _a, out: gaps.append(gap(out[0], c["top_k"])))
    final = []
    model.model.norm.register_forward_hook(lambda _m, _a, out: final.append(out[0]))
    with torch.no_grad():
        logits = model(torch.from_numpy(tokens)[None]).logits[0]
    assert min(gaps) > 1e-5, f"{c['name']}: router tie {min(gaps)}"
    parts = [t.reshape(N_TOKENS, -1) for t in taps] + [final[0].reshape(N_TOKENS, -1), logits]
    return tokens, [p.numpy().astype(np.float32) for p in parts]


def gap(router_logits, k):
    top = router_logits.float().sort(-1, descending=True).values
    return float((top[:, k - 1] - top[:, k]).min())


def main():
    os.makedirs(OUT, exist_ok=True)
    cards = []
    for c in MODELS:
        tokens, parts = run(c)
        with open(os.path.join(OUT, c["name"] + ".f32"), "wb") as out:
            for p in parts:
                out.write(p.astype("<f4").tobytes())
        cards.append(dict(c, rope_sections=sections(c["rope_dims"]) + [0], tokens=tokens.tolist()))
        print(c["name"], "logit rms", float(np.sqrt((parts[-1] ** 2).mean())), "hidden rms",
              [round(float(np.sqrt((p ** 2).mean())), 3) for p in parts[:-1]])
    with open(os.path.join(OUT, "golden.json"), "w") as out:
        json.dump(dict(generator="transformers " + __import__("transformers").__version__ + ", torch "
                       + torch.__version__ + ", float32", models=cards), out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    sys.exit(main())
