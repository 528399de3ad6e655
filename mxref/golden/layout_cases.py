"""Cases of layouts: packings, matrices of scales, stored blocks, tensors with axes and tails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mxref import exact
from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.cases.answers import exact_answers
from mxref.cases.grid import pattern
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS, ElementFormat
from mxref.golden.case_inputs import CaseInput, cases_of
from mxref.golden.infinity_blocks import infinity_blocks
from mxref.golden.lane_blocks import lane_blocks
from mxref.golden.rounding_blocks import rounding_blocks
from mxref.operands.splitmix import splitmix64
from mxref.policy.choices import FP4Packing, FP6Packing
from mxref.policy.policy import Policy

__all__ = ["file_of", "layout_tasks"]

_LENGTHS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)
_PACKED = ("e3m2", "e2m3", "e2m1")
_SHAPES = ((1, 1), (3, 5), (32, 4), (127, 3), (128, 4), (129, 5), (130, 4), (256, 8), (33, 9))
_TILES = "ocp+scale_layout=tiles_128x4"
_WORDS, _GFX950 = "ocp+scale_layout=mn_major_words", "ocp+scale_layout=tiles_gfx950"
#: policy -> the shapes of the matrices that are read back.
_SCALES_READ: dict[str, tuple[tuple[int, int], ...]] = {
    "ocp": _SHAPES[:7],
    _TILES: _SHAPES[:7],
    _WORDS: ((3, 5), (33, 9)),
    _GFX950: ((33, 9),),
}
_BEFORE, _AFTER = "+scale_place=before", "+scale_place=after"
_SIGNED = "+scale_byte=signed"


def layout_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of packings, scale layouts, stored blocks and tensors."""
    for name in _PACKED:
        yield partial(_pack, ELEMENT_FORMATS[name])
    for name in _PACKED:
        fmt = ELEMENT_FORMATS[name]
        yield from (partial(_unpack, fmt, packing) for packing in _packings(fmt.bits))
    yield _pack_scales
    yield from (partial(_unpack_scales, *read) for read in _SCALES_READ.items())
    for name in BLOCK_FORMATS:
        yield partial(_pack_blocks, name)
    for name in BLOCK_FORMATS:
        yield partial(_unpack_blocks, name)
    for name in BLOCK_FORMATS:
        yield from (partial(_quantize_tensor, name, LAYOUTS[float]) for float in ("f32", "bf16"))


def file_of(
    op: str,
    format: str,
    slot: str,
    columns: Sequence[str],
    digits: tuple[int, int],
    entries: list[CaseInput],
    rule: str = "N32",
) -> VectorFile:
    """A file with these columns; the standard requires none of its answers."""
    questions = [entry.inputs for entry in entries]
    answered = [exact_answers(op, format, slot, questions, Policy.parse(c)) for c in columns]
    why = [(False, entry.rule or rule, entry.flags) for entry in entries]
    cases = cases_of(f"{op}.{format}.{slot}", entries, answered, why)
    return VectorFile(op, format, slot, tuple(columns), 1, *digits, cases)


def _packings(bits: int) -> dict[str, str]:
    """Policies by the names of the packings of `bits` bits, the default first."""
    members = FP4Packing if bits == 4 else FP6Packing
    return {m.value: str(Policy().replace(**{f"fp{bits}_packing": m})) for m in members}


# Codes.


def _ramps(fmt: ElementFormat, lengths: Sequence[int]) -> Iterator[CaseInput]:
    last = fmt.code_count - 1
    for length in lengths:
        flags = ("ramp", "odd_length") if length % 32 else ("ramp",)
        up = tuple(i % fmt.code_count for i in range(length))
        down = tuple(last - code for code in up)
        for name, codes in ((f"up_{length}", up), (f"down_{length}", down)):
            # A case of one word has its word as its name.
            yield CaseInput(name if length > 1 else f"{codes[0]:02x}", codes, "M11", flags)


def _addresses(fmt: ElementFormat) -> Iterator[CaseInput]:
    """Bit n of a block of 32, counted from 1, holds digit k of n.

    The digits tell all bits apart, so a bit in a wrong place changes one of these cases; no number
    is all zeros or all ones, so a stuck bit does, too.
    """
    for k in range((32 * fmt.bits).bit_length()):
        digits = [n >> k & 1 for n in range(1, 32 * fmt.bits + 1)]
        codes = tuple(
            sum(digits[fmt.bits * i + bit] << bit for bit in range(fmt.bits)) for i in range(32)
        )
        yield CaseInput(f"address_{k}", codes, "M11", ("address",))


