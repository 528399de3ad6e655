"""Which kind of sweep blocks of a format get."""

from __future__ import annotations

from mxref.conformance.sweeping.block_questions import BlockKind
from mxref.conformance.sweeping.power_scales import PowerScales
from mxref.conformance.sweeping.small_float_scales import SmallFloatScales
from mxref.formats.catalog import block_format

__all__ = ["kind_of"]


def kind_of(format: str) -> BlockKind:
    """The kind of sweep for the scales of a block format.

    >>> type(kind_of("mxfp4_e2m1")).__name__, type(kind_of("nvfp4")).__name__
    ('PowerScales', 'SmallFloatScales')

    Raises:
        ValueError: no such block format.
    """
    return PowerScales() if block_format(format).scale.is_power else SmallFloatScales()
