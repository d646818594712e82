"""Taggers for parts of speech, chunks, named entities and other labels of words."""

from typing import TYPE_CHECKING

from structsvm.lazy import lazy_names

if TYPE_CHECKING:
    from taggers.formats.sources import read_sentences
    from taggers.tagger import Chunker, MorphTagger, NerTagger, PosTagger, SequenceTagger

__all__ = ["Chunker", "MorphTagger", "NerTagger", "PosTagger", "SequenceTagger", "read_sentences"]

__getattr__ = lazy_names(
    __name__, {"taggers.formats.sources": ("read_sentences",), "taggers.tagger": __all__[:-1]}
)
