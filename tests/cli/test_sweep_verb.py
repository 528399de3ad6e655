"""`mxref sweep`: what its processes and workers are told to load."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pytest

from mxref.cli.sweep_verb import _source
from mxref.policy.policy import Policy

FILE = "{}/kernel.py"  # the whole path: workers may have another folder


@pytest.mark.parametrize(
    ("target", "dask", "want"),
    [
        ("kernel.py", None, "kernel.py"),
        ("kernel.py", "tcp://host:1", FILE),
        ("kernel.py:Mode", "tcp://host:1", f"{FILE}:Mode"),
        ("package.module", "tcp://host:1", "package.module"),
        ("package.module", None, "package.module"),
    ],
)
def test_what_workers_are_told(
    target: str, dask: str | None, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").touch()
    options = argparse.Namespace(target=target, dask=dask, cmd=None, timeout=None, jobs=None)
    with _source(options, Policy()) as source:
        assert isinstance(source, partial)
        assert source.args == (want.format(tmp_path.resolve()),)
