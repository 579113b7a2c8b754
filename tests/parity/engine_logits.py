"""Teacher-forced logits of an independent engine (llama-cpp-python from PyPI), for comparison with Convect's.

    python3 engine_logits.py MODEL.gguf TOKENS.jsonl OUT_DIR

TOKENS.jsonl holds {"ids": [token ids]} a line (other keys are ignored). Writes OUT_DIR/batch.f32 and OUT_DIR/steps.f32: the
logits of every position of every document, by one batch a document and token by token. Not run by CI.
"""
import ctypes
import json
import os
import sys

import numpy as np
import llama_cpp as L


def open_model(path, n_ctx):
    L.llama_backend_init()
    mp = L.llama_model_default_params()
    mp.n_gpu_layers = 0
    model = L.llama_model_load_from_file(path.encode(), mp)
    if not model:
        sys.exit("the engine cannot load " + path)
    cp = L.llama_context_default_params()
    cp.n_ctx = n_ctx
    cp.n_batch = cp.n_ubatch = n_ctx
    cp.n_threads = cp.n_threads_batch = 1
    ctx = L.llama_init_from_model(model, cp)
    if not ctx:
        sys.exit("the engine cannot make a context")
    return model, ctx, L.llama_vocab_n_tokens(L.llama_model_get_vocab(model))


def decode(ctx, batch, tokens, first):
    batch.n_tokens = len(tokens)
    for i, t in enumerate(tokens):
        batch.token[i], batch.pos[i] = t, first + i
        batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, 1
    if L.llama_decode(ctx, batch) != 0:
        sys.exit("the engine's decode failed")


def logits(ctx, i, n_vocab):
    return np.ctypeslib.as_array(ctypes.cast(L.llama_get_logits_ith(ctx, i), ctypes.POINTER(ctypes.c_float)), (n_vocab,)).copy()


def main(path, tokens_path, out_dir):
    docs = [json.loads(line)["ids"] for line in open(tokens_path)]
    n_ctx = max(map(len, docs)) + 8
    model, ctx, n_vocab = open_model(path, n_ctx)
    batch = L.llama_batch_init(n_ctx, 0, 1)
    memory = L.llama_get_memory(ctx)
    os.makedirs(out_dir, exist_ok=True)
    with open(os.path.join(out_dir, "batch.f32"), "wb") as fb, open(os.path.join(out_dir, "steps.f32"), "wb") as fs:
        for doc in docs:
            L.llama_memory_clear(memory, True)
            decode(ctx, batch, doc, 0)
            for i in range(len(doc)):
                fb.write(logits(ctx, i, n_vocab).tobytes())
            L.llama_memory_clear(memory, True)
            for i, t in enumerate(doc):
                decode(ctx, batch, [t], i)
                fs.write(logits(ctx, 0, n_vocab).tobytes())
    print(len(docs), "documents,", sum(map(len, docs)), "tokens, vocabulary", n_vocab)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
