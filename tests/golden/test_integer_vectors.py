"""The vectors of integer operations, the policies that a target may have, and its bugs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import right_calls
from helpers import VECTORS, records, words

from mxref import integer
from mxref.cases.read import VectorError, parse, read_vectors
from mxref.conformance import Report, target_of, verify
from mxref.conformance.identification.integer_identification import identify_integers
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.integer import QParams
from mxref.integer import quantize_affine as quantize
from mxref.operations.affine_words import affine
from mxref.operations.registry import CALL_OPERATIONS

STEMS = sorted(
    str(path.relative_to(VECTORS).with_suffix(""))
    for op in CALL_OPERATIONS
    for path in (VECTORS / op).glob("*.jsonl")
)
CHOICES: list[dict[str, str]] = [
    {},
    {"zero_point": "before", "nan": "zero"},
    {"nan": "lowest", "infinite": "lowest"},
    {"scaling": "divide", "nan": "int32_min", "infinite": "int32_min"},
    {"scaling": "divide", "zero_point": "before", "nan": "lowest", "infinite": "lowest"},
]

#: 0.013
SCALE = (0x3F8A9FBE76C8B439,)


def made(**choices: Any) -> SimpleNamespace:
    """A target that follows a policy."""

    def run(x: Any, *qparams: Any) -> Any:
        return quantize(x, QParams(*qparams), **choices)

    return SimpleNamespace(quantize_affine=run, dequantize_affine=right_calls.dequantize_affine)


def report_on(module: object, *stems: str) -> Report:
    files = read_vectors(VECTORS, lambda stem: stem in stems)
    return verify(target_of(module, "mine"), files)


INT8 = "quantize_affine/int8.f32"


def identified(module: object, format: str = "int8") -> Any:
    return identify_integers(target_of(module, "mine"), ["quantize_affine"], [format])


def asked(format: str) -> dict[tuple[int, int], set[int]]:
    """The values asked, by scale and zero point."""
    _, cases = records(f"quantize_affine/{format}.f32")
    found: dict[tuple[int, int], set[int]] = {}
    for case in cases:
        parts = affine(format, words(case["in"]))
        found.setdefault((parts.scales[0], parts.zero_points[0]), set()).update(parts.values)
    return found


def number(bits: int) -> Fraction:
    return Fraction(float(np.uint32(bits).view(np.float32)))


@pytest.mark.parametrize("scale", [0.013, 0.1, 0.3, 1 / 127, 1 / 255, 1 / 32767, 2.0**-16])
def test_every_midpoint_of_int8_has_both_neighbours(scale: float) -> None:
    bits = int(np.float32(scale).view(np.uint32))
    values = asked("int8")[bits, 0]
    for code in range(-129, 128):
        exact = (code + Fraction(1, 2)) * number(bits)
        nearest = np.float32(float(exact)).view(np.uint32)
        assert {int(nearest) + step for step in (-1, 0, 1)} <= values, code


def test_the_case_that_tells_a_quotient_from_a_reciprocal() -> None:
    header, cases = records("quantize_affine/int8.f32")
    divide = header["columns"].index("scaling=divide+nan=zero")
    found = set()
    for case in cases:
        parts = affine("int8", words(case["in"]))
        for i, value in enumerate(parts.values):
            if (value, parts.scales, parts.zero_points) == (0x3E191687, (0x3C54FDF4,), (0,)):
                found.add((words(case["outs"][0])[i], words(case["outs"][divide])[i]))
    assert found == {(11, 12)}


def test_every_code_of_8_bits_is_read_back_and_the_ends_of_scales_are_there() -> None:
    for format, low in (("int8", -128), ("uint8", 0)):
        _, cases = records(f"dequantize_affine/{format}.f32")
        parts = [affine(format, words(case["in"])) for case in cases]
        codes = {v for one in parts if one.scales == (0x3F800000,) for v in one.values}
        assert codes == {code & 0xFFFFFFFF for code in range(low, low + 256)}
        assert {0x00800000, 0x7F7FFFFF} <= {one.scales[0] for one in parts}


def test_axes_and_groups() -> None:
    for op in ("quantize_affine", "dequantize_affine"):
        _, cases = records(f"{op}/int8_axis.f32")
        parts = [affine("int8_axis", words(case["in"])) for case in cases]
        assert {one.axis for one in parts} >= {0, 1, -1}
        assert any(len(one.shape) == 3 and max(one.shape) > 1 for one in parts)
        assert any(0x34000000 in one.scales for one in parts)  # of a channel of zeros
        # Every scale of a case is another one, and so are neighbouring zero points.
        assert all(len(set(one.scales)) == len(one.scales) for one in parts)


# --- targets --------------------------------------------------------------------------------------


def wrapped(change: Callable[[Any], Any], **choices: Any) -> SimpleNamespace:
    """A target that follows a policy, with its `quantize_affine` changed."""
    module = made(**choices)
    module.quantize_affine = change(module.quantize_affine)
    return module


@pytest.mark.sampled(6)
@pytest.mark.parametrize("choices", CHOICES)
def test_verify_names_the_policy_that_gives_all_answers(choices: dict[str, str]) -> None:
    report = report_on(made(**choices), INT8)
    spelled = "+".join(f"{name}={value}" for name, value in choices.items())
    assert report.passed
    end = f"; quantize_affine (int8) under {spelled}" if spelled else ""
    assert report.verdict == f"conforms{end}"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("choices", CHOICES[1:4])
def test_identify_names_the_choices(choices: dict[str, str]) -> None:
    (found,) = identified(SimpleNamespace(quantize_affine=made(**choices).quantize_affine))
    assert found.probes <= 64
    spelled = "+".join(f"{name}={value}" for name, value in choices.items())
    assert found.policies == (spelled or "default",)
    assert all(len(one.values) == 1 for one in found.choices)
    # Beside `int32_min` the zero point has one place.
    hidden = {"zero_point"} if "int32_min" in choices.values() else set()
    assert {one.name for one in found.choices if not one.shown} == hidden


@pytest.mark.parametrize("scale_type", ["float32", "float64"])
def test_the_type_of_the_reciprocal_is_named(scale_type: str) -> None:
    """3e191687 times 4299d89d is below 11.5, times 4299d89e, from the float64 scale, above."""
    stem = "quantize_affine/int8_scale64.f32"
    _, cases = records(stem)
    parts = [affine("int8_scale64", words(case["in"])) for case in cases]
    (one,) = (i for i, p in enumerate(parts) if (p.scales, p.zero_points) == (SCALE, (0,)))
    place = parts[one].values.index(0x3E191687)
    outs = [words(text)[place] for text in cases[one]["outs"]]
    module = made(scale_type=scale_type)
    report = report_on(module, stem)
    assert report.passed
    own = "default" if scale_type == "float32" else "scale_type=float64"
    assert report.rows[0].policy == own
    columns = records(stem)[0]["columns"]
    assert outs[columns.index(own)] == (11 if scale_type == "float32" else 12)
    (found,) = identified(module, "int8_scale64")
    assert found.policies[0] == own
    (choice,) = (one for one in found.choices if one.name == "scale_type")
    assert choice.values == (scale_type,)
    assert "scale 3f8a9fbe76c8b439" in choice.shown


def others(nibbles: str = "high_first", rounding: str = "single") -> SimpleNamespace:
    """A target of the other operations."""

    def scaled(q: Any, m: Any, s: Any, zin: int, zout: int, dtype: Any, bits: int) -> Any:
        how = rounding if bits == 32 else "single"
        return integer.rescale(q, m, s, zin, zout, how, dtype=dtype, bits=bits)

    return SimpleNamespace(
        pack_int4=lambda w: integer.pack_int4(w, nibbles),
        unpack_int4=lambda packed, k: integer.unpack_int4(packed, k, nibbles),
        rescale=scaled,
        grid_sample=right_calls.grid_sample,
    )


@pytest.mark.parametrize(
    ("nibbles", "rounding"), [("high_first", "double"), ("low_first", "single")]
)
def test_the_order_of_nibbles_and_the_rounding_of_rescale_are_named(
    nibbles: str, rounding: str
) -> None:
    target = target_of(others(nibbles, rounding), "mine")
    stems = [stem for stem in STEMS if not stem.partition("/")[0].endswith("_affine")]
    report = verify(target, read_vectors(VECTORS, lambda stem: stem in stems))
    assert report.passed
    found = {(one.op, one.format): one for one in identify_integers(target)}
    assert all(len(one.policies) == 1 for one in found.values())
    assert found["pack_int4", "int4"].choices[0].values == (nibbles,)
    assert found["unpack_int4", "int4"].choices[0].values == (nibbles,)
    rescaled = [one for (op, _), one in found.items() if op == "rescale"]
    assert len(rescaled) == 9
    assert all(one.choices[0].values == (rounding,) for one in rescaled)
    word = f"nibbles={nibbles}" if nibbles == "low_first" else f"rounding={rounding}"
    assert f"under {word}" in report.verdict


def test_int4_in_twos_complement_is_named() -> None:
    """As onnxruntime's Int4x2 packs it: the first code in the low nibble, signs extended."""

    def unpack_int4(packed: Any, k: int) -> Any:
        low, high = (packed << 4).view(np.int8) >> 4, packed.view(np.int8) >> 4
        return np.stack([low, high], axis=-1).reshape(len(packed), -1)[:, :k]

    def pack_int4(codes: Any) -> Any:
        even = np.pad(codes, [(0, 0), (0, codes.shape[1] % 2)]) & 15
        return (even[:, 0::2] | even[:, 1::2] << 4).astype(np.uint8)

    own = "nibbles=low_first+stored=twos_complement"
    target = target_of(SimpleNamespace(pack_int4=pack_int4, unpack_int4=unpack_int4), "mine")
    report = verify(target, read_vectors(VECTORS, lambda stem: "pack_int4" in stem))
    named = (f"{op} (int4) under {own}" for op in ("pack_int4", "unpack_int4"))
    assert report.verdict == "; ".join(["conforms", *named])
    assert {one.policies for one in identify_integers(target)} == {(own,)}


