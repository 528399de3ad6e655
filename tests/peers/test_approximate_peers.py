"""NVFP4 of CUTLASS's epilogue, by its own pieces on a host, against the profile, bit for bit.

`MXREF_CUTLASS` names a checkout of NVIDIA/cutlass at 7107b055. What the epilogue does with a block
is written down here in its order, each step by the header that the epilogue calls; on a host its
approximate reciprocal divides. Conversions are those of its headers for hosts.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers import built, table, tool
from needs import checkout
from thresholds import amaxes, at_thresholds, count_at_thresholds, with_specials

import mxref
from mxref.blocks.two_level import TensorScale, TensorScaleKind

MODEL = mxref.profile("cutlass_nvfp4")
PROGRAM = table("kernels")["approximate_peers_program"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cutlass")
    source, path = folder / "blocks.cpp", folder / "blocks"
    source.write_text(PROGRAM)
    include = checkout("MXREF_CUTLASS") / "include"
    built(tool("nvcc"), "-std=c++17", "-w", f"-I{include}", "-x", "cu", source, "-o", path)
    return path


def compare(program: Path, x: np.ndarray, g: float) -> int:
    """Compare scales and codes; elements that become NaN are none on a host, which has no such."""
    given = np.concatenate([np.full((len(x), 1), g, np.float32), x], axis=1)
    out = subprocess.run([program], input=given.tobytes(), capture_output=True, check=True).stdout
    scales, codes = np.split(np.frombuffer(out, np.uint8).reshape(-1, 17), [1], axis=1)
    whole = TensorScale(int(np.float32(g).view(np.uint32)), TensorScaleKind.DIVISOR)
    blocks = MODEL.quantize(x, "nvfp4", tensor_scale=whole)
    assert np.array_equal(blocks.scale_codes, scales)
    nan = np.isnan(x) | (scales == 0x7F)
    assert np.array_equal(blocks.codes[~nan], codes[~nan])
    return int(codes.size)


def test_a_million_codes(program: Path) -> None:
    compared = near = 0
    for amax in amaxes().tolist():
        if 2688 / amax < 2.0**128:
            x = at_thresholds(amax)
            compared += compare(program, x, 2688 / amax)
            near += count_at_thresholds(x, amax)
    generator = np.random.default_rng(14)
    for spread, shift in ((0, 0), (8, 0), (30, 0), (4, -120), (3, 120)):
        powers = generator.integers(-spread, spread + 1, (8192, 1)).astype(np.int32)
        x = generator.standard_normal((8192, 16), np.float32)
        compared += compare(program, np.ldexp(x, powers + shift).astype(np.float32), 448.0)
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_000_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("g", [1.0, 2688.0, 1e30, 2.0**-126, 2.0**-130, 2.0**127])
def test_specials(program: Path, g: float) -> None:
    for x in with_specials():
        compare(program, x, g)
