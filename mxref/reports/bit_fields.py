"""Words as their bits, cut into named fields, for pages."""

from __future__ import annotations

from dataclasses import dataclass

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile
from mxref.formats.catalog import CodeFormat, block_format
from mxref.operands.shown import show_code, show_float
from mxref.operations.elements import ToCodes
from mxref.targets.calls import code_format

__all__ = ["BitField", "Kind", "Word", "of_code", "of_float", "of_word", "sides"]


Kind = FloatLayout | CodeFormat


@dataclass(frozen=True, slots=True)
class BitField:
    """Some bits of a word.

    Args:
        name: ``sign``, ``exponent``, ``mantissa``, ``integer``, or ``bits`` where it has no fields.
        bits: each bit, and whether it differs from the wanted bit.
    """

    name: str
    bits: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its meaning.

    Args:
        label: the role of the word: input, want, got.
        text: its hex digits and its value.
        fields: its bits.
    """

    label: str
    text: str
    fields: tuple[BitField, ...]


def of_float(label: str, bits: int, layout: FloatLayout, wanted: int | None = None) -> Word:
    """A float pattern as a word.

    Args:
        label: the role of the word.
        bits: the pattern.
        layout: its type.
        wanted: the pattern that it should be.

    >>> from mxref.bits.floats import BF16
    >>> word = of_float("got", 0x3F80, BF16, 0x3F81)
    >>> [(field.name, "".join(bit for bit, _ in field.bits)) for field in word.fields]
    [('sign', '0'), ('exponent', '01111111'), ('mantissa', '0000000')]
    >>> word.fields[2].bits[-1]
    ('0', True)
    """
    widths = (("sign", 1), ("exponent", layout.exponent_bits), ("mantissa", layout.mantissa_bits))
    return Word(label, show_float(bits, layout), _fields(bits, layout.width, widths, wanted))


def of_code(label: str, code: int, fmt: CodeFormat, wanted: int | None = None) -> Word:
    """A code as a word; see `of_float`.

    >>> from mxref.formats.catalog import E2M1, INT8
    >>> [field.name for field in of_code("want", 3, E2M1).fields]
    ['sign', 'exponent', 'mantissa']
    >>> [field.name for field in of_code("want", 3, INT8).fields]
    ['integer']
    """
    widths: tuple[tuple[str, int], ...] = (
        ("sign", int(fmt.signed)),
        ("exponent", fmt.exponent_bits),
        ("mantissa", fmt.mantissa_bits),
    )
    width = fmt.bits
    if getattr(fmt, "twos_complement", False):
        widths = (("integer", width),)
    if code >= fmt.code_count:  # not a code of the format
        width = max(8, code.bit_length())
        widths = (("bits", width),)
    return Word(label, show_code(code, fmt), _fields(code, width, widths, wanted))


def of_word(label: str, word: int, kind: Kind, wanted: int | None = None) -> Word:
    """A word of either kind: see `of_float` and `of_code`."""
    if isinstance(kind, FloatLayout):
        return of_float(label, word, kind, wanted)
    return of_code(label, word, kind, wanted)


def _fields(
    word: int, width: int, widths: tuple[tuple[str, int], ...], wanted: int | None
) -> tuple[BitField, ...]:
    bits = f"{word:0{width}b}"
    other = bits if wanted is None else f"{wanted:0{width}b}"
    marked = [(bit, bit != right) for bit, right in zip(bits, other, strict=True)]
    fields, start = [], 0
    for name, size in widths:
        if size:
            fields.append(BitField(name, tuple(marked[start : start + size])))
        start += size
    return tuple(fields)


def sides(file: VectorFile) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """The kinds of the words of questions and of answers; the last kind holds for all that follow.

    Both are empty for operations whose words are bytes, or whose questions have words of mixed
    kinds.

    >>> from mxref.targets.calls import without_cases
    >>> [[kind.name for kind in side] for side in sides(without_cases("quantize", "nvfp4", "bf16"))]
    [['f32', 'bf16'], ['ue4m3', 'e2m1']]
    """
    row = file.row
    if row.varied or row.random_bits:
        return (), ()
    number = (LAYOUTS[file.float],)
    coded: tuple[Kind, ...] = (code_format(file),)
    tensor: tuple[Kind, ...] = ()
    if row.blocks:
        fmt = block_format(file.format)
        coded, tensor = (fmt.scale, fmt.element), (F32,) * fmt.tensor_scale
    elif isinstance(row, ToCodes):
        coded = (row.code_format(file.format),)
    return ((*tensor, *coded), number) if row.from_codes else ((*tensor, *number), coded)
