"""Compile every `.pyx` file; pyproject.toml has everything else about the distribution."""

import os
import re
import shutil
import sys
import threading
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

PACKAGES = ("structsvm", "taggers", "semparse")
SHARED = "structsvm._cython"  # Cython's own code (memoryviews), compiled once instead of in each extension

# -ffp-contract=off: a compiler may fuse a * b + c into one operation that rounds once (arm64, AVX2); a seed
# would then give different models on different machines. -g0 saves a fifth of the time to compile.
# -w: warnings about the C that Cython writes help nobody.
FLAGS = ["-g0", "-w", "-ffp-contract=off"]
# -O3 for the loops of training and tagging, and where a build with -O3 everywhere took less CPU time on a
# busy machine: concept networks (0.3 of -O2), LASVM, SGD-QN, tracking and kernel cutting planes (0.9).
FAST = (
    "structsvm._dual.linear",
    "structsvm._dual.shard",
    "structsvm._dual.kernel",
    "structsvm.binary._lasvm",
    "structsvm.binary._sgd",
    "structsvm.binary._tracking",
    "structsvm.problems.sequence.",
    "structsvm.kernels.",
    "semparse.concepts.",
    "taggers.features._extract",
)
# Nothing reads the floating-point flags; without them the compiler vectorises exp and the passes of SMO.
NO_TRAPS = ["-fno-trapping-math"]
EXTRA = {"structsvm.kernels.kernel_cache": NO_TRAPS, "structsvm.binary._lasvm": NO_TRAPS}
# STRUCTSVM_ABI3=1: one wheel for CPython 3.11 and all later versions, from the limited API.
ABI3 = os.environ.get("STRUCTSVM_ABI3") == "1"
MACROS = [("Py_LIMITED_API", "0x030B0000")] if ABI3 else []
# Less C to compile: extension types are not pickled, and their functions are built-in functions.
DIRECTIVES = {
    "auto_pickle": False,
    "binding": False,
    "emit_code_comments": False,
    "embedsignature": True,  # for help() and inspect.signature
    "embedsignature.format": "clinic",
}
# STRUCTSVM_BUILD=sanitize, as tests/checked.py sets it: AddressSanitizer reports every fault, also undefined
# behaviour, which traps; -Og compiles faster than -O2. Python's own flags allow integers to overflow.
SANITIZED = os.environ.get("STRUCTSVM_BUILD") == "sanitize"
SANITIZERS = ["-fsanitize=address", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize=null"]
SANITIZERS += ["-fsanitize-undefined-trap-on-error", "-fno-wrapv", "-Og", "-g1", "-fno-omit-frame-pointer"]
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def with_included(headers: list[str]) -> list[str]:
    """Return headers and the headers of this project that they include, directly or not."""
    found: dict[str, None] = {}
    while headers:
        header = headers.pop()
        if header not in found:
            found[header] = None
            headers += re.findall(r'#include "(\S+)"', Path(header).read_text(encoding="utf-8"))
    return sorted(found)


def extension(path: Path) -> Extension:
    name = ".".join(path.with_suffix("").parts)
    level = "-O3" if name.startswith(FAST) else "-O2"
    return Extension(
        name,
        [str(path)],
        depends=["setup.py"],  # `Build` adds the headers
        include_dirs=["."],
        define_macros=MACROS,
        py_limited_api=ABI3,
        extra_compile_args=[*FLAGS, level, *EXTRA.get(name, []), *(SANITIZERS if SANITIZED else [])],
        extra_link_args=SANITIZERS[:1] if SANITIZED else [],
    )


class Build(build_ext):
    """Count the finished extensions, and reuse those that an earlier build left in the checkout."""

    lock = threading.Lock()
    finished = 0

    def build_extensions(self) -> None:
        print("translating Cython to C", file=sys.stderr, flush=True)
        made = cythonize(
            self.extensions, nthreads=JOBS, quiet=True, shared_utility_qualified_name=SHARED,
            compiler_directives=DIRECTIVES,
        )  # fmt: skip
        translated = {ext.name: ext for ext in made}
        for ext in self.extensions:
            ext.sources = translated[ext.name].sources
            # Cython lists the headers that a module or its .pxd files name.
            ext.depends = [
                "setup.py",
                *with_included([path for path in translated[ext.name].depends if path.endswith(".h")]),
            ]
            ext.include_dirs = translated[ext.name].include_dirs
        # The longest first, so that no core waits for the last one.
        self.extensions.sort(key=lambda ext: Path(ext.sources[0]).stat().st_size, reverse=True)
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        in_place = Path(*ext.name.split(".")).with_name(Path(self.get_ext_filename(ext.name)).name)
        if newer_group([*ext.sources, *ext.depends], str(in_place)):
            super().build_extension(ext)
        else:
            target = Path(self.get_ext_fullpath(ext.name))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(in_place, target)
        with self.lock:
            Build.finished += 1
            line = f"compiled {self.finished} of {len(self.extensions)}: {ext.name}"
            print(line, file=sys.stderr, flush=True)


def extensions() -> list[Extension]:
    paths = sorted(path for package in PACKAGES for path in Path(package).rglob("*.pyx"))
    shared = Extension(
        SHARED,
        [SHARED.replace(".", "/") + ".c"],
        define_macros=MACROS,
        py_limited_api=ABI3,
        extra_compile_args=["-O1", *FLAGS],
    )
    return [shared, *map(extension, paths)]


if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": Build},
        options={
            "build_ext": {"parallel": JOBS},
            "bdist_wheel": {"py_limited_api": "cp311"} if ABI3 else {},
        },
    )