def test_codes_that_are_all_one_too_large_are_named() -> None:
    def unpack_int4(packed: Any, k: int) -> Any:
        pairs = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
        return pairs[:, :k].astype(np.int8) - np.int8(7)

    target = target_of(SimpleNamespace(unpack_int4=unpack_int4), "mine")
    report = verify(target, read_vectors(VECTORS, lambda stem: "unpack_int4" in stem))
    assert report.verdict == "has bug: nibbles=low_first, but every code is 1 too large"
    (found,) = identify_integers(target)
    assert not any(one.shown for one in found.choices)  # no policy gives any answer


@pytest.mark.parametrize(
    ("op", "change", "bug"),
    [
        ("grid_sample", lambda f: lambda q, g, *a: f(q, g[..., ::-1].copy(), *a), "I15b"),
        ("unpack_int4", lambda f: lambda packed, k: f(packed, k) + np.int8(8), "I11b"),
        ("rescale", lambda f: lambda q, m, s, *a: f(q, np.roll(m, -1), np.roll(s, -1), *a), "I14"),
    ],
)
def test_bugs_of_the_other_operations_are_named(op: str, change: Any, bug: str) -> None:
    module = others()
    setattr(module, op, change(getattr(module, op)))
    report = report_on(module, *(stem for stem in STEMS if stem.startswith(f"{op}/")))
    assert not report.passed
    assert f"has bug {bug}: " in report.verdict


