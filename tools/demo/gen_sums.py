"""Sums and differences of one to three digits.

One two-digit pair in ten is held out of training. The pair is hashed in sorted order, so neither a + b nor b + a (nor the negative
difference) is ever seen.
"""
import functools
import hashlib

from task import Task, kept_out, polite_command, polite_question
from words import NOUNS, number, person, pick

ADD_FORMS = ["{a} + {b}", "{a} plus {b}", "{a}+{b}", "the sum of {a} and {b}", "the total of {a} and {b}", "{a} and {b} together", "{a} added to {b}"]
SUB_FORMS = ["{a} - {b}", "{a} minus {b}", "{a}-{b}", "the difference of {a} and {b}", "{a} less {b}", "the difference between {a} and {b}", "{b} taken from {a}", "{b} subtracted from {a}"]
N_SIGNED_FORMS = 3       # the forms that can ask for a negative difference
QUESTIONS = ["What is {e}?", "{e} =", "{e}", "How much is {e}?", "{e} = ?", "{e}?", "{e}=", "What does {e} make?", "What does {e} equal?", "{e} is what?", "Do you know what {e} is?", "What is the result of {e}?",
             "What is the answer to {e}?", "What do you get for {e}?"]
COMMANDS = ["Compute {e}", "Calculate {e}.", "Work out {e}.", "Compute {e}.", "Tell me what {e} is.", "Solve {e}.", "Calculate {e}", "Tell me {e}.", "Give me {e}.", "Find {e}.", "Solve {e}", "Figure out {e}.",
            "Evaluate {e}.", "Show me {e}.", "Get {e}."]
ADD_COMMANDS = ["Add {a} and {b}.", "Add {b} to {a}.", "Add {a} and {b}", "Sum {a} and {b}.", "Add up {a} and {b}.", "Add {b} to {a}", "Sum up {a} and {b}.", "Add the numbers {a} and {b}."]
SUB_COMMANDS = ["Subtract {b} from {a}.", "Take {b} from {a}.", "Subtract {b} from {a}", "Take away {b} from {a}.", "Take {b} away from {a}.", "Remove {b} from {a}.", "Deduct {b} from {a}."]
ADD_STORIES = ["I have {a} {n}s and get {b} more. How many {n}s do I have?", "There are {a} {n}s and {b} {m}s. How many are there in all?", "{N} has {a} {n}s and buys {b} more. How many {n}s has {N} now?",
               "{N} has {a} {n}s and I have {b}. How many do we have together?", "A {n} costs {a} dollars and a {m} costs {b} dollars. How much do both cost?"]
SUB_STORIES = ["I have {a} {n}s and lose {b}. How many {n}s do I have left?", "There are {a} {n}s and {b} go away. How many are left?", "{N} has {a} {n}s and gives away {b}. How many {n}s has {N} left?",
               "I had {a} dollars and spent {b}. How much is left?", "{N} has {a} {n}s and sells {b} of them. How many are left?"]
FOREIGN = {"+": ["Increase {a} by {b}.", "If you put {a} and {b} into one bag, how many does it hold?"], "-": ["Decrease {a} by {b}.", "If {b} of {a} are broken, how many are good?"]}


@functools.cache
def held_out(low, high, op):
    """Whether the pair (low <= high) is kept from training under op."""
    return hashlib.md5(f"{low}{op}{high}".encode()).digest()[0] % 10 == 0


def add_thought(x, y):
    if x < 10 and y < 10:
        return f"{x} and {y} make {x + y}."
    steps, carry, p, q = [], 0, x, y
    while p or q:
        terms = [str(p % 10)] * (p > 0) + [str(q % 10)] * (q > 0) + ["1"] * carry
        total = p % 10 + q % 10 + carry
        last = p < 10 and q < 10
        step = f"{' + '.join(terms)} = {total}" if len(terms) > 1 else f"{total} stays"
        carry = total // 10
        steps.append(step if last else step + (f", write {total % 10}, carry 1" if carry else ""))
        p, q = p // 10, q // 10
    return ". ".join(steps) + f". So {x + y}."


def sub_thought(x, y):
    if x < y:
        return f"{y} is more than {x}. " + sub_thought(y, x)[:-1] + f", with a minus {x - y}."
    if x < 10:
        return f"{y} from {x} leaves {x - y}."
    steps, borrow, p, q = [], 0, x, y
    while p:
        terms = [str(p % 10)] + [str(q % 10)] * (q > 0) + ["1"] * borrow
        rest = p % 10 - q % 10 - borrow
        step = f"{' - '.join(terms)}"
        if rest < 0:
            terms[0] = str(p % 10 + 10)
            step += f" needs a borrow, {' - '.join(terms)}"
        step += f" = {rest % 10}" if len(terms) > 1 else " stays"
        borrow = int(rest < 0)
        steps.append(step)
        p, q = p // 10, q // 10
    return ". ".join(steps) + f". So {x - y}."


def draw_pair(r, n_digits):
    if n_digits == 1:
        x, y = number(r, 1), number(r, 1)
        if r.random() < .5:
            x = number(r, 2)
            if r.random() < .5:
                x, y = y, x
        return x, y
    x, y = number(r, n_digits), number(r, n_digits)
    if n_digits == 3 and r.random() < .3:
        y = number(r, 2)
        if r.random() < .3:
            x, y = y, x
    return x, y


def wording(r, op, signed, want):
    """The request with its slots {a} and {b}."""
    if want.wording == "foreign":
        return r.choice(FOREIGN[op])
    forms, commands, stories = (ADD_FORMS, ADD_COMMANDS, ADD_STORIES) if op == "+" else (SUB_FORMS, SUB_COMMANDS, SUB_STORIES)
    signed = signed and op == "-"
    t = r.random()
    if t < .12 and not want.wording and not signed:
        text = pick(r, stories)
        for slot, draw in (("{n}", lambda: pick(r, NOUNS, 20)), ("{m}", lambda: pick(r, NOUNS, 20)), ("{N}", lambda: person(r))):
            text = text.replace(slot, draw())
        return text
    if t < .25 and not want.wording:
        return polite_command(r, pick(r, commands))
    while True:
        form, question = pick(r, forms[:N_SIGNED_FORMS] if signed else forms), r.random() < .65
        text = pick(r, QUESTIONS if question else COMMANDS).replace("{e}", form)
        if kept_out(text) == (want.wording == "new"):
            break
    text = text[0].upper() + text[1:]
    return polite_question(r, text) if question else polite_command(r, text)


def make(r, kind, want):
    """kind is add1, add2, add3, sub1, sub2 or sub3: the digit is the number of digits (1: at least one number has one digit)."""
    op, n_digits = "+" if kind[:3] == "add" else "-", int(kind[3])
    while True:
        x, y = draw_pair(r, n_digits)
        negative = op == "-" and x < y
        if want.sub == "negative" or (op == "-" and not want.sub and not r.flat and r.random() < .12):
            if not negative:
                x, y = y, x
        elif negative:
            x, y = y, x
        if n_digits != 2 or held_out(min(x, y), max(x, y), op) == want.held:
            break
    answer, thought = (x + y, add_thought(x, y)) if op == "+" else (x - y, sub_thought(x, y))
    return Task(wording(r, op, x < y, want).replace("{a}", str(x)).replace("{b}", str(y)), thought, str(answer), dict(a=x, b=y))
