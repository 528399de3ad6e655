"""`check` asks as kernels are used: faults of use are found and named, right kernels pass."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import PATIENCE
from kernel_reports import file_of, files_of
from limits import assert_limits
from numpy.typing import NDArray
from right_calls import quantized
from tables import rows
from uses import assert_use, no_time  # noqa: F401

import mxref
from mxref.cases.answers import fast_answers
from mxref.conformance import Extent, Report, check, target_of
from mxref.conformance.checking import computed, target_speed
from mxref.conformance.checking.array_memory import MEMORIES
from mxref.conformance.checking.subjects import unsearched
from mxref.conformance.verdict import causes
from mxref.conformance.verdict.call_dependence import CallDependence, Scope
from mxref.conformance.verdict.describe import description
from mxref.golden import VectorFile
from mxref.targets.calls import Answers

Array = NDArray[Any]
Function = Callable[..., Any]

#: Every size up to 257 numbers, and no search.
SIZES = Extent(elements=300, search=False)
#: The search, and no other calls.
SEARCH = Extent(elements=0)
E2M1, MXFP4 = "encode/e2m1.f32", "quantize/mxfp4_e2m1.f32"


@functools.cache
def some_cases(stem: str, count: int = 64) -> VectorFile:
    """A file with a few of its cases, evenly from all of them."""
    file = file_of(stem)
    return replace(file, cases=file.cases[:: len(file.cases) // count])


def report_of(
    function: Function, extent: Extent = SIZES, file: VectorFile | None = None, **claims: Any
) -> Report:
    """What is found of a function, by default of one that encodes to E2M1."""
    file = file or some_cases(E2M1)
    target = target_of(SimpleNamespace(**{file.op: function}, **claims), "kernel")
    return check(target, [file], extent=extent)


@pytest.fixture
def without_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither causes nor descriptions are looked for, which takes long and changes nothing else."""
    monkeypatch.setattr(causes, "find_causes", lambda *_: ())
    monkeypatch.setattr(description, "describe_failures", lambda *_: None)


def assert_found(function: Function, kind: str, text: str, *more: Any, **claims: Any) -> None:
    """One way of calling changes answers, of this kind; `...` stands for any words."""
    report = report_of(function, *more, **claims)
    use = assert_use(report.uses, kind, text)
    assert (use.op, use.format, report.passed) == ("encode", "e2m1", False)


def wrong_where(wrong: Callable[[Array], Any]) -> Function:
    """A kernel whose codes have a wrong last bit where something is true of its input."""
    return lambda values, format: mxref.encode(values, format) ^ np.uint8(wrong(values))


def without_tail(tail: Callable[[int], int], *, sign: bool = False) -> Function:
    """A kernel that forgets the last numbers of a call; it may keep the sign of NaN as well."""

    def encode(values: Array, format: str) -> Array:
        codes = mxref.encode(values, format).copy()
        codes[np.isnan(values) & np.signbit(values)] |= np.uint8(8 * sign)
        codes[len(codes) - tail(len(codes)) :] = 0
        return codes

    return encode


# What depends on the size, on earlier calls, and on what else is in the call.


def every_seventh_call() -> Function:
    calls = itertools.count(1)
    return wrong_where(lambda values: next(calls) % 7 == 0)


def first_of_each_shape() -> Function:
    kept: dict[tuple[int, ...], Array] = {}
    return lambda values, format: kept.setdefault(values.shape, mxref.encode(values, format)).copy()


def unwritten() -> Function:
    """The tail of a result is what an earlier call left in a buffer."""
    buffer = np.zeros(1 << 12, np.uint8)

    def encode(values: Array, format: str) -> Array:
        whole = len(values) // 16 * 16
        buffer[:whole] = mxref.encode(values, format)[:whole]
        return buffer[: len(values)].copy()

    return encode


