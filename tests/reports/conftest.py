"""Fixtures for tests of pages and pictures."""

from __future__ import annotations

import pytest
from commands import Call, caller
from verify_helpers import vectors  # noqa: F401


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)
