"""The distribution holds everything that compiles and types it, and no tests, benchmarks or generated C."""

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import structsvm

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = SETTINGS["tool"]["setuptools"]
TOP = [pattern.rstrip("*") for pattern in SETUPTOOLS["packages"]["find"]["include"]]
NEEDS = re.compile(r"^(import|from) (spacy|sklearn)", re.MULTILINE)  # the wheel alone does not install these


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
    assert structsvm.__version__ == SETTINGS["project"]["version"]


def test_extras_that_name_the_distribution_use_its_name_on_pypi():
    project = SETTINGS["project"]
    extras = project["optional-dependencies"]
    assert project["name"] == "structsvm-nlp"
    assert {"spacy", "sklearn", "plot", "test", "docs", "bench"} == set(extras)
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


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.packaging
def test_sdist_and_wheel_install_and_run_in_empty_environments(tmp_path):
    dist = ROOT / "dist"
    for old in dist.glob("structsvm_nlp-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", dist, ROOT, cwd=tmp_path)  # the wheel from the sdist
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sources(".py", ".pyx", ".pxd", ".h", ".pyi") <= packed
    assert not [name for name in packed if name.endswith((".c", ".so")) or re.match("tests|benchmarks", name)]
    names = zipfile.ZipFile(wheel).namelist()
    assert sources(".py", ".pxd", ".pyi", ".cfg", ".ssvm") | {f"{top}/py.typed" for top in TOP} <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == set(TOP)
    assert not [name for name in names if name.endswith(".c")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    blocks = [code for code in blocks if not NEEDS.search(code)]
    assert blocks
    home = tmp_path / "home"
    venv.create(home, with_pip=True)
    run(home / "bin/python", "-m", "pip", "install", "--quiet", wheel, cwd=home)
    assert run(home / "bin/structsvm", "--version", cwd=home).strip() == structsvm.__version__
    assert "=> pass(" in run(home / "bin/structsvm", "demo", cwd=home)
    for code in blocks:
        run(home / "bin/python", "-c", code, cwd=home)
    run(home / "bin/python", "-m", "pip", "install", "--quiet", f"{wheel}[spacy]", cwd=home)
    code = "import spacy; spacy.blank('en').add_pipe('structsvm_tagger', config={'model': 'en-pos'})"
    run(home / "bin/python", "-c", code, cwd=home)
