"""Taggers learn from sentences of the package conllu, and write their labels into them."""

import io
import re

import conllu
import pytest

from taggers import MorphTagger, NerTagger, PosTagger, SequenceTagger
from tests.taggers.command_line import run

ROWS = """# text = Der Hund sieht zum See.
1	Der	der	DET	ART	Case=Nom	2	det	_	_
2	Hund	Hund	NOUN	NN	Case=Nom|Number=Sing	3	nsubj	_	_
3	sieht	sehen	VERB	VVFIN	_	0	root	_	_
4-5	zum	_	_	_	_	_	_	_	_
4	zu	zu	ADP	APPR	_	6	case	_	_
5	dem	der	DET	ART	Case=Dat	6	det	_	_
5.1	großen	groß	ADJ	ADJA	_	_	_	6:amod	_
6	See	See	NOUN	NN	Case=Dat|Number=Sing	3	obl	_	SpaceAfter=No
7	.	.	PUNCT	$.	_	3	punct	_	_

"""
SENTENCES = conllu.parse(ROWS * 6)
BARE = conllu.parse(ROWS.replace("NOUN", "_").replace("VERB", "_").replace("Case=Nom|Number=Sing", "_"))[0]


def test_a_tagger_learns_a_field_and_fills_it(tmp_path):
    tagger = PosTagger().fit(conllu.parse_incr(io.StringIO(ROWS * 6)), "upos")
    tagged = tagger.tag(BARE)
    assert isinstance(tagged, conllu.TokenList)
    expected = conllu.parse(ROWS)[0]
    assert [token["upos"] for token in tagged] == [token["upos"] for token in expected]
    assert (tagged[1]["feats"], tagged.metadata) == (None, BARE.metadata)
    assert BARE[1]["upos"] == "_"  # the sentence itself does not change
    assert tagger.predict([BARE])[0] == ["DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"]
    assert tagger.score(SENTENCES, "upos") == 1


def test_the_model_is_that_of_the_file_and_tags_files(tmp_path):
    (tmp_path / "train.conllu").write_text(ROWS * 6, encoding="utf-8")
    run("train", "pos", "train.conllu", "-o", "file", cwd=tmp_path)
    PosTagger().fit(SENTENCES, "upos").save(tmp_path / "lists")
    assert (tmp_path / "lists").read_bytes() == (tmp_path / "file").read_bytes()
    tagged = run("tag", "lists", "train.conllu", cwd=tmp_path)
    assert tagged.stdout.decode() == ROWS * 6


def test_several_fields_make_joint_labels():
    tagger = MorphTagger().fit(SENTENCES, ("upos", "feats"))
    tagged = tagger.tag(BARE)
    assert [(token["upos"], token["feats"]) for token in tagged] == [
        (token["upos"], token["feats"]) for token in SENTENCES[0]
    ]


def test_more_sentences_held_out_ones_and_given_labels_are_token_lists_too():
    tagger = SequenceTagger().partial_fit(SENTENCES, "xpos").resume(SENTENCES, "xpos")
    assert tagger.tag(SENTENCES[0])[1]["xpos"] == "NN"
    tagger = SequenceTagger().fit(SENTENCES, "upos", X_dev=SENTENCES, y_dev="upos")
    assert tagger.dev_scores_
    phrases = [["O", "B-X", "O", "O", "O", "B-Y", "O"]] * len(SENTENCES)
    tagger = NerTagger().fit(SENTENCES, phrases)
    assert tagger.predict(SENTENCES) == phrases
    with pytest.raises(ValueError, match="its labels have no field there; use predict"):
        tagger.tag(SENTENCES[0])


@pytest.mark.parametrize("y", [None, "pos", "misc", (), ("upos", "id")])
def test_other_fields_are_refused(y):
    with pytest.raises(ValueError, match=r"^y must name the fields to learn, of lemma, upos, xpos, feats"):
        PosTagger().fit(SENTENCES, y)


def test_a_missing_value_is_not_a_label():
    tagger = PosTagger().fit([*SENTENCES, BARE], "upos")
    assert "_" not in tagger.classes_
    empty = conllu.parse(re.sub("DET|NOUN|VERB|ADP|PUNCT", "_", ROWS))
    with pytest.raises(ValueError, match="no token has a gold label"):
        PosTagger().fit(empty, "upos")
