"""Word lists and random draws of the demo model's task generator.

Training draws are tilted: entry i of a list has weight 1 / (i + 3). A model trained on uniform draws predicts near-ties all over
its prompts, and then its top-1 token says nothing about an engine's arithmetic. `Draw(seed, flat=True)` draws uniformly: every
measurement uses that, so rare words count as much as common ones.
"""
import bisect
import functools
import itertools
import random

ANIMALS = ("fox cat dog owl bear wolf frog mouse horse rabbit duck goose sheep goat hen crow swan deer mole otter badger snail turtle "
           "pig cow bee ant lion tiger zebra").split()
THINGS = ("lamp book key ring bell rope boat drum kite clock stone shell coin map cup plate spoon knife fork chair table box bag hat coat "
          "shoe sock glove scarf ladder bucket broom brush comb mirror candle basket bottle button needle pencil paper letter flag wheel "
          "hammer nail saw").split()
FOODS = ("tea bread cheese apple pear plum grape lemon melon honey rice soup cake milk butter carrot onion potato bean pepper salt sugar "
         "egg fish nut").split()
PLACES = ("forest river garden mountain village castle harbor island market library school bridge tower valley desert meadow cave lake "
          "farm mill").split()
COLORS = "red blue green yellow black white brown pink purple orange gray silver golden".split()
ADJECTIVES = "small brave clever quiet kind old young lazy hungry happy curious gentle proud shy tired".split()
NAMES = ("Ana Tom Mia Leo Eva Max Ida Ben Lia Sam Nora Paul Rosa Hugo Lena Karl Vera Otto Emma Noah Clara Felix Julia Oscar Maria David "
         "Sofia Peter Alice Bruno Anna John Mary James Linda Robert Susan Frank Laura Simon").split()
CITIES = ("Paris London Berlin Rome Madrid Vienna Oslo Lisbon Dublin Prague Tokyo Cairo Athens Warsaw Zurich Milan Geneva Boston Chicago "
          "Denver").split()
HOBBIES = "chess music painting running reading cooking dancing swimming fishing singing hiking sailing".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
VERBS = "danced sang played walked laughed talked rested cooked".split()
NOUNS = [w for group in itertools.zip_longest(ANIMALS, THINGS, FOODS, PLACES) for w in group if w]
# Common English beyond the lists above: items, values and topics, so that the vocabulary is not a word list of the tasks.
COMMON = ("water house tree child hand night world friend money story morning answer question summer winter spring autumn window door "
          "kitchen street city country mother father sister brother family teacher doctor farmer driver painter writer singer player "
          "engine train plane car truck bicycle station airport ticket travel journey ocean beach wave storm cloud rain snow wind sun "
          "moon star planet earth sky fire smoke ash iron copper steel glass wood metal plastic cotton silk leather stonework music song "
          "dance theater movie picture photo camera radio phone computer keyboard screen program number letterbox word sentence page "
          "chapter poem history science biology physics chemistry language grammar french german spanish italian english chinese russian "
          "king queen prince princess knight soldier sailor captain pirate dragon wizard giant ghost robot rocket machine factory office "
          "company market price dollar euro bank credit trade tax law court judge police prison crime war peace army government president "
          "minister election vote party people person man woman boy girl baby body head face eye ear nose mouth tooth neck shoulder arm "
          "finger leg knee foot heart blood bone brain skin hair health medicine hospital illness sleep dream hope love anger fear joy "
          "sorrow luck truth secret idea plan reason problem solution example lesson test game ball team match winner prize sport tennis "
          "football hockey violin piano guitar trumpet flute orange banana cherry peach strawberry tomato cabbage garlic pasta pizza "
          "coffee juice wine beer breakfast lunch dinner elephant monkey snake spider eagle parrot penguin whale dolphin shark camel "
          "kangaroo squirrel hedgehog hippopotamus quasar planetoid diamond emerald ruby pearl amber marble granite oak pine maple willow "
          "rose lily tulip daisy grass leaf root seed fruit flower insect butterfly beetle mosquito north south east west left right "
          "front back top bottom inside outside today tomorrow yesterday week month year hour minute second century").split()
NEW_NAMES = "Amelie Ravi Chen Yusuf Ingrid Pablo Keiko Tariq Olga Dmitri Fatima Gustav Helene Isaac Jasmin Kwame Lars Mei Nadia Pedro".split()
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
DIGITS = "3718259460"
ONSETS = "k t v m r s l b d n p f z g h j w st tr kr br pl gr fl qu sh ch sl dr".split()
VOWELS = "a o e i u ai ou ee ar or".split()
CODAS = ["", "", "n", "r", "k", "l", "s", "t", "m", "x", "p", "nd", "st", "rk"]


class Draw(random.Random):
    """A seeded source of tilted (training) or uniform (`flat`, measurement) draws."""

    def __init__(self, seed, flat=False):
        super().__init__(seed)
        self.flat = flat


@functools.cache
def _cumulative(n, offset):
    return list(itertools.accumulate(1.0 / (i + offset) for i in range(n)))


def pick(r, seq, offset=3):
    """One entry of seq, earlier entries more often unless r is flat."""
    if r.flat:
        return seq[int(r.random() * len(seq))]
    c = _cumulative(len(seq), offset)
    return seq[min(bisect.bisect(c, r.random() * c[-1]), len(seq) - 1)]


def distinct(r, n, draw):
    """n different results of draw(r), in drawn order."""
    seen = {}
    while len(seen) < n:
        seen[draw(r)] = None
    return list(seen)


def digit(r, low=0):
    """A digit >= low as an int; the tilt is mild (a factor of two) so that every pair of numbers is met."""
    while True:
        d = int(pick(r, DIGITS, 8))
        if d >= low:
            return d


def number(r, n_digits):
    """A number of exactly n_digits digits (0..9 for one)."""
    value = digit(r, 1 if n_digits > 1 else 0)
    for _ in range(n_digits - 1):
        value = value * 10 + digit(r)
    return value


def pseudo(r):
    """A pronounceable word that does not exist: one to three syllables."""
    n = 1 + (r.random() < .75) + (r.random() < .25)
    return "".join(pick(r, ONSETS) + pick(r, VOWELS) + pick(r, CODAS) for _ in range(n))


def letters(r):
    """Two to seven random letters."""
    return "".join(pick(r, LETTERS) for _ in range(2 + int(r.random() * 6)))


def string(r):
    """An item from outside the task lists: an English word, a made-up word or random letters."""
    t = r.random()
    return pick(r, COMMON, 40) if t < .35 else pseudo(r) if t < .75 else letters(r)


def person(r):
    """A first name, one in four made up."""
    return pick(r, NAMES) if r.random() < .75 else pseudo(r).capitalize()


def a(word):
    """word with its indefinite article"""
    return ("an " if word[0] in "aeiou" else "a ") + word
