"""`mxref sweep`: what its processes and workers are told to load."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pytest

from mxref.cli.sweep_verb import _source
from mxref.policy.policy import Policy


@pytest.mark.parametrize(
    ("target", "dask", "want"),
    [
        ("kernel.py", None, "kernel.py"),
        ("kernel.py", "tcp://host:1", "{}/kernel.py"),  # workers may have another folder
        ("kernel.py:Mode", "tcp://host:1", "{}/kernel.py:Mode"),
        ("package.module", "tcp://host:1", "package.module"),
        ("package.module", None, "package.module"),
    ],
)
def test_workers_of_dask_are_told_the_whole_path_of_a_file(
    target: str,
    dask: str | None,
    want: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").touch()
    options = argparse.Namespace(target=target, dask=dask, cmd=None, timeout=None, jobs=None)
    with _source(options, Policy()) as source:
        assert isinstance(source, partial)
        assert source.args == (want.format(tmp_path.resolve()),)
