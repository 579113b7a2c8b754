#!/bin/sh
# rss.sh CONVECT [FOLDER]: peak resident memory of `convect run` on a made-up model of 4 GB or more (8 layers of 35B-A3B,
# q4_k_m). Passes if it is at most file size + 10 % + KV + 256 MiB. FOLDER (default /dev/shm) needs 5.5 GB.
set -eu
convect=$1
folder=${2:-/dev/shm}
model=$folder/convect-rss-$$.gguf
trap 'rm -f "$model" "$model".*' EXIT INT TERM
"$convect" version | sed -n 1,2p
"$convect" synth "$model" --layers 8
"$convect" plan "$model" --ctx 4096 --json >"$model.plan"
python3 - "$convect" "$model" <<'EOF'
import json
import os
import resource
import subprocess
import sys

convect, model = sys.argv[1:]
plan = json.load(open(model + ".plan"))
prompt = "the quick brown fox jumps over the lazy dog " * 60  # several prefill chunks: touches most experts
subprocess.run([convect, "run", model, prompt, "--raw", "--greedy", "--ignore-eos", "-n", "32", "--ctx", "4096", "-q"],
               check=True, stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
size = os.path.getsize(model)
kv = plan["places"]["ram"]["purposes_bytes"]["kv"]
limit = size * 1.1 + kv + 256 * 2**20
print(f"file {size / 1e9:.3f} GB, KV {kv / 1e6:.1f} MB, peak {peak / 1e9:.3f} GB, plan "
      f"{plan['places']['ram']['total_bytes'] / 1e9:.3f} GB, limit {limit / 1e9:.3f} GB")
sys.exit(0 if peak <= limit else 1)
EOF
