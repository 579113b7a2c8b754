"""Puts items of eval.jsonl to `convect run` and writes the answers for score.py.

python3 ask.py CONVECT MODEL.gguf EVAL.jsonl ANSWERS.jsonl [N]      every N-th item of each thinking mode (default 1: all)
"""
import json
import subprocess
import sys

TOKENS_MAX = "256"


def answer(convect, model, prompt):
    command = [convect, "run", model, "-", "--raw", "--special", "--greedy", "--quiet", "-n", TOKENS_MAX]
    return subprocess.run(command, input=prompt.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()


def main():
    convect, model, evaluation, out = sys.argv[1:5]
    every = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    with open(out, "w") as f:
        for item in map(json.loads, open(evaluation)):
            if item["i"] // 2 % every == 0:
                f.write(json.dumps(dict(i=item["i"], text=answer(convect, model, item["prompt"]))) + "\n")


if __name__ == "__main__":
    main()
