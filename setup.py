"""Compile every `.pyx` file; pyproject.toml has everything else about the distribution."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

PACKAGES = ("structsvm", "taggers", "semparse")
SHARED = "structsvm._cython"  # Cython's own code (memoryviews), compiled once instead of once an extension

# -ffp-contract=off: a compiler may fuse a * b + c into one operation that rounds once (arm64, AVX2); a seed
# would then give different models on different machines. -g0 halves the time to compile.
FLAGS = ["-O3", "-g0", "-ffp-contract=off"]
# Nothing reads the floating-point flags; without them the compiler vectorises exp.
EXTRA = {"structsvm.kernels.kernel_cache": ["-fno-trapping-math"]}


def extension(path: Path) -> Extension:
    name = ".".join(path.with_suffix("").parts)
    return Extension(name, [str(path)], include_dirs=["."], extra_compile_args=FLAGS + EXTRA.get(name, []))


paths = sorted(path for package in PACKAGES for path in Path(package).rglob("*.pyx"))
shared = Extension(SHARED, [SHARED.replace(".", "/") + ".c"], extra_compile_args=["-O1", "-g0"])
jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

setup(
    ext_modules=cythonize(
        [shared, *map(extension, paths)],
        nthreads=jobs,
        shared_utility_qualified_name=SHARED,
    ),
    options={"build_ext": {"parallel": jobs}},
)
