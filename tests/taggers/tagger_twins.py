"""Small files of our own, and naive Python twins of the compiled data path to hold it to."""

import re

from hypothesis import strategies as st

from taggers.features.attributes import attribute

WORD = 2**64 - 1

PETS = b"The DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\nIt PRP B-NP\npurrs VBZ B-VP\n"
CONLLU = (
    "# sent_id = 1\n# text = Du schläfst im Bett\n"
    "1\tDu\tdu\tPRON\tPPER\t_\t2\tnsubj\t_\t_\n"
    "2\tschläfst\tschlafen\tVERB\tVVFIN\t_\t0\troot\t_\t_\n"
    "3-4\tim\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tin\tin\tADP\tAPPR\t_\t5\tcase\t_\t_\n"
    "4\tdem\tder\tDET\tART\t_\t5\tdet\t_\t_\n"
    "5\tBett\tBett\tNOUN\tNN\t_\t2\tobl\t_\t_\n"
    "5.1\tnun\tnun\tADV\t_\t_\t_\t_\t_\t_\n"
    "\n# sent_id = 2\n1\t#ja\tja\tINTJ\tITJ\t_\t0\troot\t_\t_\n\n"
).encode()

# Bytes that make scanners stumble, more often than chance would have it.
PIECES = (
    "a", "#", "# ", " ", "\t", "\n", "\r", "\r\n", "-DOCSTART-", "é", "漢", "1", ".", "\ufeff", "\\:", ":2",
    " = ",
)  # fmt: skip
tricky = st.lists(st.sampled_from(PIECES), max_size=40).map(lambda pieces: "".join(pieces).encode())


def murmur64a(data: bytes, seed: int) -> int:
    """MurmurHash64A as its author defines it."""
    m, r = 0xC6A4A7935BD1E995, 47
    h = (seed ^ (len(data) * m)) & WORD
    whole = len(data) // 8 * 8
    for i in range(0, whole, 8):
        k = int.from_bytes(data[i : i + 8], "little") * m & WORD
        k ^= k >> r
        h = (h ^ (k * m & WORD)) * m & WORD
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & WORD
    h = (h ^ (h >> r)) * m & WORD
    return h ^ (h >> r)


def text_hash(text):
    return murmur64a(text.encode(), 1) if text else 0


def feature_key(pattern, sentence, i):
    """The key of a pattern at token i of a sentence of tuples of columns."""
    key = murmur64a(pattern.identity.encode(), 2)
    for cell in pattern.cells:
        at = i + cell.offset
        if at < 0:
            value = murmur64a(f"_B{at}".encode(), 3)
        elif at >= len(sentence):
            value = murmur64a(f"_B+{at - len(sentence) + 1}".encode(), 3)
        else:
            text = sentence[at][cell.column]
            value = text_hash((attribute(cell.attribute)(text) if cell.attribute and text else text) or "")
        if value == 0:
            return 0
        key = (key ^ value) * 0x9FB21C651E98DF25 & WORD
        key ^= key >> 32
    return key


def scan_columns(data: bytes, tabs: bool):
    """Sentences of lists of columns, of a file of plain columns; None where the columns are inconsistent."""
    sentences, current, rows = [], [], []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line.removesuffix(b"\r")
        spaced = line.replace(b"\t", b" ").split(b" ")
        columns = line.split(b"\t") if tabs else [part for part in spaced if part]
        boundary = not any(spaced) or spaced[0] == b"-DOCSTART-"
        rows.append((None if boundary else columns, spaced[0] == b"#" and len(spaced) > 1, line))
    tokens = [row for row in rows if row[0] is not None]
    count = next((len(row[0]) for row in sorted(tokens, key=lambda row: row[1])), 0)
    for columns, hashed, line in rows:
        if columns is None:
            if current:
                sentences.append(current)
            current = []
        elif current or not hashed or len(columns) == count:
            if len(columns) != count or (not current and re.match(rb"# [^ \t]+ = ", line)):
                return None
            current.append(columns)
    return [*sentences, current] if current else sentences
