"""The demo's chat text: the Jinja template itself, and a fast renderer for the generator that must agree with it byte for byte.

selfcheck.py compares the two. The renderer marks which pieces the model has to write.
"""
import json
import pathlib

TEMPLATE_PATH = pathlib.Path(__file__).parent / "chat_template.jinja"
SPECIALS_CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SPECIALS_TEXT = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
SPECIALS = SPECIALS_CONTROL + SPECIALS_TEXT
TOOLS_HEAD = "<|im_start|>system\n# Tools\n\nThese tools can be called:\n\n<tools>\n"
TOOLS_FOOT = ("</tools>\n\nCall a tool in this form only:\n\n<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>")


def to_json(value):
    """JSON as chat templates print it."""
    return json.dumps(value, ensure_ascii=False)


def jinja_renderer():
    """-> render(messages, tools, enable_thinking, add_generation_prompt), run by jinja2 in the environment of Hugging Face"""
    import jinja2.sandbox

    def fail(message):
        raise jinja2.TemplateError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = fail
    template = environment.from_string(TEMPLATE_PATH.read_text())

    def render(messages, tools=None, enable_thinking=True, add_generation_prompt=False):
        return template.render(messages=messages, tools=tools, enable_thinking=enable_thinking, add_generation_prompt=add_generation_prompt)
    return render


def call_text(name, arguments):
    """One tool call as the model writes it."""
    parameters = "".join(f"<parameter={k}>\n{v if isinstance(v, str) else to_json(v)}\n</parameter>\n" for k, v in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def generation_prompt(think):
    return "<|im_start|>assistant\n<think>\n" + ("" if think else "\n</think>\n\n")


def _system(messages, tools):
    lead = messages[0]["content"] if messages[0]["role"] == "system" else ""
    if tools:
        yield TOOLS_HEAD, False
        for tool in tools:
            yield to_json(tool) + "\n", False
        yield TOOLS_FOOT + (f"\n\n{lead}" if lead else "") + "<|im_end|>\n", False
    elif lead:
        yield f"<|im_start|>system\n{lead}<|im_end|>\n", False


def segments(messages, tools, think):
    """-> [(text, is_answer)]; cut so that no pre-token crosses a border.

    Contents are trimmed already, and at most one message is a tool's. think: whether answers after the last query have thoughts.
    """
    out = list(_system(messages, tools))
    query = max(i for i, m in enumerate(messages) if m["role"] == "user")
    for i, m in enumerate(messages):
        if m["role"] == "user":
            out.append((f"<|im_start|>user\n{m['content']}<|im_end|>\n", False))
        elif m["role"] == "tool":
            out.append((f"<|im_start|>user\n<tool_response>\n{m['content']}\n</tool_response><|im_end|>\n", False))
        elif m["role"] == "assistant":
            body = m["content"] + "".join(call_text(**c["function"]) for c in m.get("tool_calls", ()))
            if i < query:
                out.append(("<|im_start|>assistant\n", False))
            else:
                out.append((generation_prompt(think), False))
                body = f"{m['reasoning_content']}\n</think>\n\n{body}" if think else body
            out += [(body + "<|im_end|>", True), ("\n", False)]
    return out
