"""`structsvm_parser`: set Token.head, Token.dep_ and, by the trees, Doc.sents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.pipeline.dep_parser import parser_score
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import registry

from structsvm.integrations.spacy import EstimatorPipe, factory
from taggers.dependencies.explanation import explain_trees
from taggers.dependencies.parser import EXPLORED, DependencyParser, Learner, Values, attributes
from taggers.pipeline import Pipeline, open_model
from taggers.pipeline.layers import TREE_COLUMNS
from taggers.spacy.component import CONLLU

FILE = "model.ssvm"
ROOT, OTHER = "root", "dep"  # UD's labels; spaCy calls the first one ROOT
SHOWN = {ROOT: "ROOT"}
READ = {"upos": "pos_", "xpos": "tag_", "feats": "morph", "lemma": "lemma_"}
GETS = {name: CONLLU[name] for name in READ}

Tree = tuple[list[int], list[int], list[str | None]]  # words, their heads from 1 or -1, their labels


class Model:
    """A parser and what it needs to learn more."""

    learner: Learner | None = None
    _parser: DependencyParser

    def __init__(self, parser: DependencyParser | None = None) -> None:
        if parser is not None:
            self._parser = parser

    @property
    def model_(self) -> DependencyParser:
        if self.learner is not None and self.learner.changed:
            self._parser = self.learner.parser()
        return self._parser


class StructSVMParser(EstimatorPipe):
    """Sets Token.head and Token.dep_; the trees set the sentence boundaries.

    model: a file of `structsvm train ud` or `train parse`. Each sentence of a Doc becomes a tree with one
    root. A Doc without sentence boundaries becomes one tree, so add `structsvm_senter` or `sentencizer`
    before this component. It reads Token.pos_, tag_, morph and lemma_ if its training data have them.
    White space depends on the token before it. Each `update` is one online pass over its examples, in
    which heads may be missing. options: random_state.
    """

    FILES = (FILE,)
    OPTIONS: ClassVar[tuple[str, ...]] = ("random_state",)

    model: Model

    def __init__(self, *args: Any, **settings: Any) -> None:
        for name in settings.get("options") or {}:
            if name not in self.OPTIONS:
                raise ValueError(f"there is no option {name!r}; options are {', '.join(self.OPTIONS)}")
        super().__init__(*args, **settings)

    def _new(self) -> Model:
        return Model()

    def _load(self, path: str | Path) -> Model:
        pipeline = open_model(path)
        if not isinstance(pipeline, Pipeline) or pipeline.parser is None:
            raise ValueError(f"{path} has no parser; train one with structsvm train ud or train parse")
        if not pipeline.parser.reads:
            pipeline.parser.reads = [name for name in pipeline.parts if name not in TREE_COLUMNS]
        return Model(pipeline.parser)

    # -- labels ---------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of arcs, sorted; empty while the model file is still to be read."""
        if self.pending or not self.trained:
            return ()
        return tuple(sorted(SHOWN.get(name, name) for name in self.model.model_.labels))

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    @property
    def is_resizable(self) -> bool:
        return True

    def add_label(self, label: str) -> int:
        """Add a label and return 1, or 0 if it is known already."""
        if not isinstance(label, str) or not label:
            raise ValueError(f"a label must be a non-empty str, got {label!r}")
        if label in self.labels:
            return 0
        self._declare({_ud(label): 0})
        return 1

    def _declare(self, bits: dict[str, int]) -> None:
        """Let the model know labels, and whether children of the root (1) or other words (2) have them."""
        known = self.model.model_ if self.trained else DependencyParser.empty([ROOT, OTHER], [1, 2])
        wider = known.with_labels({name: bit or 2 - (name == ROOT) for name, bit in bits.items()})
        if wider is not known or not self.trained:
            self.model = Model(wider)

    # -- training -------------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        model: str | None = None,
    ) -> None:
        """Start over with the labels of the examples or the given ones; a model file is read again."""
        validate_get_examples(get_examples, "StructSVMParser.initialize")
        added = self.labels
        self.source = model or self.source
        self.start_over()
        self._declare(_bits([_trees(example) for example in get_examples()]))
        self._declare({_ud(label): 0 for label in [*added, *(labels or ())]})

    def _learn(self, examples: list[Example]) -> float:
        found = [_trees(example) for example in examples]
        if not any(found):
            return 0.0
        self._declare(_bits(found))
        model, values = self.model, _values([example.predicted for example in examples])
        if model.learner is None:
            if not model.model_.reads:
                model.model_.reads = [name for name in READ if name in values]
            model.learner = Learner(model.model_, random_state=self.options.get("random_state", 0))
        bounds = accumulate((len(example.predicted) for example in examples), initial=0)
        trees = [
            (np.array(words) + start, heads, labels)
            for start, of_doc in zip(bounds, found, strict=False) for words, heads, labels in of_doc
        ]  # fmt: skip
        at = np.concatenate([words for words, _, _ in trees])
        forms = [token.text for example in examples for token in example.predicted]
        chosen: dict[str, Values] = {
            name: (ids[at], names) for name, (ids, names) in values.items() if name in model.model_.reads
        }
        places = {name: k for k, name in enumerate(model.learner.start.labels)}
        right = model.learner.epoch(
            attributes([forms[k] for k in at.tolist()], chosen),
            np.array([0, *accumulate(len(words) for words, _, _ in trees)], np.int64),
            np.array([head for _, heads, _ in trees for head in heads], np.int32),
            np.array(
                [-1 if one is None else places[one] for *_, labels in trees for one in labels], np.int32
            ),
            explore=EXPLORED,
        )
        return (1 - right) * len(at)

    # -- parsing --------------------------------------------------------------------------------

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        """Return for each doc the relative head of each token and the position of its label."""
        self.require_model()
        docs, parser = list(docs), self.model.model_
        values = _values(docs)
        words, ptr, bounds = _words(docs)
        for name in parser.reads:
            if len(words) and not any(doc.has_annotation(GETS[name]) for doc in docs):
                raise ValueError(
                    f"no token has {GETS[name]}, which {self.name!r} reads; add a component that sets it "
                    "before this one (in training, also name it in annotating_components of spacy train)"
                )
        forms = [token.text for doc in docs for token in doc]
        chosen = {name: (values[name][0][words], values[name][1]) for name in parser.reads if name in values}
        heads, labels = parser.parse([forms[k] for k in words.tolist()], chosen, ptr)
        found = np.zeros((bounds[-1], 2), np.int64)
        starts = np.repeat(ptr[:-1], np.diff(ptr))
        targets = words[np.where(heads == 0, np.arange(len(words)), starts + heads - 1)]
        found[words, 0], found[words, 1] = targets - words, labels
        space = np.ones(bounds[-1], bool)
        space[words] = False
        first = {*bounds, *words[ptr[:-1]].tolist()}
        for at in np.flatnonzero(space).tolist():
            found[at] = 0 if at in first else -1, -1
        return [found[start:end] for start, end in pairwise(bounds)]

    def explain(self, doc: Doc) -> list[dict[str, Any]]:
        """Return why each word of a doc gets its head and its label, see `explain_trees`.

        The doc does not change. `token` and `head` are its tokens; the head of a root is the root itself.
        """
        self.require_model()
        parser, values = self.model.model_, _values([doc])
        words, ptr, _ = _words([doc])
        found: list[dict[str, Any]] = []
        for first, end in pairwise(ptr.tolist()):
            tokens = [doc[at] for at in words[first:end].tolist()]
            own: dict[str, Values] = {
                name: (values[name][0][words[first:end]], values[name][1])
                for name in parser.reads if name in values
            }  # fmt: skip
            for token, row in zip(
                tokens, explain_trees(parser, [one.text for one in tokens], own), strict=True
            ):
                head = tokens[row["head"] - 1] if row["head"] else token
                deprel = SHOWN.get(row["deprel"], row["deprel"])
                found.append(row | {"token": token, "head": head, "deprel": deprel})
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[np.ndarray]) -> None:
        names = [*(SHOWN.get(name, name) for name in self.model.model_.labels), OTHER]
        for doc, rows in zip(docs, scores, strict=True):
            if len(doc):
                ids = np.array([doc.vocab.strings.add(name) for name in names], np.uint64)
                new = np.stack([rows[:, 0].astype(np.uint64), ids[rows[:, 1]]], 1)
                doc.from_array([HEAD, DEP], new)  # type: ignore[arg-type]

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, None]:
        """Return how many words of the predicted docs have another head or label than in gold."""
        wrong = 0
        names = [SHOWN.get(name, name) for name in self.model.model_.labels]
        for example, rows in zip(examples, scores, strict=True):
            heads, labels = _aligned(example)
            for at, (head, label) in enumerate(zip(heads, labels, strict=True)):
                if head is not None:
                    wrong += head != at + rows[at, 0] or label != names[rows[at, 1]]
        return float(wrong), None

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        examples = list(examples)
        validate_examples(examples, "StructSVMParser.score")
        return {} if self.scorer is None else dict(self.scorer(examples, **kwargs))

    def _save(self, folder: Path) -> None:
        Pipeline(None, parser=self.model.model_).save(folder / FILE)


