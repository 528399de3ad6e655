"""Inputs of weight-only linear layers, with 8-bit and 4-bit weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mxref.exact.format_table import FLOATS
from mxref.exact.integer import pack_int4
from mxref.exact.patterns import write_float
from mxref.operands.case_input import CaseInput, spelled
from mxref.operands.splitmix import splitmix64

__all__ = ["weight_only_cases"]

_MODEL = "M22"
_ONE, _INF, _NAN = 0x3F800000, 0x7F800000, 0x7FC00000
_MINUS = 0x80000000


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer: float32 patterns of x, codes of w, patterns of the scales, rows of each."""

    name: str
    x: Sequence[Sequence[int]]
    w: Sequence[Sequence[int]]
    scales: Sequence[Sequence[int]]
    flags: tuple[str, ...] = ()


def weight_only_cases(format: str) -> Iterator[CaseInput]:
    """The cases of int8 or int4 weights, with one scale for a row, or for a group."""
    narrow = format.startswith("int4")
    layers = _grouped if format.endswith("_groups") else _by_row
    for layer in layers(narrow=narrow):
        k = len(layer.w[0])
        head = len(layer.x), len(layer.w), k, len(layer.scales[0])
        rows = [pack_int4(row) for row in layer.w] if narrow else layer.w
        parts = (word for part in (layer.scales, rows, layer.x) for row in part for word in row)
        flags = (*layer.flags, *(("odd_length",) if narrow and k % 2 else ()))
        words = tuple(word & 0xFFFFFFFF for word in (*head, *parts))
        yield CaseInput(layer.name, words, _MODEL, flags)
        if narrow and k % 2 and layer.name.startswith("lanes"):
            size, start = (k + 1) // 2, 4 + len(rows) * len(layer.scales[0])
            last = [start + row * size + size - 1 for row in range(len(rows))]
            filled = tuple(w | 15 if i in last else w for i, w in enumerate(words))
            yield CaseInput(f"{layer.name}_filled", filled, _MODEL, (*flags, "filler"))


def _signs(low: int, high: int, groups: int) -> Iterator[_Layer]:
    """Scales that are 0, of either sign, and negative ones, beside positive ones."""
    signs = (_of(-1, -2), 0, _of(3, -3), _MINUS, _of(-5, -4), _of(1, -1))
    for turn in range(2 if groups > 1 else 1):
        rows = [[signs[(i + j * 2 + turn) % 6] for j in range(groups)] for i in range(6)]
        x = [[_of(n, -2) for n in row] for row in _drawn(turn + 9, 2, 6 * groups, -40, 41)]
        w = _drawn(turn + 11, 6, 6 * groups, low, high + 1)
        yield _Layer(f"signs_{groups}_{turn}", x, w, rows)


