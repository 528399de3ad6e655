"""Parameters that a `grid_sample` may have beside five: asked by name, wrong ones told."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS
from numpy.typing import NDArray
from tables import rows
from uses import no_time  # noqa: F401

from mxref import golden, integer
from mxref.conformance import Extent, Report, check, target_of
from mxref.exact.samples import grid_sample as one_sample
from mxref.exact.samples import value as one_value
from mxref.integer import QParams
from mxref.operands.draws import Draws
from mxref.operations.registry import CALL_OPERATIONS
from mxref.operations.sampling import NAMED

Array = NDArray[Any]
Bug = Callable[..., Any]

SIZES = Extent(elements=600, search=False, unfiled=True)
SAMPLER = CALL_OPERATIONS["grid_sample"]
UNIT = 65534
FORMS = ("reflection", "nearest", "nearest_reflection", "batch", "nhwc", "output", "values")


def places(g: Array, size: int, align: bool, padding: str, bug: str) -> Array:
    """Coordinates in units, mirrored and clipped."""
    n = g.astype(np.int64) + 32767
    place = n * (size - 1) if align else n * size - 32767
    if padding == "reflection" and bug not in ("mirrored pixels", "reflection is zeros"):
        low, span = (0, (size - 1) * UNIT) if align else (-UNIT // 2, size * UNIT)
        around = np.abs(place - low) % max(2 * span, 1)
        place = np.where(around > span, 2 * span - around, around) + low
        place = np.clip(place, 0, (size - 1) * UNIT)
    return np.clip(place, 0, (size - 1) * UNIT) if padding == "border" else place


def taps(place: Array, mode: str, bug: str) -> list[tuple[Array, Array]]:
    if mode == "nearest":
        first, rest = np.divmod(place, UNIT)
        up = 2 * rest >= UNIT if bug == "half up" else 2 * rest > UNIT
        if bug == "cut":
            up = np.zeros(place.shape, bool)
        elif bug != "half up":
            up |= (2 * rest == UNIT) & (first % 2 == 1)
        return [(first + up, np.full(place.shape, UNIT))]
    first, rest = np.divmod(place, UNIT)
    return [(first, UNIT - rest), (first + 1, rest)]


def totals(image: Array, grid: Array, align: bool, padding: str, zero: int, mode: str, bug: str):
    """Sums over UNIT**2 of steps from the zero point, (C, h, w)."""
    c, height, width = image.shape
    columns = taps(places(grid[..., 0], width, align, padding, bug), mode, bug)
    rows = taps(places(grid[..., 1], height, align, padding, bug), mode, bug)
    total = np.zeros((c, *grid.shape[:2]), np.int64)
    for i, down in rows:
        for j, across in columns:
            if bug == "mirrored pixels" and padding == "reflection":
                i, j = (np.abs(one) for one in (i, j))
                i, j = np.minimum(i, 2 * height - 2 - i), np.minimum(j, 2 * width - 2 - j)
            inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
            pixel = image[:, np.clip(i, 0, height - 1), np.clip(j, 0, width - 1)]
            total += np.where(inside, down * across, 0) * (pixel.astype(np.int64) - zero)
    return total


def kernel(bug: str = "", without: str = "") -> Callable[..., Array]:
    """A sampler with all parameters, and one bug."""

    def grid_sample(
        codes: Array,
        grid: Array,
        align_corners: bool,
        padding: str,
        zero_point: int,
        *,
        mode: str = "bilinear",
        channels_last: bool = False,
        scale: float = 1.0,
        output_scale: float | None = None,
        output_zero: int = 0,
        output_dtype: Any = None,
    ) -> Array:
        if without and (padding == without or (without == "batch" and codes.ndim == 4)):
            raise NotImplementedError(without)
        images = codes if codes.ndim == 4 else codes[np.newaxis]
        if channels_last and bug == "NHWC read as NCHW":
            n, height, width, c = images.shape
            images = images.reshape(n, c, height, width)
        elif channels_last:
            images = images.transpose(0, 3, 1, 2)
        grids = grid if codes.ndim == 4 else grid[np.newaxis]
        if bug == "one grid for all":
            grids = np.repeat(grids[:1], len(grids), 0)
        if bug == "one image for all":
            images = np.repeat(images[:1], len(images), 0)
        how = align_corners, padding, zero_point, mode, bug
        found = [totals(one, points, *how) for one, points in zip(images, grids, strict=True)]
        total = np.stack(found)
        if output_dtype is not None and np.dtype(output_dtype) == np.float32:
            number = total + (zero_point * UNIT**2 if bug == "zero point left in" else 0)
            factor = 1.0 if bug == "scale left out" else scale
            result = (number * factor / UNIT**2).astype(np.float32)
            if bug == "rounded to steps":
                result = (np.rint(total / UNIT**2) * factor).astype(np.float32)
        else:
            dtype = np.dtype(codes.dtype if output_dtype is None else output_dtype)
            ratio, shift = Fraction(1), zero_point
            if output_scale is not None:
                ratio = Fraction(float(np.float32(scale))) / Fraction(
                    float(np.float32(output_scale))
                )
                ratio = 1 / ratio if bug == "ratio upside down" else ratio
                shift = zero_point if bug == "the image's zero point" else output_zero
                shift = 0 if bug == "zero point forgotten" else shift
            ends = np.iinfo(codes.dtype if bug == "the image's range" else dtype)
            if ratio == 1:
                whole, rest = np.divmod(total + shift * UNIT**2, UNIT**2)
                whole += (2 * rest > UNIT**2) | ((2 * rest == UNIT**2) & (whole % 2 == 1))
            else:
                every = total.reshape(-1).tolist()
                rounded = [round(n * ratio / UNIT**2 + shift) for n in every]
                whole = np.array(rounded, np.int64).reshape(total.shape)
            result = np.clip(whole, ends.min, ends.max).astype(dtype)
        if channels_last and bug == "channels first in the result":
            n, c, down, across = result.shape
            result = result.reshape(n, down, across, c)
        elif channels_last:
            result = result.transpose(0, 2, 3, 1)
        return result if codes.ndim == 4 else result[0]

    return grid_sample


def first_form(codes: Array, grid: Array, align: bool, padding: str, zero: int) -> Array:
    """No parameters by name; what is not in its contract it gets wrong."""
    assert padding in ("zeros", "border")
    return kernel()(codes, grid, align, padding, zero)


def report_of(function: Callable[..., Array], format: str = "int8") -> Report:
    target = target_of(SimpleNamespace(grid_sample=function), "kernel")
    files = golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"grid_sample/{format}."))
    return check(target, files, extent=SIZES)


@cache
def every_file(format: str) -> list[golden.VectorFile]:
    return golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"grid_sample/{format}"))


def vectors_of(function: Callable[..., Array], format: str) -> Report:
    extent = Extent(elements=0, search=False, unfiled=False)
    return check(
        target_of(SimpleNamespace(grid_sample=function), "kernel"),
        every_file(format),
        extent=extent,
    )


@pytest.mark.parametrize("format", ["int8", "uint8"])
def test_vectors_ask_a_kernel_the_forms_that_it_has(format: str) -> None:
    report = vectors_of(kernel(), format)
    assert report.passed
    assert {row.format for row in report.rows} == {format, *(f"{format}_{one}" for one in FORMS)}
    report = vectors_of(first_form, format)
    assert report.passed
    assert {row.format for row in report.rows if row.outcomes} == {format}


#: Bugs, the forms that have them, and the mutants that do the same.
BUGS = rows("conformance/checking", "sampler_bugs")


@pytest.mark.parametrize(("bug", "forms", "mutant"), BUGS)
def test_vectors_catch_wrong_kernels_and_name_their_bugs(bug: str, forms: str, mutant: str) -> None:
    format = "int8" if len(bug) % 2 else "uint8"
    report = vectors_of(kernel(bug), format)
    wrong = [row for row in report.rows if row.failures]
    found = {row.format.partition("_")[2] for row in wrong}
    assert found
    assert found <= {*forms.split()}
    for row in wrong:
        assert not mutant or mutant in [cause.name for cause in row.causes], row.format


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
def test_vectors_know_how_numbers_are_computed(arithmetic: str) -> None:
    def grid_sample(
        codes: Array, grid: Array, align: bool, padding: str, zero: int, *,
        scale: float = 1.0, output_dtype: Any = None,
    ) -> Array:  # fmt: skip
        how = {"align_corners": align, "padding": padding}
        if output_dtype is None:
            return integer.grid_sample(codes, grid, **how, zero_point=zero)
        qparams = QParams(scale, zero, -128, 127)
        return integer.grid_sample_values(codes, grid, qparams, **how, arithmetic=arithmetic)

    report = vectors_of(grid_sample, "int8")
    policies = {row.format: row.policy for row in report.rows if row.outcomes}
    want = "default" if arithmetic == "exact" else "arithmetic=float32"
    assert report.passed
    assert policies == {"int8": "default", "int8_values": want}


def test_numbers_inside_their_bounds_pass() -> None:
    """Those of neither arithmetic: the next number toward zero."""

    def grid_sample(*args: Any, scale: float = 1.0, output_dtype: Any = None) -> Array:
        more = {} if output_dtype is None else {"scale": scale, "output_dtype": output_dtype}
        found = kernel()(*args, **more)
        return found if output_dtype is None else np.nextafter(found, np.float32(0))

    report = vectors_of(grid_sample, "uint8")
    assert report.passed
    assert {row.format for row in report.rows if row.outcomes} == {"uint8", "uint8_values"}


def test_a_right_kernel_passes_with_all_and_with_none() -> None:
    for function in (kernel(), first_form):
        report = report_of(function)
        assert (report.uses, report.passed) == ((), True)


@pytest.mark.parametrize(("bug", "forms"), [one[:2] for one in BUGS])
def test_wrong_kernels_fail_where_they_are_wrong(bug: str, forms: str) -> None:
    format = "uint8" if len(bug) % 2 else "int8"
    report = report_of(kernel(bug), format)
    assert not report.passed
    assert report.failures == []  # the vectors do not ask it
    found = {use.format.partition("_")[2] for use in report.uses}
    assert found <= {*forms.split()}
    assert found, report.uses
    assert {use.format.partition("_")[0] for use in report.uses} == {format}


@pytest.mark.parametrize(("what", "named"), [("reflection", "reflection"), ("batch", "batch")])
def test_what_a_kernel_refuses_is_noted(what: str, named: str) -> None:
    report = report_of(kernel(without=what))
    assert (report.uses, report.passed) == ((), True)
    notes = " ".join(report.scope.notes)
    assert "not in the vectors, and refused: grid_sample int8" in notes
    assert f"grid_sample int8_{named}" in notes


def test_only_parameters_of_the_signature_are_given() -> None:
    seen = set()

    def grid_sample(codes: Array, grid: Array, a: bool, p: str, z: int, mode: str = "") -> Array:
        seen.add((mode, codes.ndim, p))
        return kernel()(codes, grid, a, p, z, mode=mode or "bilinear")

    assert report_of(grid_sample).passed
    assert {mode for mode, _, _ in seen} == {"", "nearest", "bilinear"}
    assert {ndim for _, ndim, _ in seen} == {3}
    assert "reflection" not in {padding for mode, _, padding in seen if not mode}


def test_right_answers_are_those_of_the_slow_twin() -> None:
    """Calls of every option, each sample by itself."""
    assert len(SAMPLER.further) == 14
    for format in SAMPLER.further:
        for i, sizes in enumerate([(2, 3, 4, 2, 3), (1, 2, 6, 3, 2), (3, 5, 1, 1, 4)]):
            call = SAMPLER.sized(format, sizes, Draws(f"twin {i}"))
            image, grid, align, padding, zero, *rest = call.arguments
            named = dict(zip(NAMED, rest, strict=True))
            images, grids = (one if image.ndim == 4 else one[np.newaxis] for one in (image, grid))
            images = images.transpose(0, 3, 1, 2) if named["channels_last"] else images
            how = {"align_corners": align, "padding": padding, "mode": named["mode"] or "bilinear"}
            want = [
                twin(channel.tolist(), x, y, zero, named, how)
                for one, points in zip(images, grids, strict=True)
                for channel in one
                for x, y in points.reshape(-1, 2).tolist()
            ]
            got = SAMPLER.run(call, {})
            assert (got.dtype, got.shape) == (call.dtype, call.shape)
            got = got.transpose(0, 3, 1, 2) if named["channels_last"] else got
            flat = np.ascontiguousarray(got).reshape(-1)
            words = flat.view(np.uint32) if flat.dtype == np.float32 else flat
            assert words.tolist() == want, format


def twin(rows: Any, x: int, y: int, zero: int, named: dict[str, Any], how: Any) -> int:
    bits = [int(np.float32(named[name] or 1).view(np.uint32)) for name in ("scale", "output_scale")]
    dtype = named["output_dtype"]
    if dtype == np.float32:
        return one_value(rows, x, y, bits[0], zero, **how)
    if dtype is None:
        return one_sample(rows, x, y, zero_point=zero, **how)
    ends = np.iinfo(dtype)
    output = named["output_zero"], int(ends.min), int(ends.max)
    return one_sample(
        rows, x, y, zero_point=zero, scale_bits=(bits[0], bits[1]), output=output, **how
    )
