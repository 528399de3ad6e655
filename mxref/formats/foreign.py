"""Block formats of others that mxref does not have, with what their sources say: a row for each.

Source: tenstorrent/tt-metal, blockfloat_common.cpp and ttnn's data types; pybuda documentation,
Data Formats; SPEC_NOTES, Formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["FOREIGN", "ForeignFormat"]


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """Elements of a sign and a magnitude under one shared exponent.

    Args:
        name: its usual name.
        others: what else it is called.
        owner: whose it is.
        block_size: the number of elements that share an exponent.
        exponent_bits: bits of the exponent.
        exponent_bias: what is subtracted from it.
        magnitude_bits: bits of an element beside its sign; the first is the 1 before the point of
            the largest element.
        open: what its sources do not agree on.
        source: where its facts are from.
    """

    name: str
    others: tuple[str, ...]
    owner: str
    block_size: int
    exponent_bits: int
    exponent_bias: int
    magnitude_bits: int
    open: str
    source: str

    @property
    def bits_per_element(self) -> float:
        """Bits of an element, with its share of the exponent.

        >>> FOREIGN["bfp8"].bits_per_element
        8.5
        """
        return 1 + self.magnitude_bits + self.exponent_bits / self.block_size

    @property
    def unit(self) -> int:
        """What is subtracted from an exponent code to get the exponent of a magnitude of 1.

        >>> FOREIGN["bfp8"].unit
        133
        """
        return self.exponent_bias + self.magnitude_bits - 1

    def as_json(self) -> dict[str, Any]:
        """The facts as plain data."""
        return {
            "names": [self.name, *self.others],
            "owner": self.owner,
            "block size": self.block_size,
            "exponent bits": self.exponent_bits,
            "exponent bias": self.exponent_bias,
            "element": {"sign bits": 1, "magnitude bits": self.magnitude_bits},
            "bits per element": self.bits_per_element,
            "value": f"sign * magnitude * 2^(exponent - {self.unit})",
            "open": self.open,
            "source": self.source,
        }


_TENSTORRENT = ("Tenstorrent", 16, 8, 127)
_OPEN = "the sign of a zero, exponent code 255, small exponents, and how packing rounds"
_TT_METAL = "tenstorrent/tt-metal, blockfloat_common.cpp; pybuda documentation, Data Formats"

FOREIGN = {
    one.name: one
    for one in (
        ForeignFormat("bfp8", ("bfp8_b", "bfloat8_b"), *_TENSTORRENT, 7, _OPEN, _TT_METAL),
        ForeignFormat("bfp4", ("bfp4_b", "bfloat4_b"), *_TENSTORRENT, 3, _OPEN, _TT_METAL),
        ForeignFormat("bfp2", ("bfp2_b",), *_TENSTORRENT, 1, _OPEN, _TT_METAL),
    )
}
