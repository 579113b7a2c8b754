"""Compares the template renderer with jinja2, byte by byte.

usage: test_template.py SOURCE_FOLDER TEMPLATE_RENDER [--write]

Language pieces, and conversations from seeds through every chat template at hand. --write stores what jinja2 makes of
the language pieces as tests/data/template/language.jsonl, for the unit test that runs without jinja2. Exits with 77
where jinja2 is missing."""
import json
import pathlib
import subprocess
import sys

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    print("python3-jinja2 is not installed")
    sys.exit(77)

import template_cases

N_CONVERSATIONS = 400
COMPILED = {}  # template text: what jinja2 made of it


class Generation(jinja2.ext.Extension):
    """The tag of transformers that marks what an assistant said."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    e = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                     extensions=[Generation, jinja2.ext.loopcontrols])
    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    e.globals["strftime_now"] = lambda form: "2026"
    return e


def by_jinja(e, template, variables):
    """The text, or None and why there is none."""
    try:
        if template not in COMPILED:
            COMPILED[template] = e.from_string(template)
        return COMPILED[template].render(**variables), None
    except Exception as error:  # whatever goes wrong in a template is an answer
        return None, "%s: %s" % (type(error).__name__, error)


def by_us(program, cases):
    lines = "".join(json.dumps({"template": t, "variables": v, "now": 1796000000}) + "\n" for t, v in cases)
    done = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def compare(e, program, cases, names):
    n_bad = n_texts = 0
    for (template, variables), ours, name in zip(cases, by_us(program, cases), names):
        text, error = by_jinja(e, template, variables)
        n_texts += text is not None
        if ours.get("text") != text:
            n_bad += 1
            print("%s\n  jinja2: %r\n  ours:   %r" % (name, text if error is None else error, ours.get("text", ours.get("error"))))
    print("%d cases, %d of them give a text, %d differ" % (len(cases), n_texts, n_bad))
    return n_bad


def neutral(value):
    """The same value without a | in any text, so that nobody but the template can write a control token."""
    if isinstance(value, str):
        return value.replace("|", "!")
    if isinstance(value, list):
        return [neutral(v) for v in value]
    return {neutral(k): neutral(v) for k, v in value.items()} if isinstance(value, dict) else value


def from_template(answer):
    data = answer["text"].encode()
    return b"\0".join(data[o:o + n] for o, n, from_user in answer["spans"] if not from_user)


def check_origins(program, cases):
    """The template's own bytes do not change with what users write; spans cover the text."""
    n_bad = 0
    ours, twins = by_us(program, cases), by_us(program, [(t, neutral(v)) for t, v in cases])
    for i, (a, b) in enumerate(zip(ours, twins)):
        if "text" not in a:
            continue
        ends = [o + n for o, n, _ in a["spans"]]
        covered = [o for o, _, _ in a["spans"]] == [0] + ends[:-1] and ends[-1] == len(a["text"].encode())
        if not covered or from_template(a) != from_template(b):
            n_bad += 1
            print("origins of conversation %d: %r" % (i, a))
    return n_bad


def templates(root):
    shared = root.parent / "shared" / "data"
    for path in [root / "tests/data/template/qwen3-chat-template.jinja", root / "tools/demo/chat_template.jinja",
                 shared / "qwen3.5-chat-template.jinja"]:
        if path.exists():
            yield path.name, path.read_text()
        else:
            print("%s is not here" % path)


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    e = environment()
    cases = template_cases.language()
    n_bad = compare(e, program, cases, [repr(t) for t, _ in cases])
    if "--write" in sys.argv:
        with open(root / "tests/data/template/language.jsonl", "w") as f:
            f.write(json.dumps({"variables": template_cases.VARIABLES}) + "\n")
            for t, v in cases:
                f.write(json.dumps({"template": t, "text": by_jinja(e, t, v)[0]}) + "\n")
    for name, text in templates(root):
        print(name)
        cases = [(text, template_cases.conversation(seed)) for seed in range(N_CONVERSATIONS)]
        n_bad += compare(e, program, cases, ["%s, seed %d" % (name, i) for i in range(len(cases))])
        n_bad += check_origins(program, cases)
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
