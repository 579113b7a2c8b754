"""Sentences to JSON."""
import json

from task import Task, polite_command
from words import ANIMALS, CITIES, COLORS, DAYS, FOODS, HOBBIES, NOUNS, PLACES, THINGS, a, distinct, letters, person, pick, pseudo, string

ASK = ["Turn this into JSON: {s}", "Write this as JSON: {s}", "Give me JSON for this: {s}", "Make JSON: {s}", "Convert this to JSON: {s}", "Write JSON for this: {s}",
       "Express this in JSON: {s}", "Make this JSON: {s}", "Put this into JSON: {s}", "Make a JSON object: {s}", "Translate this to JSON: {s}", "Return JSON: {s}"]
EVENTS = "meeting lunch party lesson concert walk".split()


def place_name(r):
    return pick(r, CITIES) if r.random() < .8 else pseudo(r).capitalize()


def anything(r):
    return pick(r, NOUNS, 20) if r.random() < .6 else string(r)


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def of_person(r):
    value = {"name": person(r), "age": r.randint(1, 99)}
    text = f"{value['name']} is {value['age']} years old"
    if r.random() < .6:
        value["city"] = place_name(r)
        text += f", lives in {value['city']}"
    if r.random() < .6:
        value["likes"] = distinct(r, r.randint(1, 3), lambda q: pick(q, HOBBIES + FOODS))
        text += " and likes " + listed(value["likes"])
    return value, text + "."


def of_item(r):
    value = {"item": pick(r, THINGS) if r.random() < .8 else pseudo(r), "color": pick(r, COLORS), "price": r.randint(1, 99)}
    text = f"{a(value['color']).capitalize()} {value['item']} costs {value['price']} dollars"
    if r.random() < .6:
        value["stock"] = r.randint(2, 99)
        text += f" and there are {value['stock']} in stock"
    return value, text + "."


def of_event(r):
    value = {"event": pick(r, EVENTS), "with": person(r), "day": pick(r, DAYS), "hour": r.randint(7, 22)}
    text = f"The {value['event']} with {value['with']} is on {value['day']} at {value['hour']}"
    if r.random() < .5:
        value["place"] = pick(r, PLACES)
        text += f" in the {value['place']}"
    return value, text + "."


def of_animal(r):
    state = pick(r, ["hungry", "tired", "happy"])
    value = {"name": person(r), "animal": pick(r, ANIMALS), "age": r.randint(1, 20), state: r.random() < .4}
    text = f"{value['name']} is {a(value['animal'])}. The {value['animal']} is {value['age']} years old and {'' if value[state] else 'not '}{state}."
    return value, text


def of_people(r):
    value = [{"name": n, "age": r.randint(1, 99)} for n in distinct(r, r.randint(2, 4), person)]
    return value, listed([f"{x['name']} is {x['age']}" for x in value]) + "."


def of_pairs(r):
    """Keys and values of any name."""
    keys = distinct(r, r.randint(1, 4), lambda q: anything(q) if q.random() < .85 else letters(q))
    value = {k: r.randint(0, 999) if r.random() < .4 else anything(r) for k in keys}
    link = pick(r, [" is ", " = ", ": "])
    return value, ", ".join(f"{k}{link}{v}" for k, v in value.items()) + pick(r, ["", "."])


SHAPES = [of_person, of_item, of_event, of_animal, of_people, of_pairs, of_pairs]


def make(r, want):
    value, text = r.choice(SHAPES)(r)
    if isinstance(value, dict):
        thought = f"The keys are {', '.join(value)}."
    else:
        thought = f"A list of {len(value)} objects with name, age."
    return Task(polite_command(r, pick(r, ASK).format(s=text)), thought, json.dumps(value), dict(value=value))


def check(info, answer):
    """-> dict(valid, ok)"""
    try:
        value = json.loads(answer)
    except ValueError:
        return dict(valid=False, ok=False)
    return dict(valid=True, ok=value == info["value"])
