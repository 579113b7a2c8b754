"""Qwen3.5-MoE text model with one MTP block: plain functions over a dictionary of float32 tensors.

Tensor names are those of transformers' Qwen3_5MoeForCausalLM (model.*); the MTP block, which transformers lacks, is named mtp.*.
Written for training speed on one GPU without custom kernels:
* experts are computed densely and weighted with zero outside the top-k. That is 8 times the arithmetic, but it needs no sorting and no
  grouped product, and function and gradient are exactly those of the sparse form;
* DeltaNet runs in chunks of 64 with (I + A)^-1 from a batched triangular solve.
Products run in DT (bfloat16 in training); residual stream, norms, router, gates, convolution and DeltaNet state in float32.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    vocab: int = 2048
    hidden: int = 256
    layers: int = 6
    interval: int = 3          # every interval-th layer is full attention
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    rotary: int = 32
    theta: float = 1e4
    linear_k_heads: int = 2
    linear_v_heads: int = 4    # twice linear_k_heads, so that the V-head order of GGUF matters
    linear_dim: int = 64       # of K and V heads
    experts: int = 32
    top_k: int = 4
    expert_dim: int = 64
    shared_dim: int = 128
    chunk: int = 64

    def is_full(self, layer):
        return (layer + 1) % self.interval == 0

    @property
    def conv_channels(self):
        return (2 * self.linear_k_heads + self.linear_v_heads) * self.linear_dim

    @property
    def mrope_sections(self):
        """Rotary pairs of the three position axes."""
        side = (self.rotary // 2 - 1) // 3
        return [self.rotary // 2 - 2 * side, side, side]


SMALL = Config(hidden=64, layers=3, heads=2, kv_heads=1, head_dim=32, rotary=16, linear_k_heads=1, linear_v_heads=2, linear_dim=32, experts=8, top_k=2, expert_dim=32,
               shared_dim=32)  # for trying the scripts on a CPU


def init(c, seed=0):
    """-> name -> float32 tensor. The decay starts slower than the class default, which forgets too fast for so few heads."""
    g = torch.Generator().manual_seed(seed)
    H, std = c.hidden, .5 ** .5 * c.hidden ** -.5 * .64
    P = {}

    def normal(name, *shape, std=std):
        P[name] = torch.randn(*shape, generator=g) * std

    def attention(p):
        normal(p + "q_proj.weight", c.heads * 2 * c.head_dim, H)
        normal(p + "k_proj.weight", c.kv_heads * c.head_dim, H)
        normal(p + "v_proj.weight", c.kv_heads * c.head_dim, H)
        normal(p + "o_proj.weight", H, c.heads * c.head_dim, std=std / 3)
        P[p + "q_norm.weight"] = torch.zeros(c.head_dim)
        P[p + "k_norm.weight"] = torch.zeros(c.head_dim)

    def delta_net(p):
        v_dim, nv = c.linear_v_heads * c.linear_dim, c.linear_v_heads
        normal(p + "in_proj_qkv.weight", c.conv_channels, H)
        normal(p + "in_proj_z.weight", v_dim, H)
        normal(p + "in_proj_b.weight", nv, H)
        normal(p + "in_proj_a.weight", nv, H)
        P[p + "conv1d.weight"] = torch.rand(c.conv_channels, 1, 4, generator=g) - .5
        dt = torch.exp(torch.rand(nv, generator=g) * math.log(50) + math.log(.002))
        P[p + "dt_bias"] = dt + torch.log(-torch.expm1(-dt))
        P[p + "A_log"] = torch.log(torch.rand(nv, generator=g) * 7 + 1)
        P[p + "norm.weight"] = torch.ones(c.linear_dim)
        normal(p + "out_proj.weight", H, v_dim, std=std / 3)

    def block(p, full):
        P[p + "input_layernorm.weight"] = torch.zeros(H)
        P[p + "post_attention_layernorm.weight"] = torch.zeros(H)
        attention(p + "self_attn.") if full else delta_net(p + "linear_attn.")
        normal(p + "mlp.gate.weight", c.experts, H)
        normal(p + "mlp.experts.gate_up_proj", c.experts, 2 * c.expert_dim, H)
        normal(p + "mlp.experts.down_proj", c.experts, H, c.expert_dim)
        normal(p + "mlp.shared_expert.gate_proj.weight", c.shared_dim, H)
        normal(p + "mlp.shared_expert.up_proj.weight", c.shared_dim, H)
        normal(p + "mlp.shared_expert.down_proj.weight", H, c.shared_dim)
        normal(p + "mlp.shared_expert_gate.weight", 1, H)

    normal("model.embed_tokens.weight", c.vocab, H, std=.02)
    P["model.norm.weight"] = torch.zeros(H)
    for i in range(c.layers):
        block(f"model.layers.{i}.", c.is_full(i))
    normal("mtp.fc.weight", H, 2 * H)
    for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        P[f"mtp.{name}.weight"] = torch.zeros(H)
    block("mtp.layers.0.", True)
    return P


def rms(x, w):
    """RMS norm with a zero-centred weight."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + w)


