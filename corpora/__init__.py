"""What data there is: readers, simulators, and where to get the real corpora (never their text)."""

from corpora.bags import Bag, Event, windows
from corpora.binary import Points, load_adult, load_banana, load_waveform
from corpora.child_world import simulate_child_world
from corpora.handwriting import Words, load_ocr
from corpora.house import simulate_house
from corpora.multiclass import Split, TextSplit, load_letter, load_mnist, load_r8, load_usps, tfidf
from corpora.questions import load_trec
from corpora.registry import CORPORA, Corpus, CorpusMissing, find, verify
from corpora.sportscast import simulate_sportscast
from corpora.treebank import load_treebank, read_trees

__all__ = [
    "CORPORA",
    "Bag",
    "Corpus",
    "CorpusMissing",
    "Event",
    "Points",
    "Split",
    "TextSplit",
    "Words",
    "find",
    "load_adult",
    "load_banana",
    "load_letter",
    "load_mnist",
    "load_ocr",
    "load_r8",
    "load_trec",
    "load_treebank",
    "load_usps",
    "load_waveform",
    "read_trees",
    "simulate_child_world",
    "simulate_house",
    "simulate_sportscast",
    "tfidf",
    "verify",
    "windows",
]
