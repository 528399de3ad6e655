"""NVFP4, also by 4 over 6, against Transformer Engine's own reference in PyTorch, bit for bit.

The reference drops the sign of some zeros, so that zeros are compared without theirs.
`MXREF_TRANSFORMER_ENGINE` names a checkout of NVIDIA/TransformerEngine at d0067d0da.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from nvfp4_reference import nvfp4_quantizer
from thresholds import (
    amaxes,
    at_thresholds,
    count_at_thresholds,
    tiles_of_equal_errors,
    with_specials,
)

import mxref


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    return nvfp4_quantizer(monkeypatch)


def tensors() -> dict[str, np.ndarray]:
    """Random tensors, some of few bits, whose two errors are often equal."""
    generator = np.random.default_rng(45)
    x = generator.standard_normal((256, 256), np.float32)
    few = np.round(generator.standard_normal((256, 256), np.float32) * 4) / 4
    powers = generator.integers(-20, 20, (256, 1)).astype(np.int32)
    return {
        "near": x,
        "spread": np.ldexp(x, powers).astype(np.float32),
        "bfloat16": (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
        **{f"few_bits_{n}": (few * np.float32(n)).astype(np.float32) for n in (1, 3, 7, 64)},
        "tiny": np.ldexp(x, -140).astype(np.float32),
        "huge": np.ldexp(x, 124).astype(np.float32),
        "zeros": np.zeros((16, 32), np.float32),
    }


#: The end of a profile's name, and the options of the reference that are its own.
WAYS: dict[str, dict[str, Any]] = {
    f"_4over6{top}{fast}{error}": {
        "nvfp4_use_4over6": True,
        "nvfp4_e4m3_max": 448 if top else 256,
        "nvfp4_4over6_err_mode": "MSE" if error else "MAE",
        "nvfp4_4over6_err_use_fast_math": bool(fast),
    }
    for top in ("", "_448")
    for fast in ("", "_fast")
    for error in ("", "_mse")
}


def compare(reference: Any, x: np.ndarray, name: str, rows: int = 1) -> int:
    """Compare scale codes and codes, but for signs of zeros; how many codes were compared."""
    given, how = torch.from_numpy(x), WAYS.get(name, {})
    packed, scales = reference._quantize_blockwise_reference(
        given, given.abs().max().view(1), 16, rows, pow_2_scales=False, eps=0.0, **how
    )
    model = mxref.profile(f"transformer_engine_nvfp4{name}")
    blocks = model.quantize(x, "nvfp4" if rows == 1 else "nvfp4_16x16")
    stored = blocks.scale_codes.repeat(rows, axis=0)  # the reference has one in each row
    assert np.array_equal(stored, scales.view(torch.uint8).numpy())
    want = mxref.unpack(packed.numpy(), "e2m1", x.shape[1])
    assert np.array_equal(
        np.where(blocks.codes == 8, 0, blocks.codes), np.where(want == 8, 0, want)
    )
    return int(want.size)


@pytest.mark.parametrize("name", tensors())
@pytest.mark.parametrize("way", WAYS)
def test_four_over_six(reference: Any, name: str, way: str) -> None:
    x = tensors()[name]
    compare(reference, x, way)
    if way in ("_4over6", "_4over6_mse"):
        blocks = mxref.quantize(x, "nvfp4", scale_arithmetic=f"transformer_engine{way}")
        assert mxref.profile(f"transformer_engine_nvfp4{way}").quantize(x, "nvfp4") == blocks


@pytest.mark.parametrize("way", ["", *WAYS])
def test_a_million_codes(reference: Any, way: str) -> None:
    """More than 30% at thresholds: of one of both scales and of the elements under it."""
    top = float(WAYS[way]["nvfp4_e4m3_max"]) if way else 448.0
    compared = near = 0
    for amax in amaxes(20)[::2].tolist():
        for element in (6.0, 4.0):
            x = at_thresholds(amax, top, element)
            compared += compare(reference, x, way)
            near += count_at_thresholds(x, amax, top, element)
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_000_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("way", ["", *WAYS])
def test_specials(reference: Any, way: str) -> None:
    """Infinities, zeros of both signs and subnormals, also in tensors of nothing else.

    NaN is not compared: the kernel's fmaxf passes over it, and the reference's amax does not.
    """
    for x in with_specials():
        if not np.isnan(x).any():
            compare(reference, x, way)


@pytest.mark.parametrize("way", WAYS)
def test_nan_is_passed_over(way: str) -> None:
    """In both largest magnitudes. The sums of errors are NaN, so that the scale is that of 6."""
    x = np.float32([[np.nan, 6.0, -4.0, *[0.5] * 13], [1.0, *[0.25] * 15]])
    blocks = mxref.profile(f"transformer_engine_nvfp4{way}").quantize(x, "nvfp4")
    whole = 0x7E if "448" in way else 0x78
    assert (blocks.tensor_scale.value, blocks.scale_codes[0, 0]) == (6.0, whole)
    assert blocks.codes[0].tolist() == [7, 7, 14, *[1] * 13]


@pytest.mark.parametrize("name", tensors())
@pytest.mark.parametrize("way", ["", *WAYS])
def test_tiles(reference: Any, name: str, way: str) -> None:
    """Blocks of 16 times 16, in which the errors of rows are added in a tree."""
    compare(reference, tensors()[name], way, 16)


@pytest.mark.parametrize("way", WAYS)
def test_tiles_whose_errors_are_equal(reference: Any, way: str) -> None:
    for factor in (0.3, 0.7, 1.1, 3e-20):
        compare(reference, tiles_of_equal_errors(16, factor), way, 16)


@pytest.mark.parametrize("way", ["", *WAYS])
def test_tiles_at_thresholds(reference: Any, way: str) -> None:
    """Rows of neighbouring scales; the largest magnitude in a tile is at a threshold."""
    top = float(WAYS[way]["nvfp4_e4m3_max"]) if way else 448.0
    for amax in amaxes(20)[::8].tolist():
        for element in (6.0, 4.0):
            x = at_thresholds(amax, top, element)[1:]
            whole = x[: len(x) // 16 * 16]
            compare(reference, np.concatenate([whole, whole[::-1]], axis=1), way, 16)


@pytest.mark.parametrize("name", tensors())
def test_one_scale(reference: Any, name: str) -> None:
    compare(reference, tensors()[name], "")
