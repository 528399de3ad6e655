"""Steps by the processor's own additions, against steps that nothing rounds, bit for bit.

The latter are compared with the slow twin in `test_mma`. Numbers here are of every kind: of few and
of many bits, near midpoints, small, large, cancelling, so that each way is taken and left again.
"""

from __future__ import annotations

import dataclasses
import itertools
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import table
from plain_rows import PLAIN, before, drawn, pairs, with_few_specials, words

from mxref import ADDERS, Adder, mma
from mxref.bits.floats import LAYOUTS
from mxref.exact.adder_steps import multiplied
from mxref.products import mma as products
from mxref.products import quick_steps, steps

OTHERS = {
    "exact_3": Adder(3, rounding="ties_to_even"),
    "exact_f16": Adder(2, output="f16", rounding="ties_to_even"),
    "tree_without_flush": Adder(
        4, tree=True, rounding="ties_to_even", formats=("f16", "tf32", "e4m3")
    ),
    "tree_of_f32": Adder(4, tree=True, rounding="ties_to_even", formats=("f32",)),
    "few_bits": Adder(4, 5, -30),
    "many_bits": Adder(64, 28, -133),
    "more_bits": Adder(8, 35, -133),
    "near": Adder(8, 25, -133, rounding="ties_to_even"),
    "zero_is_large": Adder(8, 11, -19, output_bits=20),
    "later_by_1": Adder(16, 12, later_bits=13, rounding="ties_to_even"),
    "later_halves": Adder(32, 24, later_bits=39, halves=True, rounding="ties_to_even"),
    "promoted": Adder(16, 24, -133, promotion=32),
}


def same(a: Any, b: Any, c: Any, adder: str | Adder, patch: pytest.MonkeyPatch) -> bool:
    """Whether a product has the same bits both ways, zeros with signs."""
    found = words(mma(a, b, c, adder=adder))
    with patch.context() as inside:
        inside.setattr(products, "added_up", steps.stepped)
        wanted = words(mma(a, b, c, adder=adder))
    return np.array_equal(found, wanted)


def sides(state: np.random.Generator, format: str, length: int, kind: int) -> tuple[Any, Any]:
    """Both sides of a product of 20 x 18: of normal numbers, or of any exponents."""
    a, b = (drawn(state, format, (rows, length), special=False) for rows in (20, 18))
    if kind % 3:
        normal = [state.standard_normal(one.shape).astype(one.dtype) for one in (a, b)]
        if kind % 3 == 1:
            return normal[0], normal[1].T
        a, b = normal  # few bits and many equal ones: sums that are ties, and zeros
        a, b = (np.round(one.astype(np.float64) * 2).astype(one.dtype) for one in (a, b))
    return a, b.T


@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_quick_steps_equal_slow_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adder = OTHERS.get(name) or ADDERS[name]
    formats = ["f16", "tf32", "e4m3"] if name in OTHERS else [one for one, _ in pairs(name)]
    if name == "tree_of_f32":
        formats = ["f32"]
    state = np.random.default_rng([*name.encode()])
    for format, (kind, c_kind) in itertools.product(
        dict.fromkeys(formats), itertools.product(range(3), range(3))
    ):
        a, b = sides(state, format, 4 * adder.step + 3, kind)
        c = before(state, adder.output, (20, 18))
        if c_kind == 1:
            c = np.copysign(np.zeros_like(c), state.standard_normal(c.shape)).astype(c.dtype)
        if c_kind == 2:
            c = state.standard_normal(c.shape).astype(c.dtype)
        assert same(a, b, c, adder, monkeypatch), (format, kind, c_kind)


@pytest.mark.parametrize("name", ["cdna1_f16", "cdna2_f16", "cdna3_f16", "cdna3_fp8", "fma_f32"])
def test_specials_leave_the_quick_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = np.random.default_rng(3)
    for format, _ in pairs(name):
        a, b = sides(state, format, 24, 1)
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        with_few_specials(state, a)
        with_few_specials(state, b)
        assert same(a, b, None, name, monkeypatch)


def test_the_quick_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of normal numbers no step is left to the slow way."""

    def none(adder: Adder) -> Any:
        def step(*arguments: Any) -> Any:
            raise AssertionError(adder)

        return step

    monkeypatch.setattr(quick_steps, "one_step", none)
    for name in PLAIN:
        state = np.random.default_rng(1)
        for format, _ in pairs(name):
            a, b = sides(state, format, 64, 1)
            mma(a, b, adder=name)


def test_fused_operations_beside_midpoints_equal_the_slow_twin() -> None:
    """1 + 2**-24 is a midpoint, and a product may be next to it by less than float64 holds."""
    tiny = np.float32(2.0**-40)
    rows = [[1, 2.0**-24], [1, 2.0**-24 * (1 + 2.0**-23)], [1, -(2.0**-25)], [1, 3 * 2.0**-24]]
    a = np.repeat(np.array(rows, np.float32), 5, axis=0)
    b = np.repeat(np.array([[1, 1], [1, 1 - 2.0**-24], [1, 1 + 2.0**-23]], np.float32), 6, axis=0)
    more = np.concatenate([a, tiny * np.ones((20, 1), np.float32)], axis=1)
    other = np.concatenate([b, tiny * np.ones((18, 1), np.float32)], axis=1)
    for x, y in ((a, b), (more, other), (more[:, ::-1], other[:, ::-1])):
        found = words(mma(x, np.ascontiguousarray(y.T), adder="fma_f32"))
        for i, j in itertools.product(range(0, 20, 5), range(0, 18, 6)):
            wanted = multiplied(
                words(x)[i].tolist(), words(y)[j].tolist(), 0, "f32", "f32", "fma_f32"
            )
            assert found[i, j] == wanted


def test_where_the_processor_does_not_round_to_nearest_nothing_is_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quick_steps, "rounds_to_nearest", lambda: False)
    seen: list[str] = []

    def counted(adder: Adder) -> Any:
        seen.append(adder.output)
        return steps.one_step(adder)

    monkeypatch.setattr(quick_steps, "one_step", counted)
    state = np.random.default_rng(2)
    a, b = sides(state, "f16", 16, 1)
    adder = dataclasses.replace(ADDERS["cdna1_f16"])
    assert same(a, b, np.zeros((20, 18), LAYOUTS["f32"].dtype), adder, monkeypatch)
    assert seen


_IN_A_MODE = table("kernels")["quick_steps_in_a_mode"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the modes are those of x86-64")
def test_no_mode_of_the_processor_changes_a_bit() -> None:
    here = Path(__file__).resolve().parent
    folders = [str(here), str(here.parent / "helpers")]

    def digest(mode: str) -> str:
        command = [sys.executable, "-c", _IN_A_MODE, mode, *folders]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    assert {digest(mode) for mode in ("upward", "flush")} == {digest("")}
