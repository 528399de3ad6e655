"""Tables of expected figures, which lie as text beside the tests."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path


def table(test: str, name: str) -> list[list[str]]:
    """Lines of a file in the folder `data` beside a test, each its columns, which `|` parts.

    What begins with # says where those below it come from.
    """
    text = Path(test).with_name("data").joinpath(name).read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [[column.strip() for column in line.split("|")] for line in lines]


def number(text: str) -> Fraction:
    """A decimal, a fraction or a hexadecimal number as C writes it, such as 0x1.8p-127."""
    return Fraction(float.fromhex(text) if "0x" in text else text)


def floats(text: str) -> list[float]:
    """Numbers parted by commas, each as in `number`, or -0, inf, nan."""
    return [float.fromhex(word) if "0x" in word else float(word) for word in text.split(",")]


def codes(text: str) -> list[int]:
    """Codes in hexadecimal."""
    return [int(word, 16) for word in text.split()]
