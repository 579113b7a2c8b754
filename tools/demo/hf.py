"""The demo model as a transformers module, and the proof that both implementations agree."""
import torch


def config(c):
    from transformers import Qwen3_5MoeTextConfig
    rope = dict(rope_type="default", rope_theta=c.theta, partial_rotary_factor=c.rotary / c.head_dim, mrope_section=c.mrope_sections, mrope_interleaved=True)
    return Qwen3_5MoeTextConfig(
        vocab_size=c.vocab, hidden_size=c.hidden, num_hidden_layers=c.layers, num_attention_heads=c.heads, num_key_value_heads=c.kv_heads, head_dim=c.head_dim, max_position_embeddings=4096,
        tie_word_embeddings=True, rope_parameters=rope, linear_conv_kernel_dim=4, linear_key_head_dim=c.linear_dim, linear_value_head_dim=c.linear_dim, linear_num_key_heads=c.linear_k_heads,
        linear_num_value_heads=c.linear_v_heads, moe_intermediate_size=c.expert_dim, shared_expert_intermediate_size=c.shared_dim, num_experts_per_tok=c.top_k, num_experts=c.experts,
        layer_types=["full_attention" if c.is_full(i) else "linear_attention" for i in range(c.layers)])


def build(c, P):
    """Qwen3_5MoeForCausalLM in float32 with the trunk of P (its MTP block is left out: the class has none)."""
    from transformers import Qwen3_5MoeForCausalLM
    settings = config(c)
    settings._attn_implementation = "eager"
    module = Qwen3_5MoeForCausalLM(settings).float().eval()
    result = module.load_state_dict({n: w for n, w in P.items() if not n.startswith("mtp.")}, strict=False)
    assert not result.unexpected_keys and result.missing_keys in ([], ["lm_head.weight"]), result
    module.tie_weights()
    return module.to(P["model.norm.weight"].device)


@torch.no_grad()
def verify(c, P, net, pairs, eos, batch=96):
    """pairs: (prompt ids, greedy output ids of net). Where transformers, given the same text, would choose each output token and then eos, its greedy answer is the same.

    -> items, items with the same answer, largest difference of a logit, largest logit
    """
    module = build(c, P)
    pairs = sorted(pairs, key=lambda x: len(x[0]) + len(x[1]))
    same, difference, largest = 0, 0.0, 0.0
    for at in range(0, len(pairs), batch):
        part = pairs[at:at + batch]
        rows = [p + o + [eos] for p, o in part]
        T = -(-max(map(len, rows)) // c.chunk) * c.chunk
        tokens = torch.full((len(rows), T + 1), eos, dtype=torch.long)
        for i, row in enumerate(rows):
            tokens[i, :len(row)] = torch.tensor(row)
        tokens = tokens.to(net.device)
        theirs = module(input_ids=tokens[:, :-1]).logits
        ours = net.logits(tokens)[0]
        for i, (p, o) in enumerate(part):
            n = len(rows[i]) - 1
            same += bool((theirs[i, len(p) - 1:n].argmax(-1) == tokens[i, len(p):n + 1]).all())
            difference = max(difference, float((theirs[i, :n] - ours[i, :n]).abs().max()))
            largest = max(largest, float(theirs[i, :n].abs().max()))
    return dict(items=len(pairs), same_answer=same, max_difference=difference, max_logit=largest)
