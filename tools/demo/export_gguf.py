"""Writes the trained model as a GGUF: Q8_0 matrices, float32 rest, tokenizer and chat template.

python3 export_gguf.py WEIGHTS_DIR OUT.gguf
"""
import json
import os
import sys

import gguf
import numpy as np

import chat
import gguf_layout
import model
import quant
import tokenizer
import weights

ARCH = "qwen35moe"
CONTEXT = 4096
LIMIT_BYTES = 15 << 20
Q8_0 = gguf.GGMLQuantizationType.Q8_0


def add_metadata(w, c):
    w.add_name("Convect demo")
    w.add_description("A very small language model with made-up tasks, for trying and testing the Convect engine")
    w.add_license("MIT")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    w.add_quantization_version(2)
    for key, value in (("block_count", c.layers + 1), ("context_length", CONTEXT), ("embedding_length", c.hidden), ("attention.head_count", c.heads), ("attention.head_count_kv", c.kv_heads),
                       ("attention.key_length", c.head_dim), ("attention.value_length", c.head_dim), ("rope.dimension_count", c.rotary), ("expert_count", c.experts), ("expert_used_count", c.top_k),
                       ("expert_feed_forward_length", c.expert_dim), ("expert_shared_feed_forward_length", c.shared_dim), ("ssm.conv_kernel", 4), ("ssm.state_size", c.linear_dim),
                       ("ssm.group_count", c.linear_k_heads), ("ssm.time_step_rank", c.linear_v_heads), ("ssm.inner_size", c.linear_v_heads * c.linear_dim),
                       ("full_attention_interval", c.interval), ("nextn_predict_layers", 1)):
        w.add_uint32(f"{ARCH}.{key}", value)
    w.add_float32(f"{ARCH}.attention.layer_norm_rms_epsilon", 1e-6)
    w.add_float32(f"{ARCH}.rope.freq_base", c.theta)
    w.add_array(f"{ARCH}.rope.dimension_sections", c.mrope_sections + [0])


def add_tokenizer(w):
    t = tokenizer.load()
    texts = [t.id_to_token(i) for i in range(t.get_vocab_size())]
    control, special = gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("qwen35")
    w.add_token_list(texts)
    w.add_token_types([control if x in chat.SPECIALS_CONTROL else special if x in chat.SPECIALS_TEXT else gguf.TokenType.NORMAL for x in texts])
    w.add_token_merges([x if isinstance(x, str) else " ".join(x) for x in json.loads(tokenizer.PATH.read_text())["model"]["merges"]])
    w.add_eos_token_id(t.token_to_id("<|im_end|>"))
    w.add_pad_token_id(t.token_to_id("<|endoftext|>"))
    w.add_add_bos_token(False)
    w.add_chat_template(chat.TEMPLATE_PATH.read_text())


def add_tensors(w, c, P):
    for name, theirs, transform in gguf_layout.names(c):
        x = gguf_layout.to_gguf(c, P[theirs], transform).contiguous()
        array = x.numpy()
        if not quant.is_q8_0(theirs, P[theirs]):
            w.add_tensor(name, array)
            continue
        blocks = gguf.quants.quantize(array, Q8_0)
        assert np.array_equal(gguf.quants.dequantize(blocks, Q8_0), quant.q8_0_round_trip(x).numpy()), name
        w.add_tensor(name, blocks, raw_dtype=Q8_0)


def main():
    folder, path = sys.argv[1:]
    c, P = model.Config(), weights.load(folder)
    w = gguf.GGUFWriter(path + ".part", ARCH)
    add_metadata(w, c)
    add_tokenizer(w)
    add_tensors(w, c, P)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    size = os.path.getsize(path + ".part")
    assert size <= LIMIT_BYTES, f"{size} bytes are more than {LIMIT_BYTES}"
    os.replace(path + ".part", path)
    print(f"{path}: {size} bytes, {size / 2 ** 20:.2f} MiB")


if __name__ == "__main__":
    main()
