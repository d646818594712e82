import gzip

import pytest

from corpora import load_ocr


def line(number, letter, following, word, fold, pixels=()):
    image = ["1" if at in pixels else "0" for at in range(128)]
    return "\t".join([str(number), letter, str(following), str(word), "1", str(fold), *image])


def save(folder, lines):
    (folder / "letter.data.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


WORDS = [line(1, "b", 2, 1, 0, {3}), line(2, "a", -1, 1, 0, {0, 127}), line(3, "z", -1, 2, 7)]


def test_words_end_where_no_letter_follows(tmp_path):
    save(tmp_path, WORDS)
    words = load_ocr(tmp_path)
    assert words.letters.tolist() == [1, 0, 25]
    assert words.word_ptr.tolist() == [0, 2, 3]
    assert words.folds.tolist() == [0, 7]
    assert words.pixels.sum(axis=1).tolist() == [1, 2, 0]
    assert words.pixels[1, [0, 127]].tolist() == [1, 1]


def test_some_words_keep_their_letters(tmp_path):
    save(tmp_path, [*WORDS, line(4, "c", 5, 3, 7, {5}), line(5, "d", -1, 3, 7)])
    words = load_ocr(tmp_path).take([2, 1])
    assert words.letters.tolist() == [2, 3, 25]
    assert words.word_ptr.tolist() == [0, 2, 3]
    assert words.pixels[0].nonzero()[0].tolist() == [5]


def test_a_short_line_is_named(tmp_path):
    save(tmp_path, [WORDS[0], WORDS[1][:100], WORDS[2]])
    with pytest.raises(ValueError, match=r"letter\.data\.gz:2: expected a letter with 134 columns"):
        load_ocr(tmp_path)


def test_a_file_cut_within_a_word_is_refused(tmp_path):
    save(tmp_path, WORDS[:1])
    with pytest.raises(ValueError, match="is the file complete"):
        load_ocr(tmp_path)


@pytest.mark.corpora
def test_the_real_words_are_all_there():
    words = load_ocr()
    assert len(words.folds) == 6877
    assert len(words.letters) == 52_152
    assert set(words.folds.tolist()) == set(range(10))
