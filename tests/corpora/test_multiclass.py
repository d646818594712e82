import gzip
import struct

import numpy as np
import pytest

from corpora import load_letter, load_mnist, load_r8, load_usps, tfidf


def write_gzip(path, content):
    path.write_bytes(gzip.compress(content if isinstance(content, bytes) else content.encode()))


def letter_rows(count):
    return [f"{chr(65 + i % 26)}," + ",".join(str((i + j) % 16) for j in range(16)) for i in range(count)]


def test_letter_is_split_after_16000_rows(tmp_path):
    (tmp_path / "letter-recognition.data").write_text("\n".join(letter_rows(20_000)) + "\n")
    split = load_letter(tmp_path)
    assert split.X_train.shape == (16_000, 16)
    assert split.X_test.shape == (4_000, 16)
    assert split.X_train.dtype == np.float32
    assert split.y_train[27] == "B"
    assert split.X_train[27].tolist() == [(27 + j) % 16 for j in range(16)]
    assert split.y_test[0] == chr(65 + 16_000 % 26)
    assert split.X_test[0].tolist() == [(16_000 + j) % 16 for j in range(16)]


def test_letter_with_a_short_row_names_its_line(tmp_path):
    rows = letter_rows(20_000)
    rows[41] = "A,1,2"
    (tmp_path / "letter-recognition.data").write_text("\n".join(rows))
    with pytest.raises(ValueError, match=r"letter-recognition\.data:42: expected a letter and 16 numbers"):
        load_letter(tmp_path)


def test_truncated_letter_is_refused(tmp_path):
    (tmp_path / "letter-recognition.data").write_text("\n".join(letter_rows(300)))
    with pytest.raises(ValueError, match="expected 20000 rows, got 300"):
        load_letter(tmp_path)


def test_usps_keeps_values_and_order_and_fills_absent_pixels_with_zero(tmp_path):
    write_gzip(tmp_path / "usps.train.svm.gz", "7 1:-1 2:0.5 256:0.25\n3 256:-0.125\n")
    write_gzip(tmp_path / "usps.test.svm.gz", "0 10:1\n")
    split = load_usps(tmp_path)
    assert split.y_train.tolist() == [7, 3]
    assert split.X_train.shape == (2, 256)
    assert split.X_train.dtype == np.float32
    assert split.X_train[0, [0, 1, 2, 255]].tolist() == [-1, 0.5, 0, 0.25]
    assert split.X_train[1, 255] == -0.125
    assert np.flatnonzero(split.X_test[0]).tolist() == [9]


BAD_USPS_LINES = ["7 1:0.5 2:x", "7 0:0.5", "7 -3:0.5", "7 257:0.5", "7 1:0.5 2", "7 :1", "seven 1:1", ""]


@pytest.mark.parametrize("line", BAD_USPS_LINES)
def test_malformed_usps_line_is_named(tmp_path, line):
    write_gzip(tmp_path / "usps.train.svm.gz", f"1 1:1\n{line}\n")
    write_gzip(tmp_path / "usps.test.svm.gz", "0 10:1\n")
    with pytest.raises(ValueError, match=r"usps\.train\.svm\.gz:2: expected an integer and pairs"):
        load_usps(tmp_path)


def write_mnist(folder, images, labels):
    for part in ("train", "t10k"):
        header = struct.pack(">2xBBIII", 8, 3, *images.shape)
        write_gzip(folder / f"{part}-images-idx3-ubyte.gz", header + images.tobytes())
        header = struct.pack(">2xBBI", 8, 1, len(labels))
        write_gzip(folder / f"{part}-labels-idx1-ubyte.gz", header + bytes(labels))


def test_mnist_images_become_rows_of_raw_pixels(tmp_path):
    images = np.arange(3 * 28 * 28).astype(np.uint8).reshape(3, 28, 28)
    write_mnist(tmp_path, images, [5, 0, 4])
    split = load_mnist(tmp_path)
    assert split.X_train.dtype == np.float32
    assert np.array_equal(split.X_train, images.reshape(3, 784))
    assert split.y_test.tolist() == [5, 0, 4]


