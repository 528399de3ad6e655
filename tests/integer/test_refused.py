"""What the integer operations refuse, each in one sentence."""

from __future__ import annotations

import builtins
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import assert_refused
from tables import arguments, rows

from mxref import integer
from mxref.integer import QParams

ONE, HALVES = np.float32([1]), np.ones((2, 2))
NAMED = {
    "two_channels": QParams([1.0, 2.0], axis=0),
    "one_column": QParams([1.0], axis=1),
    "halves": QParams(HALVES, axis=1),
    "wide": QParams(1.0, 0, -9, 9, np.int32),
    "no_rows": np.zeros((1, 0, 2), np.int8),
}
#: A good call of each.
GOOD: dict[str, dict[str, Any]] = {
    "multiplier_shift": {"scale": 1.0},
    "rescale": {"q": np.int8([1]), "multiplier": 1 << 30, "shift": 30},
    "QParams": {"scale": 1.0},
    "quantize_affine": {"values": ONE, "qparams": QParams(1.0)},
    "dequantize_affine": {"codes": np.int8([1]), "qparams": QParams(1.0)},
    "choose_qparams": {"low": 0.0, "high": 1.0},
    "grid_sample": {
        "q": np.zeros((1, 2, 2), np.int8),
        "grid": np.zeros((1, 1, 2), np.int16),
        "align_corners": True,
    },
    "pack_int4": {"w": [1]},
    "unpack_int4": {"packed": [1], "k": 2},
    "linear_qcs8w": {"x": np.float32([1, 2]), "w": [[1, 2]], "scales": [1.0]},
    "linear_qcs4w": {"x": np.float32([1, 2]), "packed": np.uint8([[1]]), "scales": [1.0]},
}


@pytest.mark.parametrize(("name", "changed", "kind", "text"), rows("integer", "refused"))
def test_misuse_is_refused_in_one_sentence(name: str, changed: str, kind: str, text: str) -> None:
    call = partial(getattr(integer, name), **GOOD[name])
    call()
    wrong = partial(call, **arguments(changed, NAMED))
    assert_refused([(wrong, getattr(builtins, kind), text)])
