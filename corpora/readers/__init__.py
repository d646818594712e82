"""Readers that load the corpora of the registry from disk."""

from corpora.readers.binary import Points, load_adult, load_banana, load_waveform
from corpora.readers.handwriting import Words, load_ocr
from corpora.readers.multiclass import Split, TextSplit, load_letter, load_mnist, load_r8, load_usps, tfidf
from corpora.readers.questions import load_trec
from corpora.readers.robocup import Game, load_robocup
from corpora.readers.treebank import load_treebank, read_trees
from corpora.readers.wasp import load_clang, load_geoquery, with_ambiguity

__all__ = [
    "Game", "Points", "Split", "TextSplit", "Words", "load_adult", "load_banana", "load_clang",
    "load_geoquery", "load_letter", "load_mnist", "load_ocr", "load_r8", "load_robocup", "load_trec",
    "load_treebank", "load_usps", "load_waveform", "read_trees", "tfidf", "with_ambiguity",
]  # fmt: skip