def test_mnist_with_fewer_labels_than_images_is_refused(tmp_path):
    write_mnist(tmp_path, np.zeros((3, 28, 28), np.uint8), [5, 0])
    with pytest.raises(ValueError, match="3 images but 2 labels"):
        load_mnist(tmp_path)


DAMAGED_IDX = [b"", b"\0\0\x08", b"PK\x03\x04rest", b"\0\0\x08\x01\0\0\0\x02\x01", b"\0\0\x08\x03\0\0"]


@pytest.mark.parametrize("content", DAMAGED_IDX)
def test_damaged_idx_file_is_refused(tmp_path, content):
    write_mnist(tmp_path, np.zeros((1, 28, 28), np.uint8), [1])
    write_gzip(tmp_path / "t10k-labels-idx1-ubyte.gz", content)
    with pytest.raises(ValueError, match=r"t10k-labels-idx1-ubyte\.gz: "):
        load_mnist(tmp_path)


def test_r8_is_read_with_and_without_the_header_line(tmp_path):
    (tmp_path / "r8-train-all-terms.txt").write_text("Class\tExample\nship\tthe boat\ntrade\ttea, rice\n")
    (tmp_path / "r8-test-all-terms.txt").write_text("ship\ta boat\n")
    split = load_r8(tmp_path)
    assert split.X_train == ["the boat", "tea, rice"]
    assert split.y_train.tolist() == ["ship", "trade"]
    assert split.X_test == ["a boat"]


def test_r8_line_without_tab_is_named(tmp_path):
    (tmp_path / "r8-train-all-terms.txt").write_text("ship\tthe boat\nno tab here\n")
    (tmp_path / "r8-test-all-terms.txt").write_text("ship\ta boat\n")
    with pytest.raises(ValueError, match=r"r8-train-all-terms\.txt:2: expected a class, a tab"):
        load_r8(tmp_path)


def test_tfidf_follows_its_formula():
    train, test = tfidf(["b a a", "b c"], ["a a b unseen", "unseen", ""])
    weight = {"a": np.log(3 / 2) + 1, "b": np.log(3 / 3) + 1, "c": np.log(3 / 2) + 1}
    length = np.hypot(2 * weight["a"], weight["b"])
    expected = [2 * weight["a"] / length, weight["b"] / length, 0]
    assert train.toarray()[0] == pytest.approx(expected)
    assert test.toarray()[0] == pytest.approx(expected)
    assert test.shape == (3, 3)
    assert test[1:].nnz == 0
    assert train.has_sorted_indices


def test_tfidf_equals_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.zipf(1.5, size=rng.integers(1, 40)) % 50) for _ in range(60)]
    vectorizer = text.TfidfVectorizer(token_pattern=r"\S+", lowercase=False)
    expected_train = vectorizer.fit_transform(texts[:40]).toarray()
    train, test = tfidf(texts[:40], texts[40:])
    assert np.allclose(train.toarray(), expected_train)
    assert np.allclose(test.toarray(), vectorizer.transform(texts[40:]).toarray())


@pytest.mark.corpora
def test_real_sets_have_their_published_shapes():
    letter, usps, mnist, r8 = load_letter(), load_usps(), load_mnist(), load_r8()
    assert (letter.X_train.shape, letter.X_test.shape) == ((16_000, 16), (4_000, 16))
    assert (usps.X_train.shape, usps.X_test.shape) == ((7_291, 256), (2_007, 256))
    assert np.bincount(usps.y_train).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert (usps.X_train.min(), usps.X_train.max()) == (-1, 1)
    assert (mnist.X_train.shape, mnist.X_test.shape) == ((60_000, 784), (10_000, 784))
    assert (mnist.X_train.min(), mnist.X_train.max()) == (0, 255)
    assert (len(r8.X_train), len(r8.X_test)) == (5_485, 2_189)
    assert len(set(r8.y_train)) == 8