def unit(x):
    """L2 norm per head."""
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)


class TriangularInverse(torch.autograd.Function):
    """T = (I + A)^-1 for strictly lower A [..., n, n]; backward is -(T^t dT T^t), strictly lower."""

    @staticmethod
    def forward(ctx, A):
        n = A.shape[-1]
        eye = torch.eye(n, device=A.device, dtype=A.dtype).expand(A.numel() // (n * n), n, n)
        T = torch.linalg.solve_triangular(A.reshape(-1, n, n), eye, upper=False, unitriangular=True).reshape(A.shape).contiguous()
        ctx.save_for_backward(T)
        return T

    @staticmethod
    def backward(ctx, dT):
        Tt = ctx.saved_tensors[0].transpose(-1, -2)
        return -(Tt @ (dT @ Tt)).tril(-1)


def delta_net_chunks(x, ln, wqkv, wz, wb, wa, conv, dt_bias, a_log, c, DT):
    """Everything before the triangular solve: x [B,T,H], T a multiple of the chunk -> tensors per [B, V head, chunk]."""
    B, T, _ = x.shape
    nk, nv, d, n = c.linear_k_heads, c.linear_v_heads, c.linear_dim, T // c.chunk
    h = rms(x, ln)
    hb = h.to(DT)
    m = F.pad(F.linear(hb, wqkv.to(DT)).float(), (0, 0, 3, 0))
    z = F.linear(hb, wz.to(DT))
    ba = F.linear(h, torch.cat([wb, wa], 0))
    beta = torch.sigmoid(ba[..., :nv])
    g = -torch.exp(a_log) * F.softplus(ba[..., nv:] + dt_bias)
    u = F.silu(sum(m[:, t:T + t] * conv[:, 0, t] for t in range(4)))

    def per_head(y, heads):
        return y.reshape(B, n, c.chunk, heads, d).permute(0, 3, 1, 2, 4)
    q = per_head(unit(u[..., :nk * d].reshape(B, T, nk, d)) * d ** -.5, nk).repeat_interleave(nv // nk, 1)
    k = per_head(unit(u[..., nk * d:2 * nk * d].reshape(B, T, nk, d)), nk).repeat_interleave(nv // nk, 1)
    v = per_head(u[..., 2 * nk * d:], nv)
    beta = beta.reshape(B, n, c.chunk, nv).permute(0, 3, 1, 2)
    G = g.reshape(B, n, c.chunk, nv).permute(0, 3, 1, 2).cumsum(-1)
    i = torch.arange(c.chunk, device=x.device)
    decay = (G[..., :, None] - G[..., None, :]).masked_fill(i[:, None] < i[None, :], float("-inf")).exp()
    kb, eG = k * beta[..., None], G.exp()[..., None]
    A = ((kb @ k.transpose(-1, -2)) * decay).masked_fill(i[:, None] <= i[None, :], 0.0)
    scores = (q @ k.transpose(-1, -2)) * decay
    return A.contiguous(), scores, v * beta[..., None], kb * eG, q * eG, k * (G[..., -1:] - G).exp()[..., None], G[..., -1].exp(), z


def delta_net_output(x, T_, scores, vb, kb, q, k, last, z, norm, wo, DT):
    """The loop over chunk states and the gated output, added to x."""
    B, T, _ = x.shape
    _, nv, n, _, d = vb.shape
    U, W = T_ @ vb, T_ @ kb
    S = torch.zeros(B, nv, d, d, device=x.device)
    outs = []
    for i in range(n):
        fresh = U[:, :, i] - W[:, :, i] @ S
        outs.append(q[:, :, i] @ S + scores[:, :, i] @ fresh)
        S = S * last[:, :, i, None, None] + k[:, :, i].transpose(-1, -2) @ fresh
    o = torch.stack(outs, 2).permute(0, 2, 3, 1, 4).reshape(B, T, nv, d)
    y = o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + 1e-6) * norm * F.silu(z.float().reshape(B, T, nv, d))
    return x + F.linear(y.reshape(B, T, nv * d).to(DT), wo.to(DT)).float()


def rope_table(c, T, device):
    inv = 1.0 / (c.theta ** (torch.arange(0, c.rotary, 2, device=device).float() / c.rotary))
    angle = torch.arange(T, device=device).float()[:, None] * inv
    return angle.cos(), angle.sin()


def rope(x, cos, sin):
    h = cos.shape[-1]
    a, b = x[..., :h], x[..., h:2 * h]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, x[..., 2 * h:]], -1)


