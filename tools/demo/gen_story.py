"""Four-sentence stories from a grammar; the request fixes the hero and may fix a thing and a name."""
import functools
import re

from task import Task, polite_command
from words import ADJECTIVES, ANIMALS, COLORS, DAYS, FOODS, NAMES, PLACES, THINGS, VERBS, a, person, pick

OPEN = ["Once upon a time {adj} {animal} named {name} lived near the {place}.", "There was {adj} {animal} called {name} who lived in a {place}.",
        "In a far {place} lived {name}, {adj} {animal}."]
MIDDLE = ["One day {name} found {color} {thing} on the road.", "One morning {name} saw {color} {thing} under a tree.", "On {day} {name} lost {color} {thing} in the grass."]
TURN = ["{name} showed it to {friend}, who was {one2}.", "{animal2} named {friend} came by and wanted to help.", "\"What a fine day!\" said {friend}, the {beast2}."]
END = ["They {verb} together until the evening and were happy.", "From that day on {name} and {friend} were good friends.", "Then they {verb} and went home to eat {food}."]
ASK = ["Tell me a short story about {s}", "Write a story about {s}", "Tell me a story about {s}", "Write a short story about {s}", "Make up a story about {s}",
       "Tell a story about {s}", "Tell me a story with {s}", "Invent a story about {s}", "Write me a story about {s}"]
SLOTS = dict(adj=[a(w) for w in ADJECTIVES], animal2=[a(w).capitalize() for w in ANIMALS], one2=[a(w) for w in ANIMALS], beast2=ANIMALS, animal=ANIMALS, place=PLACES, color=[a(w) for w in COLORS], thing=THINGS, day=DAYS, verb=VERBS, food=FOODS)
TILT = 1   # sentence 1 of 3 has half of the weight


def turned(seq, k):
    """seq starting at entry k: which choices are frequent depends on the hero, so greedy stories differ."""
    k %= len(seq)
    return seq[k:] + seq[:k]


def make(r, want):
    animal, with_thing, named = pick(r, ANIMALS, 12), r.random() < .5, r.random() < .25
    k = ANIMALS.index(animal)
    name = person(r) if named else pick(r, turned(NAMES, k))
    friend, animal2 = name, animal
    while friend == name:
        friend = pick(r, turned(NAMES, 3 * k + 7))
    while animal2 == animal:
        animal2 = pick(r, turned(ANIMALS, 5 * k + 3))
    values = dict(name=name, friend=friend, animal=animal, animal2=a(animal2).capitalize(), one2=a(animal2), beast2=animal2)
    values |= dict(adj=a(pick(r, turned(ADJECTIVES, k))), place=pick(r, turned(PLACES, k)), color=a(pick(r, turned(COLORS, 2 * k))), thing=pick(r, turned(THINGS, 7 * k)),
                   day=pick(r, turned(DAYS, k)), verb=pick(r, turned(VERBS, k)), food=pick(r, turned(FOODS, k)))
    subject = a(animal) + (f" named {name}" if named else "") + (f" and a {values['thing']}" if with_thing else "")
    text = " ".join(pick(r, turned(group, k // 3 ** i), TILT).format(**values) for i, group in enumerate((OPEN, MIDDLE, TURN, END)))
    thought = f"The hero is {a(animal)}" + (f" named {name}" if named else "") + (f" and there is a {values['thing']}." if with_thing else ".")
    info = dict(hero=animal, thing=values["thing"] if with_thing else None, name=name if named else None)
    return Task(polite_command(r, pick(r, ASK).format(s=subject) + pick(r, [".", ""])), thought, text, info)


@functools.cache
def _pattern():
    def sentence(s):
        s = re.escape(s)
        for slot, words in SLOTS.items():
            s = s.replace(r"\{" + slot + r"\}", "(?:" + "|".join(words) + ")")
        return s.replace(r"\{name\}", "NAME").replace(r"\{friend\}", "FRIEND")
    return " ".join("(?:" + "|".join(sentence(s) for s in group) + ")" for group in (OPEN, MIDDLE, TURN, END))


def check(info, answer):
    """-> dict(ok): the text follows the grammar, has two persons, and holds what was asked for"""
    hero = re.search(r"(?:named|called|lived) ([A-Z][a-z]+)", answer)
    friend = re.search(r"to ([A-Z][a-z]+), who|An? [a-z]+ named ([A-Z][a-z]+) came|said ([A-Z][a-z]+), the", answer)
    if not hero or not friend or f" {info['hero']}" not in answer or (info["thing"] or "") not in answer:
        return dict(ok=False)
    name, friend = hero.group(1), next(g for g in friend.groups() if g)
    if name == friend or info["name"] not in (None, name):
        return dict(ok=False)
    return dict(ok=re.fullmatch(_pattern().replace("NAME", name).replace("FRIEND", friend), answer) is not None)
