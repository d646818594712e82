"""The scores of the CoNLL 2018 shared task, compared with a slow twin and with counts by hand."""

import json
import random

import pytest

from structsvm.files.errors import DataError
from taggers.ud_scores import CONTENT, FUNCTIONAL, universal_scores
from tests.taggers.command_line import run
from tests.taggers.sentences import with_trees, with_words


def line(k, form, upos="NOUN", head="0", deprel="root", lemma="_", feats="_"):
    return f"{k}\t{form}\t{lemma}\t{upos}\t_\t{feats}\t{head}\t{deprel}\t_\t_\n"


GOLD = (
    line(1, "old", "ADJ", 2, "amod") + line(2, "lamps", "NOUN", 3, "nsubj", "lamp", "Number=Plur")
    + line(3, "glow", "VERB", 0, "root", "glow") + line(4, "in", "ADP", 5, "case")
    + line(5, "Turin", "PROPN", 3, "obl:loc") + line(6, ".", "PUNCT", 3, "punct") + "\n"
)  # fmt: skip


def f1s(gold, found):
    return {name: round(one.f1, 2) for name, one in universal_scores(gold.encode(), found.encode()).items()}


def test_a_file_agrees_with_itself():
    assert set(f1s(GOLD, GOLD).values()) == {100.0}


def test_scores_by_hand():
    """One wrong head, one wrong label, one wrong function word, one wrong feature."""
    found = GOLD.replace("\t2\tamod", "\t3\tamod").replace("in\t_\tADP", "in\t_\tSCONJ")
    found = found.replace("Number=Plur", "Number=Sing").replace("obl:loc", "obl:agent")
    scores = f1s(GOLD, found)
    assert scores["UAS"] == scores["LAS"] == scores["UPOS"] == round(100 * 5 / 6, 2)
    assert scores["CLAS"] == round(100 * 3 / 4, 2)  # old is wrong; subtypes do not count
    assert scores["MLAS"] == round(100 * 1 / 4, 2)  # glow only: lamps has other features, Turin another in
    assert scores["BLEX"] == round(100 * 3 / 4, 2)
    assert scores["UFeats"] == round(100 * 5 / 6, 2)


def test_other_words_and_sentences_are_aligned_by_their_characters():
    found = (
        line(1, "oldlamps", "NOUN", 2, "nsubj") + line(2, "glow", "VERB", 0, "root") + "\n"
        + line(1, "in", "ADP", 2, "case") + line(2, "Turin", "PROPN", 0, "root")
        + line(3, ".", "PUNCT", 2, "punct") + "\n"
    )  # fmt: skip
    scores = universal_scores(GOLD.encode(), found.encode())
    assert scores["Words"].precision == pytest.approx(100 * 4 / 5)
    assert scores["Words"].recall == pytest.approx(100 * 4 / 6)
    assert scores["Sentences"].f1 == 0
    assert scores["UAS"].recall == pytest.approx(100 * 2 / 6)  # glow and in


def test_multiword_tokens_are_aligned_by_the_forms_of_their_words():
    gold = (
        "1-3\tcannotdo\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + line(1, "can", head=3)
        + line(2, "not", head=3)
        + line(3, "do")
    )
    found = "1-2\tcannotdo\t_\t_\t_\t_\t_\t_\t_\t_\n" + line(1, "CAN", head=2) + line(2, "do")
    scores = universal_scores(f"{gold}\n".encode(), f"{found}\n".encode())
    assert scores["Words"].recall == pytest.approx(100 * 2 / 3)
    assert scores["Words"].precision == 100
    assert scores["UAS"].recall == pytest.approx(100 * 2 / 3)


def test_different_texts_are_refused():
    with pytest.raises(DataError, match="do not have the same characters"):
        universal_scores(GOLD.encode(), GOLD.replace("lamps", "stone").encode())