def _by_row(*, narrow: bool) -> Iterator[_Layer]:
    low, high = (-8, 7) if narrow else (-128, 127)
    yield _Layer(
        "worked",
        [[_of(n) for n in (1, 2, 4, 8)]],
        [[-8, 7, 0, -1], [1, 2, 3, -4]],
        [[_of(1, -1)], [_of(1, -2)]],
    )
    yield _Layer("one_product", [[0x40490FDB]], [[3]], [[0x3DCCCCCD]], ("one_product",))
    for last in (3, 1):
        x = [[_of(1, 24), _of(last)]]
        yield _Layer(f"swamped_{last}", x, [[0, 1], [-8, 1]], [[_ONE], [_ONE]], ("swamping",))
    yield _Layer("no_columns", [[], []], [[], [], []], [[_of(n)] for n in (1, 3, 5)], ("zero",))
    for k in (1, 2, 3, 7, 8, 9):
        yield _lanes(k, 1, low, high)
    # Every code with a number of its own.
    x = [[_of((i * 7 + 3) % 61 - 30, -3) for i in range(16)]]
    codes = [list(range(16 * i - 128, 16 * i - 112)) for i in range(16)]
    if narrow:  # and every byte
        codes = [[c - 8 for b in range(8 * i, 8 * i + 8) for c in divmod(b, 16)] for i in range(32)]
    yield _Layer("codes", x, codes, [[_of(1, i % 9 - 4)] for i in range(len(codes))])
    for power in (-126, -20, 20, 100):
        x = [[_of(n, -4) for n in row] for row in _drawn(power & 255, 2, 6, -99, 100)]
        w = _drawn(3, 3, 6, low, high + 1)
        yield _Layer(f"power_{spelled(power)}", x, w, [[_of(1, power + i)] for i in range(3)])
    for seed, k in enumerate((1, 2, 3, 5, 8, 9, 16, 31)):
        x = _floats(seed, 2, k, -3, 4)
        scales = _floats(seed + 50, 2, 1, -8, 0, signed=False)
        yield _Layer(f"drawn_{k}", x, _drawn(seed + 20, 2, k, low, high + 1), scales)
        if not narrow and k in (3, 8):  # the codes of the same case of 4 bits
            yield _Layer(f"four_bits_{k}", x, _drawn(seed + 20, 2, k, -8, 8), scales)
    for seed, k in enumerate((6, 12)):
        x = _floats(seed + 70, 1, k, -30, 31)
        w = _drawn(seed + 80, 2, k, low, high + 1)
        yield _Layer(f"spread_{k}", x, w, _floats(seed + 90, 2, 1, -4, 0, signed=False))
    yield from _signs(low, high, 1)
    yield from _cancelling()
    yield from _at_the_ends()
    if not narrow:
        yield from _activations()


def _lanes(k: int, groups: int, low: int, high: int) -> _Layer:
    """Each lane alone: the answers are the weights under their scales."""
    x = [[_ONE * (i == j) for i in range(k)] for j in range(k)]
    w = [[(i * 3 + 5 * j + 1) % (high - low) + low for i in range(k)] for j in range(2)]
    scales = [[_of(1, -2 * j - g) for g in range(groups)] for j in range(2)]
    return _Layer(f"lanes_{k}_{groups}", x, w, scales, ("one_product",))


def _cancelling() -> Iterator[_Layer]:
    """Sums far below their terms, exact in every order and not."""
    ones = [[1] * 5, [3, 3, 3, 3, 3], [-1, -1, 1, 1, 1]]
    scales = [[_ONE], [_of(3, -4)], [_of(1, -7)]]
    for name, numbers in {
        "exact": ((5, 3), (1, 0), (-5, 3), (-1, 0), (1, -2)),
        "lost": ((1, 26), (3, 0), (-1, 26), (-1, 0), (1, -20)),
        "zero": ((5, 20), (7, 0), (-5, 20), (-7, 0), (0, 0)),
    }.items():
        x = [[_of(*number) for number in numbers]]
        yield _Layer(f"cancelled_{name}", x, ones, scales, ("cancellation",))
    # Ties of the last rounding of the exact sum, and one bit far below.
    for name, far in {"tie": 0, "above": _of(1, -80), "below": _of(-1, -80)}.items():
        x = [[_ONE, _of(1, -24), far], [_of((1 << 24) - 1), _of(1, -1), far]]
        yield _Layer(f"last_{name}", x, [[1, 1, 1], [-1, -1, -1]], [[_ONE], [_ONE]], ("tie",))


