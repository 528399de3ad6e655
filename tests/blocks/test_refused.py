"""What blocks and the functions that make and read them refuse, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from refused import assert_says, refusals


@pytest.mark.parametrize(("call", "kind", "text"), refusals("blocks"))
def test_what_is_refused(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)
