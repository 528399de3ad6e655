"""``mxref explain bfp8``: block formats of others that mxref does not have."""

from __future__ import annotations

import argparse
import math
from typing import Any

from mxref.cli.explanation import Explanation, print_part, print_wrapped
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.formats.foreign import FOREIGN

__all__ = ["explain_foreign"]

#: The MX format that these are taken for.
_LIKE = BLOCK_FORMATS["mxint8"]


def explain_foreign(options: argparse.Namespace) -> list[Explanation]:
    """The explanation of a format of others with a name."""
    return [
        Explanation(
            {
                "kind": "foreign format",
                "name": one.name,
                "about": f"a block format of {one.owner} that mxref does not have",
                **one.as_json(),
            },
            _show,
        )
        for one in FOREIGN.values()
        if options.name in (one.name, *one.others)
    ]


def _show(data: dict[str, Any]) -> None:
    magnitude = data["element"]["magnitude bits"]
    bits = _bits(magnitude)
    number = -0.5 if magnitude > 1 else -1.0
    here, there = _sign_and_magnitude(number, magnitude), int(number * 64) & 0xFF
    print_wrapped(f"{data['name']}: {data['about']}")
    print_part("names", ", ".join(data["names"]))
    print_part(
        "block",
        f"{data['block size']} elements share one exponent of {data['exponent bits']} bits with "
        f"bias {data['exponent bias']}: {data['bits per element']:g} bits an element",
    )
    print_part(
        "element",
        f"a sign and {bits} of magnitude, without a hidden bit; not two's complement. The leading "
        f"one is stored, so that the largest element has {_bits(magnitude - 1)} behind it",
    )
    print_part("value", f"{data['value']}, where the exponent is that of the largest element")
    print_part("open", f"sources differ on {data['open']}")
    print_part(
        "beside",
        f"{_LIKE.name} has blocks of {_LIKE.block_size} under a scale of E8M0, a power of two, and "
        f"integers of {_LIKE.element.bits} bits in two's complement, in steps of 2^-6: "
        f"{_LIKE.bits_per_block / math.prod(_LIKE.block_shape):g} bits an element. Where the "
        f"largest element is 1, {number:g} is {here:02x} here and {there:02x} there",
    )
    print_part(
        "mxref",
        "has no such format: no other verb takes its name, and no vectors have it; formats of your "
        "own can be defined (docs/own_formats.md)",
    )
    print_part("source", data["source"])


def _bits(count: int) -> str:
    return f"{count} bit{'s' * (count != 1)}"


def _sign_and_magnitude(number: float, bits: int) -> int:
    """The code of a number in a block whose largest element is 1."""
    return (number < 0) << bits | int(abs(number) * 2 ** (bits - 1))
