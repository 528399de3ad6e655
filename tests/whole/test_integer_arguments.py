"""NumPy's integers of every width are integers; True is none, although Python counts it as one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from refused import assert_says, call_of, refusals
from tables import rows

import mxref
from mxref.profiles.registry import PROFILES

BOOLS = [
    row for value in (True, False, np.True_) for row in refusals("whole", "bools", VALUE=value)
]


@pytest.mark.parametrize(("call", "kind", "text"), BOOLS)
def test_a_bool_is_a_type_error(
    call: Callable[[], object], kind: type[Exception], text: str
) -> None:
    assert_says(call, kind, text)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64])
@pytest.mark.parametrize("call", [call for (call,) in rows("whole", "integers")])
def test_integers_of_numpy_are_integers(call: str, kind: type) -> None:
    assert call_of(call, KIND=kind)() == call_of(call, KIND=int)()


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_keys(name: str) -> None:
    assert {PROFILES[name]: 1}[mxref.profile(name)] == 1
