import errno
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from structsvm.files import persist
from structsvm.files.atomic import atomic_write
from structsvm.files.persist import ModelFileError, load_model, save_model
from tests.structsvm.helpers import resealed

ARRAYS = {
    "weights": np.arange(60, dtype=np.float32).reshape(12, 5) / 7,
    "keys": np.arange(9, dtype=np.uint64) << np.uint64(40),
    "empty": np.empty((0, 3), dtype=np.float16),
    "scalar": np.array(2.5),
}
META = {"labels": ["B-per", "O"], "C": 0.1, "note": "näïve\ud800", "nested": {"z": None, "a": [True, 1]}}


def saved(path, arrays=ARRAYS, meta=META):
    save_model(path, arrays, meta)
    return path.read_bytes()


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("good") / "model.ssvm")


def assert_same(arrays, expected):
    assert list(arrays) == sorted(expected)
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert np.array_equal(array, expected[name])


def test_what_was_saved_is_loaded(tmp_path):
    saved(tmp_path / "model.ssvm")
    arrays, meta = load_model(tmp_path / "model.ssvm")
    assert_same(arrays, ARRAYS)
    assert meta == META
    assert all(array.flags.writeable for array in arrays.values())
    assert all(array.ctypes.data % 64 == 0 for array in arrays.values() if array.size)


@settings(max_examples=50)
@given(
    arrays=st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_.-]{1,90}", fullmatch=True),
        st_numpy.arrays(
            dtype=st.one_of(
                st_numpy.integer_dtypes(), st_numpy.floating_dtypes(), st_numpy.boolean_dtypes(),
                st_numpy.unicode_string_dtypes(max_len=5),
            ),
            shape=st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    ),
    meta=st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | st.floats(-9, 9)),
)  # fmt: skip
def test_save_load_save_gives_the_same_bytes(tmp_path_factory, arrays, meta):
    folder = tmp_path_factory.mktemp("models")
    first = saved(folder / "a", arrays, meta)
    loaded = load_model(folder / "a")
    assert loaded[1] == meta
    assert saved(folder / "b", *loaded) == first


def test_bytes_depend_on_content_only(tmp_path):
    meta = dict(reversed(META.items()))
    arrays = {name: np.array(array, order="F") for name, array in reversed(ARRAYS.items())}
    assert saved(tmp_path / "a") == saved(tmp_path / "other name", arrays, meta)


