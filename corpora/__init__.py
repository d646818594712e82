"""Corpus readers, simulators, and the sources of the real corpora; no corpus text is included."""

from corpora.bags import Bag, Event, windows
from corpora.readers.binary import Points, load_adult, load_banana, load_waveform
from corpora.readers.handwriting import Words, load_ocr
from corpora.readers.multiclass import Split, TextSplit, load_letter, load_mnist, load_r8, load_usps, tfidf
from corpora.readers.questions import load_trec
from corpora.readers.treebank import load_treebank, read_trees
from corpora.registry import CORPORA, Corpus, CorpusMissing, find, verify
from corpora.simulators.child_world import simulate_child_world
from corpora.simulators.home import simulate_home
from corpora.simulators.house import simulate_house
from corpora.simulators.sportscast import simulate_sportscast

__all__ = [
    "CORPORA", "Bag", "Corpus", "CorpusMissing", "Event", "Points", "Split", "TextSplit", "Words", "find",
    "load_adult", "load_banana", "load_letter", "load_mnist", "load_ocr", "load_r8", "load_trec",
    "load_treebank", "load_usps", "load_waveform", "read_trees", "simulate_child_world", "simulate_home",
    "simulate_house", "simulate_sportscast", "tfidf", "verify", "windows",
]  # fmt: skip
