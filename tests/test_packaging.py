"""The distribution holds everything that compiles and types it, and no tests, benchmarks or generated C."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import structsvm

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = SETTINGS["tool"]["setuptools"]
TOP = [pattern.rstrip("*") for pattern in SETUPTOOLS["packages"]["find"]["include"]]
# The wheel alone does not install what these need.
NEEDS = re.compile(r"^(import|from) (spacy|sklearn|dask|taggers\.serve)", re.MULTILINE)
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
OUTSIDE = re.compile(r"(.*/)?(tests|benchmarks|docs|results)/")


def sources(*endings):
    """Files of the packages in the checkout, relative to it."""
    found = (path for top in TOP for path in (ROOT / top).rglob("*") if path.suffix in endings)
    return {path.relative_to(ROOT).as_posix() for path in found}


@pytest.fixture(scope="module")
def build_script():
    """setup.py as a module; importing it compiles nothing."""
    pytest.importorskip("Cython")
    spec = importlib.util.spec_from_file_location("build_script", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_folder_with_code_is_a_package():
    folders = {Path(path).parent for path in sources(".py", ".pyx", ".pxd", ".h", ".pyi")}
    assert [folder for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists()] == []
    assert all((ROOT / top / "py.typed").exists() for top in TOP)
    assert set(TOP) == {"structsvm", "taggers", "semparse", "corpora"}


def test_every_compiled_source_is_an_extension_with_flags_that_fix_the_rounding(build_script, monkeypatch):
    monkeypatch.chdir(ROOT)
    extensions = {found.name: found for found in build_script.extensions()}
    names = {path.removesuffix(".pyx").replace("/", ".") for path in sources(".pyx")}
    assert set(extensions) == names | {build_script.SHARED}
    for name, found in extensions.items():
        assert "-ffp-contract=off" in found.extra_compile_args, name
    assert "-O3" in extensions["structsvm._dual.linear"].extra_compile_args


def test_prefixes_and_extra_flags_of_the_build_name_modules_that_exist(build_script, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = [found.name for found in build_script.extensions()]
    assert set(build_script.EXTRA) <= set(names)
    for prefix in build_script.FAST:
        assert any(name.startswith(prefix) for name in names), prefix


def test_what_the_compiler_type_checkers_and_spacy_need_is_package_data():
    globs = SETUPTOOLS["package-data"]["*"]
    data = sources(".pyx", ".pxd", ".h", ".pyi", ".typed", ".cfg", ".ssvm")
    for path in data | {"taggers/models/en-pos.md"}:
        assert any(Path(path).match(glob) for glob in globs), path


def test_the_version_is_the_same_everywhere():
    assert SETUPTOOLS["dynamic"]["version"] == {"attr": "structsvm.__version__"}
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == structsvm.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{structsvm.__version__}]" in changes


def test_extras_that_name_the_distribution_use_its_name_on_pypi():
    project = SETTINGS["project"]
    extras = project["optional-dependencies"]
    assert project["name"] == "structsvm-nlp"
    known = {"dask", "spacy", "sklearn", "plot", "serve", "browser", "knowledge"}
    known |= {"test", "package", "docs", "bench"}
    assert known == set(extras)
    own = [need for needs in extras.values() for need in needs if need.startswith("structsvm")]
    assert own
    for need in own:
        name, wanted = re.fullmatch(r"([a-z-]+)\[(.*)\]", need).groups()
        assert name == project["name"]
        assert set(wanted.split(",")) <= set(extras)


def test_spacy_package_requires_the_distribution_that_has_the_factories():
    spacy = pytest.importorskip("spacy")
    from spacy.cli.package import get_third_party_dependencies

    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_tagger")
    needs = get_third_party_dependencies(nlp.config)
    assert [need.partition(">")[0] for need in needs] == ["structsvm-nlp"]


def run(*command, cwd, **env):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def empty_environment(folder, python=sys.executable):
    run(python, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def install(python, *needs):
    run(python, "-m", "pip", "install", "--quiet", *needs, cwd=python.parent)


def later_pythons():
    """The CPythons on the PATH that are newer than the limited API of the abi3 wheel."""
    found = []
    for minor in range(12, 20):
        python = shutil.which(f"python3.{minor}")
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            found.append(python)
    return found


def readme_blocks():
    """The Python blocks of the README and of the pages that need only the wheel."""
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", docs / "tutorials" / "own-problem.md", *docs.glob("how-to/*.md")]
    found = [code for page in pages for code in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [code for code in found if not NEEDS.search(code)]


def check_installed(python):
    """Run what the README promises, from a folder without the sources."""
    home = python.parent
    assert run(home / "structsvm", "--version", cwd=home).strip() == structsvm.__version__
    assert "=> pass(" in run(home / "structsvm", "demo", cwd=home)
    blocks = readme_blocks()
    assert len(blocks) > 10
    for code in blocks:
        run(python, "-c", code, cwd=home)


@pytest.fixture(scope="session")
def distributions():
    """The sdist, the wheel of this Python and the abi3 wheel, in dist/; both wheels come from the sdist."""
    dist = ROOT / "dist"
    for old in dist.glob("structsvm_nlp-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", dist, ROOT, cwd=ROOT.parent)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", dist, sdist]
    run(*command, cwd=dist, STRUCTSVM_ABI3="1")
    (abi3,) = dist.glob("*-cp311-abi3-*.whl")
    return {"sdist": sdist, "wheel": wheel, "abi3": abi3}


@pytest.mark.packaging
def test_sdist_has_all_sources_and_nothing_else_of_the_checkout(distributions):
    with tarfile.open(distributions["sdist"]) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sources(".py", ".pyx", ".pxd", ".h", ".pyi", ".cfg", ".ssvm") <= packed
    assert not [name for name in packed if name.endswith((".c", ".so")) or OUTSIDE.match(name)]


@pytest.mark.packaging
@pytest.mark.parametrize("kind", ["wheel", "abi3"])
def test_wheel_has_the_four_packages_and_no_tests_benchmarks_results_or_generated_c(distributions, kind):
    names = zipfile.ZipFile(distributions[kind]).namelist()
    assert sources(".py", ".pxd", ".pyi", ".cfg", ".ssvm") | {f"{top}/py.typed" for top in TOP} <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == set(TOP)
    assert not [name for name in names if name.endswith(".c") or OUTSIDE.search(name)]
    compiled = [name for name in names if name.endswith(".so")]
    assert len(compiled) == len(sources(".pyx")) + 1
    assert all(name.endswith(".abi3.so") == (kind == "abi3") for name in compiled)


@pytest.mark.packaging
def test_abi3_wheel_uses_only_the_stable_abi(distributions):
    pytest.importorskip("abi3audit")
    run(sys.executable, "-m", "abi3audit", "--strict", distributions["abi3"], cwd=ROOT)


@pytest.mark.packaging
@pytest.mark.parametrize("kind", ["wheel", "abi3", "sdist"])
def test_demo_and_documented_code_run_in_an_empty_environment(distributions, kind, tmp_path):
    python = empty_environment(tmp_path / "home")
    install(python, distributions[kind])
    check_installed(python)


@pytest.mark.packaging
@pytest.mark.parametrize("newer", later_pythons() or [None])
def test_abi3_wheel_runs_on_later_pythons(distributions, newer, tmp_path):
    if newer is None:
        pytest.skip("no CPython later than 3.11 on the PATH")
    python = empty_environment(tmp_path / "home", newer)
    install(python, distributions["abi3"])
    check_installed(python)


PIPELINE = """
import spacy
from spacy.training import Example