def test_numpy_reads_the_file_without_pickle(tmp_path):
    saved(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {*ARRAYS, "structsvm.json"}
        assert np.array_equal(archive["weights"], ARRAYS["weights"])


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_a_loaded_model_is_out_of_reach_of_changes_to_its_file(tmp_path, damage):
    content = saved(tmp_path / "m")
    arrays, _ = load_model(tmp_path / "m")
    with open(tmp_path / "m", "r+b") as file:  # in place, as cp and rsync --inplace do
        file.truncate(0) if damage == "truncated" else file.write(b"\xff" * len(content))
    assert_same(arrays, ARRAYS)


def test_numpy_scalars_in_meta_become_plain_numbers(tmp_path):
    save_model(tmp_path / "m", {}, {"score": np.float64(0.5), "count": np.int32(3), "ok": np.bool_(True)})
    assert load_model(tmp_path / "m")[1] == {"score": 0.5, "count": 3, "ok": True}


def test_new_file_has_the_permissions_of_any_new_file(tmp_path):
    saved(tmp_path / "m")
    (tmp_path / "plain").touch()
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_saving_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    saved(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same(load_model(tmp_path / "real")[0], ARRAYS)


@pytest.mark.parametrize(
    ("arrays", "meta", "message"),
    [
        ({"a": np.array([{}])}, {}, "Array 'a' must contain numbers or text of fixed size, got object"),
        ({"a/b": np.zeros(1)}, {}, "Array name 'a/b' must consist"),
        ({"": np.zeros(1)}, {}, "Array name '' must consist"),
        ({}, {"a": np.zeros(2)}, "`meta` can contain only JSON values, got ndarray"),
        ({}, {"a": {1, 2}}, "`meta` can contain only JSON values, got set"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_writing(tmp_path, arrays, meta, message):
    with pytest.raises((ValueError, TypeError), match=message):
        save_model(tmp_path / "m", arrays, meta)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["os.fsync", "os.replace", "numpy.lib.format.write_array", "zlib.crc32"])
def test_interrupted_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error, where):
    before = saved(tmp_path / "m")

    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises(type(error)):
        save_model(tmp_path / "m", {"other": np.zeros(3)}, {})
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == before


def test_disk_that_fills_up_leaves_no_file(tmp_path):
    resource = pytest.importorskip("resource")
    limit = 100_000
    code = (
        "import sys, numpy; from structsvm.files.persist import save_model\n"
        "try: save_model(sys.argv[1], {'a': numpy.zeros(10**6)}, {})\n"
        "except OSError as error: sys.exit(error.errno)"
    )
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, tmp_path / "m"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (errno.EFBIG, b"")
    assert os.listdir(tmp_path) == []


def test_saving_onto_a_directory_or_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            save_model(path, ARRAYS, META)
    assert os.listdir(tmp_path) == ["pipe"]


def test_saving_into_a_missing_folder_names_the_folder(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        save_model(tmp_path / "no" / "m", ARRAYS, META)
    assert error.value.filename == str(tmp_path / "no")


def refusal(path):
    with pytest.raises(ModelFileError) as error:
        load_model(path)
    message = str(error.value)
    assert message.startswith(f"Model file {path} ")
    assert "\n" not in message
    return message


def test_each_kind_of_unusable_file_has_its_sentence(tmp_path, good):
    path = tmp_path / "m"
    assert "does not exist" in refusal(path)
    assert "not a regular file" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")
    for foreign in (b"#!/bin/sh\nexit\n" * 9, b"\x80\x04K\x01.", good[1:-1]):
        path.write_bytes(foreign)
        assert "is not a structsvm model" in refusal(path)
    np.savez(path.with_suffix(".npz"), **ARRAYS)
    assert "is not a structsvm model" in refusal(path.with_suffix(".npz"))
    for incomplete in (b"", b"PK", good[:-1], good[: len(good) // 2], good + b"\n"):
        path.write_bytes(incomplete)
        assert "is damaged or incomplete" in refusal(path)


def test_unreadable_file_is_named(tmp_path, monkeypatch):
    def fail(*_args):
        raise PermissionError(errno.EACCES, "Permission denied")

    saved(tmp_path / "m")
    monkeypatch.setattr("builtins.open", fail)
    assert "cannot be read: Permission denied." in refusal(tmp_path / "m")


def test_newer_format_asks_for_an_upgrade(tmp_path, monkeypatch):
    monkeypatch.setattr(persist, "FORMAT", 2)
    saved(tmp_path / "m")
    monkeypatch.undo()
    assert "has format 2" in refusal(tmp_path / "m")
    assert "upgrade structsvm" in refusal(tmp_path / "m")


def test_every_truncation_is_refused(tmp_path, good):
    path = tmp_path / "m"
    for size in range(len(good)):
        path.write_bytes(good[:size])
        refusal(path)


def test_every_flipped_byte_is_refused(tmp_path, good):
    path = tmp_path / "m"
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << at % 8)]) + good[at + 1 :])
        refusal(path)


def load_or_refuse(path):
    """Loading gives arrays of the file's own size or the one exception, and nothing else."""
    try:
        arrays, meta = load_model(path)
    except ModelFileError:
        return
    assert isinstance(meta, dict)
    assert all(array.nbytes <= path.stat().st_size and not array.dtype.hasobject for array in arrays.values())
    for array in arrays.values():
        array.tobytes()


@settings(max_examples=300)
@given(data=st.data())
def test_forged_files_load_or_are_refused(tmp_path_factory, good, data):
    content = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 25))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(min_size=1, max_size=3))
    path = tmp_path_factory.getbasetemp() / "forged"
    path.write_bytes(resealed(bytes(content)))
    load_or_refuse(path)


def forge(path, members, *, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = b"structsvm crc32 00000000"
    path.write_bytes(resealed(path.read_bytes()))


def description(names=("a",), **changes):
    fields = {"magic": "structsvm", "format": 1, "library": "0", "arrays": names, "meta": {}}
    return json.dumps(fields | changes)


def npy(header, data=b"", *, version=b"\1\0"):
    text = header.encode() if isinstance(header, str) else repr(header).encode()
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data


def header(descr, shape, fortran_order=False):
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


def test_forging_helper_makes_files_that_load(tmp_path):
    forge(tmp_path / "m", [("structsvm.json", description()), ("a.npy", npy(header("<f4", (2,)), bytes(8)))])
    assert load_model(tmp_path / "m")[0]["a"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "member",
    [
        npy(header("|O", (1,)), b"\x80\x04K\x01." + bytes(3)),
        npy(header("<f4", (10**12,)), bytes(8)),
        npy(header("<f4", (-2,)), bytes(8)),
        npy(header("<f4", (-2, -1)), bytes(8)),
        npy(header("<f4", (2**62, 2**62)), bytes(8)),
        npy(header("<f4", (1, 2), True), bytes(8)),
        npy(header("<f4", (3,)), bytes(8)),
        npy(header("<U0", (10**15,))),
        npy(header("no such type", (2,)), bytes(8)),
        npy(header([("f", "|O")], (1,)), bytes(8)),
        npy("{'descr': __import__('os').getpid(), 'fortran_order': False, 'shape': ()}"),
        npy("[" * 9000),
        npy("-" * 9000 + "1"),
        npy(header("<f4", (2,)), bytes(8), version=b"\3\0"),
        b"",
        b"\x93NUMPY",
        b"not an array",
    ],
    ids=lambda member: repr(member[8:40]),
)
def test_forged_array_is_refused(tmp_path, member):
    forge(tmp_path / "m", [("structsvm.json", description()), ("a.npy", member)])
    assert "is damaged" in refusal(tmp_path / "m")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "null", "[" * 100_000, b"\xff\xfe", description(format="new"), description(arrays=3),
        description(arrays=["a", "b"]), description(arrays=[]), description(meta=3),
    ],
    ids=lambda text: repr(text[:60]),
)  # fmt: skip
def test_forged_json_is_refused(tmp_path, text):
    forge(tmp_path / "m", [("structsvm.json", text), ("a.npy", npy(header("<f4", (2,)), bytes(8)))])
    assert "is damaged" in refusal(tmp_path / "m")


