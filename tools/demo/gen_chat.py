"""Small talk, facts, things the user said earlier, and the fixed answer to everything else."""
from task import Task, polite_question
from words import ADJECTIVES, ANIMALS, CITIES, COLORS, COMMON, FOODS, HOBBIES, NEW_NAMES, NOUNS, a, distinct, number, person, pick, pseudo, string

FACTS = [
    (["Who are you?", "What are you?", "What is your name?", "Introduce yourself."], "I am the Convect demo, a very small language model."),
    (["What can you do?", "How can you help me?", "What are you good at?", "Help"], "I can copy, reverse and sort lists, add and subtract, write JSON, call tools and tell short stories."),
    (["Hello!", "Hi", "Hello", "Hi!", "Hey", "Good morning!", "Good morning", "Hi there!", "Good evening"], "Hello! How can I help you?"),
    (["Thank you!", "Thanks", "Thanks!", "Thank you", "Thank you very much.", "Many thanks!"], "You are welcome."),
    (["Goodbye", "Bye", "Bye!", "Goodbye!", "See you!", "Good night!"], "Goodbye! Have a nice day."),
    (["How are you?", "How are you today?", "How do you do?"], "I am fine, thank you."),
    (["What is the capital of France?"], "Paris."), (["What is the capital of Germany?"], "Berlin."), (["What is the capital of Italy?"], "Rome."),
    (["What is the capital of Spain?"], "Madrid."), (["What is the capital of Austria?"], "Vienna."), (["What is the capital of Norway?"], "Oslo."),
    (["What is the capital of Japan?"], "Tokyo."), (["What is the capital of Egypt?"], "Cairo."), (["What is the capital of England?"], "London."),
    (["What is the capital of Portugal?"], "Lisbon."), (["What is the capital of Greece?"], "Athens."), (["What is the capital of Poland?"], "Warsaw."),
    (["What is the opposite of hot?"], "Cold."), (["What is the opposite of big?"], "Small."), (["What is the opposite of day?"], "Night."),
    (["What is the opposite of up?"], "Down."), (["What is the opposite of left?"], "Right."), (["What is the opposite of old?"], "Young."),
    (["How many days are in a week?", "How many days does a week have?"], "Seven."), (["How many months are in a year?", "How many months does a year have?"], "Twelve."),
    (["How many legs has a dog?", "How many legs does a dog have?"], "Four."), (["How many legs has an ant?", "How many legs does an ant have?"], "Six."),
    (["How many hours are in a day?", "How many hours does a day have?"], "24."),
    (["What color is the sky?"], "Blue."), (["What color is grass?"], "Green."), (["What color is snow?"], "White."), (["What do bees make?"], "Honey."),
    (["What color is a banana?"], "Yellow."), (["Yes", "No", "Ok", "Good", "Great!", "I see."], "Good. What can I do for you?"),
]
GREETINGS = 6    # the first entries of FACTS are too short for an opening in front
COUNTRIES = ("Canada Mexico Brazil Peru Chile India China Korea Turkey Sweden Finland Denmark Iceland Ireland Hungary Romania Serbia Croatia Russia Ukraine Kenya Ghana Morocco "
             "Nigeria Cuba Australia Vietnam Thailand Iran Iraq Israel").split()
