#!/usr/bin/env python3
"""Writes the tensor lists of this folder (form: tools/model_list.h), one tensor a line.

    python3 tests/data/like/make_lists.py [FOLDER]

The geometry is that of Qwen3.5/3.6-35B-A3B. Which file each list follows, and what is known of it from public logs of
loaders that printed its header, stands beside each below; `check` asserts those figures. Facts only: no file was copied.
"""
import json
import os
import sys

BLOCK = {"F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "Q8_0": (32, 34), "Q2_K": (256, 84), "Q3_K": (256, 110),
         "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210), "IQ2_XXS": (256, 66), "IQ2_S": (256, 82),
         "IQ3_XXS": (256, 98), "IQ3_S": (256, 110), "IQ4_XS": (256, 136), "IQ4_NL": (32, 18)}
H, N_LAYERS, INTERVAL, VOCAB = 2048, 40, 4, 248320
N_HEAD, N_KV, HEAD = 16, 2, 256
N_K, N_V, STATE, CONV = 16, 32, 128, 4
E, TOP_K, F, FS = 256, 8, 512, 512
CHANNELS, VALUE = 2 * N_K * STATE + N_V * STATE, N_V * STATE


def kv(key, kind, value=None):
    o = {"key": key, "type": kind}
    if value is not None:
        o["value"] = value
    return o


def array(key, element, n, first):
    return {"key": key, "type": "array", "element_type": element, "n_elements": n, "first": first}


def metadata(n_mtp=0, file_type=15, more=(), head_count_kv=None, sections=(11, 11, 10, 0), mtp_key=True, bos=False):
    p = "qwen35moe."
    out = [kv("general.architecture", "string", "qwen35moe"), kv("general.type", "string", "model"),
           kv("general.name", "string"), kv("general.file_type", "u32", file_type),
           kv("general.quantization_version", "u32", 2), *more]
    out += [kv(p + "block_count", "u32", N_LAYERS + n_mtp), kv(p + "context_length", "u32", 262144),
            kv(p + "embedding_length", "u32", H), kv(p + "attention.head_count", "u32", N_HEAD),
            head_count_kv or kv(p + "attention.head_count_kv", "u32", N_KV),
            array(p + "rope.dimension_sections", "i32", len(sections), list(sections)),
            kv(p + "rope.freq_base", "f32", 10000000.0), kv(p + "attention.layer_norm_rms_epsilon", "f32", 1e-06),
            kv(p + "expert_count", "u32", E), kv(p + "expert_used_count", "u32", TOP_K),
            kv(p + "attention.key_length", "u32", HEAD), kv(p + "attention.value_length", "u32", HEAD),
            kv(p + "expert_feed_forward_length", "u32", F), kv(p + "expert_shared_feed_forward_length", "u32", FS),
            kv(p + "ssm.conv_kernel", "u32", CONV), kv(p + "ssm.state_size", "u32", STATE),
            kv(p + "ssm.group_count", "u32", N_K), kv(p + "ssm.time_step_rank", "u32", N_V),
            kv(p + "ssm.inner_size", "u32", VALUE), kv(p + "full_attention_interval", "u32", INTERVAL),
            kv(p + "rope.dimension_count", "u32", 64)]
    if n_mtp and mtp_key:
        out.append(kv(p + "nextn_predict_layers", "u32", n_mtp))
    out += [kv("tokenizer.ggml.model", "string", "gpt2"), kv("tokenizer.ggml.pre", "string", "qwen35"),
            array("tokenizer.ggml.tokens", "string", VOCAB, []), array("tokenizer.ggml.token_type", "i32", VOCAB, []),
            array("tokenizer.ggml.merges", "string", 247587, [])]
    if bos:
        out.append(kv("tokenizer.ggml.bos_token_id", "u32", 248044))
    out += [kv("tokenizer.ggml.eos_token_id", "u32", 248046), kv("tokenizer.ggml.padding_token_id", "u32", 248044),
            kv("tokenizer.ggml.add_bos_token", "bool", False), kv("tokenizer.chat_template", "string")]
    return out


