"""What the integer operations refuse, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from refused import assert_says, refusals


@pytest.mark.parametrize(("call", "kind", "text"), refusals("integer"))
def test_misuse_is_refused_in_one_sentence(
    call: Callable[[], object], kind: type[Exception], text: str
) -> None:
    assert_says(call, kind, text)
