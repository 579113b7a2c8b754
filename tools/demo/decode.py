"""Greedy decoding of many prompts at once, token by token from an empty state.

It uses the recurrent form of DeltaNet and a KV cache, so right answers also check that form against the chunked one of training.
"""
import torch
import torch.nn.functional as F

from model import moe, rms, rope, rope_table, unit


class State:
    """Caches of B sequences of at most T tokens, one entry a layer."""

    def __init__(self, c, B, T, device):
        zeros = lambda *shape: torch.zeros(*shape, device=device)
        full = [i for i in range(c.layers) if c.is_full(i)]
        linear = [i for i in range(c.layers) if not c.is_full(i)]
        self.K = {i: zeros(B, c.kv_heads, T, c.head_dim) for i in full}
        self.V = {i: zeros(B, c.kv_heads, T, c.head_dim) for i in full}
        self.S = {i: zeros(B, c.linear_v_heads, c.linear_dim, c.linear_dim) for i in linear}
        self.conv = {i: zeros(B, 3, c.conv_channels) for i in linear}


def attention_step(net, state, i, t, h, table):
    c, P, p, B = net.c, net.P, f"model.layers.{i}.self_attn.", h.shape[0]
    cos, sin = table[0][t], table[1][t]
    a = F.linear(h, P[p + "q_proj.weight"]).reshape(B, c.heads, 2, c.head_dim)
    q = rope(rms(a[:, :, 0], P[p + "q_norm.weight"]), cos, sin)
    state.K[i][:, :, t] = rope(rms(F.linear(h, P[p + "k_proj.weight"]).reshape(B, c.kv_heads, c.head_dim), P[p + "k_norm.weight"]), cos, sin)
    state.V[i][:, :, t] = F.linear(h, P[p + "v_proj.weight"]).reshape(B, c.kv_heads, c.head_dim)
    score = (q.reshape(B, c.kv_heads, -1, c.head_dim) @ state.K[i][:, :, :t + 1].transpose(-1, -2)) * c.head_dim ** -.5
    o = (score.softmax(-1) @ state.V[i][:, :, :t + 1]).reshape(B, c.heads, c.head_dim) * torch.sigmoid(a[:, :, 1])
    return F.linear(o.reshape(B, -1), P[p + "o_proj.weight"])


def delta_net_step(net, state, i, h):
    c, P, p, B = net.c, net.P, f"model.layers.{i}.linear_attn.", h.shape[0]
    nk, nv, d = c.linear_k_heads, c.linear_v_heads, c.linear_dim
    z = F.linear(h, P[p + "in_proj_z.weight"]).reshape(B, nv, d)
    beta = torch.sigmoid(F.linear(h, P[p + "in_proj_b.weight"]))
    g = -P[p + "A_log"].exp() * F.softplus(F.linear(h, P[p + "in_proj_a.weight"]) + P[p + "dt_bias"])
    window = torch.cat([state.conv[i], F.linear(h, P[p + "in_proj_qkv.weight"])[:, None]], 1)
    state.conv[i] = window[:, 1:]
    u = F.silu((window * P[p + "conv1d.weight"][:, 0].t()).sum(1))
    q = (unit(u[:, :nk * d].reshape(B, nk, d)) * d ** -.5).repeat_interleave(nv // nk, 1)
    k = unit(u[:, nk * d:2 * nk * d].reshape(B, nk, d)).repeat_interleave(nv // nk, 1)
    v = u[:, 2 * nk * d:].reshape(B, nv, d)
    S = state.S[i] * g.exp()[..., None, None]
    delta = (v - (S * k[..., None]).sum(2)) * beta[..., None]
    state.S[i] = S = S + k[..., None] * delta[:, :, None]
    o = (S * q[..., None]).sum(2)
    y = o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + 1e-6) * P[p + "norm.weight"] * F.silu(z)
    return F.linear(y.reshape(B, -1), P[p + "out_proj.weight"])


def step(net, state, t, tokens, table):
    """tokens [B] at position t -> logits [B,V]"""
    x = F.embedding(tokens, net.P["model.embed_tokens.weight"])
    for i in range(net.c.layers):
        p = f"model.layers.{i}."
        h = rms(x, net.P[p + "input_layernorm.weight"])
        x = x + (attention_step(net, state, i, t, h, table) if net.c.is_full(i) else delta_net_step(net, state, i, h))
        x = moe(x[:, None], *net.moe_args(p), net.c, torch.float32)[0][:, 0]
    return F.linear(rms(x, net.P["model.norm.weight"]), net.P["model.embed_tokens.weight"])


@torch.no_grad()
def greedy(net, prompts, max_new, eos):
    """net in float32; prompts: lists of ids -> lists of ids, each without eos"""
    B = len(prompts)
    lengths = torch.tensor([len(p) for p in prompts], device=net.device)
    T = int(lengths.max()) + max_new
    tokens = torch.zeros(B, T + 1, dtype=torch.long)
    for i, p in enumerate(prompts):
        tokens[i, :len(p)] = torch.tensor(p)
    tokens = tokens.to(net.device)
    done = torch.zeros(B, dtype=torch.bool, device=net.device)
    state, table = State(net.c, B, T, net.device), rope_table(net.c, T, net.device)
    for t in range(T):
        best = step(net, state, t, tokens[:, t], table).argmax(-1)
        in_prompt = t + 1 < lengths
        tokens[:, t + 1] = torch.where(in_prompt, tokens[:, t + 1], torch.where(done, eos, best))
        done |= ((best == eos) & ~in_prompt) | (t + 1 >= lengths + max_new)
        if t % 16 == 15 and bool(done.all()):
            break
    rows = [row[len(p):len(p) + max_new] for row, p in zip(tokens.tolist(), prompts)]
    return [row[:row.index(eos)] if eos in row else row for row in rows]