class Tensors:
    """Collects tensors; pick(name, stem, layer, shape) gives the type of those with two dims or more."""

    def __init__(self, pick):
        self.pick, self.rows = pick, []

    def put(self, layer, stem, *shape):
        name = stem if layer is None else f"blk.{layer}.{stem}"
        fixed = len(shape) == 1 or stem.startswith(("ffn_gate_inp.", "ssm_conv1d"))
        kind = "F32" if fixed else self.pick(stem.removesuffix(".weight"), layer)
        assert shape[0] % BLOCK[kind][0] == 0
        self.rows.append({"name": name, "type": kind, "shape": list(shape)})

    def attention(self, i):
        self.put(i, "attn_q.weight", H, 2 * N_HEAD * HEAD)
        self.put(i, "attn_k.weight", H, N_KV * HEAD)
        self.put(i, "attn_v.weight", H, N_KV * HEAD)
        self.put(i, "attn_output.weight", N_HEAD * HEAD, H)
        self.put(i, "attn_q_norm.weight", HEAD)
        self.put(i, "attn_k_norm.weight", HEAD)

    def deltanet(self, i, dt):
        self.put(i, "attn_qkv.weight", H, CHANNELS)
        self.put(i, "attn_gate.weight", H, VALUE)
        self.put(i, "ssm_conv1d.weight", CONV, CHANNELS)
        self.put(i, dt, N_V)
        self.put(i, "ssm_a", N_V)
        self.put(i, "ssm_beta.weight", H, N_V)
        self.put(i, "ssm_alpha.weight", H, N_V)
        self.put(i, "ssm_norm.weight", STATE)
        self.put(i, "ssm_out.weight", VALUE, H)

    def moe(self, i, fused):
        self.put(i, "ffn_gate_inp.weight", H, E)
        if fused:
            self.put(i, "ffn_gate_up_exps.weight", H, 2 * F, E)
        else:
            self.put(i, "ffn_gate_exps.weight", H, F, E)
            self.put(i, "ffn_up_exps.weight", H, F, E)
        self.put(i, "ffn_down_exps.weight", F, H, E)
        self.put(i, "ffn_gate_inp_shexp.weight", H)
        self.put(i, "ffn_gate_shexp.weight", H, FS)
        self.put(i, "ffn_up_shexp.weight", H, FS)
        self.put(i, "ffn_down_shexp.weight", FS, H)

    def layer(self, i, full, fused=False, dt="ssm_dt.bias"):
        self.put(i, "attn_norm.weight", H)
        if full:
            self.attention(i)
        else:
            self.deltanet(i, dt)
        self.put(i, "post_attention_norm.weight", H)
        self.moe(i, fused)

    def model(self, n_mtp=0, fused=False, dt="ssm_dt.bias"):
        self.put(None, "token_embd.weight", H, VOCAB)
        for i in range(N_LAYERS):
            self.layer(i, (i + 1) % INTERVAL == 0, fused, dt)
        for i in range(N_LAYERS, N_LAYERS + n_mtp):
            self.layer(i, True, fused)
            self.put(i, "nextn.eh_proj.weight", 2 * H, H)
            for stem in ("enorm", "hnorm", "shared_head_norm"):
                self.put(i, f"nextn.{stem}.weight", H)
        self.put(None, "output_norm.weight", H)
        self.put(None, "output.weight", H, VOCAB)
        return self.rows


def important(i, n):
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def q4_k_m(stem, i, n=N_LAYERS):
    """llama.cpp's Q4_K_M for more than eight experts."""
    if stem == "output":
        return "Q6_K"
    if stem in ("attn_v", "ffn_down_exps", "ffn_down_shexp"):
        return "Q6_K" if important(i, n) else "Q4_K"
    return "Q5_K" if stem == "attn_qkv" else "Q4_K"


def ud_q4(stem, i):
    """Experts 4- and 5-bit, everything that each token reads Q8_0 and wider."""
    if stem == "output":
        return "Q6_K"
    if stem.startswith(("ffn_gate_exps", "ffn_up_exps")):
        return "Q4_K"
    if stem == "ffn_down_exps":
        return "Q6_K" if i in (0, 1, 39) else "Q5_K"
    if stem in ("ssm_alpha", "ssm_beta"):
        return "BF16" if i == 0 else "F32"
    return "Q8_0"


def ud_iq2(stem, i):
    """A dynamic mix below three bits: what such files spread over the layers."""
    if stem == "output":
        return "Q5_K"
    if stem == "token_embd":
        return "IQ3_S"
    if stem in ("ffn_gate_exps", "ffn_up_exps"):
        return "IQ3_XXS" if i in (0, 1, 39) else "IQ2_XXS"
    if stem == "ffn_down_exps":
        return "IQ3_S" if i % 4 == 3 else "IQ2_S"
    if stem in ("ssm_alpha", "ssm_beta"):
        return "Q8_0"
    if stem in ("attn_k", "attn_v"):
        return "IQ4_NL"
    return "Q5_K" if stem.startswith("attn") or stem == "ssm_out" else "IQ4_XS"


