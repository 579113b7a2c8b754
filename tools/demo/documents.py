"""Documents of the demo model: a task in a conversation, as text for training and as an item for measuring."""
import re
from dataclasses import dataclass

import chat
import gen_chat
import gen_json
import gen_lists
import gen_story
import gen_sums
import gen_tools
from task import Want
from words import pick

SHARES = dict(copy=10, reverse=12, sort=15, add1=3, add2=10, add3=4, sub1=2, sub2=10, sub3=4, json=9, story=4, chat=5, unknown=5, tool=9, toolresp=4)
KINDS = list(SHARES)
SYSTEMS = ["You are a helpful assistant.", "You are a helpful assistant.", "Be brief.", "Answer the question.", "You are a small model that likes lists.", "Help the user."]
HISTORY_KINDS = ["copy", "reverse", "sort", "add1", "add2", "sub2", "json", "chat", "unknown"]
OTHER_KINDS = ["add2", "sub2", "sort", "chat", "json", "copy", "unknown", "unknown"]    # asked while tools are offered
END = "<|im_end|>"


@dataclass
class Document:
    kind: str
    think: bool
    messages: list
    tools: list
    info: dict
    answer: str

    def segments(self):
        return chat.segments(self.messages, self.tools, self.think)

    def prompt(self):
        """The text up to where the model takes over for the last answer."""
        return "".join(text for text, _ in self.segments()[:-2])

    def output(self):
        """What the model has to write, without <|im_end|>."""
        return self.segments()[-2][0][:-len(END)]


def make_task(r, kind, want):
    if kind in gen_lists.ASK:
        return gen_lists.make(r, kind, want)
    if kind[:3] in ("add", "sub"):
        return gen_sums.make(r, kind, want)
    if kind in ("tool", "toolresp"):
        return gen_tools.make(r, kind, want)
    return dict(json=gen_json.make, story=gen_story.make, chat=gen_chat.make, unknown=gen_chat.unknown)[kind](r, want)


def _assistant(text, thought, think):
    return dict(role="assistant", content=text) | (dict(reasoning_content=thought) if think else {})


def _call(name, arguments, thought, think):
    return _assistant("", thought, think) | dict(tool_calls=[dict(type="function", function=dict(name=name, arguments=arguments))])


def make(r, kind=None, think=None, want=Want(), bare=False):
    """One document. bare: no system prompt, no foreign earlier turns, no question that a tool does not fit."""
    kind = kind or r.choices(KINDS, SHARES.values())[0]
    think = r.random() < .5 if think is None else think
    task = make_task(r, kind, want)
    history, tools, info = list(task.history), task.info.get("tools"), task.info
    if not bare and not tools and not history and r.random() < .12:
        for _ in range(r.randint(1, 2)):
            other = make_task(r, pick(r, HISTORY_KINDS, 20), Want())
            history += other.history + [(other.question, other.answer)]
    if not bare and kind == "tool" and r.random() < .15:
        task = make_task(r, pick(r, OTHER_KINDS, 20), Want())
        info = dict(tools=tools)
        history = list(task.history)
    messages = [dict(role="system", content=pick(r, SYSTEMS))] if not bare and r.random() < .12 else []
    for user, assistant in history:
        messages += [dict(role="user", content=user), dict(role="assistant", content=assistant)]
    messages.append(dict(role="user", content=task.question))
    if kind == "toolresp":
        messages += [_call(info["name"], info["arguments"], info["call_thought"], think), dict(role="tool", content=info["response"])]
    if kind == "tool" and "name" in info:
        messages.append(_call(info["name"], info["arguments"], task.thought, think))
        answer = chat.call_text(info["name"], info["arguments"])
    else:
        messages.append(_assistant(task.answer, task.thought, think))
        answer = task.answer
    return Document(kind, think, messages, tools, info, answer)


# ---------------------------------------------------------------------------------------------------------------- checking
def check_data(doc):
    """What `check` needs, small enough for a JSON file."""
    if doc.kind == "json":
        return dict(value=doc.info["value"])
    if doc.kind == "story":
        return doc.info
    if doc.kind == "tool" and "name" in doc.info:
        return dict(name=doc.info["name"], arguments={k: str(v) for k, v in doc.info["arguments"].items()})
    return {}


def split_thought(text, think):
    """-> (the thinking switch was obeyed, the answer behind the thought)"""
    if not think:
        return "<think>" not in text and "</think>" not in text, text
    m = re.fullmatch(r"(?s)(.+?)\n</think>\n\n(.*)", text)
    if not m:
        return False, ""
    return bool(m[1].strip()) and "<think>" not in text and "</think>" not in m[2], m[2]


def parse_call(text):
    """-> (name, arguments as text) of the one tool call that text must be, or None"""
    m = re.fullmatch(r"(?s)<tool_call>\n<function=([^>\n]+)>\n(.*)</function>\n</tool_call>", text)
    if not m:
        return None
    pairs = re.findall(r"(?s)<parameter=([^>\n]+)>\n(.*?)\n</parameter>\n", m[2])
    if "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in pairs) != m[2] or len(dict(pairs)) != len(pairs):
        return None
    return m[1], dict(pairs)


def check(kind, think, answer, data, text):
    """What the model wrote (without <|im_end|>) against the item -> dict of booleans: switch, ok, and valid or form for some kinds."""
    switch, got = split_thought(text, think)
    if kind == "json":
        return dict(switch=switch) | gen_json.check(data, got)
    if kind == "story":
        return dict(switch=switch) | gen_story.check(data, got)
    if kind == "tool" and "name" in data:
        call = parse_call(got)
        return dict(switch=switch, form=call is not None, ok=call == (data["name"], data["arguments"]))
    return dict(switch=switch, ok=got == answer)
