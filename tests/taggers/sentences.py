"""Sentences made up by a small grammar, with parts of speech and chunks: data of our own to train on."""

from __future__ import annotations

import random

from taggers.labels import schemes

WORDS = {
    "DT": ["the", "a", "every", "no"],
    "JJ": ["red", "old", "tiny", "loud", "green"],
    "NN": ["cat", "house", "train", "lamp", "teacher", "stone"],
    "NNS": ["cats", "houses", "trains", "lamps"],
    "VBZ": ["sees", "paints", "likes", "hears"],
    "MD": ["will", "may", "can"],
    "VB": ["see", "paint", "like"],
    "IN": ["in", "on", "near", "with"],
    "NNP": ["Anna", "Otto", "Turin", "Quito"],
    ".": [".", "!"],
}
NUMBER = {"NNS": "Number=Plur", "NN": "Number=Sing"}  # FEATS by tag


def phrase(rng: random.Random, tags: list[str], chunk: str) -> list[tuple[str, str, str]]:
    """Words of these tags as one chunk."""
    return [(rng.choice(WORDS[tag]), tag, f"{'I' if k else 'B'}-{chunk}") for k, tag in enumerate(tags)]


def sentence(rng: random.Random) -> list[tuple[str, str, str]]:
    """Word, part of speech and chunk of each token."""
    nouns = [
        ["DT", "NN"],
        ["DT", "JJ", "NN"],
        ["NNP"],
        ["NNP", "NNP"],
        ["JJ", "NNS"],
        ["DT", "JJ", "JJ", "NN"],
    ]
    verbs = [["VBZ"], ["MD", "VB"]]
    tokens = (
        phrase(rng, rng.choice(nouns), "NP")
        + phrase(rng, rng.choice(verbs), "VP")
        + phrase(rng, rng.choice(nouns), "NP")
    )
    if rng.random() < 0.5:
        tokens += phrase(rng, ["IN"], "PP") + phrase(rng, rng.choice(nouns), "NP")
    return [*tokens, (rng.choice(WORDS["."]), ".", "O")]


def sentences(n: int, seed: int = 0) -> list[list[tuple[str, str, str]]]:
    """n sentences, always the same for a seed."""
    rng = random.Random(seed)
    return [sentence(rng) for _ in range(n)]


def chunk_data(n: int, seed: int = 0) -> tuple[list, list]:
    """X with words and parts of speech, y with chunks."""
    made = sentences(n, seed)
    return [[token[:2] for token in s] for s in made], [[token[2] for token in s] for s in made]


def as_columns(n: int, seed: int = 0) -> bytes:
    """The sentences as a file of three columns."""
    made = sentences(n, seed)
    return "".join("".join(" ".join(token) + "\n" for token in s) + "\n" for s in made).encode()


def as_conllu(n: int, seed: int = 0) -> bytes:
    """The sentences as CoNLL-U, with comments."""
    text = ""
    for number, tokens in enumerate(sentences(n, seed)):
        text += f"# sent_id = {number}\n"
        for k, (word, tag, _) in enumerate(tokens, 1):
            text += f"{k}\t{word}\t_\t{tag[:2]}\t{tag}\t_\t_\t_\t_\t_\n"
        text += "\n"
    return text.encode()


def as_universal(n: int, seed: int = 0) -> bytes:
    """CoNLL-U with universal parts of speech."""
    text = as_conllu(n, seed).decode()
    names = {"NN": "NOUN", "DT": "DET", "JJ": "ADJ", "VB": "VERB", "MD": "AUX", "IN": "ADP", ".": "PUNCT"}
    for short, upos in names.items():
        text = text.replace(f"\t_\t{short}\t", f"\t_\t{upos}\t")
    return text.encode()


def with_features(n: int, seed: int = 0) -> bytes:
    """CoNLL-U with FEATS for nouns only."""
    lines = [line.split("\t") for line in as_universal(n, seed).decode().split("\n")]
    for fields in lines:
        if len(fields) == 10:
            fields[5] = NUMBER.get(fields[4], "_")
    return "\n".join("\t".join(fields) for fields in lines).encode()


def with_lemmas(n: int, seed: int = 0) -> bytes:
    """CoNLL-U with FEATS and, as lemmas, lower case without a plural s."""
    lines = [line.split("\t") for line in with_features(n, seed).decode().split("\n")]
    for fields in lines:
        if len(fields) == 10:
            fields[2] = fields[1].lower().removesuffix("s") if fields[4] == "NNS" else fields[1].lower()
    return "\n".join("\t".join(fields) for fields in lines).encode()


def with_trees(n: int, seed: int = 0) -> bytes:
    """CoNLL-U with lemmas and trees: each word depends on the verb, or on the noun that it comes before."""
    made = []
    for sentence in with_lemmas(n, seed).decode().strip().split("\n\n"):
        lines = [line.split("\t") for line in sentence.split("\n")]
        words = [fields for fields in lines if len(fields) == 10]
        tags = [fields[4][:2] for fields in words]
        root = tags.index("VB") if "VB" in tags else 0
        for k, (fields, tag) in enumerate(zip(words, tags, strict=True)):
            nouns = [j for j in range(k + 1, len(tags)) if tags[j] == "NN"]
            if k == root:
                fields[6:8] = ["0", "root"]
            elif tag in ("DT", "JJ", "IN") and nouns and not root == k < nouns[0]:
                fields[6:8] = [str(nouns[0] + 1), {"DT": "det", "JJ": "amod", "IN": "case"}[tag]]
            else:
                label = {"NN": "nsubj" if k < root else "obj", ".": "punct", "MD": "aux"}.get(tag, "dep")
                fields[6:8] = [str(root + 1), label]
        made.append("\n".join("\t".join(fields) for fields in lines))
    return ("\n\n".join(made) + "\n\n").encode()


def with_words(n: int, seed: int = 0) -> bytes:
    """CoNLL-U with lemmas and all that a splitter learns: joined tokens and tokens of two words."""
    lines = [line.split("\t") for line in with_lemmas(n, seed).decode().split("\n")]
    made = []
    for fields, after in zip(lines, [*lines[1:], [""]], strict=True):
        if len(fields) == len(after) == 10:
            fields[9] = "SpaceAfter=No" if after[4] == "." else "_"
            if fields[4] == "MD":
                made.append([f"{fields[0]}-{after[0]}", fields[1] + after[1], *"_" * 8])
        made.append(fields)
    return "\n".join("\t".join(fields) for fields in made).encode()


PLACES = ["Rome", "Oslo", "New York", "Lima", "Cape Town"]
PEOPLE = ["Anna", "Bob Dole", "Eve", "Carl", "Ida Bell"]


def names_in_context(n=200, seed=0):
    """Sentences that tell places from people by the words before them; every sentence is different."""
    rng = random.Random(seed)
    X, y = [], []
    for number in range(n):
        place = rng.random() < 0.5
        name = rng.choice(PLACES if place else PEOPLE).split()
        before = ["She", "lives", "in"] if place else ["He", "met"]
        kind = "LOC" if place else "PER"
        X.append([*before, *name, "at", f"{number}", "."])
        y.append(schemes.encode([(kind, len(before), len(before) + len(name))], len(X[-1]), "IOB2"))
    return X, y


def write_columns(path, X, y):
    """Write sentences as columns."""
    rows = (
        "".join(f"{w} {x}\n" for w, x in zip(words, labels, strict=True)) + "\n"
        for words, labels in zip(X, y, strict=True)
    )
    path.write_text("".join(rows))
    return path
