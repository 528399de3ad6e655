"""Integer operations in calls of many sizes: what is asked; planted faults are found and named."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import PATIENCE, VECTORS
from limits import assert_limits
from numpy.typing import NDArray
from right_calls import RIGHT_CALLS, quantize_affine, rescale
from tables import rows
from uses import assert_use, no_time  # noqa: F401

from mxref import golden, integer
from mxref.cases.drawn import drawn
from mxref.conformance import Extent, Report, check, target_of
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.conformance.checking.integer_questions import IntegerQuestion, IntegerSubject
from mxref.operands.draws import Draws
from mxref.operands.word_rows import stripped
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.calls import without_cases

Array = NDArray[Any]
Function = Callable[..., Any]

#: Further forms of a sampler are given by name: test_sampler_options.py.
STEMS = [
    f"{op}/{format}"
    for op, one in CALL_OPERATIONS.items()
    for format in one.formats
    if not one.by_name(format) and not op.startswith("recipe")  # test_recipe_targets.py
]
#: Calls of every size up to this many elements, and no search.
SIZES = Extent(elements=20_000, search=False)


def report_of(
    op: str, format: str, function: Function, extent: Extent = SIZES, **claims: Any
) -> Report:
    target = target_of(SimpleNamespace(**{op: function}, **claims), "kernel")
    files = golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"{op}/{format}."))
    return check(target, files, extent=extent)


def assert_found(
    op: str, format: str, function: Function, kind: str, text: str, **claims: Any
) -> str:
    """One way of calling changes answers, of this kind; `...` stands for any words."""
    report = report_of(op, format, function, **claims)
    use = assert_use(report.uses, kind, text)
    assert (use.op, use.format, report.passed, report.failures) == (op, format, False, [])
    return use.text


def wrong_where(op: str, wrong: Callable[..., Any]) -> Function:
    """A kernel whose answers have a wrong last bit where something is true of its arguments."""

    def function(*arguments: Any) -> Array:
        result = RIGHT_CALLS[op](*arguments)
        bits = result.view(f"u{result.itemsize}")
        changed = np.where(wrong(result, *arguments), bits ^ 1, bits)
        return changed.astype(bits.dtype).view(result.dtype)

    return function


def columns(result: Array) -> Array:
    return np.arange(result.shape[-1])


def last_row(result: Array) -> Array:
    last = np.zeros(result.shape, bool)
    last[-1:] = True
    return last


#: Where each of the faults in the table of sizes makes answers wrong.
WRONG_IN_SOME_SIZES: dict[str, Callable[..., Any]] = {
    "from the 33rd value on": lambda r, *_: np.arange(r.size).reshape(r.shape) >= 32,
    "n % 8 != 0": lambda r, *_: r.size > 300 and r.size % 8 != 0,
    "the last channel of more than 32": lambda r, x, s, *_: (
        last_row(r) & (len(s) > 32 and _[-1] in (0, -r.ndim))
    ),
    "channels that are no power of two": lambda r, x, s, *_: (
        np.ndim(s) == 1 and s.size > 8 and s.size & s.size - 1 != 0
    ),
    "rows of more than 16 bytes": lambda r, *_: columns(r) >= 32,
    "channels of RESCALE beyond 8": lambda r, *_: columns(r) >= 8,
    "more than 1000 rows": lambda r, *_: r.shape[0] > 1000,
    "the seventh channel of an image": lambda r, *_: (np.arange(len(r)) >= 6)[:, None, None],
    "more than 256 columns": lambda r, x, *_: x.shape[1] > 256,
    "an odd number of columns beyond 32": lambda r, x, *_: x.shape[1] > 32 and x.shape[1] % 2 == 1,
    "the last output of more than 40": lambda r, *_: (
        (columns(r) == r.shape[1] - 1) & (r.shape[1] > 40)
    ),
    "groups of more than 32": lambda r, x, w, s: x.shape[1] // s.shape[1] > 32,
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize(
    "row", rows("conformance/checking", "integer_sizes"), ids=lambda row: row[0]
)
def test_a_fault_of_some_sizes(row: list[str]) -> None:
    name, op, format, unit, least, *besides = row
    said = f"wrong only in calls with ...{''.join(besides)}"
    kernel = wrong_where(op, WRONG_IN_SOME_SIZES[name])
    assert_limits(assert_found(op, format, kernel, "size", said), {unit: int(least)})


@pytest.mark.sampled(0)
def test_layers_that_add_in_another_order_pass() -> None:
    def backwards(x: Array, w: Array, scales: Array) -> Array:
        turned = scales.reshape(len(w), -1)[:, ::-1]
        return integer.linear_qcs8w(x[:, ::-1], w[:, ::-1], turned, "offset")

    report = report_of("linear_qcs8w", "int8_groups", backwards, Extent(elements=9000))
    assert report.passed
    assert (report.uses, report.scope.searched) == ((), 128)

    def nearly(x: Array, w: Array, scales: Array) -> Array:
        result = backwards(x, w, scales)
        return result * np.float32(1 + (x.shape[1] > 33) * 2.0**-17)

    assert report_of("linear_qcs8w", "int8_groups", nearly, SIZES).uses[0].kind == "size"


def test_an_exception_in_some_sizes() -> None:
    def raises(packed: Array, k: int) -> Array:
        if packed.size > 300:
            raise MemoryError
        return integer.unpack_int4(packed, k)

    said = "...: MemoryError (test_integer_calls.py:"
    assert_found("unpack_int4", "int4", raises, "size", said)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("op", "format", "wrong", "text"),
    [
        ("linear_qcs8w", "int8", lambda r, x, w, s: len(x) == len(w), "rows as outputs"),
        ("rescale", "int8-int8", lambda r, q, *_: q.shape[0] == q.shape[1], "rows as channels"),
    ],
)
def test_equal_sides(op: str, format: str, wrong: Any, text: str) -> None:
    uses = report_of(op, format, wrong_where(op, wrong)).uses
    assert_use(uses, "size", f"wrong only in calls with as many {text} (")


def test_scales_along_the_first_axis_of_their_length() -> None:
    """Some vectors are wrong, too; what decides is said all the same."""

    def function(x: Any, s: Any, z: Any, *rest: Any) -> Array:
        *others, axis = rest
        own = axis if axis is None or np.ndim(s) > 1 else x.shape.index(len(s))
        return quantize_affine(x, s, z, *others, own)

    report = report_of("quantize_affine", "int8_axis", function)
    said = "wrong only in calls with 2 scales along the axis and more, and an axis before that of "
    said += "the scales which is as long ("
    assert_use(report.uses, "size", said)
    assert report.failures


def test_an_option_is_not_a_size() -> None:
    wrong = wrong_where("grid_sample", lambda r, q, grid, align, padding, *_: padding == "border")
    uses = report_of("grid_sample", "int8", wrong).uses
    assert_use(uses, "options", "wrong only in calls with padding border (")


def test_parameters_kept_from_the_first_call_of_a_size() -> None:
    kept: dict[Any, Any] = {}

    def function(q: Any, m: Any, s: Any, *rest: Any) -> Array:
        if q.size > 600:
            m, s = kept.setdefault(q.shape, (m.copy(), s.copy()))
        return rescale(q, m, s, *rest)

    said = "...right in the first call of each size, wrong in later ones"
    assert_found("rescale", "int16-int8", function, "state", said)


def test_two_threads_that_share_scratch_memory() -> None:
    scratch, both = np.empty(1 << 20, np.int32), threading.Barrier(2)

    def function(*arguments: Any) -> Any:
        result = rescale(*arguments)
        scratch[: result.size] = result.reshape(-1)
        if threading.current_thread() is not threading.main_thread():
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(PATIENCE)  # until the other one has written, too
        return scratch[: result.size].astype(result.dtype).reshape(result.shape)

    assert_found("rescale", "int8-int8", function, "threads", "", THREADS=True)


@pytest.mark.sampled(3)
def test_values_that_depend_on_others_of_the_call() -> None:
    def function(x: Any, *rest: Any) -> Array:
        result = quantize_affine(x, *rest)
        return result ^ np.int16(x.size > 40 and np.abs(x).argmax() % 4 == 1)

    assert_found("quantize_affine", "int16", function, "company", "")


def test_an_empty_call_with_another_dtype() -> None:
    def function(w: Any) -> Array:
        return integer.pack_int4(w) if w.size else np.zeros((0, 0))

    said = "...the result must be uint8, got float64"
    assert_found("pack_int4", "int4", function, "empty", said)
    refuses = report_of("pack_int4", "int4", lambda w: integer.pack_int4(w) if w.size else 1 / 0)
    assert refuses.passed
    assert any("refuses empty input: ZeroDivisionError" in note for note in refuses.scope.notes)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("stem", STEMS)
def test_right_functions_pass(stem: str) -> None:
    op, _, format = stem.partition("/")
    report = report_of(op, format, RIGHT_CALLS[op], Extent())
    assert report.passed
    assert (report.uses, report.failures, report.scope.searched) == ((), [], 128)
    assert report.scope.calls > 50
    assert report.scope.largest > 10_000


# The search.


def searched(op: str, format: str, function: Function) -> Report:
    return report_of(op, format, function, Extent(elements=0))


def far_ties(r: Array, x: Array, scale: Any, *_: Any) -> Any:
    """Some ties at 260 to 8000, beyond those of the vectors."""
    with np.errstate(all="ignore"):
        y = np.abs(np.float32(x) * (np.float32(1) / np.float32(scale)))
        return (np.abs(y % 64 - 30) < 20) & (y - np.floor(y) == 0.5) & (y > 260) & (y < 8000)


def odd_heights(r: Array, q: Array, *_: Any) -> Any:
    return (q.shape[1] % 2 == 1) & (q.shape[1] > 4)


#: Faults that no vector shows: operation, format, and where an answer is wrong.
FAULTS_OF_VALUES: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("quantize_affine", "int16", far_ties),
    ("quantize_affine", "uint8", lambda r, x, s, z, *_: (z > 190) & (z < 250) & (r == 255)),
    ("dequantize_affine", "int8", lambda r, *_: (np.abs(r) > 1e30) & (np.abs(r) < 1e33)),
    ("quantize_affine", "int8_axis", lambda r, *a: (a[-1] == -2) & (r == a[3])),
    ("pack_int4", "int4", lambda r, w: (columns(r) > 4) & (r == 0x5C)),
    ("rescale", "int32-int32", lambda r, q, m, s, *_: (s > 50) & (s < 60) & (r > 0)),
    ("grid_sample", "int8", odd_heights),
    ("linear_qcs8w", "int8_groups", lambda r, x, w, s: s.shape[1] == 4),
    ("linear_qcs4w", "int4", lambda r, x, w, s: w.shape[1] == 19),
)


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("op", "format", "wrong"), FAULTS_OF_VALUES)
def test_the_search_finds_what_no_vector_shows(
    op: str, format: str, wrong: Callable[..., Any]
) -> None:
    report = searched(op, format, wrong_where(op, wrong))
    assert not report.passed
    assert (report.scope.searched, report.uses) == (128, ())
    for _, failure in report.failures:
        assert failure.case.model == ""  # none is a case of the vectors
        want = CALL_OPERATIONS[op].exact_answer(format, failure.case.inputs, report.rows[0].policy)
        assert failure.want == want
    assert failure.got is not None


@pytest.mark.sampled(0)
def test_the_search_judges_by_the_policy_of_the_target() -> None:
    choices = {"scaling": "divide", "zero_point": "before", "nan": "lowest", "infinite": "lowest"}

    def function(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Any:
        qparams = integer.QParams(scale, zero, low, high, dtype, axis)
        return integer.quantize_affine(x, qparams, **choices)

    for format in ("int8", "uint8_axis"):
        report = searched("quantize_affine", format, function)
        assert report.passed
        assert report.scope.searched == 128
    # Of one axis the vectors do not tell all of that; other questions do.
    assert report.rows[0].policy == "scaling=divide+zero_point=before"


@pytest.mark.parametrize(
    "op", ["quantize_affine", "rescale", "grid_sample", "linear_qcs8w", "linear_qcs4w"]
)
@pytest.mark.sampled(6)
def test_both_references_answer_the_search(op: str) -> None:
    for format in CALL_OPERATIONS[op].formats:
        rows = drawn(op, format, CALL_OPERATIONS[op].slot, 12, seed=5)
        policies = [CALL_OPERATIONS[op].first_policy(format)]
        policies += CALL_OPERATIONS[op].neighbours(format, policies[0])
        for i, row in enumerate(map(stripped, rows)):
            policy = policies[i % len(policies)]
            try:
                want = CALL_OPERATIONS[op].exact_answer(format, row, policy)
            except ValueError:
                with pytest.raises(ValueError, match="NaN"):
                    CALL_OPERATIONS[op].answer(format, row, policy)
                continue
            assert CALL_OPERATIONS[op].answer(format, row, policy) == want


@pytest.mark.sampled(0)
def test_level_2_has_every_code() -> None:
    extent = Extent(elements=0, search=False, level=2)
    wrong = wrong_where("dequantize_affine", lambda r, q, *_: q == 12_345)
    report = report_of("dequantize_affine", "int16", wrong, extent)
    assert not report.passed
    assert (report.scope.families, report.scope.family_cases) == (1, 192)
    assert {failure.case.model for _, failure in report.failures} == {""}
    right = RIGHT_CALLS["dequantize_affine"]
    assert report_of("dequantize_affine", "int16", right, extent).passed


def test_unpack_takes_no_rows() -> None:
    assert integer.unpack_int4(np.zeros((0, 2), np.uint8), 3).shape == (0, 3)


# --- sums in another order ------------------------------------------------------------------------


def compared(function: Any) -> Compared:
    """What is said of a function of 8-bit weights."""
    target = target_of(SimpleNamespace(linear_qcs8w=function), "kernel")
    words = drawn("linear_qcs8w", "int8", "f32", 12, seed=1)
    policy = CALL_OPERATIONS["linear_qcs8w"].first_policy("int8")
    file = replace(without_cases("linear_qcs8w", "int8", "f32"), columns=(policy,))
    return compare_computed(target, file, [words[:8], words[8:]], policy, name="search")


def test_sums_in_another_order_are_right_and_those_beyond_every_order_are_wrong() -> None:
    others: list[bool] = []

    def backwards(x: Array, w: Array, scales: Array) -> Array:
        result = integer.linear_qcs8w(x[:, ::-1], w[:, ::-1], scales, "offset")
        others.append(not np.array_equal(result, integer.linear_qcs8w(x, w, scales)))
        return result

    assert (compared(backwards).cases, compared(backwards).wrong) == (12, 0)
    assert any(others)

    def beyond(x: Array, w: Array, scales: Array) -> Array:
        return backwards(x, w, scales) * np.float32(1.25) + np.float32(1)

    found = compared(beyond)
    assert (found.cases, found.wrong) == (12, 12)
    assert found.outcome is not None
    assert len(found.outcome.failures) == 12


# --- what a question has --------------------------------------------------------------------------


LAYERS = [
    (op, format)
    for op in ("linear_qcs8w", "linear_qcs4w")
    for format in CALL_OPERATIONS[op].formats
]


def question(op: str, format: str, *sizes: int) -> IntegerQuestion:
    return IntegerQuestion(IntegerSubject(op, format, "default"), sizes)


@pytest.mark.parametrize(
    ("op", "format", "sizes", "features"), rows("conformance/checking", "features")
)
def test_features(op: str, format: str, sizes: str, features: str) -> None:
    found = question(op, format, *map(int, sizes.split())).features
    assert {f"{name}: {value}" for name, value in found.items()} == {*features.split(", ")}


def test_features_of_an_axis_and_of_an_image() -> None:
    found = question("quantize_affine", "int8_axis", 6, 2, 3, 5).features
    assert {name: found[name] for name in ("values", "scales", "lines before")} == {
        "values": 6 * 2 * 3 * 5,
        "scales": "groups",
        "lines before": 3,
    }
    found = question("grid_sample", "int8", 2, 3, 3, 4, 5).features
    assert (found["points"], found["samples"]) == (20, 40)
    assert found["sides"] == "as many pixels down as pixels across"


def test_the_first_wrong_word_is_shown() -> None:
    one = question("pack_int4", "int4", 3, 5)
    (codes,) = one.arguments
    high, low = int(codes[1, 2]) + 8, int(codes[1, 3]) + 8
    got = one.wanted.copy()
    got[4] ^= 1  # of three bytes in a row the second one of row 1
    got[7] ^= 1
    want = f"want {high << 4 | low:02x}, got {(high << 4 | low) ^ 1:02x}"
    assert one.difference(got) == f"3 rows, 5 codes in a row: element (1, 1): {want}"


@pytest.mark.parametrize(("op", "format"), LAYERS)
def test_layers_have_a_scale_for_each_row_or_group(op: str, format: str) -> None:
    groups = format.endswith("_groups")
    x, w, scales = (
        CALL_OPERATIONS[op]
        .sized(format, (2, 3, 4, 5) if groups else (2, 3, 20), Draws("sizes 0"))
        .arguments
    )
    assert x.shape == (2, 20)
    assert w.shape == (3, 20 if op == "linear_qcs8w" else 10)
    assert scales.shape == ((3, 4) if groups else (3,))


RESCALE = CALL_OPERATIONS["rescale"]


@pytest.mark.parametrize("format", [*RESCALE.formats, *RESCALE.further])
def test_results_of_rescale_are_within_int32(format: str) -> None:
    call = RESCALE.sized(format, (50, 7), Draws("sizes 0"))
    q, multiplier, shift, zero, out, dtype, bits = call.arguments
    assert (q.shape, multiplier.shape, shift.shape) == ((50, 7), (7,), (7,))
    assert (q.dtype.name, dtype.name) == tuple(format.split("_")[0].split("-"))
    assert bits == (16 if format.endswith("_m16") else 32)
    for row in q.tolist():
        for value, m, s in zip(row, multiplier.tolist(), shift.tolist(), strict=True):
            assert 2 <= s <= 62
            assert abs(Fraction((value - zero) * m, 2**s)) + abs(out) + 1 < 2**31


@pytest.mark.parametrize("format", ["int8", "uint8", "int16"])
def test_values_lie_at_midpoints_and_beyond_both_ends(format: str) -> None:
    """At most two float32 numbers from a midpoint, half of them on it, and a tenth beyond."""
    x, scale, zero, _, high, *_ = (
        CALL_OPERATIONS["quantize_affine"].sized(format, (4000,), Draws("sizes 0")).arguments
    )
    values = x.reshape(-1)
    near = np.floor(values.astype(np.float64) / scale)[:, None] + (-0.5, 0.5, 1.5)
    bits = (near * scale).astype(np.float32).view(np.int32).astype(np.int64)
    off = np.abs(bits - values.view(np.int32)[:, None].astype(np.int64)).min(axis=1)
    assert set(off.tolist()) == {0, 1, 2}
    assert abs(np.mean(off == 0) - 0.6) < 0.05  # of half of them, and of a fifth of the others
    codes: Any = values / scale + zero
    reach = min(high, 1 << 20)
    for beyond in (codes < -reach - 1, codes > reach + 1):
        assert np.mean(beyond) > 0.02
