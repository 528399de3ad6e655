"""Rows of blocks whose dot products with one another are hard, for every element format."""

from __future__ import annotations

import numpy as np

import mxref
from mxref.exact.dot import Row, row
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat

#: Five blocks of 32, the last one short.
LENGTH, BLOCKS = 150, 5


def block_format(element: ElementFormat, size: int = 32) -> BlockFormat:
    """Blocks of any elements with E8M0 scales."""
    return BlockFormat(f"{element.name}_blocks", element, E8M0, size)


def rows_of(fmt: ElementFormat) -> list[tuple[list[int], list[int]]]:
    """Scales and codes of designed rows of a format."""
    top, sign = fmt.max_code, fmt.sign_bit
    one = next(c for c in range(top + 1) if fmt.value(c) == 1.0)
    least_normal = 1 << fmt.mantissa_bits

    def minus(code: int) -> int:
        return fmt.code_count - code if fmt.twos_complement else code | sign

    def at(*places: tuple[int, int], fill: int = 0) -> list[int]:
        codes = [fill] * LENGTH
        for place, code in places:
            codes[place] = code
        return codes

    even = [127] * BLOCKS
    rows = [(even, at()), (even, at(fill=one)), (even, at(fill=1)), (even, at(fill=top))]
    rows += [(even, [top, minus(top)] * (LENGTH // 2)), (even, at(fill=minus(1)))]
    # One product: at any place, of each binade's end, under every scale.
    for place in (0, 17, 31, 32, 149):
        rows.append((even, at((place, top))))
    for code in (1, least_normal, one, top - 1, minus(one), minus(top)):
        rows.append((even, at((17, code))))
    rows += [([scale] * BLOCKS, at((3, one), (40, one))) for scale in (0, 1, 97, 131, 253, 254)]
    # Swamping: a large product first, in the middle, last, across blocks; and it cancels.
    for place in (0, 75, 149):
        rows.append((even, at((place, top), fill=1)))
    rows += [
        (even, at((0, top), (1, 1), (2, minus(top)))),
        (even, at((0, top), (70, minus(top)), fill=1)),
    ]
    # The finest product between the two largest, which cancel.
    for last in (top, minus(top)):
        rows.append((even, at((0, top), (1, 1), (2, last))))
    # Three sums of far binades, of which two cancel, and ties that one far bit decides.
    for scales in ((254, 200, 100, 200, 0), (254, 227, 0, 227, 254), (127, 100, 20, 0, 0)):
        signs = ((1, 1, 1, -1, 1), (1, 1, 1, -1, -1), (1, 1, -1, 1, -1), (1, 0, 0, 1, 0))
        for some in signs:
            places = [
                (32 * block + block, one if sign > 0 else minus(one))
                for block, sign in enumerate(some)
                if sign
            ]
            rows.append((list(scales), at(*places)))
    # Special values.
    rows += [([127, 255, 127, 127, 127], at()), ([255] * BLOCKS, at(fill=top))]
    if fmt.nan_codes:
        rows.append((even, at((40, fmt.nan_codes[-1]))))
    if (inf := fmt.inf_code) is not None:
        rows += [(even, at((3, inf), fill=one)), (even, at((40, minus(inf))))]
        rows.append((even, at((3, inf), (40, minus(inf)), fill=minus(one))))
        rows.append(([254] * BLOCKS, at((3, inf), fill=minus(top))))
    return rows


def random_rows(
    fmt: ElementFormat, count: int, length: int, spread: int, draws: np.random.Generator
) -> list[tuple[list[int], list[int]]]:
    """Scales around 1 and codes of finite numbers; one row in sixteen has any codes and scales."""
    blocks = -(-length // 32)
    scales = 127 + draws.integers(-spread, spread + 1, (count, blocks))
    codes = draws.integers(0, fmt.code_count, (count, length))
    special = [*fmt.nan_codes, *([] if fmt.inf_code is None else [fmt.inf_code])]
    special += [code | fmt.sign_bit for code in special]
    codes[np.isin(codes, special)] = 1
    codes[::16] = draws.integers(0, fmt.code_count, codes[::16].shape)
    scales[::16] = draws.integers(0, 256, scales[::16].shape)
    return list(zip(scales.tolist(), codes.tolist(), strict=True))


def blocks_of(rows: list[tuple[list[int], list[int]]], fmt: ElementFormat) -> mxref.Blocks:
    """The rows as one matrix with blocks along its rows."""
    scales, codes = (np.array([row[part] for row in rows], np.uint8) for part in (0, 1))
    return mxref.Blocks(codes, scales, block_format(fmt), 1, codes.shape)


def exact_rows(rows: list[tuple[list[int], list[int]]], fmt: ElementFormat) -> list[Row]:
    """The rows of the slow twin."""
    return [row(scales, codes, fmt.name) for scales, codes in rows]
