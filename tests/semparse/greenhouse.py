"""A second log, for checks only: a greenhouse with a crew, whose sentences and events share no code with the
simulators, so that settings which suit only these are noticed."""

import random

from corpora.bags import Bag

NAMES = {
    "bed": {"north_bed": ["north bed", "northern bed"], "seedlings": ["seedlings", "seedling table"],
            "herb_wall": ["herb wall", "herbs"], "cactus_corner": ["cactus corner", "cacti"]},
    "zone": {"dome": ["dome"], "tunnel": ["tunnel", "long tunnel"], "porch": ["porch"], "cellar": ["cellar"]},
    "crew": {name: [name] for name in ("ines", "otto", "priya", "sven", "lucia", "marek")},
    "crop": {"tomato": ["tomatoes"], "basil": ["basil"], "chili": ["chilies", "hot peppers"],
             "melon": ["melons"], "lettuce": ["lettuce", "salad"]},
    "light": {"red": ["red"], "blue": ["blue"], "white": ["white"], "violet": ["violet", "purple"]},
    "n": {str(n): [str(n)] for n in range(5, 100, 5)},
}  # fmt: skip
ORDERS = {
    "water": (["bed"], ["give the {0} a drink", "{0} needs water", "soak the {0} please"]),
    "vent": (["zone", "n"], ["open the flaps in the {0} to {1} percent", "{0} vents at {1}"]),
    "harvest": (["crop", "crew"], ["{1} should pick the {0}", "have the {0} harvested by {1}"]),
    "page": (["crew"], ["where is {0}", "get {0} over here", "i am looking for {0}"]),
    "lamp": (["zone", "light"], ["make the {0} {1}", "{1} lamps in the {0}", "i want {1} in the {0}"]),
    "shade": (["bed"], ["pull the curtain over the {0}", "too sunny at the {0}", "cover the {0}"]),
    "heat": (["zone", "n"], ["warm the {0} up to {1} degrees", "bring the {0} to {1} degrees"]),
}
SIGNS = {
    "frost": (["zone"], ["it freezes in the {0}", "there is frost in the {0}"]),
    "dry": (["bed"], ["the {0} runs dry", "the soil of the {0} is dry"]),
}
SENSORS = {"reading": ["zone", "n"], "door": ["zone"]}
CHAT = ["did you see the match yesterday", "{crew} is on holiday until monday", "my back hurts again",
        "the {crop} were lovely last year", "nobody cleaned the {zone} this week", "lunch was good today",
        "who parked in front of the {zone}", "the new {crop} seeds cost {n} euros", "coffee anyone",
        "remember when the {bed} was full of snails", "{crew} has a new bike",
        "that was quite a storm"]  # fmt: skip
ROWS = {
    "base": {}, "off topic": {"chat": 0.4}, "two clauses": {"two": 0.3}, "conditions": {"rules": 0.3},
    "misspelt": {"typos": 0.15}, "mixed": {"chat": 0.2, "two": 0.15, "rules": 0.15, "typos": 0.05},
}  # fmt: skip


def log(n, seed, *, chat=0.0, two=0.0, rules=0.0, typos=0.0):
    """Sentences with the events logged around them; a tenth of the events that are meant are lost."""
    rng, bags = random.Random(f"greenhouse {seed}"), []
    for _ in range(n):
        text, gold = sentence(rng, chat, two, rules)
        lost = rng.random() < 0.1
        events = [event(rng) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]) or int(not gold or lost))]
        events += [] if lost else gold
        rng.shuffle(events)
        text = " ".join(mistyped(rng, word) if rng.random() < typos else word for word in text.split())
        bags.append(Bag(text, tuple(dict.fromkeys(events)), tuple(gold)))
    return bags


def sentence(rng, chat, two, rules):
    kind = rng.choices(["chat", "two", "rule", "one"], [chat, two, rules, 1 - chat - two - rules])[0]
    if kind == "chat":
        words = {name: rng.choice(rng.choice(list(its.values()))) for name, its in NAMES.items()}
        return rng.choice(CHAT).format(**words), []
    (first, said), (second, more) = order(rng, ORDERS), order(rng, ORDERS)
    if kind == "two":
        return f"{said} {rng.choice(['and', 'and then', 'plus'])} {more}", [first, second]
    if kind == "rule":
        sign, seen = order(rng, SIGNS)
        frame = rng.choice(["whenever {0} {1}", "{1} as soon as {0}", "if {0} then {1}"])
        return frame.format(seen, said), [f"rule({sign}, {first})"]
    return said, [first]


def order(rng, table):
    """One of the relations of a table, as a meaning and in words."""
    rel = rng.choice(list(table))
    kinds, frames = table[rel]
    args = [rng.choice(list(NAMES[kind])) for kind in kinds]
    words = [rng.choice(NAMES[kind][arg]) for kind, arg in zip(kinds, args, strict=True)]
    return f"{rel}({', '.join(args)})", rng.choice(frames).format(*words)


def event(rng):
    """Something else that was logged: an order, or a sensor that nobody talks about."""
    if rng.random() < 0.6:
        return order(rng, ORDERS)[0]
    rel = rng.choice(list(SENSORS))
    return f"{rel}({', '.join(rng.choice(list(NAMES[kind])) for kind in SENSORS[rel])})"


def mistyped(rng, word):
    if len(word) < 4 or not word.isalpha():
        return word
    at = rng.randrange(len(word) - 1)
    return word[:at] + rng.choice(["", word[at + 1] + word[at], "e" + word[at]]) + word[at + 1 :]
