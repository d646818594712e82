"""Taggers for parts of speech, chunks, named entities and other labels of words."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taggers.formats.sources import read_sentences
    from taggers.tagger import Chunker, MorphTagger, NerTagger, PosTagger, SequenceTagger

__all__ = ["Chunker", "MorphTagger", "NerTagger", "PosTagger", "SequenceTagger", "read_sentences"]


def __getattr__(name: str) -> Any:
    """Import the taggers when they are first used, so that the command line starts fast."""
    if name == "read_sentences":
        from taggers.formats import sources

        return sources.read_sentences
    if name in __all__:
        from taggers import tagger

        return getattr(tagger, name)
    raise AttributeError(f"module 'taggers' has no attribute {name!r}")
