"""``mxref explain`` with an adder of a matrix unit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from commands import Call

import mxref
from mxref import ADDERS

DTYPES = {"f32": np.float32, "tf32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


@pytest.mark.parametrize("name", ADDERS)
def test_every_adder_is_explained(name: str, call: Call) -> None:
    """How it adds in words, and the call that has it, which runs."""
    run, adder = call("explain", name), ADDERS[name]
    assert run.status == 0
    assert max(map(len, run.out.splitlines())) <= 100
    text = " ".join(run.out.split())
    one = "one product after the other"
    assert (one if name == "fma_f32" else f"steps of {adder.step} product") in text
    assert adder.fraction_bits is None or f"cut at 2^-{adder.fraction_bits} of it" in text
    assert ("added up in float32 every" in text) == (adder.promotion is not None)
    # Profiles may have the names of adders.
    found = call("explain", name, "--json").json["answers"]
    (data,) = (one for one in found if one["kind"] == "adder")
    assert data["name"] == name
    if adder.blocks:
        ones = mxref.quantize(np.ones((2, 64), np.float32), "mxfp4_e2m1", axis=1)
        given, want = {"a": ones, "b": ones.T}, 64
    else:
        dtype = next((DTYPES[one] for one in adder.formats if one in DTYPES), None)
        if dtype is None:
            fp8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz}
            dtype = next(fp8[one] for one in adder.formats if one in fp8)
        scales = np.ones((2, 1), np.float32), np.ones((1, 2), np.float32)
        ones = np.ones((2, 2), dtype)
        given, want = {"a": ones, "b": ones, "scales_a": scales[0], "scales_b": scales[1]}, 2
    product = eval(data["called"], {"mxref": mxref, **given})
    assert product.tolist() == [[want] * 2] * 2
