"""Notes on what a target has and is not asked, and on the last argument of nvfp4."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref import integer
from mxref.conformance import Extent, Report, check, target_of
from mxref.profiles import PROFILES

QUICK = Extent(elements=0)


def of_nvfp4(**more: Any) -> SimpleNamespace:
    def dequantize(scales: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
        pairs = mxref.Blocks(codes, scales[:, np.newaxis], format, 1, codes.shape, tensor_scale)
        return mxref.dequantize(pairs, dtype)

    return SimpleNamespace(FORMATS=["nvfp4"], FLOATS=["f32"], dequantize=dequantize, **more)


def asked(target: SimpleNamespace, *stems: str, profile: str = "") -> Report:
    files = [vector_file(stem) for stem in stems]
    by = PROFILES[profile] if profile else None
    return check(target_of(target, "kernel"), files, extent=QUICK, profile=by)


def test_an_operation_that_is_not_asked_of_a_format_is_named() -> None:
    files = "dequantize/nvfp4.f32", "matmul/mxfp8_e4m3-mxfp8_e4m3.f32"
    report = asked(of_nvfp4(matmul=lambda *operands: operands), *files)
    note = (
        "matmul is in the target but not asked: there are no questions about it in the formats and "
        "float types that it claims (nvfp4)"
    )
    assert note in report.scope.notes
    # Nobody asked for it.
    report = asked(of_nvfp4(matmul=lambda *operands: operands), files[0])
    assert not any("matmul" in one for one in report.scope.notes)


def test_the_last_argument_is_the_amax_where_the_profile_has_one() -> None:
    note = "nvfp4: the last argument, here called tensor scale, is the tensor's largest magnitude"
    report = asked(of_nvfp4(), "dequantize/nvfp4.f32", profile="transformer_engine_nvfp4_4over6")
    assert f"{note} (N42)" in report.scope.notes
    assert not any(note in one for one in asked(of_nvfp4(), "dequantize/nvfp4.f32").scope.notes)


def test_what_tosa_excludes_is_said() -> None:
    def rescale(q: Any, m: Any, s: Any, zero: int, out: int, dtype: Any, bits: int) -> Any:
        return integer.rescale(q, m, s, zero, out, dtype=dtype, bits=bits)

    report = asked(SimpleNamespace(rescale=rescale), "rescale/int32-int8.bytes")
    (note,) = (one for one in report.scope.notes if one.startswith("rescale is not asked about"))
    assert note.endswith("TOSA excludes them (Q12)")


@pytest.mark.parametrize("sizes", [None, 0])
def test_a_kernel_that_always_raises_is_not_called_slow_in_seconds(sizes: int | None) -> None:
    def encode(values: Any, format: str) -> Any:
        raise RuntimeError("no memory")

    target = target_of(SimpleNamespace(FORMATS=["e2m1"], encode=encode), "kernel")
    report = check(target, [vector_file("encode/e2m1.f32")], extent=Extent(elements=sizes))
    assert not any("inf s" in note for note in report.scope.notes)


@pytest.mark.parametrize("gives", ["a", "b"])
def test_a_stochastic_policy_that_is_asked_for(gives: str) -> None:
    """Rounding to nearest is not what it lacks; what is given no random bits is named."""

    def encode_stochastic(values: Any, bits: Any, width: Any, format: str) -> Any:
        drawn = {"random_bits": bits, "random_width": width}
        return mxref.encode(values, format, rounding=f"stochastic_{gives}", **drawn)

    target = SimpleNamespace(
        POLICY="ocp+rounding=stochastic_a",
        FORMATS=["e4m3"],
        FLOATS=["f32"],
        encode=mxref.encode,
        encode_stochastic=encode_stochastic,
    )
    report = asked(target, "encode/e4m3.f32", "encode_stochastic/e4m3.f32")
    note = "encode is not asked under ocp+rounding=stochastic_a: only encode_stochastic is given "
    assert [one for one in report.scope.notes if one.startswith(note)] == [f"{note}random bits"]
    if gives == "a":
        assert report.verdict == "conforms under ocp+rounding=stochastic_a"
    else:
        assert report.verdict == (
            "gives rounding=stochastic_b everywhere, not stochastic_a, which was asked for"
        )
