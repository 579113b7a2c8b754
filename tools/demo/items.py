"""The measured groups: what is asked, how many times, and the floor that the share of right answers must reach.

Items are drawn uniformly (words.Draw, flat), half of them with thinking. `floor` maps a check to its least share in per cent; groups without one are goals.
"""
from dataclasses import dataclass, field

import documents
from task import Want
from words import Draw

SEED = 20261130
N_ITEMS = 300
SWITCH_FLOOR = 99.0                       # thinking on and off, over all items
PLAIN_TYPES = ("words", "numbers", "letters")


@dataclass
class Group:
    name: str
    kind: str
    want: Want = Want()
    floor: dict = field(default_factory=dict)
    types: tuple = ()                     # list types, taken in turn
    bare: bool = True


def lists(suffix, want, types, floor):
    return [Group(kind + suffix, kind, want, dict(floor), types) for kind in ("copy", "reverse", "sort")]


FLOORS = lists("", Want(n_items=(2, 8)), PLAIN_TYPES, dict(ok=98.0)) + [
    Group("add2", "add2", Want(held=True), dict(ok=98.0)),
    Group("sub2", "sub2", Want(held=True), dict(ok=98.0)),
    Group("json", "json", floor=dict(valid=99.0, ok=97.0)),
    Group("story", "story", floor=dict(ok=95.0)),
    Group("chat", "chat"),
    Group("unknown", "unknown"),
    Group("tool", "tool", floor=dict(form=99.0, ok=97.0)),
    Group("toolresp", "toolresp", floor=dict(ok=97.0)),
]
GOALS = (
    lists(" 9-12", Want(n_items=(9, 12)), PLAIN_TYPES, {})
    + lists(" names 2-8", Want(n_items=(2, 8)), ("names",), {})
    + lists(" strings 2-8", Want(n_items=(2, 8)), ("strings",), {})
    + lists(" 3-digit 2-8", Want(n_items=(2, 8)), ("big numbers",), {})
    + lists(" new wording", Want(n_items=(2, 8), wording="new"), PLAIN_TYPES, {})
    + lists(" foreign wording", Want(n_items=(2, 8), wording="foreign"), PLAIN_TYPES, {})
    + [Group("copy sentence", "copy", Want(sub="text")), Group("add1", "add1"), Group("sub1", "sub1"), Group("add3", "add3"), Group("sub3", "sub3"),
       Group("sub2 negative", "sub2", Want(sub="negative"))]
    + [Group(f"{kind} {w} wording", kind, Want(held=True, wording=w)) for w in ("new", "foreign") for kind in ("add2", "sub2")]
    + [Group("unknown new wording", "unknown", Want(wording="new"))]
    + [Group(f"{kind} in context", kind, bare=False) for kind in ("copy", "sort", "add2", "json", "chat", "unknown", "tool")])


def make(group, n, seed=SEED):
    """n documents of the group, always the same for the same seed."""
    r = Draw(f"{seed} {group.name}", flat=True)
    out = []
    for i in range(n):
        want = Want(**vars(group.want) | dict(sub=group.types[i // 2 % len(group.types)])) if group.types else group.want
        out.append(documents.make(r, kind=group.kind, think=bool(i & 1), want=want, bare=group.bare))
    return out
