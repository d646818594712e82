"""A small world of our own for tests: who passes to whom, with the kick before it, and noise."""

import random

PLAYERS = ("anna", "bob", "carl", "dora", "emil", "fay")


def commentary(n, seed=0, noise=0.1):
    """Sentences, their candidates, and what they mean."""
    rng = random.Random(seed)
    sentences, bags, gold = [], [], []
    for _ in range(n):
        a, b, c = rng.sample(PLAYERS, 3)
        kind = rng.random()
        if kind < 0.5:
            text, mr = rng.choice([f"{a} passes to {b}", f"{a} kicks the ball to {b}"]), f"pass({a}, {b})"
        elif kind < 0.75:
            text, mr = f"{a} shoots", f"shot({a})"
        else:
            text, mr = f"{b} takes the ball from {a}", f"loss({a}, {b})"
        others = [f"pass({b}, {c})", f"shot({c})", "halt", f"loss({c}, {a})"]
        bag = [mr, *rng.sample(others, rng.randint(0, 2))]
        if rng.random() < noise:
            bag = rng.sample(others, 2)
        rng.shuffle(bag)
        sentences.append(text)
        bags.append(bag)
        gold.append(mr)
    return sentences, bags, gold