def _ud(label: str) -> str:
    return ROOT if label == SHOWN[ROOT] else label


def _values(docs: list[Doc]) -> dict[str, Values]:
    """The tags that some token has."""
    found: dict[str, Values] = {}
    for name, attribute in READ.items():
        known: dict[str, int] = {}
        texts = (str(getattr(token, attribute)) or "_" for doc in docs for token in doc)
        ids = np.array([known.setdefault(text, len(known)) for text in texts], np.int32)
        if known.keys() - {"_", "SPACE", "_SP"}:
            found[name] = ids, list(known)
    return found


def _words(docs: list[Doc]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Words among the tokens of all docs, the bounds of sentences among the words and of docs."""
    words, ptr, bounds = list[int](), [0], [0]
    for doc in docs:
        for token in doc:
            if (token.is_sent_start or token.i == 0) and len(words) > ptr[-1]:
                ptr.append(len(words))
            if not token.is_space:
                words.append(bounds[-1] + token.i)
        bounds.append(bounds[-1] + len(doc))
    if len(words) > ptr[-1]:
        ptr.append(len(words))
    return np.array(words, np.int64), np.array(ptr, np.int64), bounds


def _aligned(example: Any) -> tuple[list[int | None], list[str | None]]:
    """The gold head and label of each token of the predicted doc, if they are known."""
    heads, labels = example.get_aligned_parse(projectivize=False)
    return heads, labels


def _trees(example: Any) -> list[Tree]:
    """Return the gold tree of each sentence; what is unknown in it is marked."""
    if not example.reference.has_annotation("DEP"):
        return []
    heads, labels = _aligned(example)
    starts = example.get_aligned_sent_starts()
    trees: list[Tree] = []
    group: list[int] = []
    for at, token in enumerate(example.predicted):
        if starts[at] == 1 and group:
            trees.append(_tree(group, heads, labels))
            group = []
        if not token.is_space:
            group.append(at)
    return [*trees, _tree(group, heads, labels)] if group else trees


def _tree(words: list[int], heads: list[int | None], labels: list[str | None]) -> Tree:
    """One sentence; a second root, and heads outside of the sentence, are unknown."""
    places = {word: place for place, word in enumerate(words, 1)}
    own, named, rooted = list[int](), list[str | None](), False
    for word in words:
        head = heads[word]
        found = -1 if head is None else 0 if head == word else places.get(head, -1)
        if found == 0 and rooted:
            found = -1
        rooted = rooted or found == 0
        label = labels[word] if found >= 0 else None
        own.append(found)
        named.append(_ud(label) if label else None)
    return words, own, named


def _bits(found: list[list[Tree]]) -> dict[str, int]:
    """Each label, with 1 if children of the root have it, 2 if other words do, or 3."""
    bits: dict[str, int] = {}
    for _, heads, labels in (tree for trees in found for tree in trees):
        for head, label in zip(heads, labels, strict=True):
            if label is not None:
                bits[label] = bits.get(label, 0) | (1 if head == 0 else 2)
    return bits


@registry.scorers("structsvm.parser_scorer.v1")
def make_parser_scorer() -> Callable[..., dict[str, Any]]:
    return score_trees


def score_trees(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Return dep_uas, dep_las, dep_las_per_type and sents_f, as spaCy's parser does."""
    return dict(parser_score(examples, **kwargs))


make_parser = factory(
    "structsvm_parser", StructSVMParser,
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    scorer="structsvm.parser_scorer.v1",
    score_weights={
        "dep_uas": 0.5, "dep_las": 0.5, "dep_las_per_type": None,
        "sents_p": None, "sents_r": None, "sents_f": 0.0,
    },
)  # fmt: skip
