"""Split raw text into sentences, tokens and words as a treebank does: a tagger whose tokens are characters.

Each character begins a sentence, begins a token, continues a token or lies outside. A chunk is the text
between two spaces. The features are the characters around a character, its chunk before and after it, and the
neighbouring chunks, all as written and as shapes. In scripts without spaces, the features are n-grams of
characters and of their scripts instead. There, and where tokens contain spaces, a lexicon tells where the
words of the treebank match. A second tagger splits multiword tokens, see `taggers.splitter.multiword`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.files.codec import FLAG, Array, Field, Table, items, mapped, record, text
from taggers.features.extract import KeyTable
from taggers.formats._columns import Columns
from taggers.formats.conllu_text import INSIDE, LABELS, OUTSIDE, SENTENCE, TOKEN, RawText, joined_text, varied
from taggers.formats.tokenizer import Token
from taggers.labels.label_encoding import GoldLabels
from taggers.model import TaggerModel
from taggers.splitter.characters import Characters
from taggers.splitter.lexicon import MATCHES, Folds, Lexicon, matching
from taggers.splitter.multiword import TEMPLATE as EDITS
from taggers.splitter.multiword import Multiword, cased, train_multiword
from taggers.tagger import SequenceTagger

# w: the character, p: its shape, c2, c3: the parts of its chunk before it and from it on, c4, c5: their
# shapes, c6, c7: the chunks before and after this one, c8, c9: their shapes.
TEMPLATE = """
    w[-4..4], w[-1]|w[0], w[0]|w[1], w[-2]|w[-1]|w[0], w[-1]|w[0]|w[1], w[0]|w[1]|w[2],
    w[-3]|w[-2]|w[-1]|w[0], w[0]|w[1]|w[2]|w[3],
    p[-4..4], p[-1]|p[0], p[0]|p[1], p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2],
    p[-3]|p[-2]|p[-1]|p[0]|p[1], p[-2]|p[-1]|p[0]|p[1]|p[2], w[-2]|p[0], w[-1]|p[0], w[-3]|w[-2]|p[0],
    c2[0], c2[0]|w[0], c2[0]|p[0], c2[0]|c3[0], c2[0]|c5[0], c3[0], w[-1]|c3[0],
    c4[0], c4[0]|w[0], c4[0]|c3[0], c4[0]|c5[0], c5[0], w[-1]|c5[0],
    c6[0], c6[0]|p[0], c6[0]|c2[0]|p[0], c6[0]|c3[0], c6[0]|c4[0]|c5[0],
    c7[0], c3[0]|c7[0], c8[0], c8[0]|p[0], c8[0]|c4[0]|c5[0], c8[0]|c4[0]|c5[0]|c9[0], c9[0], bias
"""
# w: the character, p: its shape, c2: its script.
UNSPACED = """
    w[-4..4], w[-2]|w[-1], w[-1]|w[0], w[0]|w[1], w[1]|w[2], w[-1]|w[1], w[-3]|w[-2]|w[-1],
    w[-2]|w[-1]|w[0], w[-1]|w[0]|w[1], w[0]|w[1]|w[2], w[-4]|w[-3]|w[-2]|w[-1], w[-3]|w[-2]|w[-1]|w[0],
    w[-2]|w[-1]|w[0]|w[1], w[-1]|w[0]|w[1]|w[2], w[0]|w[1]|w[2]|w[3], p[-2..2], p[-1]|p[0], p[-1]|p[0]|p[1],
    c2[-2..2], c2[-1]|c2[0], c2[-2]|c2[-1]|c2[0], c2[-1]|c2[0]|c2[1], c2[-2]|c2[-1]|c2[0]|c2[1], bias
