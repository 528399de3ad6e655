"""`mxref sweep`: what its processes and workers are told to load."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pytest
from tables import rows

from mxref.cli.sweep_verb import _source
from mxref.policy.policy import Policy


@pytest.mark.parametrize(("target", "dask", "want"), rows("cli", "tables", "worker"))
def test_what_workers_are_told(
    target: str, dask: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").touch()
    address = None if dask == "none" else dask
    options = argparse.Namespace(target=target, dask=address, cmd=None, timeout=None, jobs=None)
    with _source(options, Policy()) as source:
        assert isinstance(source, partial)
        assert source.args == (want.replace("DIR", str(tmp_path.resolve())),)
