"""Reasons of a label in words."""

import re

import pytest

from taggers import NerTagger, PosTagger
from taggers.teach.reasons import in_words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("w[0]=Oslo", "this word is “Oslo”"),
        ("w.lower[-1]=in", "the word before is “in”"),
        ("w.lower[-1]|w.lower[0]=in|oslo", "the word before is “in” and this word is “oslo”"),
        ("w.lower_suffix3[2]=ing", "the word two places after ends with “ing”"),
        ("w.prefix1[0]=O", "this word begins with “O”"),
        ("w.is_title[1]=1", "the word after begins with a capital letter"),
        ("w.short_shape[0]=Xx", "this word has the shape Xx"),
        ("w.cluster[0]=17", "this word belongs to word class 17"),
        ("w.lower[-2]=_B-1", "there is no word two places before"),
        ("w[1]=_B+1", "there is no word after"),
        ("w[0]==", "this word is “=”"),
        ("p[-1]=DT", "the part of speech of the word before is DT"),
        ("label[-1]=B-PER", "the label before is B-PER"),
        ("label[-2]=O", "the label two places before is O"),
        ("label[-1]=<start>", "this is the first word"),
        ("label[-2]=<start>", "this is the first or second word"),
        ("bias", "how common the label is"),
    ],
)
def test_features_of_templates_are_said_in_words(name, said):
    assert in_words(name) == said


@pytest.mark.parametrize("name", ["w[0]=a|b", "w[-7]=x", "mine:5", "w[0]", "", "cap", "w.digits[0]=00"])
def test_other_features_keep_their_names(name):
    assert in_words(name) == name


@pytest.mark.parametrize("tagger", [NerTagger, PosTagger])
def test_no_feature_of_the_presets_keeps_its_name(tagger):
    X, y = [["Ada", "met", "Gus", "in", "St-Malo", "."]] * 3, [["B-PER", "O", "B-PER", "O", "B-LOC", "O"]] * 3
    found = tagger().fit(X, y).explain(X[0])
    names = [name for one in found for name, _ in (*one["features"], *one["history"])]
    assert [name for name in names if re.search(r"\[-?\d\]", in_words(name))] == []
