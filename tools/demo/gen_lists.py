"""Lists: copying, reversing and sorting."""
from task import Task, Want, compose, polite_command
from words import ADJECTIVES, COLORS, COMMON, LETTERS, NOUNS, distinct, number, person, pick, string

ASK = {
    "copy": ["Repeat these {w}: {s}", "Copy this list: {s}", "Repeat: {s}", "Say again: {s}", "Write the same {w}: {s}", "Copy these {w}: {s}",
             "Repeat this list: {s}", "Repeat the {w}: {s}", "Repeat after me: {s}", "Write this again: {s}", "Copy {s}", "Repeat {s}",
             "Give me the same list: {s}", "Write down these {w}: {s}", "Say {s}", "List these {w} again: {s}", "Copy the following {w}: {s}",
             "Write {s}", "Print this: {s}", "Type these {w}: {s}"],
    "reverse": ["Reverse this list: {s}", "Reverse these {w}: {s}", "Write these {w} backwards: {s}", "Write from last to first: {s}", "Reverse: {s}",
                "Reverse the {w}: {s}", "Reverse the order of these {w}: {s}", "Say these {w} backwards: {s}", "Turn this list around: {s}",
                "Reverse {s}", "Write this list in reverse: {s}", "Give me these {w} in reverse order: {s}", "Write the {w} in reverse order: {s}",
                "List these {w} backwards: {s}", "Start at the end and write back to the start: {s}", "Flip this list: {s}", "Reverse the list {s}",
                "Reverse the following {w}: {s}", "Repeat these {w} backwards: {s}"],
    "sort": ["Sort these {w}: {s}", "Sort this list: {s}", "Put these {w} in order: {s}", "Sort: {s}", "Sort the {w}: {s}", "Order these {w}: {s}",
             "Sort {s}", "Put this list in order: {s}", "Write these {w} in order: {s}", "Arrange these {w}: {s}", "Sort the list {s}",
             "Give me these {w} in sorted order: {s}", "Sort the following {w}: {s}", "Bring these {w} into order: {s}", "Sort all these {w}: {s}",
             "Order this list: {s}", "Arrange this list in order: {s}", "Write the sorted list: {s}", "List these {w} in order: {s}"],
}
AFTER = {"copy": ["Repeat it.", "Copy it.", "Write it again.", "Copy this list.", "Say it again."], "reverse": ["Reverse it.", "Write it backwards.", "Turn it around.", "Reverse this list.", "Flip it."],
         "sort": ["Sort it.", "Put it in order.", "Order it.", "Sort this list.", "Arrange it."]}
OBJECTS = ["these {w}", "this list", "the {w}", "the following {w}", "this", "all these {w}", "my {w}", "this list of {w}", "my list", "the list below", "the {w} below", "the list", "the next {w}",
           "all of these {w}", "the given {w}"]
SAY = ["repeat", "write", "say", "copy", "list", "show", "give me", "print", "type", "read", "tell me", "write down", "recite", "return", "show me", "write out"]
COPY_TAILS = ["", "again", "for me", "once more", "in the same order", "exactly", "as they are", "one more time", "without changes", "unchanged", "word for word", "just like this"]
REVERSE_VERBS = ["reverse", "flip", "turn around", "invert", "mirror"]
REVERSE_VERB_TAILS = ["", "for me", "completely", "now", "last one first"]
REVERSE_TAILS = ["backwards", "in reverse order", "from last to first", "in reverse", "from the end to the start", "the other way around", "back to front", "starting with the last", "last to first",
                 "in opposite order", "from the last one to the first", "from right to left"]
SORT_VERBS = ["sort", "order", "arrange", "rank", "sort out"]
IN_ORDER = ["in order", "into order", "in the right order", "in sorted order", "sorted"]
ASCENDING = {True: ["", "from small to large", "from smallest to largest", "in ascending order", "from low to high", "by size", "for me", "starting with the smallest"],
             False: ["", "alphabetically", "in alphabetical order", "from a to z", "by the alphabet", "in ascending order", "for me"]}
DESCENDING = {True: ["from large to small", "from largest to smallest", "in descending order", "from high to low", "starting with the largest"],
              False: ["from z to a", "in descending order", "in reverse alphabetical order"]}
FOREIGN = {"copy": ["Echo these {w} back to me: {s}", "Parrot this list: {s}"], "reverse": ["Undo the order of these {w}: {s}", "Rewind these {w}: {s}"],
           "sort": ["Which order is right for these {w}: {s}", "Tidy up these {w}: {s}"]}
WHAT = {"words": ["words", "words", "items", "things"], "numbers": ["numbers"], "letters": ["letters"], "names": ["names", "names", "people"],
        "strings": ["words", "strings", "items"], "big numbers": ["numbers"]}
SHARES = [("words", .34), ("numbers", .2), ("letters", .14), ("names", .08), ("strings", .18), ("big numbers", .06)]


