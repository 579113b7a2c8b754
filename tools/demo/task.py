"""Types shared by the task generators, and the wording of requests."""
import functools
import hashlib
from dataclasses import dataclass, field

from words import pick


@dataclass(frozen=True)
class Want:
    """What a caller demands of an item; the defaults leave everything to the generator."""
    held: bool = False           # sums: a pair of numbers that training never sees, in neither order
    wording: str = ""            # "new": a combination of known words that training never sees; "foreign": words it never sees in that role
    n_items: tuple = (1, 12)     # lists: least and most items
    sub: str = ""                # lists: type of the items; sums: "negative" for a negative difference


@dataclass
class Task:
    """One question with its one right answer (stories: one of many; gen_story.check decides)."""
    question: str
    thought: str
    answer: str
    info: dict = field(default_factory=dict)       # what the check needs
    history: list = field(default_factory=list)    # earlier (user, assistant) turns


COMMAND_OPENINGS = ["Please ", "Can you ", "Could you ", "Can you please ", "Could you please ", "Would you ", "Would you please ", "I want you to ",
                    "I need you to ", "Now ", "Next, ", "Now please ", "Hi, please ", "Hello! Please ", "Hey, ", "Ok, ", "Kindly ", "I would like you to ",
                    "Help me and ", "You should ", "Hello, can you ", "Hi! Could you ", "Let us try this: ", "Then ", "Try to ", "Just ", "Quickly "]
QUESTION_OPENINGS = ["Please tell me: ", "Tell me, ", "Hello! ", "Hi, ", "Hey, ", "Quick question: ", "One question: ", "Do you know, ", "I wonder, ", "So, ",
                     "Please, ", "Ok, ", "And ", "Now, ", "Hello, ", "Say, ", "Next question: ", "I have a question. ", "Can you tell me: ", "Could you tell me, "]


def polite_command(r, text, p=.5):
    """An imperative sentence, with probability p behind a polite opening ("Sort ..." -> "Can you sort ...")."""
    if r.random() >= p:
        return text if r.random() < .92 else text[0].lower() + text[1:]
    opening = pick(r, COMMAND_OPENINGS)
    return opening + text[0].lower() + text[1:]


def polite_question(r, text, p=.3):
    """A question, with probability p behind an opening."""
    if r.random() >= p:
        return text if r.random() < .95 else text[0].lower() + text[1:]
    opening = pick(r, QUESTION_OPENINGS)
    keep = opening.endswith(("! ", ". ")) or text[:2] == "I "
    return opening + (text if keep else text[0].lower() + text[1:])


@functools.cache
def kept_out(wording):
    """Whether a composed wording (with its slots unfilled) is kept from training: one in ten is."""
    return hashlib.md5(wording.encode()).digest()[0] % 10 == 0


def compose(r, parts, new=False):
    """One entry of each part joined by spaces (empty entries leave none), kept out of training exactly if new."""
    while True:
        wording = " ".join(w for w in (pick(r, part) for part in parts) if w)
        if kept_out(wording) == new:
            return wording
