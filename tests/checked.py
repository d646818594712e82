"""`python -m tests.checked sanitize|debug [--quick] [-- PYTEST ARGUMENTS]`: the suite on a checked build.

`sanitize` compiles with AddressSanitizer and UndefinedBehaviorSanitizer, `debug` with the bounds checks of
Cython, both in a copy of the checkout, `build/sanitize` or `build/debug`, with an environment of its own that
borrows the installed packages. The suite and the fuzzers then run there.

Sanitizers write to files, since tests capture what their processes print. Memory that is still allocated when
a process ends is reported if compiled code of this project allocated it: the interpreter and other
extensions leave much behind.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("structsvm", "taggers", "semparse", "corpora", "benchmarks", "tests", "docs", ".ci")
# Their shares of the cases: those that learn in every case take longest.
FUZZERS = {
    "readers": 7, "models": 7, "templates": 7, "services": 4, "parse": 3, "logs": 3, "pipelines": 3,
    "commands": 3, "journals": 2, "knowledge": 1,
}  # fmt: skip
# Memory and files; the fuzzers forge models, and the rest of the suite repeats the same loops.
QUICK = (
    "tests/structsvm/test_counted.py", "tests/structsvm/test_bigrams.py", "tests/structsvm/test_strings.py",
    "tests/structsvm/test_trees.py", "tests/taggers/test_columns.py", "tests/taggers/test_features.py",
    "tests/taggers/test_keys.py", "tests/taggers/test_items.py", "tests/taggers/test_write.py",
    "tests/taggers/test_history.py", "tests/fuzz/test_kept.py",
)  # fmt: skip
# Frames of the allocator itself, above the function that asked for the memory.
ALLOCATOR = re.compile(r" in (__interceptor_\w+|\w*Py(Mem|Object)_\w*(Malloc|Calloc|Realloc)\w*) ")


def copy(kind: str, tree: Path) -> None:
    """Make `tree` a copy of the sources; what was compiled there stays."""
    files = {path for path in ROOT.iterdir() if path.is_file()}
    files |= {path for top in COPIED for path in (ROOT / top).rglob("*") if path.is_file()}
    built = {".so", ".pyc"} if kind == "sanitize" else {".so", ".pyc", ".c"}  # the same C, or other
    wanted = {path.relative_to(ROOT) for path in files if path.suffix not in built}
    for name in wanted:
        source, target = ROOT / name, tree / name
        if not target.exists() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            if kind == "debug" and name.suffix == ".pyx":
                text = target.read_text().replace("boundscheck=False", "boundscheck=True")
                target.write_text(text.replace("initializedcheck=False", "initializedcheck=True"))
    for path in tree.rglob("*"):
        kept = path.is_dir() or path.suffix in {".so", ".pyc", ".c"} or path.relative_to(tree) in wanted
        if not kept:
            path.unlink()


def environment(folder: Path) -> Path:
    """Make an environment that has the copy and all installed packages; return its interpreter."""
    python = folder / "venv/bin/python"
    if not python.exists():
        venv.create(folder / "venv", symlinks=True)
    site = next((folder / "venv/lib").glob("python*/site-packages"))
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "checked.pth").write_text("\n".join([str(folder / "tree"), *borrowed]) + "\n")
    commands = {"structsvm": f"#!{python}\nfrom structsvm.cli.entry import main\n\nmain()\n"}
    if (curl := shutil.which("curl")) is not None:  # with ASan preloaded, it sometimes hangs in setlocale
        commands["curl"] = f'#!/bin/sh\nexec env -u LD_PRELOAD {curl} "$@"\n'
    for name, text in commands.items():
        python.with_name(name).write_text(text)
        python.with_name(name).chmod(0o755)
    return python


def sanitized(reports: Path) -> dict[str, str]:
    """The variables under which the interpreter loads sanitized extensions."""
    # With the C++ library: ASan otherwise aborts where a package, such as matplotlib, throws an exception.
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        for name in ("libasan.so", "libstdc++.so")
    ]
    return {
        "LD_PRELOAD": " ".join(found.stdout.strip() for found in libraries),
        "PYTHONMALLOC": "malloc",  # each object in a block of its own
        # Exit code 0: leaks do not change what a process returns; errors end it by a signal.
        "ASAN_OPTIONS": f"log_path={reports}/asan:exitcode=0:abort_on_error=1:handle_sigill=1:detect_leaks=1"
        ":allocator_may_return_null=1",
    }


def ours(report: str, tree: Path) -> str:
    """A report without the leaks of others; empty if nothing is left."""
    if "LeakSanitizer" not in report:
        return report
    blocks = [block for block in report.split("\n\n") if " leak of " in block]
    kept = []
    for block in blocks:
        frames = [line for line in block.splitlines()[1:] if not ALLOCATOR.search(line)]
        named = r" in \w+ (structsvm|taggers|semparse)/[\w/]+\.(c|pyx|h):"
        if frames and (str(tree) in frames[0] or re.search(named, frames[0])):
            kept.append(block)
    return "\n\n".join(kept)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.checked", description=__doc__)
    parser.add_argument("kind", choices=["sanitize", "debug"])
    parser.add_argument("--quick", action="store_true", help="the tests of memory and 2,000 fuzz cases")
    parser.add_argument("--cases", type=int, help="fuzz cases; 2,000 with --quick, else 10,000")
    parser.add_argument("--seed", type=int, default=0, help="of the fuzzers")
    parser.add_argument("rest", nargs="*", metavar="PYTEST ARGUMENTS", help="only these tests, no fuzzers")
    options = parser.parse_args()
    folder = ROOT / "build" / options.kind
    tree, reports = folder / "tree", folder / "reports"
    copy(options.kind, tree)
    python = environment(folder)
    variables = {**os.environ, "STRUCTSVM_BUILD": options.kind, "VIRTUAL_ENV": str(folder / "venv")}
    setup = [python, "setup.py", "-q", "build_ext", "--inplace"]
    built = subprocess.run(setup, cwd=tree, env=variables, stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        sys.exit(built.stderr)

    if options.kind == "sanitize":
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir()
        variables |= sanitized(reports)
    tests = options.rest or ["-n", "auto", *(QUICK if options.quick else [])]
    commands = [["pytest", "-p", "no:cacheprovider", *tests]]
    if not options.rest:
        cases = (options.cases or (2000 if options.quick else 10000)) // sum(FUZZERS.values())
        numbers = ["--seconds", "3600", "--seed", str(options.seed)]
        commands += [
            ["tests.fuzz", name, "--cases", str(share * cases), *numbers] for name, share in FUZZERS.items()
        ]

    def fails(command: list[str]) -> bool:
        return subprocess.run([python, "-m", *command], cwd=tree, env=variables, check=False).returncode != 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # fuzzers use one core each
        results = [fails(commands[0]), *pool.map(fails, commands[1:])]
    failed = [" ".join(command) for command, bad in zip(commands, results, strict=True) if bad]
    found = [] if options.kind == "debug" else [ours(path.read_text(), tree) for path in reports.iterdir()]
    found = [report for report in found if report]
    print(*found, sep="\n\n")
    if options.kind == "sanitize":
        print(f"sanitizers: {len(found)} reports")
    for command in failed:
        print(f"failed: {command}")
    sys.exit(1 if found or failed else 0)


if __name__ == "__main__":
    main()