def item(r, sub, kind):
    """One list item of type sub, as text."""
    if sub == "words":
        return pick(r, NOUNS, 20)
    if sub == "numbers":
        return str(int(r.random() * 100) if r.random() < .3 else number(r, 1 if r.random() < .15 else 2))
    if sub == "letters":
        return pick(r, LETTERS, 10)
    if sub == "names":
        return person(r)
    if sub == "big numbers":
        return str(number(r, 3 if r.random() < .7 else 2))
    text = string(r)
    return text if kind == "sort" or r.random() < .9 else text.capitalize() if r.random() < .7 else text.upper()


def draw_type(r):
    t = r.random()
    for sub, share in SHARES:
        t -= share
        if t < 0:
            return sub
    return "words"


def draw_length(r, low, high):
    """Half of the training lists have 3 to 8 items, three in ten more."""
    if (low, high) != (1, 12) or r.flat:
        return r.randint(low, high)
    t = r.random()
    return r.randint(3, 8) if t < .5 else r.randint(9, 12) if t < .8 else r.randint(1, 8)


def joined(r, items):
    """-> the list as asked, separator of the answer"""
    t = r.random()
    if t < .62:
        return ", ".join(items), ", "
    if t < .84:
        return " ".join(items), " "
    if t < .93 and len(items) > 1:
        return ", ".join(items[:-1]) + " and " + items[-1], ", "
    if t < .97:
        return "\n" + "\n".join(items), "\n"
    return ",".join(items), ","


def composed(r, kind, numeric, new):
    if kind == "copy":
        return compose(r, (SAY, OBJECTS, COPY_TAILS), new)
    if kind == "reverse":
        return compose(r, (REVERSE_VERBS, OBJECTS, REVERSE_VERB_TAILS) if r.random() < .4 else (SAY, OBJECTS, REVERSE_TAILS), new)
    t = r.random()
    if t < .6:
        return compose(r, (SORT_VERBS, OBJECTS, ASCENDING[numeric]), new)
    return compose(r, (["put", "bring"], OBJECTS, IN_ORDER[:3]) if t < .8 else (SAY, OBJECTS, IN_ORDER), new)


def wording(r, kind, what, text, want, down):
    """The request; down: it asks for a descending sort."""
    if want.wording == "foreign":
        return r.choice(FOREIGN[kind]).format(w=what, s=text)
    t = .5 if want.wording or down else r.random()
    if t < .1 and text[0] != "\n":
        return f"{pick(r, ['Here is a list: ', 'This is a list: ', 'My list: ', 'List: '])}{text}. {pick(r, AFTER[kind])}"
    if t < .4:
        form = pick(r, ASK[kind])
    else:
        numeric = what == "numbers"
        form = compose(r, (SORT_VERBS, OBJECTS, DESCENDING[numeric])) if down else composed(r, kind, numeric, want.wording == "new")
        form = form[0].upper() + form[1:] + ": {s}"
    ask = polite_command(r, form.format(w=what, s=text).replace(" \n", "\n"))
    if text[0] != "\n" and r.random() < .15:
        ask += "?" if ask.startswith(("Can", "Could", "Would")) else "."
    return ask


def make_text(r):
    """Copying a sentence."""
    words = [pick(r, COMMON, 60) if r.random() < .5 else pick(r, NOUNS + ADJECTIVES + COLORS, 40) if r.random() < .7 else string(r) for _ in range(r.randint(1, 8))]
    text = " ".join(words)
    if r.random() < .6:
        text = text[0].upper() + text[1:] + pick(r, [".", "!", "", "?"])
    if r.random() < .3:
        return Task(polite_command(r, pick(r, ["Say \"{s}\"", "Repeat \"{s}\"", "Write \"{s}\"", "Copy \"{s}\""]).format(s=text)), "I say this.", text, dict(sub="text", n=len(words)))
    form = pick(r, ["Repeat this sentence: {s}", "Say: {s}", "Repeat after me: {s}", "Write: {s}", "Copy this text: {s}", "Repeat this: {s}", "Copy this sentence: {s}", "Write this sentence: {s}"])
    return Task(polite_command(r, form.format(s=text)), "I say this.", text, dict(sub="text", n=len(words)))


def make(r, kind, want):
    """A task of kind "copy", "reverse" or "sort"."""
    if kind == "copy" and (want.sub == "text" or want == Want() and r.random() < .12):
        return make_text(r)
    sub = want.sub or draw_type(r)
    n = draw_length(r, *want.n_items)
    items = distinct(r, n, lambda q: item(q, sub, kind))
    text, sep = joined(r, items)
    what = pick(r, WHAT[sub])
    if kind == "copy":
        out, thought = items, f"I copy {n} {what} in the same order."
    elif kind == "reverse":
        out, thought = items[::-1], f"I write {n} {what} from the last to the first."
    else:
        down = not want.wording and (r.random() < .08)
        out = sorted(items, key=int if "numbers" in sub else None, reverse=down)
        thought = f"I sort {n} {what}, first comes {out[0]}."
    return Task(wording(r, kind, what, text, want, kind == "sort" and down), thought, sep.join(out), dict(sub=sub, n=n))