def test_every_byte_and_every_int8_code_is_asked() -> None:
    _, cases = records("unpack_int4/int4.bytes")
    assert {byte for case in cases for byte in words(case["in"])[2:]} == set(range(256))
    _, cases = records("rescale/int8-int8.bytes")
    whole = [case for case in cases if len(set(words(case["in"])[5:])) == 256]
    assert len({tuple(words(case["in"])[3:5]) for case in whole}) == 12
    assert {2, 62} <= {words(case["in"])[4] for case in cases}


def test_a_bug_is_named_over_the_policy_of_the_target() -> None:
    def change(right: Any) -> Any:
        def wrong(x: Any, scale: Any, *rest: Any) -> Any:
            return right(x, np.roll(scale, -1) if np.ndim(scale) else scale, *rest)

        return wrong

    report = report_on(wrapped(change, nan="lowest"), INT8, "quantize_affine/int8_axis.f32")
    assert not report.passed
    assert report.verdict == "has bug I6: takes the scale of the next channel"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("nearest", "nan", "bug"),
    [
        (lambda y: np.ceil(y - np.float32(0.5)), "lowest", ""),
        (lambda y: np.trunc(y + np.copysign(np.float32(0.5), y)), "zero", "I3j"),
        (lambda y: np.floor(y) + (y - np.floor(y) >= 0.5), "lowest", "I3g"),
        (lambda y: np.floor(y + np.float32(0.5)), "error", "I3h"),
        (lambda y: np.copysign(np.floor(np.abs(y)) + (np.abs(y) % 1 >= 0.5), y), "zero", "I3f"),
    ],
)
def test_ties_of_quotients_are_named_whatever_a_nan_becomes(
    nearest: Any, nan: str, bug: str
) -> None:
    def run(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Any:
        if nan == "error" and np.isnan(x).any():
            raise ValueError("x must have no NaN")
        codes = np.clip(nearest(x / np.float32(scale)) + np.float32(zero), low, high)
        return np.where(np.isnan(x), 0 if nan == "zero" else low, codes).astype(dtype)

    report = report_on(SimpleNamespace(quantize_affine=run), INT8)
    assert not report.passed
    if bug:
        assert report.verdict.startswith(f"has bug {bug}: divides, ")
    else:  # a tie rounded down
        assert verdict_text(report).endswith(
            "unexplained: no standard says what is right here, and no policy or profile known to "
            "mxref gives them: a rule of its own, or a bug"
        )


def test_one_wrong_code_fails_and_is_told() -> None:
    def change(right: Any) -> Any:
        def wrong(x: Any, scale: Any, *rest: Any) -> Any:
            codes = right(x, scale, *rest)
            return codes + ((x == 2.5) & (np.float32(scale) == 1)).astype(codes.dtype)

        return wrong

    report = report_on(wrapped(change, nan="zero"), INT8)
    assert report.failures
    assert {failure.case.flags for _, failure in report.failures} <= {("tie",), ("inf",)}


def test_damaged_cases_are_refused(tmp_path: Path) -> None:
    text = (VECTORS / "quantize_affine/int8_axis.f32.jsonl").read_text("ascii")
    header, first, *_ = text.splitlines()
    header = header.replace('"cases":16', '"cases":1')
    for wrong in (
        first.replace("00000002 00000002 00000003", "00000002 00000002 00000004"),
        first.replace('"in":"ffffff80 ', '"in":"'),
    ):
        assert wrong != first
        with pytest.raises(VectorError, match="is no case of quantize_affine"):
            parse(f"{header}\n{wrong}\n", "some.jsonl")
    with pytest.raises(VectorError, match="is no policy"):
        parse(text.replace('"scaling=divide"', '"scaling=times"'), "some.jsonl")


def test_neighbours_leave_out_what_has_no_meaning() -> None:
    found = set(CALL_OPERATIONS["quantize_affine"].neighbours("int8", "zero_point=before"))
    assert "zero_point=before+nan=int32_min" not in found
    assert "zero_point=before+nan=lowest" in found
    found = set(CALL_OPERATIONS["quantize_affine"].neighbours("int8_scale64", "scale_type=float64"))
    assert not [policy for policy in found if "divide" in policy]
