"""Taggers for common tasks: `SequenceTagger` with defaults of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from taggers.tagger import SequenceTagger


class PosTagger(SequenceTagger):
    """Parts of speech: affixes, shapes and clusters of words, exact inference."""

    DEFAULTS: ClassVar[dict[str, Any]] = {
        **SequenceTagger.DEFAULTS, "template": "pos", "C": 0.07,
    }  # fmt: skip


class Chunker(SequenceTagger):
    """Phrases of words with parts of speech: learned as IOBES, only valid labels predicted."""

    DEFAULTS: ClassVar[dict[str, Any]] = {
        **SequenceTagger.DEFAULTS, "template": "chunk", "C": 0.05, "labels": "IOBES", "constrained": True,
    }  # fmt: skip


class NerTagger(SequenceTagger):
    """Named entities: shapes and affixes, greedy, learned as IOB2, only valid labels predicted."""

    DEFAULTS: ClassVar[dict[str, Any]] = {
        **SequenceTagger.DEFAULTS, "template": "ner", "inference": "greedy", "C": 0.05, "labels": "IOB2",
        "constrained": True,
    }  # fmt: skip