"""
BETWEEN = "c6[0]|c7[0]"  # the chunks around a space
WIDTH = 16  # the most columns, those of multiword tokens
N_CHUNKED, N_UNSPACED = 10, 3  # columns without those of the lexicon
FEW = 50  # sentences that cannot show whether sentences without marks can be learned
MANY = 0.01  # the share of tokens with spaces from which on the lexicon helps
SEQUENCE = 2000  # characters of training text in one sequence, at least
BLOCK = 1 << 16  # characters to label at once, so that memory does not grow with the text,
CONTEXT = 512  # and the characters around them that the features may see

Words = tuple[str, ...]

RULES = mapped(items(text()))
FIELDS = Table(
    Field("lexicon", Array(np.uint64, "lexicon"), "hashes of the words of the treebank", None),
    Field("unspaced", FLAG, "whether the units of words are characters", False),
    Field("words", Array(np.uint64, "words"), "hashes of the words that multiword tokens consist of", None),
    Field("places", Array(np.uint64, "places"), "hashes of the places where multiword tokens change", None),
    Field("multiword", record({"endings": RULES, "exceptions": RULES}, {}),
          "the rules that split multiword tokens into words", None),
)  # fmt: skip


@dataclass
class Splitter:
    """Splits text into sentences of tokens.

    lexicon: the words that the features know, if they know any. multiword: splits multiword tokens.
    endings, exceptions: the rules of older models instead: the end of a multiword token in lower case, and
    what replaces it, the end of its first word and the other words; and tokens where endings are wrong.
    """

    model: TaggerModel
    lexicon: Lexicon | None = None
    multiword: Multiword | None = None
    endings: dict[str, Words] = field(default_factory=dict)
    exceptions: dict[str, Words] = field(default_factory=dict)

    @property
    def knows_sentences(self) -> bool:
        """Whether sentences also begin within lines."""
        return bool({SENTENCE, SENTENCE.lower()} & {*self.model.names})

    @property
    def models(self) -> dict[str, TaggerModel]:
        """The models of the splitter, by the names that a model file uses."""
        return {"split": self.model} | ({} if self.multiword is None else {"words": self.multiword.model})

    @property
    def learned(self) -> bool:
        """Whether the splitter has parts that older versions cannot read."""
        return self.lexicon is not None or self.multiword is not None

    def with_models(self, models: Mapping[str, TaggerModel]) -> Splitter:
        """This splitter with other models, named as in `models`."""
        multiword = None if self.multiword is None else replace(self.multiword, model=models["words"])
        return replace(self, model=models["split"], multiword=multiword)

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and metadata of a file, apart from the models."""
        lexicon, multiword = self.lexicon, self.multiword
        exceptions = self.exceptions if multiword is None else multiword.exceptions
        return FIELDS.write({
            "lexicon": None if lexicon is None else lexicon.table.keys,
            "unspaced": lexicon is not None and lexicon.single,
            "words": None if multiword is None else multiword.lexicon.table.keys,
            "places": None if multiword is None else multiword.places.keys,
            "multiword": {"endings": self.endings, "exceptions": exceptions},
        }, "split.")  # fmt: skip

    @classmethod
    def of(
        cls, models: Mapping[str, TaggerModel], arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
    ) -> Splitter:
        """The splitter of a model file; raise ValueError for malformed parts."""
        found, model = FIELDS.read(arrays, meta, "split."), models["split"]
        rules = found["multiword"] or {"endings": {}, "exceptions": {}}
        endings, exceptions = (
            {key: tuple(words) for key, words in rules[name].items()} for name in ("endings", "exceptions")
        )
        if not {*model.names} <= {*LABELS} or not all([*endings.values(), *exceptions.values()]):
            raise ValueError("the labels or rules of the splitter are malformed")
        keys, words, places = (found[key] for key in ("lexicon", "words", "places"))
        narrow = N_UNSPACED if found["unspaced"] else N_CHUNKED
        width = narrow if keys is None else narrow + MATCHES
        if model.space.template is None or model.space.template.width != width:
            raise ValueError("the layer split and its lexicon do not fit together")
        lexicon = None if keys is None else Lexicon(KeyTable(keys), found["unspaced"])
        if "words" not in models:
            return cls(model, lexicon, None, endings, exceptions)
        if words is None or places is None:
            raise ValueError("the layer words has no lexicon or no places")
        own = Lexicon(KeyTable(words), single=True)
        return cls(model, lexicon, Multiword(models["words"], own, KeyTable(places), exceptions))

    def split(self, text: str) -> list[list[Token]]:
        """The sentences of a text; no sentence crosses a line."""
        labels, space, lines = self._labels(text + "\n")  # in training, every line has an end
        inside = labels == ord(INSIDE)
        # A token may contain spaces, but only single ones, between two characters.
        inner = space & inside & (lines == 0)
        inner[1:] &= ~space[:-1]
        inner[:-1] &= ~space[1:] & inside[1:]
        inner[-1:] = inner[:1] = False
        used = ~space | inner
        begins = used & ~inside & (labels != ord(OUTSIDE))
        begins[:1] |= used[:1]
        begins[1:] |= used[1:] & ~used[:-1]
        ends = used.copy()
        ends[:-1] &= ~used[1:] | begins[1:]
        starts, stops = np.flatnonzero(begins), np.flatnonzero(ends) + 1
        line = np.cumsum(lines)[starts]
        first = (_upper(labels[starts]) == ord(SENTENCE)) | (np.diff(line, prepend=-1) > 0)
        words = self._words(text, labels, starts, stops)
        sentences: list[list[Token]] = []
        for k, (start, end, new) in enumerate(
            zip(starts.tolist(), stops.tolist(), first.tolist(), strict=True)
        ):
            if new:
                sentences.append([])
            sentences[-1].append(Token(" ".join(text[start:end].split()), start, end, words.get(k, ())))
        return sentences

    def _labels(self, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The label of each character, whether it is a space, and whether it ends a line."""
        names = np.array([ord(name) for name in self.model.names], np.uint8)
        found = np.empty(len(text), np.uint8)
        space, lines = np.empty((2, len(text)), bool)
        for start in range(0, len(text), BLOCK):
            low, end = max(start - CONTEXT, 0), start + BLOCK
            block = Characters(text[low : end + CONTEXT])
            columns = _columns(block, block.sequences, self.lexicon)
            for whole, part in (
                (found, names[self.model.tag(columns)]), (space, block.space), (lines, block.ends_line)
            ):  # fmt: skip
                whole[start:end] = part[start - low : end - low]
        return found, space, lines

    def _words(
        self, text: str, labels: np.ndarray, starts: np.ndarray, stops: np.ndarray
    ) -> dict[int, Words]:
        """The words of multiword tokens, by the number of the token."""
        if self.multiword is None:
            marked = np.flatnonzero(_upper(labels[starts]) != labels[starts]).tolist()
            return {k: self.words(" ".join(text[starts[k] : stops[k]].split())) for k in marked}
        found: dict[int, Words] = {}
        bounds = [*np.searchsorted(starts, np.arange(0, len(text), BLOCK)).tolist(), len(starts)]
        for first, last in pairwise(bounds):
            if first < last:  # and the tokens around them, which the features see
                low, high = max(first - 1, 0), min(last + 1, len(starts))
                at = int(starts[low])
                own = self.multiword.words(
                    text[at : stops[high - 1]], starts[low:high] - at, stops[low:high] - at
                )
                found |= {low + k: words for k, words in own.items() if first <= low + k < last}
        return found

    def words(self, surface: str) -> Words:
        """The words of a multiword token according to the rules of older models; none if no rule fits.

        >>> Splitter(None, endings={"n't": ("", "n't"), "u": ("e", "le")}).words("Didn't")
        ('Did', "n't")
        """
        lower = surface.lower()
        words = self.exceptions.get(lower) or _by_ending(lower, self.endings)
        if "".join(words) == lower and len(lower) == len(surface):  # as written
            ends = np.cumsum([len(word) for word in words]).tolist()
            return tuple(surface[end - len(word) : end] for word, end in zip(words, ends, strict=True))
        return cased(surface, words)


def _by_ending(lower: str, endings: dict[str, Words]) -> Words:
    """The words according to the longest ending that leaves at least one letter."""
    for k in range(1, len(lower)):
        if lower[k:] in endings:
            end, *rest = endings[lower[k:]]
            return (lower[:k] + end, *rest)
    return ()


def _upper(labels: np.ndarray) -> np.ndarray:
    return labels & ~np.uint8(32)


def _columns(
    text: Characters, ptr: np.ndarray, lexicon: Lexicon | None, folds: Folds | None = None
) -> Columns:
    """The columns of the template of a splitter; ptr: where sequences begin."""
    if lexicon is not None and lexicon.single:
        keys = [text.written, text.kinds, text.scripts]
    else:
        keys = text.columns(*text.chunks())
    keys += [] if lexicon is None else lexicon.columns(text, folds)
    return Columns.from_keys(np.stack(keys, 1), ptr, str)


def train_splitter(raw: RawText, **options: Any) -> Splitter:
    """Learn from a text with a label for each character."""
    options = {"cutoff": 2, "epochs": 2, **options}
    sentences, raw = _teaches_sentences(raw, options), varied(raw)
    splitter = _train_characters(raw, sentences, options)
    if raw.multiword:
        own = [(one.form, tuple(one.words)) for one in raw.tokens]
        tokens = [(start, *one) for start, one in zip(_begins(raw).tolist(), own, strict=True)]
        splitter.multiword = train_multiword(raw.text, tokens, f"{TEMPLATE}, {EDITS}", **options)
    return splitter


def _begins(raw: RawText) -> np.ndarray:
    """Where tokens begin."""
    codes = np.frombuffer(raw.labels.encode(), np.uint8)
    return np.flatnonzero(np.isin(_upper(codes), (ord(SENTENCE), ord(TOKEN))))


def _train_characters(raw: RawText, sentences: bool, options: dict[str, Any]) -> Splitter:
    """Learn to split text into tokens, and into sentences if they can be learned."""
    codes = _upper(np.frombuffer(raw.labels.encode(), np.uint8))
    template, lexicon, folds = TEMPLATE, None, None
    if raw.unspaced or raw.inner_spaces > MANY:
        forms = [token.form.lower() for token in raw.tokens]
        lexicon, folds = Lexicon.of(forms, _begins(raw), len(codes), single=raw.unspaced)
        chunked = f"{TEMPLATE}, {BETWEEN}, {matching(N_CHUNKED)}"
        template = f"{UNSPACED}, {matching(N_UNSPACED)}" if raw.unspaced else chunked
    block = Characters(raw.text)
    ptr = _sequences(block, codes)
    if not sentences:
        codes = np.where(codes == ord(SENTENCE), np.uint8(ord(TOKEN)), codes)
    distinct, ids = np.unique(codes, return_inverse=True)
    gold = GoldLabels(ids.astype(np.int32), [chr(code) for code in distinct], ptr)
    tagger = SequenceTagger(template=template, inference="greedy", constrained=False, **options)
    return Splitter(tagger.fit(_columns(block, ptr, lexicon, folds), gold).model_, lexicon)


def _teaches_sentences(raw: RawText, options: dict[str, Any]) -> bool:
    """Whether sentences have marks at their ends, or else can be learned: tested on the end of the text."""
    every = Counter(token.form[-1] for token in raw.tokens)
    last = Counter(one.tokens[-1].form[-1] for one in raw.sentences)
    marks = [char for char, count in last.items() if 2 * count >= every[char]]
    if 2 * sum(last[char] for char in marks) >= len(raw.sentences):
        return True
    cut = len(raw.sentences) * 7 // 8
    if cut < FEW:
        return False
    quiet = {name: value for name, value in options.items() if name != "callback"}
    known = varied(joined_text(raw.sentences[:cut], raw.joins[: cut - 1]))
    line_end = "" if raw.unspaced else " "
    new = joined_text(raw.sentences[cut:], [join.replace("\n", line_end) for join in raw.joins[cut:-1]])
    found = {one[0].start for one in _train_characters(known, True, quiet).split(new.text)}
    gold = {at for at, label in enumerate(new.labels) if label.upper() == SENTENCE}
    return 2 * 2 * len((gold & found) - {0}) >= len(gold) + len(found) - 2


def _sequences(block: Characters, codes: np.ndarray) -> np.ndarray:
    """Where sequences begin: at lines, and at sentences in long lines."""
    lines = {*block.sequences.tolist()}
    ptr = [0]
    for at in sorted({*np.flatnonzero(_upper(codes) == ord(SENTENCE)).tolist(), *lines}):
        if at > ptr[-1] and (at in lines or at - ptr[-1] >= SEQUENCE):
            ptr.append(at)
    return np.array(ptr, np.int64)
