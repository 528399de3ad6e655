"""Lines of text about one block, for `repr`, and a table of blocks for notebooks."""

from __future__ import annotations

from collections.abc import Mapping

from mxref.bits.floats import U8, Floats
from mxref.formats.catalog import BlockFormat, ScaleFormat

#: Elements of the block that are shown.
SHOWN = 8
#: Blocks that a table has.
ROWS = 4


def block_lines(fmt: BlockFormat, scale: int, codes: U8, values: Floats) -> list[str]:
    r"""Three lines about one block: its scale, its first codes and their values.

    Args:
        fmt: the block format.
        scale: the scale code.
        codes: uint8 (n,), the block's element codes.
        values: floats (n,), the block dequantized.

    >>> import numpy as np, mxref
    >>> fmt = mxref.formats.block_format("mxfp8_e4m3")
    >>> print(*block_lines(fmt, 0x7D, np.uint8([0x40, 0xD4]), np.float32([0.5, -3.0])), sep="\n")
      first scale: 7d = 2**-2
      codes: 40 d4
      values: 0.5 -3.0
    """
    more = " ..." * (codes.size > SHOWN)
    return [
        f"  first scale: {scale:02x} = {_scale_text(fmt.scale, scale)}",
        f"  codes: {' '.join(_code_texts(fmt, codes))}{more}",
        f"  values: {' '.join(map(str, values[:SHOWN].tolist()))}{more}",
    ]


def block_table(
    head: str, blocks: Mapping[tuple[int, ...], tuple[BlockFormat, int, U8, Floats]]
) -> str:
    """A table in HTML: a row for each block, with codes above the values that they stand for.

    Args:
        head: a line about all blocks.
        blocks: what `block_lines` gets of each, by the place of its scale.
    """
    from html import escape  # which takes time, and notebooks alone have tables

    header = '<tr><th>block</th><th>scale</th><th colspan="9">codes and values</th></tr>'
    rows = [header] * bool(blocks)
    for index, (fmt, scale, codes, values) in blocks.items():
        numbers = map(str, values[:SHOWN].tolist())
        pairs = [f"{c}<br>{v}" for c, v in zip(_code_texts(fmt, codes), numbers, strict=True)]
        cells = [
            ", ".join(map(str, index)),
            f"{scale:02x} = {escape(_scale_text(fmt.scale, scale))}",
            *pairs,
            *["..."] * (codes.size > SHOWN),
        ]
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><caption>{escape(head)}</caption>{''.join(rows)}</table>"


def _code_texts(fmt: BlockFormat, codes: U8) -> list[str]:
    """The first codes of a block in hexadecimal."""
    digits = -(-fmt.element.bits // 4)
    return [f"{code:0{digits}x}" for code in codes[:SHOWN].tolist()]


def _scale_text(fmt: ScaleFormat, code: int) -> str:
    if fmt.is_power and not fmt.is_nan(code):
        return f"2**{code - fmt.bias}"
    return str(fmt.value(code))
