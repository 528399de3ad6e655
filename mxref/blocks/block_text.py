"""Lines of text about one block, for `repr`."""

from __future__ import annotations

from mxref.bits.floats import U8, Floats
from mxref.formats.catalog import E8M0, BlockFormat, ScaleFormat

#: Elements of the block that are shown.
SHOWN = 8


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
    digits = -(-fmt.element.bits // 4)
    return [
        f"  first scale: {scale:02x} = {_scale_text(fmt.scale, scale)}",
        f"  codes: {' '.join(f'{code:0{digits}x}' for code in codes[:SHOWN].tolist())}{more}",
        f"  values: {' '.join(map(str, values[:SHOWN].tolist()))}{more}",
    ]


def _scale_text(fmt: ScaleFormat, code: int) -> str:
    if fmt == E8M0 and not fmt.is_nan(code):
        return f"2**{code - fmt.bias}"
    return str(fmt.value(code))