def attention(x, ln, wq, wk, wv, wo, qn, kn, cos, sin, c, DT):
    """Causal attention with output gate, added to x [B,T,H]."""
    B, T, _ = x.shape
    h = rms(x, ln).to(DT)
    a = F.linear(h, wq.to(DT)).reshape(B, T, c.heads, 2, c.head_dim)
    k = F.linear(h, wk.to(DT)).reshape(B, T, c.kv_heads, c.head_dim).float()
    v = F.linear(h, wv.to(DT)).reshape(B, T, c.kv_heads, c.head_dim).transpose(1, 2)
    q = rope(rms(a[..., 0, :].float(), qn).transpose(1, 2), cos, sin).to(DT)
    k = rope(rms(k, kn).transpose(1, 2), cos, sin).to(DT)
    r = c.heads // c.kv_heads
    o = F.scaled_dot_product_attention(q, k.repeat_interleave(r, 1), v.repeat_interleave(r, 1), is_causal=True)
    o = o.transpose(1, 2) * torch.sigmoid(a[..., 1, :])
    return x + F.linear(o.reshape(B, T, -1), wo.to(DT)).float()


def moe(x, ln, router, gate_up, down, shared_gate, shared_up, shared_down, shared_switch, c, DT):
    """-> x + experts + shared expert, Switch balance loss, share of tokens that picked each expert [E], picks [B*T,E]"""
    E, f = c.experts, c.expert_dim
    h = rms(x, ln).reshape(-1, x.shape[-1])
    hb = h.to(DT)
    p = F.linear(h, router).softmax(-1)
    left = p.detach()
    for _ in range(c.top_k - 1):
        left = torch.where(left >= left.amax(-1, keepdim=True), -1.0, left)
    picked = p.detach() >= left.amax(-1, keepdim=True)
    w = p * picked
    w = w / w.sum(-1, keepdim=True)
    gu = F.linear(hb, gate_up.reshape(E * 2 * f, -1).to(DT)).reshape(-1, E, 2 * f)
    a = F.silu(gu[..., :f]) * gu[..., f:] * w.to(DT)[..., None]
    y = F.linear(a.reshape(-1, E * f), down.permute(1, 0, 2).reshape(-1, E * f).to(DT))
    s = F.linear(F.silu(F.linear(hb, shared_gate.to(DT))) * F.linear(hb, shared_up.to(DT)), shared_down.to(DT))
    y = y.float() + s.float() * torch.sigmoid(F.linear(h, shared_switch))
    share = picked.float().mean(0)
    return x + y.reshape(x.shape), (share * p.mean(0)).sum() * E / c.top_k, share, picked


def cross_entropy(h, norm, embedding, target, weight, DT):
    """Weighted mean cross-entropy with the tied head -> loss, hidden state after the norm"""
    hn = rms(h, norm)
    logits = F.linear(hn.to(DT), embedding.to(DT)).float()
    nll = torch.logsumexp(logits, -1) - logits.gather(-1, target[..., None]).squeeze(-1)
    return (nll * weight).sum() / weight.sum().clamp(min=1.0), hn


def mtp_input(hn, e, norm_e, norm_h, fc, DT):
    return F.linear(torch.cat([rms(e, norm_e), rms(hn, norm_h)], -1).to(DT), fc.to(DT)).float()


