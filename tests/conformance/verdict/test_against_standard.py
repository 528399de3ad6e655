"""A report against the standard compares every answer anew, those outside the profile as well."""

from __future__ import annotations

from typing import Any

import mxref
from mxref import golden
from mxref.cases.read import vectors_folder
from mxref.conformance import target_of, verify
from mxref.conformance.verdict.verify import against_standard
from mxref.profiles import profile


class Kernel:
    """By the policy of the profile, which has no INT8."""

    FORMATS = ("int8", "e4m3")
    PROFILE = "torch"

    def encode(self, values: Any, format: str) -> Any:
        return mxref.encode(values, format, profile(self.PROFILE).policy)


def test_rows_outside_the_profile_are_compared_with_ocp() -> None:
    files = golden.read_vectors(
        vectors_folder(), lambda stem: stem in ("encode/e4m3.f32", "encode/int8.f32")
    )
    report = verify(target_of(Kernel(), "kernel"), files)
    assert {row.profile for row in report.rows} == {"torch", None}
    again = against_standard(report)
    assert {row.policy for row in again.rows} == {"ocp"}
    assert {row.profile for row in again.rows} == {None}
