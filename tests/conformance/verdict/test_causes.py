"""Planted bugs are named: on wrong targets called as black boxes, and never on right ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import kernel_reports
import museum_targets as w
import numpy as np
import pytest
from helpers import VECTORS
from kernel_reports import file_of, files_of
from right_calls import quantized
from tables import rows

import mxref
from mxref import golden
from mxref.conformance import Report, target_of, verify
from mxref.conformance.verdict.cause.evidence import Evidence, Questions
from mxref.conformance.verdict.causes import find_causes
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.mutants import MUTANTS
from mxref.operations.registry import OPERATIONS, REGISTRY
from mxref.policy.choices import ScaleLayout
from mxref.policy.policy import Policy

TILES = "ocp+scale_layout=tiles_128x4"
BEFORE = "ocp+scale_place=before"
STOCHASTIC = "ocp+rounding=stochastic_a"
NONSATURATING = "ocp+overflow=nonsaturating"


def report_on(stems: str, policy: str = "ocp", **wrong: Any) -> Report:
    """Of a target that has this alone."""
    return kernel_reports.report_on(stems, policy, **wrong)


def mutant(id: str) -> Any:
    (found,) = (one for one in MUTANTS if one.id == id)
    return found.run


@dataclasses.dataclass(frozen=True)
class Planted:
    """A target with one bug: what is asked, the wrong function, the name it must be given."""

    stems: str
    run: Any
    name: str
    policy: str = "ocp"
    part: str = ""

    @property
    def op(self) -> str:
        return self.stems.partition("/")[0]


E4M3, E5M2, E2M1 = "encode/e4m3.f32", "encode/e5m2.bf16", "encode/e2m1.f32"
#: Written in `museum_targets`, from what the museum says in words.
OWN = [
    Planted(f"{E4M3} {E2M1}", w.encoder(w.ties_away_in_normals), "A1b"),
    Planted(f"{E2M1} encode/e2m1.bf16", w.encoder(w.ties_to_odd), "A3"),
    Planted("encode/e3m2.f64", w.encoder(w.remainder_up), "A5"),
    Planted(f"{E4M3} {E5M2}", w.encoder(w.ties_lost_in_subnormals), "A7"),
    Planted("encode/e2m3.f16", w.encoder(w.more_than_half_is_a_tie), "A8"),
    Planted(E5M2, w.encoder(w.nearest, w.flushed), "B1"),
    Planted(E4M3, w.encoder(w.nearest, w.largest_240), "B9a"),
    Planted("encode/e2m3.f32", w.encoder(w.nearest, w.positive_when_saturated), "B12"),
    Planted(E4M3, w.encoder(w.nearest, w.nan_to_zero), "B15"),
    Planted("encode/e3m2.f32", w.encoder(w.nearest, w.last_bit_cleared), "A16"),
    Planted("encode/int8.f32", w.encoder(w.nearest, signed=w.sign_and_magnitude), "F4"),
    Planted(E2M1, w.shift_modulo_32, "A17a"),
    Planted("shared_scale/e4m3.f32", w.scale_chooser(w.log2_truncated), "C2"),
    Planted("shared_scale/e2m1.bf16", w.emax_one_too_small, "C5a"),
    Planted("shared_scale/int8.f32", w.code_00_missing, "C12"),
    Planted(
        "quantize/mxfp4_e2m1.f32 quantize/mxfp4_e2m1.bf16",
        w.block_quantizer(w.scales_of_signed, mxref.encode),
        "C8",
    ),
    Planted(
        "quantize/mxfp8_e4m3.f32",
        w.block_quantizer(w.scales_of_magnitudes(), w.encoder(w.ties_lost_in_subnormals)),
        "A7",
        part="encode",
    ),
    Planted(
        "quantize/mxfp6_e2m3.f32",
        w.block_quantizer(w.scales_of_magnitudes(w.scale_chooser(w.even_of_fp4)), mxref.encode),
        "C18",
        "ocp+scale_rule=even",
        "shared_scale",
    ),
    Planted("quantize/mxfp4_e2m1.f32", w.in_order(1, 0), "pairs_exchanged"),
    Planted("quantize/mxint8.f32", w.in_order(3, 2, 1, 0), "fours_reversed"),
    Planted("decode/e3m2.f32", w.hidden_bit, "E5"),
    Planted("decode/e4m3.f32", w.e4m3_nan_is_480, "E6"),
    Planted("decode_scale/e8m0.f32", w.linear_scale, "E10"),
    Planted("dequantize/mxfp4_e2m1.f32", w.divided, "D7"),
    Planted("dequantize/mxfp8_e5m2.f32", w.saturated, "ocp+product_overflow=saturate"),
    Planted("pack/e2m3.bytes", w.from_the_top, "G2"),
    Planted("pack/e2m1.bytes", w.last_code_high, "G1b"),
    Planted("pack_scales/e8m0.bytes", w.tile_rows_exchanged, "G9", TILES),
    Planted("quantize_tensor/mxfp4_e2m1.bf16", w.other_axis, "G4b"),
    Planted("quantize_tensor/mxint8.f32", w.across_rows, "G5"),
    Planted(
        "quantize_tensor/mxfp6_e3m2.f32",
        w.each_element(w.in_order(1, 0)),
        "pairs_exchanged",
        part="quantize",
    ),
    Planted("encode_stochastic/e4m3.f32", w.half_of_the_bits, "S2", STOCHASTIC),
]
#: Mutants of the museum.
MUSEUM = [
    Planted(stems, mutant(id), *(more or [id]))
    for stems, id, *more in rows("conformance/verdict", "museum")
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("planted", OWN + MUSEUM, ids=lambda p: f"{p.op}-{p.name}")
def test_a_planted_bug_is_named(planted: Planted) -> None:
    wrong = {planted.op: planted.run}
    if "fp4_ue4m3" in planted.stems:
        wrong["FORMATS"] = ["fp4_ue4m3"]
    report = report_on(planted.stems, planted.policy, **wrong)
    assert not report.passed
    failing = [row for row in report.rows if row.failures]
    assert failing
    (finding,) = report.findings
    assert finding.cause.complete
    assert finding.cause.total == sum(row.compared for row in failing)
    names = (finding.cause.name, *finding.also)
    assert planted.name in names
    assert finding.formats == tuple(row.format for row in failing)
    if planted.name.startswith("ocp"):
        assert finding.cause.kind == "policy"
    else:
        assert finding.cause.part == (planted.part or planted.op)
        assert all(row.description is None for row in failing)


# --- over another policy than that of the mutant --------------------------------------------------


def test_a_bug_over_a_claimed_policy_is_named() -> None:
    right = functools.partial(mxref.encode, overflow="nonsaturating")

    def encode(values: Any, format: str) -> Any:
        wrong = w.encoder(w.ties_lost_in_subnormals)(values, format)
        small = np.abs(values.astype(np.float64)) < 2**-6
        return np.where(small, wrong, right(values, format)).astype(np.uint8)

    report = report_on(E4M3, NONSATURATING, encode=encode)
    (finding,) = report.findings
    assert (finding.cause.name, finding.cause.policy) == ("A7", NONSATURATING)
    assert f": your output equals {NONSATURATING} with mutant A7, " in str(finding)
    # The same target without the claim: the policy is found, and then the bug.
    (same,) = report_on(E4M3, encode=encode).findings
    assert (same.cause.name, same.cause.policy) == ("A7", NONSATURATING)


def test_a_bug_of_a_part_is_named_with_the_function_that_has_it() -> None:
    elements = w.block_quantizer(w.scales_of_magnitudes(), w.encoder(w.ties_to_odd))
    (part,) = report_on("quantize/mxfp8_e4m3.bf16", quantize=elements).findings
    assert "equals mutant A3 of encode, ties_to_odd: rounds a tie to the odd code, " in str(part)
    often = dataclasses.replace(part.cause, seen=tuple("abcde"))
    assert " (seen in a, b, c and 2 more), on " in str(dataclasses.replace(part, cause=often))


# --- what is not so is not said -------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, 1, 701, 1502, 1503, -1])  # 0 is +0, a class of its own
def test_one_other_answer_is_enough_to_clear_a_suspect(index: int) -> None:
    def encode(values: Any, format: str) -> Any:
        codes = w.encoder(w.remainder_up)(values, format)
        codes[index] ^= 1
        return codes

    (row,) = report_on(E4M3, encode=encode).rows
    assert len(row.failures) > 1000  # many more than are looked at first
    complete = [cause for cause in row.causes if cause.complete]
    assert all(index == 0 and "; and +0 becomes 01 = " in cause.text for cause in complete)


def test_a_choice_that_only_a_sample_speaks_for_is_not_named() -> None:
    def encode(values: Any, format: str) -> Any:
        codes = mxref.encode(values, format, nan_to_finite="signed_zero")
        return codes - (np.abs(values) == 1.75)  # one tie of seven, as ties_to_zero has it

    report = report_on("encode/e2m1.f32", encode=encode)
    ((cause,),) = (row.causes for row in report.rows)
    assert (cause.policy, cause.total - cause.same) == ("ocp+nan_to_finite=signed_zero", 2)


def test_an_error_is_no_answer() -> None:
    file = file_of("encode/e2m1.f16")
    questions = Questions(file, file.input_words())
    right = questions.answers(Policy())
    answered = np.ones(len(right), bool)
    assert Evidence(questions, right, answered).misses(right) == 0
    answered[[3, 5]] = False
    assert Evidence(questions, right, answered).misses_under(Policy()) == 2


def test_what_most_formats_share_is_named() -> None:
    """E2M1 alone cannot tell A7 from B3, E3M2 can; E2M1 comes first."""

    def half_smallest_up(below: Any, x: Any, low: Any, high: Any, format: str) -> Any:
        smallest = w.table(format)[1]
        return (x == smallest / 2) | w.nearest(below, x, low, high, format)

    target = target_of(SimpleNamespace(encode=w.encoder(half_smallest_up)), "target")
    some = files_of("encode/e2m1.f32", "encode/e3m2.f32")
    report = verify(target, sorted(some, key=lambda file: file.format))
    assert [row.format for row in report.rows] == ["e2m1", "e3m2"]
    assert [cause.name for cause in report.rows[0].causes] == ["A7", "B3"]
    (finding,) = report.findings
    assert (finding.cause.name, finding.also, finding.every) == ("B3", (), True)


def test_errors_are_what_a_policy_that_refuses_nan_gives() -> None:
    def encode(values: Any, format: str) -> Any:
        if np.isnan(values.astype(np.float64)).any():
            raise ValueError("no NaN")
        return mxref.encode(values, format, rounding="ties_to_away")

    (row,) = report_on("encode/e2m1.f16", encode=encode).rows
    (cause,) = row.causes
    assert (cause.name, cause.complete) == ("ocp+rounding=ties_to_away+nan_to_finite=error", True)


def test_errors_have_no_known_bug() -> None:
    def encode(values: Any, format: str) -> Any:
        if (values == 2).any():
            raise ValueError("no 2")
        return mxref.encode(values, format, rounding="ties_to_away")

    (row,) = report_on("encode/e2m1.f16", encode=encode).rows
    (cause,) = row.causes
    errors = sum(failure.got is None for _, failure in row.failures)
    assert (cause.name, cause.total - cause.same) == ("ocp+rounding=ties_to_away", errors)
    assert errors > 0

    def nothing(values: Any, format: str) -> Any:
        raise ValueError("no")

    (row,) = report_on("encode/e2m1.f16", encode=nothing).rows
    assert row.causes == ()


@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_errors_alone_are_explained_by_nothing(op: str) -> None:
    """Not by a policy or profile that refuses everything, as some do of NVFP4."""
    # A `matmul` without tensor scales is asked no NVFP4.
    paths = sorted((VECTORS / op).glob("mx*.f32.json*" if op == "matmul" else "*.json*"))
    paths.sort(key=lambda path: path.stat().st_size)
    # A function without the parameters of a further form is not asked it.
    paths = [one for one in paths if not REGISTRY[op].by_name(one.name.partition(".")[0])]
    stems = {f"{op}/{paths[0].name.partition('.json')[0]}", "quantize/nvfp4.f32"}
    read = golden.read_vectors(VECTORS, lambda stem: stem in stems and stem.startswith(op + "/"))

    of_blocks = op in ("quantize", "dequantize")
    claims = {"FORMATS": {one.format for one in read}} if of_blocks else {}
    target = target_of(SimpleNamespace(**{op: lambda: None}, **claims), "target")
    meant = {
        "encode_stochastic": STOCHASTIC,
        "pack_blocks": BEFORE,
        "unpack_blocks": BEFORE,
        "unpack_scales": "ocp+scale_layout=mn_major_words",
        "quantize": "ocp+scale_arithmetic=transformer_engine",
    }
    for policy in {"ocp" if op == "quantize" else meant.get(op, "ocp"), meant.get(op, "ocp")}:
        report = verify(target, read, Policy.parse(policy))
        for row in report.rows:
            assert row.causes == (), row.causes
            errors = {failure.error for _, failure in row.failures}
            assert len(errors) == 1
            assert f": it is called as {REGISTRY[op].called_as(row.format)}" in errors.pop()
        assert report.rows
        assert not report.passed
        assert report.verdict.startswith("fails with errors: TypeError: ")


def test_hints_come_first_and_are_tested() -> None:
    encode = w.encoder(w.ties_to_odd)
    (row,) = report_on("encode/e2m1.f16", encode=encode).rows
    (other,) = report_on("encode/e2m1.f16", encode=w.encoder(w.remainder_up)).rows
    hints = (other.causes[0], row.causes[0])
    assert find_causes("encode", row.outcomes, Policy(), hints) == row.causes


# --- pairs of bugs, orders, and what is nearest ---------------------------------------------------


def two_bugs(codes: Any, format: str) -> Any:
    """E5M2 with subnormal codes read with a hidden one, and 7C to 7F read as numbers."""
    magnitude = (codes & 0x7F).astype(np.int64)
    value = np.ldexp(4.0 + (magnitude & 3), (magnitude >> 2) - 17)
    value = np.where(magnitude == 0, 0, value)
    return np.where(codes & 0x80, -value, value).astype(np.float32)


def test_two_bugs_that_together_give_all_answers_are_both_named() -> None:
    report = report_on("decode/e5m2.f32", decode=two_bugs)
    (cause,) = report.rows[0].causes
    assert (cause.kind, cause.name, cause.complete) == ("mutant", "E5 and E7", True)
    assert report.verdict.startswith(
        "has bug E5 and E7: reads subnormal codes with a hidden one; and reads infinities and NaNs "
        "as numbers"
    )


def never_subnormal(codes: Any, format: str) -> Any:
    """Every code read with a hidden one, as if all were normal numbers."""
    fmt = mxref.formats.element_format(format)
    magnitude = codes.astype(np.int64) & fmt.sign_bit - 1
    exponent, fraction = np.divmod(magnitude, 1 << fmt.mantissa_bits)
    value = np.ldexp(1 + fraction / (1 << fmt.mantissa_bits), exponent - fmt.bias)
    return np.where(codes & fmt.sign_bit, -value, value).astype(np.float32)


@pytest.mark.parametrize(
    ("format", "name"), [("e2m1", "E5h"), ("e4m3", "E5h and E6"), ("e5m2", "E5h and E7")]
)
def test_a_decoder_without_zeros_and_subnormals_is_named(format: str, name: str) -> None:
    report = report_on(f"decode/{format}.f32", decode=never_subnormal)
    assert [(cause.name, cause.complete) for cause in report.rows[0].causes] == [(name, True)]


def test_a_policy_of_two_choices_is_found_before_a_bug_over_another_policy() -> None:
    """Of a sample of E5M2 several members of overflow give all answers."""
    policy = "ocp+rounding=ties_to_away+overflow=propagate"
    encode = functools.partial(mxref.encode, policy=policy)
    report = report_on("encode/e5m2.f16", encode=encode)
    assert [(cause.name, cause.complete) for cause in report.rows[0].causes] == [(policy, True)]


def test_bugs_that_give_a_part_of_their_answers_are_not_named() -> None:
    def decode(codes: Any, format: str) -> Any:
        right = mxref.decode(codes, format)
        return np.where((codes == 0x03) | (codes == 0x7C), two_bugs(codes, format), right)

    (row,) = report_on("decode/e5m2.f32", decode=decode).rows
    assert len(row.failures) == 2
    assert not row.bug


def test_lanes_that_hold_those_of_others_are_named() -> None:
    def repeated(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
        codes = np.concatenate([codes[:, :5], codes[:, 4:5], codes[:, 6:]], axis=1)
        scales = scales[:, np.newaxis]
        return mxref.dequantize(codes, dtype, scale_codes=scales, block_format=format)

    (found,) = report_on("dequantize/mxfp4_e2m1.f32", dequantize=repeated).findings
    assert (found.cause.kind, found.cause.complete) == ("order", True)
    assert found.cause.text == "gives numbers in other lanes of a block: lane 5 has that of lane 4"


def test_a_limit_that_is_off_by_one_is_named_over_the_rule_that_is_meant() -> None:

    def not_less(values: Any, format: str) -> Any:
        scales, codes = quantized(values, format, scale_rule="rceil")
        wide = values.astype(np.float64)
        amax = np.abs(wide).max(axis=1)
        limit = np.isfinite(amax) & (np.frexp(amax / 6)[0] == 0.5) & (scales < 0xFE)
        scales[limit] += 1
        quotients = wide[limit] / np.ldexp(1.0, scales[limit, np.newaxis].astype(int) - 127)
        codes[limit] = mxref.encode(quotients, "e2m1")
        return scales, codes

    report = report_on("quantize/mxfp4_e2m1.f32", quantize=not_less)
    (found,) = report.findings
    assert found.cause.complete
    assert found.cause.text == "means RCEIL but goes up where amax is the largest number"


# --- claimed layouts ------------------------------------------------------------------------------


OTHERS = [m.value for m in ScaleLayout if m is not ScaleLayout.TILES_128X4]
NEW = [m for m in MUTANTS if m.group in ("G11", "G12", "G13", "G14")]


def layout_report(stem: str, policy: str, run: Any) -> Report:
    return kernel_reports.report_on(stem, policy, **{stem.partition("/")[0]: run})


def tiles(scale_codes: np.ndarray) -> np.ndarray:
    return mxref.pack_scales(scale_codes, scale_layout="tiles_128x4")


@pytest.mark.parametrize("layout", OTHERS)
def test_another_layout_is_named(layout: str) -> None:
    run = functools.partial(mxref.pack_scales, scale_layout=layout)
    report = layout_report("pack_scales/e8m0.bytes", TILES, run)
    assert report.verdict == f"has bug: gives {layout}, claims tiles_128x4 in pack_scales e8m0"


def test_other_layouts_of_elements_and_blocks_are_named() -> None:
    high = functools.partial(mxref.pack, fp4_packing="high_nibble_first")
    halves = "ocp+fp4_packing=halves"
    verdict = layout_report("pack/e2m1.bytes", halves, high).verdict
    assert verdict == "has bug: gives high_nibble_first, claims halves in pack e2m1"
    assert layout_report("pack/e2m1.bytes", "ocp", high).verdict == (
        "conforms under ocp+fp4_packing=high_nibble_first"
    )


@pytest.mark.parametrize("layout", ["tiles_8x4", "tiles_32x8", "tiles_hopper_8"])
@pytest.mark.parametrize(
    ("filler", "says"),
    [
        (lambda n: np.full(n, 0x7F), "fills up with 7f, not 00"),
        (lambda n: np.arange(n) % 3, "does not fill up with 00"),
    ],
    ids=["7f", "of_memory"],
)
def test_what_fills_up_is_said_in_every_layout(
    layout: str, filler: Callable[[int], Any], says: str
) -> None:
    def pack_scales(scale_codes: Any) -> Any:
        found = np.asarray(mxref.pack_scales(scale_codes, scale_layout=layout))
        is_scale = mxref.pack_scales(np.ones_like(scale_codes), scale_layout=layout) == 1
        return np.where(is_scale, found, filler(len(found))).astype(np.uint8)

    policy = f"ocp+scale_layout={layout}"
    report = layout_report("pack_scales/e8m0.bytes", policy, pack_scales)
    assert report.verdict == f"has bug over {policy}: {says}"


def test_no_known_layout_is_not_called_open() -> None:
    def run(scale_codes: np.ndarray) -> np.ndarray:
        packed = tiles(scale_codes)
        packed[::7] ^= 1
        return packed

    report = layout_report("pack_scales/e8m0.bytes", TILES, run)
    wanted = "has bug: does not give tiles_128x4, which it claims, in pack_scales e8m0"
    assert report.verdict == verdict_text(report) == wanted
    # Without a claim it may be a layout of its own.
    assert layout_report("pack_scales/e8m0.bytes", "ocp", run).verdict.startswith("unexplained: ")


def test_errors_are_no_other_layout() -> None:
    def run(scale_codes: np.ndarray) -> np.ndarray:
        raise RuntimeError("no memory")

    verdict = layout_report("pack_scales/e8m0.bytes", TILES, run).verdict
    assert verdict.startswith("fails with errors: RuntimeError: no memory (")


# --- planted bugs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["G9", "G12", "G12b", "G13c", "G14b"])
def test_a_bug_is_named_without_a_claim(id: str) -> None:
    """Also where the layout that is meant is not the nearest, as for the first and G13c."""
    (mutant,) = (m for m in MUTANTS if m.id == id)
    report = layout_report("pack_scales/e8m0.bytes", "ocp", mutant.run)
    (finding,) = report.findings
    assert id in (finding.cause.name, *finding.also)
    assert finding.cause.policy == mutant.policy
    assert f" over {mutant.policy}: " in report.verdict


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mutant", NEW, ids=lambda mutant: mutant.id)
def test_every_mutant_of_scale_layouts_is_named(mutant: Any) -> None:
    (slot,) = mutant.floats
    report = layout_report(f"{mutant.op}/e8m0.{slot}", mutant.policy, mutant.run)
    (finding,) = report.findings
    assert mutant.id in (finding.cause.name, *finding.also)
    assert finding.cause.complete
