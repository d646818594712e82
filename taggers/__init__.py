"""Sequences of words: features, column files, part-of-speech, chunk and entity taggers, the command line."""

from typing import Any

__all__ = ["Chunker", "NerTagger", "PosTagger", "SequenceTagger"]


def __getattr__(name: str) -> Any:
    """The taggers, loaded when first asked for: the command line must start at once."""
    if name in __all__:
        from taggers import presets

        return getattr(presets, name)
    raise AttributeError(f"module 'taggers' has no attribute {name!r}")
