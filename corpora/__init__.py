"""What data there is: readers, simulators, and where to get the real corpora (never their text)."""

from corpora.handwriting import Words, load_ocr
from corpora.multiclass import Split, TextSplit, load_letter, load_mnist, load_r8, load_usps, tfidf
from corpora.registry import CORPORA, Corpus, CorpusMissing, find, verify

__all__ = [
    "CORPORA",
    "Corpus",
    "CorpusMissing",
    "Split",
    "TextSplit",
    "Words",
    "find",
    "load_letter",
    "load_mnist",
    "load_ocr",
    "load_r8",
    "load_usps",
    "tfidf",
    "verify",
]