def test_foreign_json_is_foreign(tmp_path):
    forge(tmp_path / "m", [("structsvm.json", description(magic="other")), ("a.npy", b"")])
    assert "is not a structsvm model" in refusal(tmp_path / "m")


class Attack:
    """A pickle of it makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_pickles_in_a_model_file_are_refused_and_not_executed(tmp_path):
    made, array, pickled = tmp_path / "made", io.BytesIO(), pickle.dumps(Attack(tmp_path / "made"))
    np.save(array, np.array([Attack(made)], object), allow_pickle=True)
    for name in ("a.npy", "a.pkl"):
        for content in (array.getvalue(), pickled):
            forge(tmp_path / "m", [("structsvm.json", description()), (name, content)])
            assert "is damaged" in refusal(tmp_path / "m")
    (tmp_path / "m").write_bytes(pickled)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")
    assert not made.exists()
    pickle.loads(pickled).close()
    assert made.exists()  # what the attack does where it succeeds


def test_compressed_members_are_refused_unread(tmp_path, monkeypatch):
    bomb = io.BytesIO()
    np.save(bomb, np.zeros(1_000_000))
    members = [("structsvm.json", description()), ("a.npy", bomb.getvalue())]
    forge(tmp_path / "m", members, compression=zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(zlib, "decompressobj", lambda *_: pytest.fail("decompressed"))
    assert "is damaged" in refusal(tmp_path / "m")


def test_members_that_claim_to_be_compressed_are_refused(tmp_path, good):
    directory = good.index(b"PK\1\2")
    assert good[directory + 10 : directory + 12] == b"\0\0"
    (tmp_path / "m").write_bytes(resealed(good[: directory + 10] + b"\x08" + good[directory + 11 :]))
    assert "is damaged" in refusal(tmp_path / "m")


def test_members_that_claim_to_be_larger_than_the_file_are_refused(tmp_path, good):
    last = good.rindex(b"PK\1\2")
    for field in (24, 42):  # size, offset
        content = good[: last + field] + b"\xff\xff\xff\x7f" + good[last + field + 4 :]
        (tmp_path / "m").write_bytes(resealed(content))
        assert "is damaged" in refusal(tmp_path / "m")


def test_two_members_of_one_name_are_refused(tmp_path):
    member = ("a.npy", npy(header("<f4", (2,)), bytes(8)))
    with pytest.warns(UserWarning, match="Duplicate name"):
        forge(tmp_path / "m", [("structsvm.json", description(["a", "a"])), member, member])
    assert "is damaged" in refusal(tmp_path / "m")


def test_members_that_overlap_are_refused(tmp_path, good):
    first = good.index(b"PK\1\2")
    second, third = good.index(b"PK\1\2", first + 1), good.rindex(b"PK\1\2")
    offset = good[second + 42 : second + 46]
    (tmp_path / "m").write_bytes(resealed(good[: third + 42] + offset + good[third + 46 :]))
    assert "is damaged" in refusal(tmp_path / "m")


def test_an_unfinished_file_has_no_name(tmp_path):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    with atomic_write(tmp_path / "m") as file:
        file.write(b"half of it")
        file.flush()
        assert os.listdir(tmp_path) == []
    assert (tmp_path / "m").read_bytes() == b"half of it"


def test_writing_works_where_files_need_a_name(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)

    def interrupted():
        with atomic_write(tmp_path / "m") as file:
            file.write(b"half of it")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []
    saved(tmp_path / "m")
    assert_same(load_model(tmp_path / "m")[0], ARRAYS)


def test_arrays_are_aligned_also_if_another_program_packed_the_file(tmp_path):
    save_model(tmp_path / "whole", {"x": np.arange(5.0), "y": np.arange(3)}, {"odd": "x"})
    with zipfile.ZipFile(tmp_path / "whole") as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(tmp_path / "packed", "w") as archive:
        archive.comment = b"structsvm crc32 00000000"
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    content = (tmp_path / "packed").read_bytes()[:-8]
    (tmp_path / "packed").write_bytes(content + b"%08x" % zlib.crc32(content))
    arrays, _ = load_model(tmp_path / "packed")
    assert all(array.flags.aligned for array in arrays.values())
    np.testing.assert_array_equal(arrays["x"], np.arange(5.0))
