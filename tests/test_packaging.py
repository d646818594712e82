"""What is in the distribution: everything that compiles and types it, no tests, no generated C."""

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
PACKAGES = [package.replace(".", "/") for package in SETUPTOOLS["packages"]]
NEEDS = re.compile(r"^(import|from) (spacy|sklearn)", re.MULTILINE)  # what the wheel alone does not bring
TOP = sorted({package.split("/")[0] for package in PACKAGES})


def sources(*endings):
    """Files of the packages, as they lie in the checkout."""
    found = (path for top in TOP for path in (ROOT / top).rglob("*") if path.suffix in endings)
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_every_folder_with_code_is_a_package():
    folders = {Path(path).parent.as_posix() for path in sources(".py", ".pyx", ".pxd", ".h", ".pyi")}
    assert folders == set(PACKAGES)
    assert all((ROOT / top / "py.typed").exists() for top in TOP)


def test_every_compiled_source_is_an_extension_with_the_flags_of_all():
    extensions = SETUPTOOLS["ext-modules"]
    assert sorted(extension["sources"][0] for extension in extensions) == sorted(sources(".pyx"))
    for extension in extensions:
        assert [f"{extension['name'].replace('.', '/')}.pyx"] == extension["sources"]
        assert "-ffp-contract=off" in extension["extra-compile-args"], extension["name"]


def test_what_the_compiler_type_checkers_and_spacy_need_is_package_data():
    globs = SETUPTOOLS["package-data"]["*"]
    data = sources(".pyx", ".pxd", ".h", ".pyi", ".typed", ".cfg", ".ssvm")
    for path in data | {"taggers/models/en-pos.md"}:
        assert any(Path(path).match(glob) for glob in globs), path


def test_the_version_is_the_same_everywhere():
    assert structsvm.__version__ == SETTINGS["project"]["version"]


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.packaging
def test_sdist_and_wheel_install_and_run_in_empty_environments(tmp_path):
    run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT, cwd=tmp_path)  # the wheel from the sdist
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sources(".py", ".pyx", ".pxd", ".h", ".pyi") <= packed
    names = zipfile.ZipFile(wheel).namelist()
    assert sources(".py", ".pxd", ".pyi", ".cfg", ".ssvm") | {f"{top}/py.typed" for top in TOP} <= set(names)
    assert not [name for name in names if name.endswith(".c") or "test" in name or "results" in name]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    blocks = [code for code in blocks if not NEEDS.search(code)]
    assert len(blocks) > 3
    for distribution in (wheel, sdist):
        home = tmp_path / distribution.suffix[1:]
        venv.create(home, with_pip=True)
        run(home / "bin/python", "-m", "pip", "install", "--quiet", distribution, cwd=home)
        assert run(home / "bin/structsvm", "--version", cwd=home).strip() == structsvm.__version__
        assert "=> pass(" in run(home / "bin/structsvm", "demo", cwd=home)
        assert "table-5.5" in run(home / "bin/structsvm", "reproduce", "--list", cwd=home)
        for code in blocks:
            run(home / "bin/python", "-c", code, cwd=home)
