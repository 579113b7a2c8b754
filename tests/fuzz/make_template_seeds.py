#!/usr/bin/env python3
"""Writes the seeds of fuzz_template and fuzz_output_parser. Standard library only.

usage: make_template_seeds.py [FOLDER]   (default: corpus beside this script)
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
import template_cases  # noqa: E402

CALL = "<tool_call>\n<function=f>\n<parameter=s>\nParis\n</parameter>\n<parameter=i>\n5\n</parameter>\n</function>\n</tool_call>"
ANSWERS = [
    (1, "why\n</think>\n\nLet me look.\n\n" + CALL),
    (5, "<think>\nwhy\n</think>\n" + CALL + "\n" + CALL),
    (6, "<think>a</think>b <tool_call> no\n" + CALL + " and"),
    (4, '<tool_call>\n{"name": "f", "arguments": {"s": "</tool_call>", "i": [1, {"x": null}]}}\n</tool_call>'),
    (0, "<tool_call><function=g><parameter=u>None</parameter></function>"),
    (5, "never ends <tool_call>\n<function=f>\n<parameter=s>\ncut"),
]


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
    variables = json.dumps(template_cases.VARIABLES).encode()
    sources = [t for t, _ in template_cases.language()]
    for i in range(0, len(sources), 4):
        write(os.path.join(folder, "template"), "language%03d" % i, sources[i].encode() + b"\0" + variables)
    for path in ["tests/data/template/qwen3-chat-template.jinja", "tools/demo/chat_template.jinja"]:
        with open(os.path.join(ROOT, path), "rb") as f:
            write(os.path.join(folder, "template"), path.split("/")[1] + "-template", f.read())
    for i, (mode, text) in enumerate(ANSWERS):
        write(os.path.join(folder, "output_parser"), "answer%d" % i, bytes([mode, i]) + text.encode())


main()
