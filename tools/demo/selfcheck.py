"""Checks of the generator: the right answer passes its own check, a damaged one fails, and the training text is what the Jinja template renders.

python3 selfcheck.py [N]    N documents (default 3000). Needs jinja2 and tokenizers.
"""
import hashlib
import sys

import chat
import documents
import tokenizer
from task import Want
from words import Draw

# Rendered bytes of plain conversations are the same for every ChatML template of this structure: length and start of the sha256.
USER = dict(role="user", content="Hi")
PLAIN = [
    (dict(messages=[USER]), 60, "7562ba8388193b82d95953831c2d4d61"),
    (dict(messages=[USER], enable_thinking=False), 71, "87b9f5b6243d88239331c78a91695eae"),
    (dict(messages=[dict(role="system", content="  Be brief. \n"), dict(role="user", content="\n Hi \n")]), 99, "7af1302f02f3df31b3efd94a7f08d2ac"),
    (dict(messages=[USER, dict(role="assistant", content="<think>\nabc\n</think>\n\nHello"), dict(role="user", content="Bye")]), 129, "47dd0f7f0ce077da3663f4c089528ba4"),
]
REFUSED = [[], [dict(role="system", content="x")], [USER, dict(role="system", content="x")], [USER, dict(role="developer", content="x")],
           [dict(role="user", content=[dict(type="image")])], [dict(role="user", content="<tool_response>\nx\n</tool_response>")]]


def check_template(render):
    for arguments, length, digest in PLAIN:
        text = render(add_generation_prompt=True, **arguments)
        assert (len(text), hashlib.sha256(text.encode()).hexdigest()[:32]) == (length, digest), text
    for messages in REFUSED:
        try:
            render(messages)
        except Exception as error:
            assert type(error).__name__ == "TemplateError", error
        else:
            raise AssertionError(f"rendered {messages}")
    calls = [dict(function=dict(name="f", arguments=dict(a="x", n=3, f=True, o=dict(l=[1, "y"])))), dict(function=dict(name="g", arguments={}))]
    text = render([USER, dict(role="assistant", content="Look.", tool_calls=calls), dict(role="tool", content="1"), dict(role="tool", content="2")])
    expected = ("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nLook.\n\n<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=n>\n3\n</parameter>\n"
                "<parameter=f>\ntrue\n</parameter>\n<parameter=o>\n{\"l\": [1, \"y\"]}\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call><|im_end|>\n"
                "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n")
    assert text == expected, text


def check_document(doc, render, t):
    text = "".join(s for s, _ in doc.segments())
    assert tokenizer.encode(t, text) == [i for s, _ in doc.segments() for i in tokenizer.encode(t, s)], f"a pre-token crosses a border: {doc}"
    assert text == render(doc.messages, doc.tools), (text, render(doc.messages, doc.tools))
    assert doc.prompt() == render(doc.messages[:-1], doc.tools, doc.think, True)
    data = documents.check_data(doc)
    right = documents.check(doc.kind, doc.think, doc.answer, data, doc.output())
    assert all(right.values()), (doc, right)
    wrong = documents.check(doc.kind, doc.think, doc.answer, data, doc.output()[:-1] + "\x7f")
    assert not wrong["ok"], doc
    assert not documents.check(doc.kind, not doc.think, doc.answer, data, doc.output())["switch"]


def main():
    render, t = chat.jinja_renderer(), tokenizer.load()
    check_template(render)
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    for i in range(n):
        r = Draw(i, flat=bool(i & 1))
        want = Want(held=i % 7 == 0, wording=("", "", "new", "foreign")[i % 4])
        check_document(documents.make(r, kind=documents.KINDS[i % len(documents.KINDS)] if i & 2 else None, want=want), render, t)
    print(f"{n} documents agree with the template and with their checks")


if __name__ == "__main__":
    main()
