"""Tools with random names: calls, and answers from what a tool returned."""
import json

from task import Task, polite_command, polite_question
from words import ADJECTIVES, CITIES, COLORS, DAYS, NOUNS, a, digit, distinct, letters, number, person, pick, pseudo, string

ACTIONS = ("get set find send start stop open close show make add save read write check call play order plan move print share lock copy count watch clean load fetch run do use").split()
SKIES = "sunny cloudy rainy windy".split()
ROOMS = "kitchen bedroom bathroom hall garden office".split()
ERRORS = ["no connection", "not found", "too many requests", "access denied", "out of memory", "time is over"]


def city(r):
    return pick(r, CITIES) if r.random() < .8 else pseudo(r).capitalize()


def phrase(r):
    return " ".join(distinct(r, r.randint(1, 4), lambda q: pick(q, NOUNS + COLORS + ADJECTIVES, 30) if q.random() < .75 else string(q)))


def small(r):
    return number(r, 1 if r.random() < .3 else 2)


def product(r):
    return f"{number(r, 2)} {pick(r, '*/')} {number(r, 1 + (r.random() < .6))}"


class Param:
    """One parameter: its meaning, JSON type, draw of a value and the plain names it may have."""

    def __init__(self, meaning, kind, draw, names):
        self.meaning, self.kind, self.draw, self.names = meaning, kind, draw, names.split()


class Spec:
    """A sort of tool: plain names, descriptions, parameters, and how users ask for it ({0}, {1}: values)."""

    def __init__(self, names, descriptions, params, commands=(), questions=()):
        self.names, self.descriptions, self.params, self.commands, self.questions = names.split(), descriptions, params, list(commands), list(questions)


SPECS = {
    "weather": Spec("get_weather weather weather_lookup", ["Get the weather in a city", "Weather report for a city", "Tells the weather"],
                    [Param("the city", "string", city, "city location place")], ["Tell me the weather in {0}.", "Check the weather in {0}.", "Get the weather for {0}."],
                    ["What is the weather in {0}?", "How is the weather in {0} today?", "Will it rain in {0}?", "What is the weather like in {0}?", "Is it sunny in {0}?"]),
    "time": Spec("get_time clock time_now", ["Get the time in a city", "Tells the time in a city", "Local time"], [Param("the city", "string", city, "city zone location")],
                 ["Tell me the time in {0}.", "Get the time in {0}."], ["What time is it in {0}?", "How late is it in {0}?", "What is the time in {0}?"]),
    "message": Spec("send_message message send_text", ["Send a message to a person", "Writes a message to someone"],
                    [Param("who gets it", "string", person, "to person recipient"), Param("the message", "string", phrase, "text body message")],
                    ["Send {0} the message: {1}", "Write to {0}: {1}", "Tell {0} this: {1}", "Send {0} a message that says {1}"]),
    "timer": Spec("set_timer timer start_timer", ["Start a timer", "Sets a timer in minutes"], [Param("minutes", "integer", small, "minutes duration time")],
                  ["Set a timer for {0} minutes.", "Wake me in {0} minutes.", "Start a timer of {0} minutes.", "Start a {0} minute timer."]),
    "calc": Spec("calculator calculate math", ["Compute an expression", "Does math", "A calculator"], [Param("the expression", "string", product, "expression input formula")],
                 ["Compute {0}", "Calculate {0}", "Work out {0}"], ["What is {0}?", "How much is {0}?"]),
    "music": Spec("play_music play music_player", ["Play a song", "Plays music"], [Param("the song", "string", phrase, "song title track"), Param("how loud", "integer", small, "volume level loudness")],
                  ["Play {0} at volume {1}.", "Play the song {0} at volume {1}.", "Start {0} at volume {1}."]),
    "light": Spec("set_light light switch_light", ["Switch a light", "Turns a light on or off"],
                  [Param("the room", "string", lambda r: pick(r, ROOMS), "room where location"), Param("on or off", "string", lambda r: pick(r, ["on", "off"]), "state value mode")],
                  ["Turn {1} the light in the {0}.", "Switch the light in the {0} {1}.", "Turn the light in the {0} {1}."]),
    "buy": Spec("buy order_item shop", ["Buy a number of things", "Orders things from the shop"],
                [Param("the thing", "string", lambda r: pick(r, NOUNS, 20) if r.random() < .8 else string(r), "item thing product"), Param("how many", "integer", small, "count number amount")],
                ["Buy {1} of the {0}.", "Order the {0}, {1} of them.", "Get me {1} of the {0}."]),
    "event": Spec("add_event calendar new_event", ["Add an event to the calendar", "Puts an event into the calendar"],
                  [Param("what it is", "string", lambda r: pick(r, NOUNS, 20) if r.random() < .8 else string(r), "title name event"), Param("the day", "string", lambda r: pick(r, DAYS), "day date when"),
                   Param("the hour", "integer", lambda r: r.randint(0, 23), "hour time start")], ["Put {0} in my calendar on {1} at {2}.", "Plan {0} for {1} at {2}.", "Add {0} on {1} at {2}."]),
    "note": Spec("save_note note write_note", ["Save a note", "Writes a note"], [Param("the text", "string", phrase, "text content note")],
                 ["Note this: {0}", "Save a note that says {0}", "Remember: {0}", "Write a note: {0}"]),
}