def _at_the_ends() -> Iterator[_Layer]:
    """Subnormal results, overflow of the sum and on the way, infinities and NaN."""
    x = [[_of(3, -100), _of(-5, -101), _of(7, -99)], [_of(1, -149), _of(3, -149), _of(-1, -148)]]
    w = [[1, 2, 3], [7, -8, 5]]
    for name, scale in {"units": _ONE, "small": _of(3, -50), "smallest": 1}.items():
        yield _Layer(f"subnormal_{name}", x, w, [[scale], [scale]], ("subnormal",))
    large = _of(3, 126)
    for name, scale in {"way": _of(1, -10), "whole": _of(3, 1), "scale": _of(1, 127)}.items():
        x = [[large, large, _of(-1, 126)], [_of(1, 120), _ONE, _ONE]]
        yield _Layer(f"overflow_{name}", x, w, [[scale], [scale]], ("sum_overflow",))
    for name, row in {
        "inf": (_INF, _ONE, _ONE),
        "minus_inf": (_ONE, _INF | _MINUS, _ONE),
        "infinities": (_INF, _ONE, _INF | _MINUS),
    }.items():
        yield _Layer(name, [row, (_ONE,) * 3], [*w, [1, 1, 0]], [[_of(3, -3)]] * 3, ("inf",))
    yield _Layer("nan", [[_ONE, _NAN], [_ONE] * 2], [[1, 0], [1, 1]], [[_of(3, -3)]] * 2, ("nan",))


def _activations() -> Iterator[_Layer]:
    """int8 activations less their zero point: the sums are those of integers, to be rescaled."""
    for zero in (-128, 0, 5):
        for k in (8, 33):
            codes = _drawn(zero + 300, 2, k, -128, 128)
            x = [[_of(code - zero) for code in row] for row in codes]
            yield _Layer(
                f"activations_{spelled(zero)}_{k}", x, _drawn(k, 2, k, -127, 128), [[_ONE]] * 2
            )


def _grouped(*, narrow: bool) -> Iterator[_Layer]:
    low, high = (-8, 7) if narrow else (-128, 127)
    for k, groups in ((1, 1), (4, 2), (8, 2), (9, 3), (6, 6), (12, 3)):
        yield _lanes(k, groups, low, high)
        seed = k * 16 + groups
        w = _drawn(seed, 3, k, low, high + 1)
        x = [[_of(n, -3) for n in row] for row in _drawn(seed + 1, 2, k, -60, 61)]
        powers = [[_of(1, (5 * i + 3 * j) % 7 - 5) for j in range(groups)] for i in range(3)]
        yield _Layer(f"power_{k}_{groups}", x, w, powers)
        x = _floats(seed, 2, k, -3, 4)
        scales = _floats(seed + 2, 2, groups, -8, 0, signed=False)
        yield _Layer(f"drawn_{k}_{groups}", x, w[:2], scales)
    yield from _signs(low, high, 2)
    yield _Layer("no_columns", [[], []], [[], []], [[_ONE] * 2, [_of(3)] * 2], ("zero",))
    # Each group rounds 1.5 units of 2**-149 up: the sum is 4 units where it should be 3.
    half = _of(3, -1)
    yield _Layer("subnormal", [[half, half]], [[1, 1], [1, 3]], [[1, 1]] * 2, ("subnormal",))
    large = [[_of(3, 126), _of(3, 126), _of(1, 100)]]
    scales = [[_of(1, -9), _of(1, -9), _ONE]] * 2
    yield _Layer("overflow", large, [[2, -2, 1], [1, -1, 1]], scales, ("sum_overflow",))


def _of(n: int, power: int = 0) -> int:
    """The float32 pattern of n * 2**power, which is exact."""
    return write_float((int(n < 0), abs(n), power), FLOATS["f32"])


def _drawn(seed: int, rows: int, k: int, low: int, high: int) -> list[list[int]]:
    """Integers from low to high - 1."""
    words = splitmix64(seed + 7000, rows * k).tolist()
    numbers = [low + (word >> 11) % (high - low) for word in words]
    return [numbers[i * k : i * k + k] for i in range(rows)]


def _floats(
    seed: int, rows: int, k: int, low: int, high: int, *, signed: bool = True
) -> list[list[int]]:
    """Patterns with powers from low to high - 1."""
    words = splitmix64(seed + 9000, rows * k).tolist()
    numbers = [
        (127 + low + (w >> 40) % (high - low)) << 23 | w & 0x7FFFFF | (w >> 63 << 31) * signed
        for w in words
    ]
    return [numbers[i * k : i * k + k] for i in range(rows)]
