"""Cases of every vector file: inputs of the models, answers of the slow twin, clauses and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import exact_answers, fast_answers, reads
from mxref.cases.grid import grid, pattern
from mxref.cases.records import VectorFile
from mxref.cases.words import SECTIONS
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS, ElementFormat, Specials
from mxref.golden import models
from mxref.golden.entries import CaseInput, Why, Words, cases_of
from mxref.golden.layout_cases import layout_tasks
from mxref.golden.scaled_cases import scaled_tasks
from mxref.golden.stochastic_cases import stochastic_tasks
from mxref.numbers.element import encode
from mxref.policy.policy import Policy

__all__ = ["file_tasks", "vector_files"]

#: Operations whose answers are codes; those of the others are floats.
TO_CODE = ("encode", "encode_scale", "shared_scale", "quantize")
#: Members of choices that are no columns: they raise errors.
_NO_COLUMNS = {("nan_to_finite", "error"), ("encode_scale", "wrap")}
#: Choices that change nothing in whole blocks under E8M0 scales.
_NOT_HERE = ("tail", "scale_arithmetic")
#: Scale codes of the dequantized blocks, beside FF.
_DEQUANTIZE_SCALES = (0x00, 0x01, 0x02, 0x10, 0x40, 0x7E, 0x7F, 0x80, 0xC0, 0xF0, 0xFC, 0xFD, 0xFE)


def vector_files() -> Iterator[VectorFile]:
    """Every file of level 1, in the order of the manifest."""
    return (task() for task in file_tasks())


def file_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files, in the order of the manifest; can be pickled."""
    for fmt in ELEMENT_FORMATS.values():
        for layout in LAYOUTS.values():
            yield partial(_encode, fmt, layout)
    for fmt in ELEMENT_FORMATS.values():
        yield partial(_decode, fmt)
    for layout in LAYOUTS.values():
        yield partial(_encode_scale, layout)
    yield _decode_scale
    for fmt in ELEMENT_FORMATS.values():
        for name in LAYOUTS:
            yield partial(_shared_scale, fmt, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in LAYOUTS:
            yield partial(_quantize, block, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in ("f32", "bf16"):
            yield partial(_dequantize, block, LAYOUTS[name])
    yield from stochastic_tasks()
    yield from layout_tasks()
    yield from scaled_tasks()


def _encode(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    # MX 5.3.1 requires both overflow methods of FP8.
    fp8 = fmt.specials is not Specials.NONE
    plain = ("overflow=nonsaturating",) if fp8 else ()
    _, middles = grid(fmt, layout)
    inputs = models.encode_inputs(fmt, layout)
    # Inputs whose code differs after rounding to float32 first.
    values = np.array(list(inputs), layout.uint).view(layout.dtype)
    once, twice = (
        encode(values, fmt, overflow="nonsaturating", pre_rounding=to) for to in ("none", "float32")
    )
    rounded_twice = {bits for bits, other in zip(inputs, once != twice, strict=True) if other}
    ties = set(middles)
    near_ties = {tie + step for tie in middles for step in (-1, 1)}
    sign_bit, inf, tie_overflows = layout.sign_bit, layout.inf_bits, bool(fmt.max_code & 1)

    def explain(bits: int, answer: int) -> Why:
        negative, magnitude = bool(bits & sign_bit), bits & (sign_bit - 1)
        if magnitude > inf:
            return fp8, "N13" if fp8 else "N14", ("nan",)
        overflow = magnitude > middles[-1] or (magnitude == middles[-1] and tie_overflows)
        _, code = fmt.sign_and_magnitude(answer)
        small = 0 < code < 1 << fmt.mantissa_bits and not fmt.twos_complement
        flags = {
            "tie": magnitude in ties,
            "near_tie": magnitude in near_ties,
            "overflow": overflow,
            "underflow": magnitude > 0 and code == 0,
            "subnormal": small,
            "source_subnormal": 0 < magnitude < 1 << layout.mantissa_bits,
            "zero": magnitude == 0,
            "negative_zero": negative and code == 0,
            "inf": magnitude == inf,
        }
        raised = _raised(flags)
        if bits in rounded_twice:
            return False, "N36", raised  # no standard says how float64 is converted
        if overflow and fp8:
            return False, "MX-5.3.1-T3", raised
        if overflow and fmt.twos_complement and negative:
            return False, "N15", raised
        if negative and code == 0 and not fmt.twos_complement:
            return fp8, "N25", raised
        return True, SECTIONS[fmt.name], raised

    return _scalar_file("encode", fmt.name, layout, plain, inputs, explain)


def _decode(fmt: ElementFormat) -> VectorFile:
    def explain(code: int, answer: int) -> Why:
        magnitude = fmt.sign_and_magnitude(code)[1]
        small = 0 < magnitude < 1 << fmt.mantissa_bits and not fmt.twos_complement
        flags = {
            "subnormal": small,
            "negative_zero": magnitude == 0 and code != 0,
            "inf": magnitude == fmt.inf_code,
            "nan": code in fmt.nan_codes,
        }
        rule = "N15" if fmt.twos_complement and magnitude > fmt.max_code else SECTIONS[fmt.name]
        if flags["negative_zero"]:
            return False, "N25", _raised(flags)
        return True, rule, _raised(flags)

    inputs = dict.fromkeys(range(fmt.code_count), "M10")
    return _scalar_file("decode", fmt.name, LAYOUTS["f32"], (), inputs, explain)


def _encode_scale(layout: FloatLayout) -> VectorFile:
    plain = ("scale_rounding=toward_positive", "scale_rounding=ties_to_away")
    codes = [(code,) for code in range(E8M0.code_count)]
    powers = exact_answers("decode_scale", E8M0.name, layout.name, codes, Policy())

    def explain(bits: int, answer: int) -> Why:
        magnitude = bits & (layout.sign_bit - 1)
        flags = {
            "zero": magnitude == 0,
            "source_subnormal": 0 < magnitude < 1 << layout.mantissa_bits,
            "inf": magnitude == layout.inf_bits,
            "nan": magnitude > layout.inf_bits,
            "binade_edge": _near_edge(magnitude, layout),
        }
        exact = powers[answer] == (bits,) and 0 < magnitude < layout.inf_bits
        required = exact or magnitude > layout.inf_bits
        raised = _raised(flags)
        return required, "MX-5.4.1" if required else "N23", raised

    inputs = models.encode_scale_inputs(layout)
    return _scalar_file("encode_scale", "e8m0", layout, plain, inputs, explain)


def _decode_scale() -> VectorFile:
    def explain(code: int, answer: int) -> Why:
        flags = {"nan": code == 0xFF, "product_subnormal": code == 0x00}
        return True, "N22" if code in (0x00, 0xFF) else "MX-5.4.1", _raised(flags)

    inputs = dict.fromkeys(range(256), "M10")
    return _scalar_file("decode_scale", "e8m0", LAYOUTS["f32"], (), inputs, explain)


def _shared_scale(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    smallest = _smallest(fmt, layout)

    def explain(bits: int, answer: int) -> Why:
        flags = {
            "zero_block": bits == 0,
            "clamp_low": 0 < bits < smallest,
            "clamp_high": answer == 0xFE and layout.name == "f64",
            "source_subnormal": 0 < bits < 1 << layout.mantissa_bits,
            "inf": bits == layout.inf_bits,
            "nan": bits > layout.inf_bits,
            "binade_edge": _near_edge(bits, layout),
        }
        raised = _raised(flags)
        return False, _scale_rule(raised, bits, layout), raised

    inputs = models.shared_scale_inputs(layout, fmt)
    return _scalar_file("shared_scale", fmt.name, layout, (), inputs, explain)


def _quantize(block: str, layout: FloatLayout) -> VectorFile:
    fmt = BLOCK_FORMATS[block].element
    smallest = _smallest(fmt, layout)

    def explain(entry: CaseInput, answer: Words) -> Why:
        magnitudes = [bits & (layout.sign_bit - 1) for bits in entry.inputs]
        top = max(magnitudes)
        flags = {
            "zero_block": top == 0,
            "clamp_low": 0 < top < smallest,
            "clamp_high": answer[0] == 0xFE and layout.name == "f64",
            "source_subnormal": any(0 < m < 1 << layout.mantissa_bits for m in magnitudes),
            "inf": any(m == layout.inf_bits for m in magnitudes),
            "nan": any(m > layout.inf_bits for m in magnitudes),
            "nan_block": answer[0] == 0xFF,
            "position": entry.name.startswith("largest_") and entry.name[8:].isdigit(),
            "binade_edge": _near_edge(top, layout),
        }
        raised = _raised(flags)
        rule = _scale_rule(raised, top, layout)
        if rule == "MX-6.3" and fmt.twos_complement and fmt.code_count - fmt.max_code in answer[1:]:
            rule = "N15"
        return False, rule, raised

    entries = [
        CaseInput(name, tuple(inputs), "M9") for name, inputs in models.block_inputs(fmt, layout)
    ]
    return _file("quantize", block, layout, (), entries, explain)


def _dequantize(block: str, layout: FloatLayout) -> VectorFile:
    fmt = BLOCK_FORMATS[block].element
    codes = [code % fmt.code_count for code in range(max(fmt.code_count, 32))]

    def explain(entry: CaseInput, answer: Words) -> Why:
        magnitudes = [bits & (layout.sign_bit - 1) for bits in answer]
        overflow = any(
            bits == layout.inf_bits and fmt.sign_and_magnitude(code)[1] != fmt.inf_code
            for bits, code in zip(magnitudes, entry.inputs[1:], strict=True)
        )
        flags = {
            "nan": any(m > layout.inf_bits for m in magnitudes),
            "product_overflow": overflow,
            "product_subnormal": any(0 < m < 1 << layout.mantissa_bits for m in magnitudes),
        }
        raised = _raised(flags)
        rounded = layout.name != "f32" and "product_subnormal" in raised
        rule = "N20" if overflow else "N21" if rounded else "MX-5.1"
        return rule == "MX-5.1", rule, raised

    entries = [
        CaseInput(f"{scale:02x}_{codes[start]:02x}", (scale, *codes[start : start + 32]), "M10")
        for scale in (*_DEQUANTIZE_SCALES, 0xFF)
        for start in range(0, len(codes), 32)
    ]
    return _file("dequantize", block, layout, (), entries, explain)


def _scalar_file(
    op: str,
    format: str,
    layout: FloatLayout,
    plain: tuple[str, ...],
    inputs: dict[int, str],
    explain: Callable[[int, int], Why],
) -> VectorFile:
    """A file of one word in, one word out."""
    digits = layout.width // 4 if op in TO_CODE else 2
    entries = [CaseInput(f"{bits:0{digits}x}", (bits,), model) for bits, model in inputs.items()]
    return _file(op, format, layout, plain, entries, lambda e, a: explain(e.inputs[0], a[0]))


def _file(
    op: str,
    format: str,
    layout: FloatLayout,
    plain: tuple[str, ...],
    entries: list[CaseInput],
    explain: Callable[[CaseInput, Words], Why],
) -> VectorFile:
    """A file with a column for each choice that changes an answer, `plain` ones first."""
    columns = ("ocp", *(f"ocp+{choice}" for choice in plain))
    columns += tuple(c for c in _columns(op, format, layout, entries) if c not in columns)
    policies = [Policy.parse(column) for column in columns]
    questions = [entry.inputs for entry in entries]
    answered = [exact_answers(op, format, layout.name, questions, p) for p in policies]
    why = [explain(entry, answer) for entry, answer in zip(entries, answered[0], strict=True)]
    cases = cases_of(f"{op}.{format}.{layout.name}", entries, answered, why)
    code, float = 2, layout.width // 4
    digits = (float, code) if op in TO_CODE else (code, float)
    return VectorFile(op, format, layout.name, columns, 1 + len(plain), *digits, cases)


def _columns(op: str, format: str, layout: FloatLayout, entries: list[CaseInput]) -> Iterator[str]:
    """Policies that differ from `ocp` in one choice and in an answer."""
    words = np.array([entry.inputs for entry in entries], np.uint64)
    ocp = fast_answers(op, format, layout.name, words, Policy())
    for policy in _single_choices(op):
        if (fast_answers(op, format, layout.name, words, policy) != ocp).any():
            yield str(policy)


@cache
def _single_choices(op: str) -> tuple[Policy, ...]:
    """Policies with one choice set, to each of its members."""
    return tuple(
        Policy().replace(**{name: member})
        for name in reads(op)
        if name not in _NOT_HERE
        for member in Policy.members(name)
        if not {(name, member.value), (op, member.value)} & _NO_COLUMNS
        and not member.value.startswith("stochastic")
    )


def _smallest(fmt: ElementFormat, layout: FloatLayout) -> int:
    """The amax whose scale is 2**-127; 0 if the float type cannot hold it."""
    try:
        return pattern(1, fmt.emax - E8M0.bias, layout)
    except ValueError:
        return 0


def _raised(flags: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, raised in flags.items() if raised)


def _near_edge(magnitude: int, layout: FloatLayout) -> bool:
    fraction = (magnitude + 1) & ((1 << layout.mantissa_bits) - 1)
    return 1 < magnitude < layout.inf_bits and fraction <= 2


def _scale_rule(flags: tuple[str, ...], amax: int, layout: FloatLayout) -> str:
    for flag, rule in (
        ("nan", "N4"),
        ("inf", "N5"),
        ("zero_block", "N6"),
        ("clamp_low", "N7"),
        ("clamp_high", "N8"),
    ):
        if flag in flags:
            return rule
    # Just below a power of two a rounded logarithm is one too large.
    below_power = (amax + 1) & ((1 << layout.mantissa_bits) - 1) == 0
    return "N2" if below_power else "MX-6.3"