def reused(function: Function) -> Function:
    buffers: dict[int, Array] = {}

    def encode(values: Array, format: str) -> Array:
        buffer = buffers.setdefault(len(values), np.empty(len(values), np.uint8))
        buffer[:] = function(values, format)
        return buffer

    return encode


def raises_for_large_first_numbers(values: Array, format: str) -> Array:
    """So few calls do that no size has anything to do with it."""
    if len(values) > 1 and values[0] > 6:
        raise ValueError("the first number must be at most 6")
    return mxref.encode(values, format)


COMPANY = "an answer depends on what else is in the call"


def amax_of_groups(size: int, first: int = 0) -> Function:
    """Numbers of a group are 0 where another one of it is much larger, from a number on."""

    def encode(values: Array, format: str) -> Array:
        codes = np.asarray(mxref.encode(values, format)).copy()
        for begin in range(0, len(values), size):
            group = np.abs(values[begin : begin + size].astype(np.float64))
            small = group * 8 < np.nanmax(np.where(np.isnan(group), 0, group), initial=0)
            if begin >= first:
                codes[begin : begin + size][small] = 0
        return codes

    return encode


#: The kernels of the table of uses; that of a buffer is wrong at once, too.
CALLED: dict[str, Function] = {
    "33 numbers": wrong_where(lambda values: len(values) == 33),
    "every seventh call": every_seventh_call(),
    "the first of each shape": first_of_each_shape(),
    "an unwritten tail": unwritten(),
    "a buffer used again": reused(without_tail(lambda n: n % 4)),
    "before a negative number": wrong_where(lambda x: np.append(np.signbit(x[1:]), False)),
    "amax of pairs": amax_of_groups(2),
    "amax of fours": amax_of_groups(4, first=4),
    "raises": raises_for_large_first_numbers,
}


@pytest.mark.parametrize(("name", "kind", "text"), rows("conformance/checking", "uses"))
def test_what_changes_answers_is_named(name: str, kind: str, text: str) -> None:
    assert_found(CALLED[name], kind, text)


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        *((lambda n, k=k: n % k, f"numbers that is no multiple of {k} (") for k in (2, 4, 16, 32)),
        (lambda n: (n > 8) * (n % 8), "9 numbers and more, and a number of numbers that is no m"),
        (lambda n: min(n, 1), "wrong in calls of every size, in the last number, where every w"),
        (lambda n: min(n, 3), "wrong in calls of every size, in the last 3 numbers, where eve"),
    ],
)
def test_a_tail_that_is_always_forgotten_is_of_the_size(
    tail: Callable[[int], int], said: str
) -> None:
    """The forgotten numbers often have the answer that the next call has there: 0."""
    assert_found(without_tail(tail), "size", f"...{said}", SIZES, file_of(E2M1))


def test_skipped_numbers_are_named_with_what_stands_there() -> None:
    def encode(values: Array, format: str) -> Array:
        codes = mxref.encode(values, format).copy()
        codes[63::64] = 0
        return codes

    said = (
        "wrong only in calls with 64 numbers and more (...), in numbers whose number is 63 above "
    )
    said += "a multiple of 64, where every wrong answer is 0: with "
    assert_found(encode, "size", said, replace(SIZES, elements=1100), file_of(E2M1))


@pytest.mark.parametrize(("floats", "said"), [(("f32", "f16"), " of f32"), (("f32",), "")])
def test_a_size_that_is_wrong_in_one_float_type_names_it(
    floats: tuple[str, ...], said: str
) -> None:
    """Where calls of that size are right in another one; of one that was not asked nothing is."""

    def encode(values: Array, format: str) -> Array:
        wrong = values.dtype == np.float32 and values.size % 4 != 0
        return mxref.encode(values, format) ^ np.uint8(wrong)

    target = target_of(SimpleNamespace(encode=encode), "kernel")
    report = check(target, [some_cases(f"encode/e2m1.{one}") for one in floats], extent=SIZES)
    text = f"wrong only in calls{said} with a number of numbers that is no multiple of 4 ("
    assert_use(report.uses, "size", text)