nlp = spacy.blank("en")
nlp.add_pipe("structsvm_tagger")
words, tags = ["the", "dog", "sleeps"], ["DT", "NN", "VBZ"]
examples = [Example.from_dict(spacy.tokens.Doc(nlp.vocab, words), {"tags": tags})]
nlp.initialize(lambda: examples)
for _ in range(3):
    nlp.update(examples)
assert [token.tag_ for token in nlp("the dog sleeps")] == tags
nlp.to_disk("trained")
"""
PACKAGED = """
import spacy

print([token.tag_ for token in spacy.load("en_tiny")("the dog sleeps")])
"""


@pytest.mark.packaging
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_package_of_a_trained_pipeline_installs_structsvm_and_loads(distributions, kind, tmp_path):
    pytest.importorskip("spacy")
    run(sys.executable, "-c", PIPELINE, cwd=tmp_path)
    options = ["--name", "tiny", "--version", "1.0.0", "--build", kind, "--require-parent"]
    (tmp_path / "out").mkdir()
    run(sys.executable, "-m", "spacy", "package", "trained", "out", *options, cwd=tmp_path)
    (meta,) = tmp_path.glob("out/*/meta.json")
    names = {re.match("[a-z-]+", need)[0] for need in json.loads(meta.read_text("utf-8"))["requirements"]}
    assert names == {"structsvm-nlp", "spacy"}
    (built,) = tmp_path.glob("out/*/dist/*")
    python = empty_environment(tmp_path / "home")
    install(python, "--find-links", ROOT / "dist", built)  # pip finds structsvm-nlp by its name
    assert run(python, "-c", PACKAGED, cwd=tmp_path / "home").strip() == "['DT', 'NN', 'VBZ']"
