"""Each kind of ordinary array has the property that its name says, and is not degenerate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mxref import decode
from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import element_format
from mxref.operands.draws import Draws
from mxref.operands.ordinary import (
    CODES,
    NUMBERS,
    SCALES,
    ordinary_codes,
    ordinary_numbers,
    ordinary_scales,
)

SHAPE = (64, 32)
PROPERTIES: dict[str, Callable[[np.ndarray], bool]] = {
    "small": lambda x: bool(np.abs(x).max() < 0.02),
    "positive": lambda x: bool((x > 0).all()),
    "negative": lambda x: bool((x < 0).all()),
    "one sign a row": lambda x: {*np.sign(x).sum(1).tolist()} == {-32.0, 32.0},
    "with zeros": lambda x: 0.4 < (x == 0).mean() < 0.6,
    "after ReLU": lambda x: bool((x >= 0).all() and 0.4 < (x == 0).mean() < 0.6),
    "sparse": lambda x: 0.85 < (x == 0).mean() < 0.95,
    "sorted": lambda x: bool((np.diff(x.ravel()) >= 0).all()),
    "constant": lambda x: bool((x == x[0, 0]).all() and x[0, 0] >= 1),
    "uniform": lambda x: bool(np.abs(x).max() <= 1),
    "normal": lambda x: 0.9 < np.mean(x**2) / (4 / 3) < 1.1,
    "heavy-tailed": lambda x: np.abs(x).max() > 8 * np.sqrt(np.mean(x**2)),
    "log-normal": lambda x: np.ptp(np.log2(np.abs(x))) > 8,
}


@pytest.mark.parametrize("float", LAYOUTS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind: str, float: str) -> None:
    layout = LAYOUTS[float]
    words = ordinary_numbers(kind, Draws("seed"), SHAPE, layout)
    x = words.astype(layout.uint).view(layout.dtype).astype(np.float64)
    assert np.isfinite(x).all()
    assert PROPERTIES[kind](x)
    assert kind in ("constant", "sparse", "with zeros", "after ReLU") or np.unique(x).size > 300


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "int8"])
@pytest.mark.parametrize("kind", CODES)
def test_codes(kind: str, name: str) -> None:
    fmt = element_format(name)
    values = decode(np.arange(fmt.code_count, dtype=np.uint8), name).astype(np.float64)
    least = float(fmt.min_normal)
    codes = ordinary_codes(kind, Draws("seed"), SHAPE, values, least)
    x = values[codes]
    assert np.isfinite(x).all()
    properties = {
        "normal": (np.abs(x) >= least).all(),
        "positive": (x > 0).all(),
        "negative": (x < 0).all(),
        "not negative": not np.signbit(x).any(),
        "small": np.abs(x).max() <= np.abs(values[np.isfinite(values)]).max() / 8,
        "sparse": 0.85 < np.mean(x == 0) < 0.95,
        "sorted": (np.diff(x.ravel()) >= 0).all(),
        "constant": (codes == codes[0, 0]).all() and codes[0, 0] != 0,
    }
    assert properties.get(kind, True)
    assert kind == "constant" or np.unique(codes).size > 1


@pytest.mark.parametrize("kind", SCALES)
def test_scales(kind: str) -> None:
    codes = ordinary_scales(kind, Draws("seed"), (600,))
    low, high, is_one = SCALES[kind]
    assert low <= codes.min()
    assert codes.max() <= high <= 254
    assert (np.unique(codes).size == 1) is is_one
