"""Dot products as adders give them: four orders of float32 additions, three tensor cores.

Everything is computed with float64 numbers, and in a way that no rounding mode and no flushing
changes: a product of two elements with their scales is exact, and integers round sums to float32
(`mxref.bits.float32.fl`). NaN and Inf codes count as zeros here: the caller sets the outputs they
reach.

Source: SPEC_NOTES N43; OCP MX v1.0 6.1, 6.2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import F32, F64, compose, split
from mxref.formats.catalog import E8M0, UE4M3
from mxref.policy.choices import Accumulation
from mxref.products.adders import ADDERS, Adder
from mxref.products.operand import Operand
from mxref.products.quick_steps import added_up
from mxref.products.steps import Factors, finite_codes, outer, scaled_rows
from mxref.products.tensor_factors import check_float32, multiplied

_OUTPUTS = 1 << 15  # of a chunk: a few float64 arrays of so many numbers stay in the cache
_BLOCK = (32,)  # elements that share a scale where a tensor core has none
#: Those that add up each run of elements under one scale apart.
BY_RUNS = (Accumulation.BY_BLOCK, Accumulation.SCALES_LAST)


_CORES = {
    Accumulation.ALIGNED_25: ADDERS["blackwell_mxf8f6f4"],
    Accumulation.ALIGNED_35: ADDERS["blackwell_mxf4"],
    # Codes without scales have no product between 0 and 2**-32: its exponent of a zero, -133,
    # decides nothing.
    Accumulation.ALIGNED_13: ADDERS["hopper_fp8"],
}


@dataclass(frozen=True, slots=True)
class _Factors:
    """Some rows of an operand, k first."""

    elements: Factors  #: (K, rows), times their scales unless those come later
    powers: F64Array  #: (runs, rows), the scales
    run: int
    length: int

    @property
    def runs(self) -> Iterator[tuple[int, int]]:
        """First and end of each run, without what it is filled with."""
        for first in range(0, self.length, self.run):
            yield first, min(first + self.run, self.length)


def accumulated(a: Operand, b: Operand, how: Accumulation) -> NDArray[np.float32]:
    """The dot product of every row of `a` with every row of `b`, added as an adder does.

    `sequential`, `pairwise` and `by_block` add products, each rounded to float32, which changes
    only those outside its range; `by_block` begins again with each run. `scales_last` adds products
    of codes in each run, and multiplies by the product of the scales as float32 has it. Additions
    and multiplications are rounded to nearest even. The aligned adders are tensor cores of NVIDIA.
    The sum is multiplied by the scales of both tensors, whose product is rounded to float32.

    Args:
        a: the rows of the result.
        b: its columns; length and run are those of `a`.
        how: any member but `exact`.

    Returns:
        float32 (rows of a, rows of b). A sum that overflows is Inf, one of such sums with both
        signs NaN. A zero is +0. NaN and Inf count as zeros.

    Raises:
        ValueError: `exact`; elements or blocks that the tensor core does not have.

    Source: SPEC_NOTES N43.

    >>> from mxref.formats.catalog import E4M3
    >>> codes = np.zeros((2, 32), np.uint8)
    >>> codes[:, :3] = [[0x10, 0x18, 0x78], [0x18, 0x18, 0x78]]  # 2**-5, 2**-4, 2**8
    >>> a, b = (Operand(E4M3, row[None], np.uint8([[127]]), 32, 3) for row in codes)
    >>> [accumulated(a, b, how).view(np.uint32)[0, 0] - 0x47800000  # of 2**16 + 2**-7
    ...     for how in (Accumulation.SEQUENTIAL, Accumulation.ALIGNED_25)]
    [np.uint32(1), np.uint32(0)]
    """
    check_adder(a, b, how)
    columns = len(b.codes)
    out = np.zeros((len(a.codes), columns), np.float32)
    if not a.length or not out.size:
        return out
    width = min(columns, _OUTPUTS)
    height = _OUTPUTS // width
    with np.errstate(over="ignore", invalid="ignore"):  # Inf minus Inf
        for left in range(0, columns, width):
            right = _factors(b, slice(left, left + width), how)
            for top in range(0, len(out), height):
                rows = slice(top, top + height)
                total = multiplied(_WAYS[how](_factors(a, rows, how), right), a, b)
                total = np.where(np.isnan(total), np.nan, total)  # one NaN, and below one zero:
                total = np.where(total == 0, 0.0, total)  # signs depend on processors and modes
                patterns = compose(split(total.view(np.uint64), F64), F32)
                out[rows, left : left + width] = patterns.view(np.float32)
    return out


def check_adder(a: Operand, b: Operand, how: Accumulation) -> None:
    """Refuse elements and blocks that an adder does not have.

    Raises:
        ValueError: as `accumulated`.
    """
    if how not in _WAYS:
        raise ValueError(f"accumulation must name an adder of float32 sums, got {how.value}")
    if a.scale.is_float32 or b.scale.is_float32:
        raise ValueError(
            f"accumulation must be exact under float32 scales, got {how.value}: call mma with "
            "adder=deepgemm_fp8 or deepseek_v3_fp8 for their sums"
        )
    check_float32(a, b)
    core = _CORES.get(how)
    if core is None:
        return
    blocks = core.blocks or _BLOCK
    for operand in (a, b):
        if operand.format.name not in core.formats:
            raise ValueError(
                f"accumulation={how.value} must have elements of {' '.join(core.formats)}, got "
                f"{operand.format.name}: name another accumulation"
            )
        if operand.run not in blocks:
            raise ValueError(
                f"accumulation={how.value} must have blocks of {' or '.join(map(str, blocks))}, "
                f"got {operand.run}: name another accumulation"
            )
        known = [fmt.name for fmt in (E8M0, UE4M3) if fmt == E8M0 or operand.run == core.group]
        if operand.scale.name not in known or operand.scale != a.scale:
            raise ValueError(
                f"accumulation={how.value} must have scales of one format, {' or '.join(known)} in "
                f"blocks of {operand.run}, got {operand.scale.name}: name another accumulation"
            )


def _factors(operand: Operand, rows: slice, how: Accumulation) -> _Factors:
    """Rows as an adder reads them, filled with zeros to whole steps of a tensor core."""
    core = _CORES.get(how)
    elements, scales = scaled_rows(operand, rows, core.group if core else 1)
    if how in (Accumulation.SCALES_LAST, Accumulation.ALIGNED_13):
        table, codes = finite_codes(operand.format), np.ascontiguousarray(operand.codes[rows].T)
        elements = Factors(table.values[codes], table.exponents[codes])
    elements = elements.filled(core.step if core else 1)
    return _Factors(elements, scales.values, operand.run, operand.length)


def _products(a: _Factors, b: _Factors, first: int, end: int) -> Iterator[F64Array]:
    """Products as float32 has them, in the order of k."""
    for k in range(first, end):
        yield fl(outer(a.elements.values[k], b.elements.values[k]))


def _added(terms: Iterator[F64Array]) -> F64Array:
    """The float32 sum, in order, from the first term on."""
    return functools.reduce(lambda total, term: fl(total + term), terms)


def _sequential(a: _Factors, b: _Factors) -> F64Array:
    return _added(_products(a, b, 0, a.length))


def _pairwise(a: _Factors, b: _Factors) -> F64Array:
    """Sums of neighbours, of neighbouring sums, and so on.

    A sum waits until the next one of as many products is there. Those that wait in the end are what
    each level had left over.
    """
    waiting: list[tuple[int, F64Array]] = []
    for total in _products(a, b, 0, a.length):
        size = 1
        while waiting and waiting[-1][0] == size:
            total = fl(waiting.pop()[1] + total)
            size *= 2
        waiting.append((size, total))
    return _added(total for _, total in reversed(waiting))


def _by_block(a: _Factors, b: _Factors) -> F64Array:
    return _added(_added(_products(a, b, *run)) for run in a.runs)


def _scales_last(a: _Factors, b: _Factors) -> F64Array:
    sums = (_added(_products(a, b, *run)) for run in a.runs)
    scales = (fl(outer(*powers)) for powers in zip(a.powers, b.powers, strict=True))
    return _added(fl(total * scale) for total, scale in zip(sums, scales, strict=True))


def _aligned(a: _Factors, b: _Factors, core: Adder) -> F64Array:
    return added_up(a.elements, b.elements, _nothing(a, b), core)


def _aligned_codes(a: _Factors, b: _Factors, core: Adder) -> F64Array:
    """The codes of each block on a tensor core; scales and sums of blocks in float32."""
    sums = (
        added_up(
            a.elements.rows(first, first + core.step),
            b.elements.rows(first, first + core.step),
            _nothing(a, b),
            core,
        )
        for first, _ in a.runs
    )
    scales = (outer(*powers) for powers in zip(a.powers, b.powers, strict=True))
    return _added(fl(total * scale) for total, scale in zip(sums, scales, strict=True))


def _nothing(a: _Factors, b: _Factors) -> F64Array:
    return np.zeros((a.elements.values.shape[1], b.elements.values.shape[1]))


_WAYS: dict[Accumulation, Callable[[_Factors, _Factors], F64Array]] = {
    Accumulation.SEQUENTIAL: _sequential,
    Accumulation.PAIRWISE: _pairwise,
    Accumulation.BY_BLOCK: _by_block,
    Accumulation.SCALES_LAST: _scales_last,
}
for _how, _core in _CORES.items():
    _way = _aligned_codes if _how is Accumulation.ALIGNED_13 else _aligned
    _WAYS[_how] = functools.partial(_way, core=_core)
