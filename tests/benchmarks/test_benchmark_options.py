"""`python -m benchmarks` rejects options that have no effect."""

import sys

import pytest

from benchmarks.__main__ import BENCHMARKS, WHOLE, main


@pytest.mark.parametrize("name", WHOLE)
def test_benchmarks_without_a_quick_run_say_so(name, monkeypatch, capsys):
    assert name in BENCHMARKS
    monkeypatch.setattr(sys, "argv", ["benchmarks", name, "--quick"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"--quick has no effect on {name}; leave it out" in capsys.readouterr().err