def _pack(fmt: ElementFormat) -> VectorFile:
    group = 2 if fmt.bits == 4 else 4
    entries = list(_ramps(fmt, _LENGTHS))
    for i in range(group):
        for bit in range(fmt.bits):
            codes = tuple((j == i) << bit for j in range(group))
            flags = ("one_hot", "odd_length")
            entries.append(CaseInput(f"code_{i}_bit_{bit}", codes, "M11", flags))
    for i in range(32):
        codes = tuple((j == i) * (fmt.code_count - 1) for j in range(32))
        entries.append(CaseInput(f"alone_{i:02}", codes, "M11", ("one_hot",)))
    entries += _addresses(fmt)
    if fmt.bits == 4:
        pairs = tuple(code for n in range(256) for code in (n & 15, n >> 4))
        entries.append(CaseInput("every_pair", pairs, "M11"))
    else:
        places = tuple((i + place) % 64 for place in range(4) for i in range(64))
        entries.append(CaseInput("every_place", places, "M11"))
    once = {entry.inputs: entry for entry in reversed(entries)}  # the codes 0 1 are a ramp, too
    entries = [entry for entry in entries if once[entry.inputs] is entry]
    return file_of("pack", fmt.name, "bytes", list(_packings(fmt.bits).values()), (2, 2), entries)


def _unpack(fmt: ElementFormat, packing: str) -> VectorFile:
    entries = []
    some = [*_ramps(fmt, (1, 2, 3, 5, 8, 17, 31, 33, 65)), *_addresses(fmt)]
    for index, entry in enumerate(some):
        count = len(entry.inputs)
        packed = exact.pack(entry.inputs, fmt.bits, packing)
        held = exact.pack([fmt.code_count - 1] * count, fmt.bits, packing)
        flags = entry.flags
        if index % 2 and any(byte != 0xFF for byte in held):
            packed = [byte | 0xFF - used for byte, used in zip(packed, held, strict=True)]
            flags = (*flags, "filler")
        entries.append(CaseInput(entry.name, (count, *packed), "M11", flags))
    column = _packings(fmt.bits)[packing]
    return file_of("unpack", fmt.name, packing, [column], (2, 2), entries)


# Matrices of scales.


def _matrices() -> Iterator[tuple[str, int, int, list[int]]]:
    """Name, shape and codes, different in neighbours, in rows and in columns."""
    for rows, columns in _SHAPES:
        drawn = splitmix64(rows * 1000 + columns, rows * columns).tolist()
        codes = [(word >> 56) % 255 for word in drawn]
        for i in range(1, len(codes)):
            codes[i] = (codes[i] + (codes[i] == codes[i - 1])) % 255
        yield f"hashed_{rows}x{columns}", rows, columns, codes
    rows, columns = 130, 4
    numbers = [(r, c) for r in range(rows) for c in range(columns)]
    yield "rows_130x4", rows, columns, [r for r, _ in numbers]
    yield "columns_130x4", rows, columns, [c for _, c in numbers]


def _shape_flags(rows: int, columns: int) -> tuple[str, ...]:
    return ("ragged",) if rows % 128 or columns % 4 else ()


def _pack_scales() -> VectorFile:
    entries = [
        CaseInput(name, (rows, columns, *codes), "M11", _shape_flags(rows, columns))
        for name, rows, columns, codes in _matrices()
    ]
    return file_of("pack_scales", "e8m0", "bytes", [*_SCALES_READ], (3, 2), entries)


def _unpack_scales(column: str, shapes: tuple[tuple[int, int], ...]) -> VectorFile:
    layout = Policy.parse(column).layout.scale_layout.value
    entries = []
    for name, rows, columns, codes in _matrices():
        if not name.startswith("hashed") or (rows, columns) not in shapes:
            continue
        starts = range(0, len(codes), columns)
        packed = exact.pack_scales([codes[i : i + columns] for i in starts], layout)
        held = exact.pack_scales([[1] * columns] * rows, layout)
        if 0 in held:  # padding may hold anything
            packed = [p if used else 0xFF for p, used in zip(packed, held, strict=True)]
        flags = (*_shape_flags(rows, columns), *(["filler"] if 0 in held else []))
        entries.append(CaseInput(name, (rows, columns, *packed), "M11", flags))
    return file_of("unpack_scales", "e8m0", layout, [column], (3, 2), entries)


# Stored blocks.


def _stored(bits: int) -> list[str]:
    """Policies of stored blocks: scale before, scale after (FBGEMM), Quark, and GGUF."""
    packing = {4: "+fp4_packing=halves", 6: "+fp6_packing=quark", 8: ""}[bits]
    quark = packing if bits == 6 else ""
    names = [f"ocp{_BEFORE}", f"ocp{_AFTER}", f"ocp{quark}{_BEFORE}{_SIGNED}"]
    return names if bits == 8 else [*names, f"ocp{packing}{_BEFORE}"]


_BLOCK_SCALES = (0x00, 0x01, 0x7E, 0x7F, 0x80, 0x82, 0xFE, 0xFF)


def _blocks(fmt: ElementFormat) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    count = fmt.code_count
    for scale in _BLOCK_SCALES:
        drawn = splitmix64(scale, 32).tolist()
        yield f"scale_{scale:02x}", scale, tuple((word >> 32) % count for word in drawn)
    yield "up", 0x85, tuple(i % count for i in range(32))
    yield "down", 0x79, tuple(count - 1 - i % count for i in range(32))


def _pack_blocks(name: str) -> VectorFile:
    fmt = BLOCK_FORMATS[name].element
    entries = [CaseInput(n, (scale, *codes), "M11") for n, scale, codes in _blocks(fmt)]
    return file_of("pack_blocks", name, "bytes", _stored(fmt.bits), (2, 2), entries)


