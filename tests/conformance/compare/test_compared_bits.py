"""Bits are compared, classes where the standard leaves the bits open."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from verify_helpers import RIGHT, Kit

from mxref.conformance.compare.tensor_cases import scale_counts, scale_places, tensors_of
from mxref.operands.word_rows import NO_WORD
from mxref.policy.policy import Policy

ALSO_RIGHT = tomllib.loads((Path(__file__).parent / "data" / "also_right.toml").read_text("utf-8"))


@pytest.mark.parametrize("tail", ["short", "zero_padded"])
def test_each_element_of_a_tensor_has_the_scale_of_its_block(tail: str) -> None:
    shapes = [(rows, columns) for rows in (1, 2, 33) for columns in (1, 32, 65)]
    inputs = np.array([[*shape, axis, *range(65 * 33)] for shape in shapes for axis in (0, 1)])
    inputs = np.where(np.arange(inputs.shape[1]) < 3 + inputs[:, :1] * inputs[:, 1:2], inputs, -1)
    inputs = inputs.astype(np.uint64)
    numbers = np.arange(scale_counts(inputs).sum()).astype(np.uint64)
    policy = Policy().replace(tail=tail)
    words = tensors_of(inputs, np.repeat(numbers[:, np.newaxis], 33, axis=1), policy)
    places = scale_places(inputs, words)
    own = np.take_along_axis(words, np.maximum(places, 0), 1)
    first = np.arange(words.shape[1]) < scale_counts(inputs)[:, np.newaxis]
    assert ((places < 0) == (first | (words == np.uint64(NO_WORD)))).all()
    assert (own == words)[places >= 0].all()


@pytest.mark.parametrize("name", ALSO_RIGHT)
def test_what_the_standard_leaves_open_passes(kit: Kit, name: str) -> None:
    right = ALSO_RIGHT[name]
    folder = kit.vectors(*right["files"])
    run = kit.run(kit.target(RIGHT + right["body"]), "--vectors", folder)
    assert run.status == 0, run.out
    assert run.last_line.endswith(" 0 failed: conforms")


def test_nan_elements_of_blocks_are_one_class(kit: Kit) -> None:
    body = """
def quantize(values, format):
    blocks = mxref.quantize(values, format, block_nan="ignore")
    codes = blocks.codes.copy()
    assert (codes == 0x7F).any()
    codes[codes == 0x7F] = 0xFF
    return blocks.scale_codes, codes
"""
    folder = kit.vectors("quantize/mxfp8_e4m3.f32")
    options = ["--policy", "ocp+block_nan=ignore", "--vectors", folder]
    run = kit.run(kit.target(RIGHT + body), *options)
    assert run.status == 0
    assert run.last_line.endswith(" 0 failed: conforms under ocp+block_nan=ignore")


def test_zeros_are_told_apart_by_their_sign(kit: Kit) -> None:
    body = "def decode(codes, format): return mxref.decode(codes, format) + np.float32(0)\n"
    stems = [f"decode/{format}.f32" for format in ("e5m2", "e4m3", "e3m2", "e2m1", "int8")]
    spec = kit.target(RIGHT + body)
    run = kit.run(spec, "--vectors", kit.vectors(*stems), "--json")
    assert run.status == 1
    assert {failure["id"] for failure in run.json["failures"]} == {  # -0 + 0 is +0; INT8 has no -0
        "decode.e5m2.f32.80",
        "decode.e4m3.f32.80",
        "decode.e3m2.f32.20",
        "decode.e2m1.f32.08",
    }