def test_a_tail_beside_what_is_always_wrong() -> None:
    """The call of the vectors has a tail, and its last numbers are NaN, whose sign stays wrong."""
    kernel = without_tail(lambda n: (n > 1024) * (n % 16), sign=True)
    (use,) = report_of(kernel, replace(SIZES, elements=5000), file_of(E2M1)).uses
    assert use.kind == "size"
    assert ", and a number of numbers that is no multiple of 16 (" in use.text
    assert_limits(use.text, {"numbers": 1025})
    zeros = "where every wrong answer is 0: with "
    assert f", in the numbers behind the last multiple of 16, {zeros}" in use.text


def test_what_the_call_of_the_vectors_has_wrong_is_of_its_size() -> None:
    """Which is one of few calls that are so large, and small ones are right."""
    for most, said in ((16, "17 numbers and more ("), (63, "64 numbers and more (")):
        wrong = wrong_where(lambda values, most=most: (len(values) > most) & (values > 1))
        assert_found(wrong, "size", f"wrong only in calls with {said}")


def test_what_is_wrong_in_one_place_is_no_matter_of_company() -> None:
    some = some_cases(E2M1).input_words().astype(np.uint32).view(np.float32)[5::8, 0]

    def last(values: Array) -> Array:
        return np.isin(values, some) & (np.arange(len(values)) == len(values) // 2 * 2)

    said = "some numbers are wrong only in calls with a number of numbers that is no multiple of 2"
    assert_found(
        wrong_where(last),
        "size",
        f"{said}, seen in calls that repeat one number (..., in the last number: ",
    )


def test_a_size_that_raises_and_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call takes a thousandth of a second; the cases asked one by one are not slowness."""
    now = [0.0]
    monkeypatch.setattr(target_speed, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def encode(values: Array, format: str) -> Array:
        now[0] += 0.001
        assert not len(values) or len(values) % 7, "a seventh"
        return mxref.encode(values, format)

    whole = some_cases(E2M1)
    report = report_of(encode, Extent(search=False), replace(whole, cases=whole.cases[:63]))
    said = "raises only in calls with a number of numbers that is a multiple of 7 ("
    assert_use(report.uses, "size", f"{said}...: AssertionError: a seventh")
    assert not any("slow" in note for note in report.scope.notes)


def test_a_size_beyond_those_asked_is_not_found() -> None:
    wrong = wrong_where(lambda values: len(values) >= 1025)
    assert report_of(wrong).passed
    assert_found(wrong, "size", "", replace(SIZES, elements=5000))


@pytest.mark.parametrize("format", ["e2m1", "e4m3"])
def test_a_workspace_that_is_never_cleared(format: str) -> None:
    """At last every answer has all bits: each call has one answer then, whatever else is in it."""
    workspace = np.zeros(1 << 12, np.uint8)

    def added(values: Array, format: str) -> Array:
        workspace[: len(values)] |= mxref.encode(values, format)
        return workspace[: len(values)].copy()

    files = files_of(*(f"encode/{format}.{float}" for float in ("f32", "f16", "bf16", "f64")))
    report = check(target_of(SimpleNamespace(encode=added), "kernel"), files, extent=SIZES)
    said = "not reproducible: the same number gave ... and ..., both times in the same call with "
    assert_use(report.uses, "state", said)
    assert report.verdict.startswith("is not reproducible: encode ")


@pytest.mark.usefixtures("without_causes")
def test_a_scale_of_the_whole_call() -> None:
    def scaled(values: Array, format: str) -> tuple[Array, Array]:
        scales, codes = quantized(values, format)
        numbers = scales[scales != 0xFF]
        return np.where(scales == 0xFF, scales, numbers.max(initial=0)), codes

    report = report_of(scaled, replace(SIZES, elements=33 * 32), some_cases(MXFP4, 20))
    assert_use(report.uses, "company", f"{COMPANY}, on all other rows: the same 32 numbers")


@pytest.mark.parametrize(
    ("moved", "memories"),
    [
        (lambda v: v.ctypes.data % 16 != 0, (1, 7)),
        (lambda v: not v.flags.c_contiguous, (2, 4, 8, 9, 10)),
        (lambda v: not v.flags.writeable, (6,)),
    ],
)
def test_arrays_that_lie_elsewhere(
    moved: Callable[[Array], bool], memories: tuple[int, ...]
) -> None:
    def refuses(values: Array, format: str) -> Array:
        if moved(values):
            raise ValueError("not there")
        return mxref.encode(values, format)

    *some, last = (MEMORIES[memory] for memory in memories)
    where = f"{', '.join(some)} and {last}" if some else last
    said = f"wrong only in calls with {where}: with 33 numbers, "
    assert_found(wrong_where(moved), "memory", said)
    report = report_of(refuses)
    assert (report.uses, report.passed) == ((), True)
    (note,) = report.scope.notes
    assert note.startswith(f"encode refuses {where}: ValueError: not there (")


def test_two_threads() -> None:
    inside: list[int] = []
    both = threading.Barrier(2)

    def shared(values: Array) -> bool:
        """While another thread is inside; only threads wait for each other."""
        inside.append(1)
        if threading.current_thread() is not threading.main_thread():
            both.wait(PATIENCE)
        alone = len(inside) == 1
        inside.pop()
        return not alone

    kernel = wrong_where(shared)
    assert_found(kernel, "threads", "wrong when two threads call it at once: with ", THREADS=True)
    assert report_of(kernel).passed  # of a target that does not promise it nothing is asked


@pytest.mark.parametrize("answer", [np.zeros(1, np.uint8), np.zeros(0, np.float32), None])
def test_no_case(answer: Array | None) -> None:
    """One code, a wrong dtype, or a refusal."""

    def empty(values: Array, format: str) -> Array:
        if len(values) or answer is not None:
            return mxref.encode(values, format) if len(values) else answer
        raise ValueError("nothing to do")

    if answer is not None:
        assert_found(empty, "empty", "wrong in a call with no case: ")
        return
    report = report_of(empty)
    assert (report.uses, report.passed) == ((), True)
    (note,) = report.scope.notes
    assert note.startswith("encode refuses empty input: ValueError: nothing to do (")


def test_an_unsteady_kernel_gets_no_ranges_of_numbers() -> None:
    calls = itertools.count()
    report = report_of(wrong_where(lambda values: next(calls) % 2 == 1), Extent(elements=300))
    (row,) = report.rows
    assert row.failures
    assert (row.causes, row.description, report.findings) == ((), None, ())
    assert report.scope.searched == 0  # no policy gives its answers
    steady = report_of(wrong_where(lambda values: values < 0), Extent(elements=300))
    (row,) = steady.rows
    assert steady.uses == ()
    assert row.description is not None
    assert row.description.text is not None


# Right kernels.


def by_threads(values: Array, format: str) -> Array:
    with_state = threading.local()
    with_state.codes = mxref.encode(values, format)
    codes: Array = with_state.codes
    return codes


def of_gaps(values: Array, format: str) -> Array:
    return np.repeat(mxref.encode(values, format).astype(np.int64), 2)[::2]


def read_only(values: Array, format: str) -> Array:
    codes = mxref.encode(values, format)
    codes.flags.writeable = False
    return codes


@pytest.mark.parametrize("kernel", [mxref.encode, by_threads, of_gaps, read_only])
def test_right_kernels_pass(kernel: Function) -> None:
    report = report_of(kernel, Extent(elements=300), THREADS=True)
    assert (report.uses, report.failures, report.passed) == ((), [], True)
    assert report.scope.notes == ()
    # Of a call of 300 numbers the search asks so many, not every question.
    assert (report.scope.searched, report.scope.searched_in) == (300, ())
    assert report.verdict == "conforms"


def test_right_blocks_pass() -> None:
    report = report_of(quantized, Extent(elements=33 * 32), some_cases(MXFP4))
    assert (report.uses, report.failures, report.passed) == ((), [], True)


# How much is asked.


def test_many_small_calls_do_not_look_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes a millisecond, whatever its size."""
    now = 0.0

    def tensor(values: Array, format: str, axis: int) -> tuple[Array, Array]:
        nonlocal now
        now += 1e-3
        blocks = mxref.quantize(values, format, axis=axis)
        return blocks.scale_codes, blocks.codes

    monkeypatch.setattr(target_speed, "time", SimpleNamespace(perf_counter=lambda: now))
    target = target_of(SimpleNamespace(quantize_tensor=tensor), "kernel")
    file = file_of("quantize_tensor/mxfp4_e2m1.f32")
    _, pace = target_speed.timed(target, [file])
    assert pace == pytest.approx(1e-3 * 1e6 / max(1000, *(len(c.inputs) for c in file.cases)))


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize(
    ("seconds", "elements"), [(10.0, 140_000), (59.0, 9_000), (61.0, 1_100), (900.0, 1_100)]
)
def test_a_slow_target_is_asked_smaller_calls(
    seconds: float, elements: int, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock shows the time that so many seconds for a million elements are."""
    cases = max(len(some_cases(E2M1).cases), 1000)
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) * seconds * cases / 1e6)
    monkeypatch.setattr(target_speed, "time", clock)
    sizes: list[int] = []

    def encode(values: Array, format: str) -> Array:
        sizes.append(len(values))
        return mxref.encode(values, format) ^ np.uint8(wrong and len(values) % 4 == 3)

    report = report_of(encode, Extent(search=not wrong))
    assert [use.kind for use in report.uses] == ["size"] * wrong
    assert report.scope.elements == elements
    assert report.scope.largest == max(n for n in (1100, 8193, 131_073) if n <= elements)
    assert max(sizes) <= elements
    assert f" of 1 to {report.scope.largest:,} rows" in report.scope.text
    assert f"at most {elements:,} elements" in report.scope.text


def test_a_target_of_another_kind_is_asked_the_vectors_alone() -> None:
    kernel = target_of(SimpleNamespace(encode=mxref.encode), "kernel")
    asked: list[int] = []

    class Asked:
        """No Python functions, and no recorded answers."""

        name, policy, covers = kernel.name, kernel.policy, kernel.covers

        def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
            asked.append(len(inputs))
            return kernel.ask(file, inputs)

    file = some_cases(E2M1)
    report = check(Asked(), [file], extent=Extent(elements=300))
    assert report.passed
    assert (report.scope.text, asked) == ("", [len(file.cases)])


def test_what_is_asked_is_said() -> None:
    assert report_of(mxref.encode, Extent(elements=0, search=False)).scope.text == ""
    sizes = report_of(mxref.encode).scope
    assert (sizes.smallest, sizes.largest, sizes.elements, sizes.searched) == (1, 300, 300, 0)
    again = f"cases again, twice, in {sizes.calls} calls of 1 to 300 rows"
    assert sizes.text == (
        f"the vectors (level 1); {again}, at most 300 elements each; "
        "79 calls that follow others; 117 calls drawn like tensors "
        "(numbers normal, uniform, log-normal and 10 others), of at most 256 elements each"
    )
    (ordinary,) = sizes.as_json()["ordinary"]
    assert len(ordinary["kinds"]) == 13
    assert {"numbers after ReLU", "numbers constant"} < {*ordinary["kinds"]}
    search = report_of(mxref.encode, replace(SEARCH, seed=7)).scope
    assert search.searched_in == (("encode", "e2m1"),)
    assert (search.calls, search.searched, search.seed) == (0, 1 << 15, 7)
    assert search.text == "the vectors (level 1); a search of 32,768 questions (seed 7)"


@pytest.mark.parametrize(("stem", "wrong"), [(E2M1, True), (E2M1, False), (MXFP4, False)])
def test_no_call_is_larger_than_the_sizes_that_are_asked_for(stem: str, wrong: bool) -> None:
    """The largest is that of the threads."""
    sizes: list[int] = []

    def function(values: Array, format: str) -> Any:
        sizes.append(len(values))
        if stem == MXFP4:
            return quantized(values, format)
        return mxref.encode(values, format) ^ np.uint8(wrong and len(values) == 33)

    extent = Extent(elements=100 * (32 if stem == MXFP4 else 1), search=False)
    report = report_of(function, extent, some_cases(stem), THREADS=True)
    assert [use.kind for use in report.uses] == ["size"] * wrong
    assert report.scope.largest == max(sizes) == 100


def test_calls_elsewhere_in_memory_have_a_tail_or_none() -> None:
    """One number more than a warp and a block of threads, and a round number."""
    moved: set[tuple[int, int]] = set()

    def encode(values: Array, format: str) -> Array:
        if values.flags.c_contiguous:
            moved.add((len(values), values.ctypes.data % 16))
        return mxref.encode(values, format)

    assert report_of(encode).passed
    assert {one for one in moved if one[1]} == {(33, 4), (64, 12), (257, 4), (33, 1)}


def test_each_call_is_asked_in_computed_calls_twice() -> None:
    sizes: list[int] = []

    def encode(values: Array, format: str) -> Array:
        sizes.append(len(values))
        return mxref.encode(values, format)

    report_of(encode)
    for base in (1, 8, 16, 32, 64, 128, 256):
        for size in (base - 1, base, base + 1):
            assert size == 0 or sizes.count(size) >= 2, size
    assert 0 in sizes


# The search.


def hashed(values: Array) -> Array:
    """True for one number in 10,000 or so, which have nothing in common."""
    words = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    return words * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32) < np.uint64((1 << 32) // 10_000)


def rare_element(values: Array, format: str) -> tuple[Array, Array]:
    scales, codes = quantized(values, format)
    return scales, codes ^ np.where(hashed(values), 1, 0).astype(np.uint8)


def narrow_amax(values: Array, format: str) -> tuple[Array, Array]:
    """The scale is one too large for amax significands in [1.414, 1.422)."""
    scales, codes = quantized(values, format)
    amax = np.fmax.reduce(np.abs(values), axis=1)
    significand = np.frexp(amax.astype(np.float64))[0] * 2
    inside = np.isfinite(amax) & (significand >= 1.414) & (significand < 1.422)
    return scales + (inside & (scales < 0xFE)), codes


@pytest.mark.usefixtures("without_causes")
@pytest.mark.parametrize("kernel", [rare_element, narrow_amax])
def test_what_the_vectors_miss_is_found_by_the_search(kernel: Function) -> None:
    file = replace(some_cases(MXFP4), columns=("ocp",), plain=1)
    alone = replace(SEARCH, search=False)
    shown = {f.case.id for _, f in report_of(kernel, alone, file).failures}
    file = replace(file, cases=tuple(case for case in file.cases if case.id not in shown))
    assert report_of(kernel, alone, file).passed
    report = report_of(kernel, SEARCH, file)
    assert (report.uses, report.passed) == ((), False)
    cases = [(failure.case.id, failure.case.inputs) for _, failure in report.failures]
    assert all(id.startswith("quantize.mxfp4_e2m1.f32.search_") for id, _ in cases)
    for _, failure in report.failures[:20]:  # right by the slow twin
        scale, codes = mxref.exact.quantize(failure.case.inputs, "f32", "e2m1")
        assert failure.want == (scale, *codes)
    again = report_of(kernel, SEARCH, file)
    assert [(failure.case.id, failure.case.inputs) for _, failure in again.failures] == cases
    other = report_of(kernel, replace(SEARCH, seed=1), file)
    inputs = {failure.case.inputs for _, failure in other.failures}
    assert inputs
    assert inputs != {words for _, words in cases}


def test_what_the_fast_path_gets_wrong_is_judged_by_the_slow_twin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    def wrong(*arguments: Any) -> Any:
        words = fast_answers(*arguments).copy()
        words[:5, 0] ^= 1
        return words

    monkeypatch.setattr(computed, "fast_answers", wrong)
    report = report_of(mxref.encode, SEARCH)
    assert (report.failures, report.passed, report.scope.searched) == ([], True, 1 << 15)


def ties_away(values: Array, format: str) -> Array:
    return mxref.encode(values, format, rounding="ties_to_away")


def rare_beside_ties(values: Array, format: str) -> Array:
    """Wrong for one in 256 of the numbers between 0.6 and 0.7, where nothing changes elsewhere."""
    rare = (values > 0.6) & (values < 0.7) & (values.view(np.uint32) & 0xFF == 0xA5)
    return ties_away(values, format) ^ np.uint8(rare)


def searched(report: Report) -> list[str]:
    return [f.case.id for _, f in report.failures if ".search_" in f.case.id]


def test_the_search_asks_under_the_policy_that_gives_the_vectors() -> None:
    report = report_of(ties_away, SEARCH)
    assert report.failures
    assert report.equals == "ocp+rounding=ties_to_away"
    assert (report.scope.searched, searched(report)) == (1 << 15, [])
    listing = report_of(ties_away, replace(SEARCH, listing=True))
    assert searched(listing)  # against the policy itself, for a file of known divergences


@pytest.mark.usefixtures("without_causes")
def test_a_kernel_that_no_policy_gives_is_not_searched() -> None:
    report = report_of(wrong_where(lambda values: np.signbit(values)), SEARCH)
    assert (report.passed, report.scope.searched) == (False, 0)
    assert report.scope.text == (
        "the vectors (level 1); search: not asked, because no policy known gives the answers of "
        "encode e2m1 to the vectors"
    )


def test_why_there_is_no_search_is_short() -> None:
    outcomes = (SimpleNamespace(file=SimpleNamespace(cases=[1])),)
    known = (SimpleNamespace(complete=True),)
    rows = [
        SimpleNamespace(op="quantize", format=format, outcomes=outcomes, causes=causes)
        for causes, some in (((), "abcdefgh"), (known, "ijklm"))
        for format in some
    ]
    report: Any = SimpleNamespace(rows=rows)
    assert unsearched(report, [], set()) == (
        "no policy known gives the answers of quantize a, quantize b and 6 others to the vectors, "
        "and it is known why the answers of quantize i, quantize j and 3 others are wrong"
    )
    uses = [
        CallDependence("quantize", f"mxfp8_e4m3-mxfp8_e5m2{name}", "size", "") for name in range(80)
    ]
    rows += [
        SimpleNamespace(op=use.op, format=use.format, outcomes=outcomes, causes=()) for use in uses
    ]
    for kind in ("options", "numbers"):
        some = [replace(use, kind=kind) for use in uses]
        assert unsearched(report, some, set()).endswith(" and calls of 80 rows show faults")
    text = Scope(calls=1, unsearched=unsearched(report, uses, set())).text
    assert len(text[text.index("search:") :]) <= 200
    assert text.endswith(" and the answers of 80 rows depend on the call")


def test_a_bug_beside_another_policy_is_found_by_the_search() -> None:
    claimed = "ocp+rounding=ties_to_away"
    report = report_of(rare_beside_ties, SEARCH, POLICY=claimed)
    assert searched(report) == [f.case.id for _, f in report.failures] != []
    report = report_of(rare_beside_ties, SEARCH)
    assert searched(report)
    assert report.equals is None