def naive(gold, found):
    """The scores of files with the same words, by a table of arcs for each sentence."""
    totals = {name: [0, 0, 0] for name in ("UAS", "LAS", "CLAS", "MLAS")}
    blocks = zip(gold.strip().split("\n\n"), found.strip().split("\n\n"), strict=True)
    for one, other in blocks:
        a, b = ([r.split("\t") for r in text.split("\n") if r[:1].isdigit()] for text in (one, other))

        def functions(rows, k):
            return [
                (r[0], r[7].split(":")[0], r[3], r[5]) for r in rows
                if r[6] == str(k + 1) and r[7].split(":")[0] in FUNCTIONAL
            ]  # fmt: skip

        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            label, answer = x[7].split(":")[0], y[7].split(":")[0]
            uas, las = x[6] == y[6], (x[6], label) == (y[6], answer)
            mlas = las and (x[3], x[5]) == (y[3], y[5]) and functions(a, k) == functions(b, k)
            for name, right, counts in (
                ("UAS", uas, (True, True)), ("LAS", las, (True, True)),
                ("CLAS", las, (label in CONTENT, answer in CONTENT)),
                ("MLAS", mlas, (label in CONTENT, answer in CONTENT)),
            ):  # fmt: skip
                totals[name][0] += right and counts[0]
                totals[name][1] += counts[0]
                totals[name][2] += counts[1]
    return {name: 200 * right / (gold + found) for name, (right, gold, found) in totals.items()}


@pytest.mark.parametrize("seed", range(3))
def test_scores_agree_with_a_slow_twin(seed):
    rng = random.Random(seed)
    gold = with_trees(60, seed).decode()
    rows = [row.split("\t") for row in gold.split("\n")]
    for fields in rows:
        if len(fields) == 10 and rng.random() < 0.3:
            fields[6] = str(rng.randint(0, 4))
        if len(fields) == 10 and rng.random() < 0.2:
            fields[7] = rng.choice(["case", "nsubj", "punct", "det:poss"])
        if len(fields) == 10 and rng.random() < 0.1:
            fields[3] = "X"
    found = "\n".join("\t".join(fields) for fields in rows)
    scores = universal_scores(gold.encode(), found.encode())
    for name, value in naive(gold, found).items():
        assert scores[name].f1 == pytest.approx(value)
        assert scores[name].low <= scores[name].f1 <= scores[name].high


def test_evaluate_prints_trees_and_raw_text(tmp_path):
    (tmp_path / "train.conllu").write_bytes(with_trees(100))
    (tmp_path / "dev.conllu").write_bytes(with_trees(30, 1))
    run("train", "ud", "train.conllu", "-o", "ud.ssvm", cwd=tmp_path)
    shown = run("evaluate", "ud.ssvm", "dev.conllu", cwd=tmp_path).stdout.decode()
    table = {row.split()[0]: row.split()[1] for row in shown.splitlines() if row}
    tagged = run("tag", "ud.ssvm", "dev.conllu", cwd=tmp_path).stdout.decode()
    wanted = naive((tmp_path / "dev.conllu").read_text(), tagged)
    assert {name: table[name] for name in wanted} == {name: f"{f1:.2f}" for name, f1 in wanted.items()}
    found = json.loads(run("evaluate", "ud.ssvm", "dev.conllu", "--json", cwd=tmp_path).stdout)
    assert found["LAS"]["f1"] == pytest.approx(wanted["LAS"])
    (tmp_path / "words.conllu").write_bytes(with_words(100))
    run("train", "ud", "words.conllu", "-o", "words.ssvm", cwd=tmp_path)
    raw = run("evaluate", "words.ssvm", "words.conllu", "--raw", cwd=tmp_path).stdout.decode()
    table = {row.split()[0]: float(row.split()[1]) for row in raw.splitlines()[1:]}
    assert list(table) == ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas"]
    assert table["Words"] > 99
    assert table["UPOS"] > 95
