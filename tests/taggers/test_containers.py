"""The Dockerfile and the unit of docs/how-to/containers.md do what the page says."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from taggers import NerTagger

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "containers.md"
TOKEN = "a-token-of-the-tests"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd")
    program = "/opt/structsvm/bin/structsvm"
    unit = block("ini")
    assert program in unit
    (tmp_path / "people.service").write_text(unit.replace(program, "/bin/true"))  # it must exist
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "people.service"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def folder():
    """A folder that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_the_service_runs_as_another_user_without_rights_in_a_read_only_file_system(folder):
    """As the options of `docker run` on the page; there, pip has installed the program."""
    if os.name != "posix" or os.geteuid() or not all(map(shutil.which, ("unshare", "setpriv", "mount"))):
        pytest.skip("needs root, unshare, setpriv and mount")
    NerTagger().fit([["Anna", "left", "Oslo"]] * 3, [["B-PER", "O", "B-LOC"]] * 3).save(folder / "m.ssvm")
    entry = json.loads(re.search(r"ENTRYPOINT (\[.*\])", block("dockerfile"))[1])
    check = json.loads(re.search(r"CMD (\[.*\])", block("dockerfile"))[1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = "import sys; from structsvm.cli.entry import main; sys.argv[0] = 'structsvm'; main()"
    assert entry[:2] == ["structsvm", "serve"]
    serve = [sys.executable, "-c", program, "serve", str(folder / "m.ssvm"), *entry[3:], "--port", str(port),
             "--allow-host", "people"]  # fmt: skip
    inside = (
        "mount --make-rprivate / && mount -o remount,bind,ro / || exit 77; touch /x 2> /dev/null && exit 78; "
        'exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all "$@"'
    )
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", inside, "sh", *serve],
        env={**os.environ, "STRUCTSVM_TOKEN": TOKEN}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        healthy = [sys.executable, *(part.replace("9090", str(port)) for part in check[1:])]
        for _ in range(100):
            probe = subprocess.run(healthy, capture_output=True, check=False)
            if probe.returncode == 0 or process.poll() is not None:
                break
            time.sleep(0.2)
        if process.poll() == 77:
            pytest.skip("needs a file system that can be mounted again")
        assert probe.returncode == 0, process.communicate()[1] if process.poll() else probe.stderr
        address = f"http://127.0.0.1:{port}/{TOKEN}/tag"
        body = json.dumps({"text": "Anna left Oslo"}).encode()
        with urlopen(Request(address, body, {"Host": "people"})) as answer:
            assert json.load(answer)["sentences"][0]["labels"] == ["B-PER", "O", "B-LOC"]
        with pytest.raises(HTTPError, match="403"):
            urlopen(Request(address, body, {"Host": "other"}))
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(r"Uid:\t10001\t10001", status)
        assert re.search(r"CapEff:\t0+\n", status)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