def _unpack_blocks(name: str) -> VectorFile:
    """Cases in which every layout reads the same bytes, since all have the same size."""
    fmt = BLOCK_FORMATS[name].element
    packing = {4: "low_nibble_first", 6: "lsb_first", 8: "byte_each"}[fmt.bits]
    entries = []
    for n, scale, codes in _blocks(fmt):
        packed = exact.pack_block(scale, codes, fmt.bits, packing, "before", "biased")
        entries.append(CaseInput(n, tuple(packed), "M11"))
    return file_of("unpack_blocks", name, "bytes", _stored(fmt.bits), (2, 2), entries)


# Tensors.


def _tensors(name: str, layout: FloatLayout) -> Iterator[tuple[str, int, int, int, list[int]]]:
    """Name, rows, columns, axis and values."""
    shapes = [(1, 1, 1), (1, 33, 1), (3, 40, 1), (40, 3, 0), (5, 31, 1)]
    if layout != F32:
        shapes += [(2, 64, 1), (64, 2, 0)]
    if (name, layout.name) == ("mxfp4_e2m1", "bf16"):
        # The other axes, which are mostly padding, and the largest tensor: in one file.
        shapes += [(1, 1, 0), (1, 33, 0), (3, 40, 0), (40, 3, 1), (2, 64, 0), (64, 2, 1)]
        shapes += [(5, 31, 0), (33, 33, 0), (33, 33, 1)]
    for rows, columns, axis in shapes:
        values = _hashed(rows, columns, layout)
        yield f"hashed_{rows}x{columns}_axis_{axis}", rows, columns, axis, values
    for index, title, rows, columns, axis in ((0, "rows", 40, 3, 0), (1, "columns", 3, 40, 1)):
        places = [(r, c) for r in range(rows) for c in range(columns)]
        values = [pattern(place[index] + 1, 0, layout) for place in places]
        yield f"{title}_{rows}x{columns}_axis_{axis}", rows, columns, axis, values
    for place, at in (("last_of_row_0", 32), ("first_of_row_1", 33)):
        values = [pattern(1, 0, layout)] * 66
        values[at] = pattern(-3, 12, layout)
        yield f"{place}_2x33_axis_1", 2, 33, 1, values
    # Every way to round, along both axes.
    fmt = BLOCK_FORMATS[name].element
    blocks = [block for title, block in rounding_blocks(fmt, layout) if not title.startswith("far")]
    wanted = ("full_00", "full_03", "full_07", "full_12", "zeros_after_12")
    blocks += [block for title, block in lane_blocks(fmt, layout) if title in wanted]
    count = len(blocks)
    yield f"rounding_{count}x32_axis_1", count, 32, 1, [bits for row in blocks for bits in row]
    turned = [bits for row in zip(*blocks, strict=True) for bits in row]
    yield f"rounding_32x{count}_axis_0", 32, count, 0, turned
    # Specials in whole blocks and in tails: the blocks beside them keep their scales.
    specials = (layout.nan_bits, layout.inf_bits, layout.inf_bits | layout.sign_bit)
    for rows, wide, axis in ((3, 40, 1), (40, 3, 0)):
        values = _hashed(rows, wide, layout)
        for row, special in enumerate(specials):
            along = (5, 39, 33)[row]
            values[row * 40 + along if axis else along * 3 + row] = special
        yield f"specials_{rows}x{wide}_axis_{axis}", rows, wide, axis, values
    infinite = [block for _, block in infinity_blocks(fmt, layout)][1:-1:2]
    count = len(infinite)
    yield f"infinities_{count}x32_axis_1", count, 32, 1, [bits for row in infinite for bits in row]
    turned = [bits for row in zip(*infinite, strict=True) for bits in row]
    yield f"infinities_32x{count}_axis_0", 32, count, 0, turned


def _hashed(rows: int, columns: int, layout: FloatLayout) -> list[int]:
    """Signed numbers of eight bits; their binades rise from row to row and column to column."""
    values = []
    for i, word in enumerate(splitmix64(rows * 100 + columns, rows * columns).tolist()):
        row, column = divmod(i, columns)
        n = (word >> 56) * (-1 if word & 1 else 1)
        values.append(pattern(n, (word >> 1) % 4 + row % 5 * 3 + column % 7 * 2 - 12, layout))
    return values


def _quantize_tensor(name: str, layout: FloatLayout) -> VectorFile:
    entries: list[CaseInput] = []
    for title, rows, columns, axis, values in _tensors(name, layout):
        flags = {
            "ragged": (columns if axis else rows) % 32 != 0,
            "straddle": "_of_row_" in title,
            "strided": len(entries) % 2 == 1,
        }
        raised = tuple(flag for flag, is_set in flags.items() if is_set)
        rule = "N29" if flags["ragged"] else "N30"
        entries.append(CaseInput(title, (rows, columns, axis, *values), "M11", raised, rule))
    choices = ("ocp", "ocp+tail=short")
    return file_of("quantize_tensor", name, layout.name, choices, (layout.width // 4, 2), entries)
