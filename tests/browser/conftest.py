"""A real browser for the tests of pages; they are skipped, with the reason, where there is none."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def chromium():
    """Chromium, without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("needs Chromium: apt install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Program:
    """A `structsvm` command that serves a page; the same address after a restart."""

    def __init__(self, folder, *arguments):
        self.folder, self.arguments = folder, arguments
        self.port = 0
        self.start()

    def start(self):
        program = "import sys; from structsvm.cli.entry import main; sys.argv[0] = 'structsvm'; main()"
        command = [sys.executable, "-c", program, *map(str, self.arguments)]
        self.process = subprocess.Popen(
            [*command, "--no-browser", "--port", str(self.port)], cwd=self.folder, text=True,
            stderr=subprocess.PIPE, env={**os.environ, "STRUCTSVM_TOKEN": "a-token-of-the-tests"},
        )  # fmt: skip
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if line.startswith("http://"):
                break
        else:
            pytest.fail("the program ended: " + "".join(seen))
        self.url = seen[-1].split()[0].replace("$STRUCTSVM_TOKEN", "a-token-of-the-tests")
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self):
        """End it as a power failure does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self):
        """End it with Ctrl-C; its exit code and last words."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said


@pytest.fixture
def program(tmp_path):
    """Start `structsvm teach`, and end it after the test."""
    programs = []

    def start(*arguments):
        programs.append(Program(tmp_path, *arguments))
        return programs[-1]

    yield start
    for one in programs:
        if one.process.poll() is None:
            one.kill()


@pytest.fixture
def page(chromium):
    """A tab that fails the test if a script fails or a dialog opens."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    yield opened
    context.close()
    assert not problems