def action_spec(r):
    """A tool nobody has heard of: an action on a thing, with one value."""
    action, thing = pick(r, ACTIONS, 10), pick(r, NOUNS, 20) if r.random() < .7 else string(r)
    if r.random() < .35:
        value, kind = number(r, r.randint(1, 3)), "integer"
    else:
        value, kind = phrase(r) if r.random() < .3 else string(r), "string"
    verb = action.capitalize()
    return Spec(f"{action}_{thing} {thing} {thing}_{action}", [f"{verb} the {thing}", f"{verb} {a(thing)}"],
                [Param(pick(r, ["the value", "which one", "the input"]), kind, lambda q: value, "value input name id")],
                [f"{verb} the {thing} {{0}}.", f"{verb} {{0}} with the {thing}.", f"Use the {thing} to {action} {{0}}."])


def random_name(r, plain):
    """A function or parameter name: plain, of words, or made up."""
    t = r.random()
    if t < .25:
        return pick(r, plain)
    if t < .5:
        return f"{pick(r, ACTIONS, 10)}_{pick(r, NOUNS, 20) if r.random() < .6 else string(r)}"
    if t < .7:
        return string(r)
    return letters(r) + "_" + pseudo(r) if t < .8 else pseudo(r) + (str(digit(r)) if r.random() < .3 else "")


class Tool:
    """A spec with names drawn for it; `json` is what the chat template shows."""

    def __init__(self, r, spec, name):
        self.spec, self.name = spec, name
        plain = [pick(r, p.names) for p in spec.params]
        named = r.random() < .6
        self.names = distinct(r, len(plain), lambda q: random_name(q, plain)) if named or len(set(plain)) < len(plain) else plain
        described = named or r.random() < .4
        order = list(range(len(plain)))
        if described:
            r.shuffle(order)
        self.order = order
        properties = {self.names[i]: {"type": spec.params[i].kind} | ({"description": spec.params[i].meaning} if described else {}) for i in order}
        self.json = {"type": "function", "function": {"name": name, "description": pick(r, spec.descriptions), "parameters": {
            "type": "object", "properties": properties, "required": [self.names[i] for i in order]}}}


def draw_tools(r):
    keys = distinct(r, r.choice([1, 1, 2, 2, 3]), lambda q: pick(q, list(SPECS), 20) if q.random() < .7 else f"action{q.randrange(99)}")
    specs = [SPECS[k] if k in SPECS else action_spec(r) for k in keys]
    names = []
    for spec in specs:
        name = random_name(r, spec.names)
        while name in names:
            name = random_name(r, spec.names)
        names.append(name)
    return keys, [Tool(r, spec, name) for spec, name in zip(specs, names)]


def response(r, key, values):
    """-> what the tool returns, what the model says then"""
    t = r.random()
    if t < .12:
        error = pick(r, ERRORS)
        return json.dumps({"error": error}), f"The tool failed: {error}."
    if key == "weather":
        sky, degrees = pick(r, SKIES), r.randint(0, 35)
        return json.dumps({"sky": sky, "degrees": degrees}), f"It is {sky} in {values[0]}, {degrees} degrees."
    if key == "time":
        time = f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}"
        return json.dumps({"time": time}), f"It is {time} in {values[0]}."
    if key == "buy" and t < .6:
        total = r.randint(1, 999)
        return json.dumps({"total": total}), f"I bought {values[1]} of the {values[0]} for {total} dollars."
    if key == "timer" and t < .6:
        return json.dumps({"ok": True}), f"The timer runs for {values[0]} minutes."
    if t < .45 and key != "calc":
        return pick(r, ['{"ok": true}', '{"status": "ok"}', "ok"]), "Done."
    result = number(r, r.randint(1, 4)) if key == "calc" or r.random() < .5 else phrase(r)
    return json.dumps({"result": result}), f"The result is {result}."


def make(r, kind, want):
    """kind "tool" or "toolresp"; info holds tools, name and arguments, and for toolresp the tool's answer.

    The answer of a "tool" task is left empty: the call itself is in info.
    """
    keys, tools = draw_tools(r)
    key, tool = keys[0], tools[0]
    values = [p.draw(r) for p in tool.spec.params]
    n = len(tool.spec.commands)
    i = r.randrange(n + len(tool.spec.questions))
    question = polite_command(r, tool.spec.commands[i].format(*values)) if i < n else polite_question(r, tool.spec.questions[i - n].format(*values))
    arguments = {tool.names[j]: values[j] for j in tool.order}
    thought = f"I call {tool.name} with {' and '.join(arguments)}."
    shown = [t.json for t in tools]
    r.shuffle(shown)
    info = dict(tools=shown, name=tool.name, arguments=arguments)
    if kind == "tool":
        return Task(question, thought, "", info)
    info["call_thought"] = thought
    info["response"], answer = response(r, key, values)
    return Task(question, "I tell the result.", answer, info)
