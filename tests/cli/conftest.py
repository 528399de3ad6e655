"""Fixtures for tests of the command line."""

from __future__ import annotations

import pytest
from commands import Call, caller
from verify_helpers import everything, kit, run_verify, vectors  # noqa: F401


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process, for what does not depend on the process."""
    return caller(capsys)


@pytest.fixture
def quantize(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "quantize")