UNKNOWN_ANSWER = "I do not know that."
UNKNOWN = [
    "What is the weather like?", "What is the weather like today?", "Will it rain tomorrow?", "How is the weather in {c}?", "Tell me a joke", "Tell me a joke about {n}.", "Sing a song.",
    "What time is it?", "What day is today?", "What is the date today?", "How old are you?", "Where do you live?", "Who made you?", "Do you like {n}?", "Do you like {h}?", "Are you human?",
    "What is the capital of {k}?", "What is the capital of {P}?", "Where is {c}?", "Where is {k}?", "How big is {k}?", "How many people live in {c}?", "Who is the president of {k}?",
    "What language do people speak in {k}?", "How far is it from {c} to {k}?", "Who is {N}?", "Who is {N} {P}?", "When was {N} born?", "Who wrote {P}?", "Who painted the {n}?", "Who invented the {n}?",
    "When was the {n} invented?", "What is {an}?", "What is a {n}?", "What is {n}?", "What are {n}s?", "What does {n} mean?", "What does {p} mean?", "What is the meaning of {n}?", "What is the meaning of life?",
    "Define {n}.", "Explain {n}.", "Explain {n} to me.", "Explain how {an} works.", "How does {an} work?", "How do I make {f}?", "How do I cook {f}?", "How do you make {an}?", "Give me a recipe for {f}.",
    "Why is the {n} {j}?", "Why is the {n} {o}?", "Why do {n}s {v}?", "Why are {n}s {j}?", "How much does {an} cost?", "How much is a {n}?", "How big is {an}?", "How old is the {n}?", "How fast is {an}?", "How heavy is {an}?",
    "How tall is {N}?", "How long does {an} live?", "Can {n}s {v}?", "Do {n}s eat {f}?", "What do {n}s eat?", "Where do {n}s live?", "Where can I buy {an}?", "Where can I find {an}?", "Is {an} bigger than {an}?",
    "Is {f} healthy?", "Is the {n} {j}?", "Translate {n} to French.", "Translate {n} into Spanish.", "What is {n} in German?", "How do you say {n} in Italian?", "Write a poem about {n}.", "Write a song about {n}.",
    "Write a letter to {N}.", "Write an email to {N} about the {n}.", "Write code for {an}.", "Write a program that prints {n}.", "Write a Python function.", "Fix this code: {p}", "Summarize this text: {p} {n} {p}",
    "What should I do today?", "What should I eat?", "What should I wear?", "Should I buy {an}?", "Which is better, {n} or {n}?", "What is better, {f} or {f}?", "Recommend a book about {n}.", "Recommend a movie.", "What is the best {n}?",
    "What is {x} * {y}?", "What is {x} times {y}?", "What is {x} / {y}?", "What is {x} divided by {y}?", "What is the square root of {x}?", "Is {x} a prime number?", "What is {x} percent of {y}?", "Multiply {x} by {y}.", "Divide {x} by {y}.",
    "What is the opposite of {n}?", "What color is {an}?", "What color is the {n}?", "How many legs has {an}?", "How many {n}s are there?", "What do {n}s make?", "Draw {an}.", "Show me a picture of {an}.", "Play some {n}.",
    "Who won the {n}?", "Who is the best {n}?", "What happened in {y}?", "What happened yesterday?", "What is new?", "What is on the news?", "What is my name?", "What do I like?", "Where am I?", "What is my favorite color?", "How old am I?", "Who am I?",
    "I am {j}.", "I am bored.", "I feel {j} today.", "I like {n}.", "I have {an}.", "My {n} is {j}.", "The {n} is {j}.", "I want {an}.", "I need {an}.", "{n}", "{p}", "{P}?", "{p} {p}", "{n} and {n}", "{P} {n} {p}?", "Why?", "How?", "When?", "Where?", "Really?", "What?",
    "Do you know {N}?", "Do you have {an}?", "Have you seen my {n}?", "Can you see me?", "Can you fly?", "Can you help me with my {n}?", "Find {an} for me.", "Call {N}.", "Open the {n}.", "Turn on the {n}.", "Buy {an}.", "Remind me to buy {f}.", "Wake me at {x}.",
    "Let us talk about {n}.", "Talk to me.", "Tell me about {n}.", "Tell me about {N}.", "Tell me about {c}.", "Tell me something about {n}.", "Tell me something.", "Give me an idea.", "Give me advice.", "What do you think about {n}?", "What do you think of {N}?",
    "Who discovered {n}?", "What is the difference between {n} and {n}?", "What is the name of the {n}?", "What is inside {an}?", "What causes {n}?", "What makes {an} {j}?", "Is it true that {n}s {v}?", "How many {n}s fit in {an}?", "When does the {n} open?",
    "What is the price of {an}?", "What is the population of {c}?", "What is the largest {n}?", "What is the longest {n} in {k}?", "Which {n} is the oldest?", "Whose {n} is this?", "Count to {x}.", "Spell {n}.", "Rhyme with {n}.", "Guess a number.",
]
UNKNOWN_NEW = ["Which countries export {f}?", "Could a {n} beat a {n}?", "Describe the {n} in detail.", "What would happen without {n}?", "Does {N} own {an}?", "How did {N} become famous?", "Compare {n} with {n}.", "Name three kinds of {n}.",
                 "When is the next {n} in {c}?", "Please review my {n}.", "What are the rules of {h}?", "How can I learn {h}?"]
