import gzip

import numpy as np
import pytest

from corpora import CorpusMissing, load_adult, load_banana, load_usps, load_waveform


def test_adult_has_both_parts_and_zeros_where_nothing_is_said(tmp_path):
    (tmp_path / "a9a.gz").write_bytes(gzip.compress(b"-1 3:1 123:1\n+1 1:1\n"))
    (tmp_path / "a9a.t.gz").write_bytes(gzip.compress(b"+1 2:1\n"))
    split = load_adult(tmp_path)
    assert split.y_train.tolist() == [-1, 1]
    assert np.argwhere(split.X_train).tolist() == [[0, 2], [0, 122], [1, 0]]
    assert split.X_test.shape == (1, 123)


def test_a_feature_beyond_the_last_is_named_with_its_line(tmp_path):
    (tmp_path / "a9a.gz").write_bytes(gzip.compress(b"-1 3:1\n-1 124:1\n"))
    (tmp_path / "a9a.t.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match=r"a9a\.gz:2: expected an integer and pairs 1:value .. 123"):
        load_adult(tmp_path)


def banana(rows):
    lines = [f"0.{k},-1.5,{1 - 2 * (k % 2)}.0\n\n" for k in range(rows)]
    return "@relation banana\n\n@data\n\n" + "".join(lines)


def test_banana_skips_the_header(tmp_path):
    (tmp_path / "banana.dat").write_text(banana(5300))
    X, y = load_banana(tmp_path)
    assert X.shape == (5300, 2)
    assert X[3].tolist() == [0.3, -1.5]
    assert y[:3].tolist() == [1, -1, 1]


def test_a_broken_or_missing_row_is_reported(tmp_path):
    (tmp_path / "banana.dat").write_text(banana(3).replace("0.1,-1.5", "0.1;-1.5"))
    with pytest.raises(ValueError, match=r"banana\.dat:7: expected 2 numbers and a label"):
        load_banana(tmp_path)
    (tmp_path / "banana.dat").write_text(banana(3))
    with pytest.raises(ValueError, match="expected 5300 rows, got 3"):
        load_banana(tmp_path)


def test_waveform_has_three_classes(tmp_path):
    line = ",".join(["0.5"] * 21)
    (tmp_path / "waveform.data").write_text("".join(f"{line},{k % 3}\n" for k in range(5000)))
    X, y = load_waveform(tmp_path)
    assert X.shape == (5000, 21)
    assert np.bincount(y).tolist() == [1667, 1667, 1666]


@pytest.mark.corpora
def test_the_real_ones_have_the_counts_of_the_papers():
    try:
        sets = load_adult(), load_banana(), load_waveform(), load_usps()
    except CorpusMissing as missing:
        pytest.skip(str(missing))
    assert sets[0].X_train.shape == (32561, 123)
    assert len(sets[0].y_test) == 16281
    assert np.bincount(sets[1].y + 1).tolist() == [2924, 0, 2376]
    assert np.bincount(sets[2].y).tolist() == [1657, 1647, 1696]
    assert len(sets[3].y_train) == 7291