def n_bytes(rows):
    total = 0
    for r in rows:
        n = 1
        for d in r["shape"]:
            n *= d
        elems, size = BLOCK[r["type"]]
        total += n // elems * size
    return total


def check(rows, counts, total, slack):
    found = {}
    for r in rows:
        found[r["type"]] = found.get(r["type"], 0) + 1
    assert found == counts, found
    assert abs(n_bytes(rows) - total) <= slack, n_bytes(rows)


def write(folder, name, source, meta, rows, n_files=1):
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
        f.write('{\n"source": %s,\n"files": %s,\n"metadata": [\n' % (json.dumps(source), json.dumps([""] * n_files)))
        f.write(",\n".join("  " + json.dumps(o) for o in meta))
        f.write('\n],\n"tensors": [\n')
        f.write(",\n".join("  " + json.dumps(o) for o in rows))
        f.write("\n]\n}\n")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))

    # A log of one such file: f32 301, q4_K 355, q5_K 30, q6_K 47 tensors, 19.71 GiB (ollama issue 14499).
    rows = Tensors(q4_k_m).model()
    check(rows, {"F32": 301, "Q4_K": 355, "Q5_K": 30, "Q6_K": 47}, 19.71 * 2**30, 2**25)
    write(folder, "q4_k_m", "Q4_K_M without MTP block, counts as in ollama issue 14499", metadata(), rows)

    rows = Tensors(lambda s, i: q4_k_m(s, i, N_LAYERS + 1)).model(n_mtp=1)
    assert len(rows) == 753
    write(folder, "q4_k_m-mtp", "Q4_K_M with MTP block: block_count 41, nextn_predict_layers 1 (llama.cpp pull 23269)",
          metadata(n_mtp=1), rows)

    # Qwen3.6-35B-A3B-UD-Q4_K_M: 753 tensors, f32 368, q8_0 259, q4_K 82, q5_K 38, q6_K 4, bf16 2, 22,663,387,424 bytes of
    # which 10,991,392 are header (public record of a loader project). Which layers carry the rarer types is our guess.
    rows = Tensors(ud_q4).model(n_mtp=1)
    check(rows, {"F32": 368, "Q8_0": 259, "Q4_K": 82, "Q5_K": 38, "Q6_K": 4, "BF16": 2}, 22663387424 - 10991392, 2**25)
    write(folder, "ud-q4_k_m-mtp", "dynamic Q4_K_M with MTP block, counts and size as published", metadata(
        n_mtp=1, bos=True, more=[kv("general.sampling.top_k", "i32", 20), kv("general.sampling.top_p", "f32", 0.95),
                                 kv("general.sampling.temp", "f32", 1.0), kv("quantize.imatrix.entries_count", "u32", 510)]),
          rows)

    # Ollama's blobs: head_count_kv per layer with 0 on DeltaNet layers, three rope sections, ssm_dt without .bias
    # (llama.cpp pull 23700), a parameter count as u64 (ollama pull 16031), the MTP block under mtp.* without a key for it.
    per_layer = array("qwen35moe.attention.head_count_kv", "i32", N_LAYERS,
                      [N_KV if (i + 1) % INTERVAL == 0 else 0 for i in range(N_LAYERS)])
    t = Tensors(q4_k_m)
    rows = t.model(dt="ssm_dt")
    rows.append({"name": "mtp.fc.weight", "type": "Q4_K", "shape": [2 * H, H]})
    rows.append({"name": "mtp.norm.weight", "type": "F32", "shape": [H]})
    write(folder, "array-head-count", "Q4_K_M as in Ollama's blobs: per-layer head_count_kv, three rope sections, ssm_dt", metadata(
        head_count_kv=per_layer, sections=(11, 11, 10), more=[kv("general.parameter_count", "u64", 35951822704)]), rows)

    rows = Tensors(lambda s, i: "Q4_K" if s == "ffn_gate_up_exps" else q4_k_m(s, i)).model(fused=True)
    assert len(rows) == 733 - N_LAYERS
    write(folder, "fused-gate-up", "Q4_K_M with ffn_gate_up_exps in place of gate and up", metadata(), rows)

    # Split in three, the first file holding metadata alone (seen: Unsloth's Qwen3.8-Flash-Next UD-IQ1_S).
    rows = Tensors(ud_iq2).model()
    for r in rows:
        layer = int(r["name"].split(".")[1]) if r["name"].startswith("blk.") else N_LAYERS
        r["shard"] = 1 if r["name"] == "token_embd.weight" or layer < 1 else 2
    write(folder, "split-empty-first", "dynamic two-bit mix in three files, the first without tensors",
          metadata(file_type=19), rows, n_files=3)


if __name__ == "__main__":
    main()
