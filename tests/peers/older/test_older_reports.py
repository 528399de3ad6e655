"""Pages of docs/reports, those whose versions this environment has."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_pages import pages_of, reproduce


@pytest.mark.parametrize("page", pages_of("older"), ids=lambda page: page.stem)
def test_a_report_reproduces(page: Path, tmp_path: Path) -> None:
    reproduce(page, tmp_path)
