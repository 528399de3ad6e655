"""A GEMM of a user by its adder: right kernels conform, and bugs around the adder are told."""

from __future__ import annotations

import dataclasses
import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from json_tables import cases

import mxref
from mxref.conformance import UnitOperation, target_of, verify
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.golden.agreement import compare_references
from mxref.golden.integer_cases import call_file
from mxref.operations.matrix_units import unit_numbers
from mxref.operations.registry import defined

HOPPER = mxref.ADDERS["hopper_fp8"]
PROMOTED = dataclasses.replace(HOPPER, promotion=64)
SCALED = dataclasses.replace(HOPPER, promotion=64, scaling="product_fma")
CDNA3 = "e4m3fnuz"


@functools.cache
def file_of(name: str, format: str, adder: mxref.Adder) -> Any:
    """The file of an operation that is known by its name."""
    return call_file(name, format)


def report_on(operation: UnitOperation, run: Any, *, whole: bool = False) -> Report:
    kernel = SimpleNamespace(OPERATIONS=[operation], **{operation.name: run})
    with defined(operation):
        target = target_of(kernel, "kernel")
        with target.own.known():
            file = file_of(operation.name, operation.formats[0], operation.adder)
            return (
                check(target, [file], extent=Extent(elements=2000))
                if whole
                else verify(target, [file])
            )


def right(adder: Any, *names: str) -> Any:
    """A kernel that adds so."""

    def run(a: Any, b: Any, c: Any, *scales: Any) -> Any:
        x, y = (unit_numbers(one, name) for one, name in zip((a, b), names, strict=True))
        return mxref.mma(x, y, c, adder=adder, scales=scales or None)

    return run


@pytest.mark.parametrize(
    ("adder", "names"),
    [
        (PROMOTED, ("e4m3", "e5m2")),
        (SCALED, ("e4m3", "e4m3")),
        ("deepseek_v3_fp8", ("e4m3", "e4m3")),
        ("volta_f16", ("f16", "f16")),
        ("cdna1_bf16", ("bf16", "bf16")),
        ("cdna2_f16", ("bf16", "bf16")),
        ("cdna3_f16", ("f16", "f16")),
        ("cdna3_fp8", (CDNA3, CDNA3)),
    ],
)
def test_both_references_give_its_answers(adder: Any, names: tuple[str, str]) -> None:
    operation = UnitOperation("gemm", adder, *names)
    with defined(operation):
        compare_references(call_file("gemm", "-".join(names)))


@pytest.mark.parametrize("adder", [PROMOTED, SCALED])
def test_a_right_kernel_conforms(adder: Any) -> None:
    report = report_on(
        UnitOperation("gemm", adder, "e4m3"), right(adder, "e4m3", "e4m3"), whole=True
    )
    assert report.passed, verdict_text(report)


FAULTS = [
    (adder, fault)
    for adder in (PROMOTED, SCALED)
    for fault in UnitOperation("gemm", adder, "e4m3").mutants
]


@pytest.mark.parametrize(
    ("adder", "fault"), FAULTS, ids=[f"{one.promotion}-{fault.name}" for one, fault in FAULTS]
)
def test_a_known_bug_is_told(adder: Any, fault: Any) -> None:
    report = report_on(UnitOperation("gemm", adder, "e4m3"), fault.run)
    assert f"has bug {fault.id}: {fault.text}" in verdict_text(report)


def test_the_bugs_are_what_they_say() -> None:
    """Of one product 1, with C of 4 and scales of 2 and 3; and of a step that swamps."""
    one = np.full((1, 1), 0x38, np.uint8)
    four = np.float32([[4]])
    scales = np.float32([[2]]), np.float32([[3]])
    run = {fault.name: fault.run for fault in UnitOperation("gemm", SCALED, "e4m3").mutants}
    given = one, one, four, *scales
    got = {name: float(fault(*given)[0, 0]) for name, fault in run.items()}
    assert got["c_forgotten"] == 6
    assert got["c_twice"] == 14
    assert got["c_late"] == 10
    assert got["scale_of_a_twice"] == 16
    assert got["scale_of_b_twice"] == 22
    assert got["no_scale_of_a"] == 7
    assert got["no_scale_of_b"] == 6
    assert got["next_scale_of_a"] == got["half_steps"] == got["in_turn"] == 10
    many = np.full((1, 65), 0x38, np.uint8)
    scales = np.float32([[2, 3]]), np.float32([[1], [1]])
    swapped = run["next_scale_of_a"](many, many.T.copy(), four, *scales)
    assert swapped.item() == 4 + 64 * 3 + 2


@pytest.mark.parametrize(("arguments", "text"), cases(__file__, "what is refused"))
def test_what_is_refused(arguments: tuple[str, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        UnitOperation(*arguments)  # type: ignore[arg-type]