class Net:
    """The functions above over one dictionary of parameters. compiled: run them through torch.compile."""

    def __init__(self, c, P, DT=torch.bfloat16, compiled=False):
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.c, self.P, self.DT = c, P, DT
        self.device = P["model.norm.weight"].device
        self.chunks, self.output, self.attention, self.moe = wrap(delta_net_chunks), wrap(delta_net_output), wrap(attention), wrap(moe)
        self.cross_entropy, self.mtp_input = wrap(cross_entropy), wrap(mtp_input)
        self.tables = {}

    def args(self, prefix, *names):
        return [self.P[prefix + n] for n in names]

    def layer(self, x, p, full):
        """-> x, balance loss, share of picks, picks"""
        T = x.shape[1]
        if full:
            if T not in self.tables:
                self.tables[T] = rope_table(self.c, T, self.device)
            w = self.args(p, "input_layernorm.weight", *(f"self_attn.{n}.weight" for n in ("q_proj", "k_proj", "v_proj", "o_proj", "q_norm", "k_norm")))
            x = self.attention(x, *w, *self.tables[T], self.c, self.DT)
        else:
            a = p + "linear_attn."
            w = self.args(a, "in_proj_qkv.weight", "in_proj_z.weight", "in_proj_b.weight", "in_proj_a.weight", "conv1d.weight", "dt_bias", "A_log")
            A, *rest = self.chunks(x, self.P[p + "input_layernorm.weight"], *w, self.c, self.DT)
            x = self.output(x, TriangularInverse.apply(A), *rest, *self.args(a, "norm.weight", "out_proj.weight"), self.DT)
        return self.moe(x, *self.moe_args(p), self.c, self.DT)

    def moe_args(self, p):
        return self.args(p, "post_attention_layernorm.weight", *("mlp." + n for n in (
            "gate.weight", "experts.gate_up_proj", "experts.down_proj", "shared_expert.gate_proj.weight", "shared_expert.up_proj.weight", "shared_expert.down_proj.weight", "shared_expert_gate.weight")))

    def trunk(self, tokens):
        """tokens [B,T] -> hidden before the last norm, and a list per layer of (balance loss, share, picks)"""
        x, routing = F.embedding(tokens, self.P["model.embed_tokens.weight"]), []
        for i in range(self.c.layers):
            x, *route = self.layer(x, f"model.layers.{i}.", self.c.is_full(i))
            routing.append(route)
        return x, routing

    def mtp(self, hn, next_tokens):
        """hn [B,T,H] after the last norm, next_tokens [B,T] = the token behind each position -> hidden before the MTP norm, routing"""
        e = F.embedding(next_tokens, self.P["model.embed_tokens.weight"])
        u = self.mtp_input(hn, e, *self.args("mtp.", "pre_fc_norm_embedding.weight", "pre_fc_norm_hidden.weight", "fc.weight"), self.DT)
        u, *route = self.layer(u, "mtp.layers.0.", True)
        return u, route

    def loss(self, tokens, weights, mtp_weight=.3, balance_weight=.01):
        """tokens, weights [B,T+2]; weights: of each token as a target -> total, trunk loss, MTP loss, shares [layers+1,E]"""
        T = tokens.shape[1] - 2
        embedding = self.P["model.embed_tokens.weight"]
        x, routing = self.trunk(tokens[:, :T].contiguous())
        next_tokens = tokens[:, 1:T + 1].contiguous()
        first, hn = self.cross_entropy(x, self.P["model.norm.weight"], embedding, next_tokens, weights[:, 1:T + 1].contiguous(), self.DT)
        u, route = self.mtp(hn, next_tokens)
        second, _ = self.cross_entropy(u, self.P["mtp.norm.weight"], embedding, tokens[:, 2:].contiguous(), weights[:, 2:].contiguous(), self.DT)
        routing.append(route)
        balance = torch.stack([r[0] for r in routing]).mean()
        return first + mtp_weight * second + balance_weight * balance, first, second, torch.stack([r[1] for r in routing])

    @torch.no_grad()
    def logits(self, tokens):
        """tokens [B,T+1], T a multiple of the chunk -> trunk logits of t+1, MTP logits of t+2 (both [B,T,V]), picks [layers+1,B*T,E]"""
        embedding = self.P["model.embed_tokens.weight"]
        x, routing = self.trunk(tokens[:, :-1].contiguous())
        hn = rms(x, self.P["model.norm.weight"])
        u, route = self.mtp(hn, tokens[:, 1:].contiguous())
        head = [F.linear(h.to(self.DT), embedding.to(self.DT)).float() for h in (hn, rms(u, self.P["mtp.norm.weight"]))]
        return head[0], head[1], torch.stack([r[2] for r in routing + [route]])
