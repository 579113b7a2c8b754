"""Tensor names and transforms between transformers' Qwen3_5MoeForCausalLM and a `qwen35moe` GGUF, in both directions.

GGUF holds 1 + w for zero-centred norms, -exp(A_log), gate and up projections apart, and the V heads of DeltaNet in tiled order: head k * r + j
(K head k, j < r = V heads per K head) becomes head j * n_k_heads + k.
"""
import torch

FULL = [("attn_q", "self_attn.q_proj.weight", ""), ("attn_k", "self_attn.k_proj.weight", ""), ("attn_v", "self_attn.v_proj.weight", ""), ("attn_output", "self_attn.o_proj.weight", ""),
        ("attn_q_norm", "self_attn.q_norm.weight", "norm"), ("attn_k_norm", "self_attn.k_norm.weight", "norm")]
LINEAR = [("attn_qkv", "linear_attn.in_proj_qkv.weight", "qkv"), ("attn_gate", "linear_attn.in_proj_z.weight", "v_rows"), ("ssm_beta", "linear_attn.in_proj_b.weight", "v_rows"),
          ("ssm_alpha", "linear_attn.in_proj_a.weight", "v_rows"), ("ssm_conv1d", "linear_attn.conv1d.weight", "conv"), ("ssm_dt.bias", "linear_attn.dt_bias", "v_rows"),
          ("ssm_a", "linear_attn.A_log", "decay"), ("ssm_norm", "linear_attn.norm.weight", ""), ("ssm_out", "linear_attn.out_proj.weight", "v_columns")]
COMMON = [("attn_norm", "input_layernorm.weight", "norm"), ("post_attention_norm", "post_attention_layernorm.weight", "norm"), ("ffn_gate_inp", "mlp.gate.weight", ""),
          ("ffn_gate_exps", "mlp.experts.gate_up_proj", "gate"), ("ffn_up_exps", "mlp.experts.gate_up_proj", "up"), ("ffn_down_exps", "mlp.experts.down_proj", ""),
          ("ffn_gate_inp_shexp", "mlp.shared_expert_gate.weight", "vector"), ("ffn_gate_shexp", "mlp.shared_expert.gate_proj.weight", ""),
          ("ffn_up_shexp", "mlp.shared_expert.up_proj.weight", ""), ("ffn_down_shexp", "mlp.shared_expert.down_proj.weight", "")]
MTP = [("nextn.eh_proj", "mtp.fc.weight", ""), ("nextn.enorm", "mtp.pre_fc_norm_embedding.weight", "norm"), ("nextn.hnorm", "mtp.pre_fc_norm_hidden.weight", "norm"),
       ("nextn.shared_head_norm", "mtp.norm.weight", "norm")]


def _gguf_name(prefix, name):
    return prefix + name + ("" if name in ("ssm_a", "ssm_dt.bias") else ".weight")


def names(c):
    """Every tensor of the file in order: (GGUF name, transformers name, transform)."""
    yield "token_embd.weight", "model.embed_tokens.weight", ""
    yield "output_norm.weight", "model.norm.weight", "norm"
    for i in range(c.layers + 1):
        block, prefix = f"blk.{i}.", f"model.layers.{i}." if i < c.layers else "mtp.layers.0."
        for name, theirs, transform in COMMON[:1] + (FULL if i == c.layers or c.is_full(i) else LINEAR) + COMMON[1:]:
            yield _gguf_name(block, name), prefix + theirs, transform
    for name, theirs, transform in MTP:
        yield _gguf_name(f"blk.{c.layers}.", name), theirs, transform


def v_order(c, back=False):
    """order[new head] = old head; back: the inverse."""
    nk, r = c.linear_k_heads, c.linear_v_heads // c.linear_k_heads
    order = [(new % nk) * r + new // nk for new in range(c.linear_v_heads)]
    return [order.index(h) for h in range(len(order))] if back else order


def _reorder(x, order):
    """x [heads * rows, ...]: whole heads moved"""
    return x.reshape(len(order), -1, *x.shape[1:])[order].reshape(x.shape)


def _reorder_v_part(x, c, order):
    keys = 2 * c.linear_k_heads * c.linear_dim
    return torch.cat([x[:keys], _reorder(x[keys:], order)])


def to_gguf(c, x, transform):
    if transform == "norm":
        return 1.0 + x
    if transform == "decay":
        return -torch.exp(_reorder(x, v_order(c)))
    if transform == "v_rows":
        return _reorder(x, v_order(c))
    if transform == "v_columns":
        return _reorder(x.t(), v_order(c)).t()
    if transform in ("qkv", "conv"):
        return _reorder_v_part(x.reshape(x.shape[0], -1), c, v_order(c))
    if transform in ("gate", "up"):
        return x[:, :c.expert_dim] if transform == "gate" else x[:, c.expert_dim:]
    return x.reshape(-1) if transform == "vector" else x


def from_gguf(c, x, transform):
    """The inverse; "gate" and "up" stay apart for the caller to join."""
    back = v_order(c, back=True)
    if transform == "norm":
        return x - 1.0
    if transform == "decay":
        return torch.log(-_reorder(x, back))
    if transform == "v_rows":
        return _reorder(x, back)
    if transform == "v_columns":
        return _reorder(x.t(), back).t()
    if transform == "qkv":
        return _reorder_v_part(x, c, back)
    if transform == "conv":
        return _reorder_v_part(x, c, back)[:, None, :]
    return x.reshape(1, -1) if transform == "vector" else x