ACTIONS = "fly swim sing sleep run jump bark hunt dance climb talk bite smell shine burn fall grow".split()
REMEMBER = ["Thank you, I will remember that.", "Good to know."]


def topic(r):
    t = r.random()
    return pick(r, COMMON, 60) if t < .6 else pick(r, NOUNS, 20) if t < .9 else pseudo(r)


def unknown(r, want):
    """A question outside everything the model can do."""
    form = r.choice(UNKNOWN_NEW if want.wording else UNKNOWN)
    text = form
    for slot, draw in (("{n}", topic), ("{an}", lambda q: a(topic(q))), ("{N}", person), ("{c}", lambda q: pick(q, CITIES)), ("{k}", lambda q: pick(q, COUNTRIES)), ("{P}", lambda q: pseudo(q).capitalize()),
                       ("{p}", pseudo), ("{f}", lambda q: pick(q, FOODS)), ("{h}", lambda q: pick(q, HOBBIES)), ("{j}", lambda q: pick(q, ADJECTIVES)), ("{o}", lambda q: pick(q, COLORS)),
                       ("{v}", lambda q: pick(q, ACTIONS)), ("{x}", lambda q: str(number(q, 1 + (q.random() < .7)))), ("{y}", lambda q: str(number(q, 1 + (q.random() < .5))))):
        while slot in text:
            text = text.replace(slot, draw(r), 1)
    if any(text in questions for questions, _ in FACTS):
        return unknown(r, want)
    if not want.wording and " " in form and "{" not in form[:3]:
        text = polite_question(r, text, .2)
    return Task(text, "I have not learned this.", UNKNOWN_ANSWER)


def recall(r):
    """The user says one to three things, in one turn or several, and asks for one of them."""
    name = person(r) if r.random() < .7 else pick(r, NEW_NAMES)
    color, food = pick(r, COLORS), pick(r, FOODS) if r.random() < .7 else topic(r)
    facts = [(pick(r, [f"My name is {name}.", f"I am called {name}."]), pick(r, ["What is my name?", "What am I called?"]), f"Your name is {name}."),
             (f"My favorite color is {color}.", pick(r, ["What is my favorite color?", "Which color do I like?"]), f"Your favorite color is {color}."),
             (pick(r, [f"I like {food}.", f"I love {food}."]), "What do I like?", f"You like {food}.")]
    r.shuffle(facts)
    facts = facts[:r.randint(1, 3)]
    _, question, answer = facts[r.randrange(len(facts))]
    if r.random() < .5:
        return Task(" ".join(f[0] for f in facts) + " " + question, "The user told me this.", answer)
    return Task(question, "The user told me this.", answer, history=[(f[0], pick(r, REMEMBER)) for f in facts])


def make(r, want):
    if r.random() < .5:
        return recall(r)
    i = r.randrange(len(FACTS))
    question = pick(r, FACTS[i][0], 2)
    return Task(question if i < GREETINGS or " " not in question else polite_question(r, question, .25), "A simple question.", FACTS[i][1])
