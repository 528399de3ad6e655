"""Arrays in unusual memory: what is asked, what it takes, and what becomes of refusals."""

from __future__ import annotations

import mmap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_reports import file_of
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from right_calls import RIGHT_CALLS

import mxref
from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking.array_memory import MEMORIES, ONE_ARRAY, STRIDE_0, copies, laid

Array = NDArray[Any]
ROWS = np.arange(33 * 32, dtype=np.float32).reshape(33, 32)
FAR = MEMORIES.index("arrays that reach over 4 GiB")


@pytest.mark.parametrize("shape", [(33, 32), (2, 17, 5), (260,), (1, 260), (2, 1)])
def test_rows_reach_over_more_than_32_bits_and_take_no_memory(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.uint8)
    before = resident()
    far = laid(array, FAR)
    assert sum((n - 1) * step for n, step in zip(shape, far.strides, strict=True)) > 1 << 32
    assert (far == array).all()
    assert far.ctypes.data % 16 == 0
    assert resident() - before < 16 << 20


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


def test_without_such_addresses_arrays_lie_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    many = np.zeros((70_000, 2), np.uint8)  # of which each row would take a page
    assert laid(many, FAR).strides == many.strides
    monkeypatch.setattr(mmap, "mmap", none)
    assert laid(ROWS, FAR).strides == ROWS.strides


def test_what_reads_repeated_rows_as_if_they_had_steps_reads_nothing_right() -> None:
    row = laid(np.repeat(ROWS[1:2], 3, axis=0), STRIDE_0)
    assert row.strides == (0, 4)
    careless = as_strided(row, strides=(128, 4))
    assert (careless[0] == ROWS[1]).all()
    assert not np.isin(careless[1:], ROWS).any()


def test_one_array_is_given_twice() -> None:
    a, b, c = copies([ROWS, ROWS + 1, ROWS[0]], ONE_ARRAY)
    assert a is b
    assert c.shape != a.shape
    assert not np.shares_memory(a, ROWS)
    a, b = copies([ROWS, ROWS])
    assert a is not b


@pytest.mark.parametrize("op", ["encode", "quantize", "dequantize"])
def test_repeated_rows_and_one_scale_are_asked(op: str) -> None:
    seen: set[tuple[tuple[int, ...], ...]] = set()

    def kernel(*arguments: Any) -> Any:
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        if len(arrays[0]) == 33:
            seen.add(tuple(one.strides for one in arrays))
        return RIGHT_CALLS[op](*arguments)

    stem = {"encode": "e4m3", "quantize": "mxfp8_e4m3", "dequantize": "mxfp8_e4m3"}[op]
    target = target_of(SimpleNamespace(**{op: kernel}), "kernel")
    extent = Extent(elements=1100, search=False)
    assert check(target, [file_of(f"{op}/{stem}.f32")], extent=extent).passed
    wanted = {
        "encode": {((0,),)},
        "quantize": {((0, 4),)},
        "dequantize": {((0,), (0, 1)), ((0,), (32, 1))},
    }
    assert wanted[op] <= seen


def test_what_refuses_some_memory_is_noted_once() -> None:
    def encode(values: Array, format: str) -> Array:
        values *= 1
        return mxref.encode(values, format)

    target = target_of(SimpleNamespace(encode=encode), "kernel")
    report = check(target, [file_of("encode/e4m3.f32")], extent=Extent(elements=100, search=False))
    assert report.passed
    (note,) = report.scope.notes
    assert note.startswith("encode refuses read-only arrays: ValueError: output array is read-only")
