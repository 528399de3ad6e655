"""Products of FP4 in blocks of 16 against MMA-Sim's tensor cores of Blackwell, bit for bit.

Scales are UE4M3 (NVFP4) or E8M0. MMA-Sim 2.1.1 comes with the extra `peers`. NaN is compared as a
class. The scales of both tensors multiply the sum in NumPy's float32.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from mmasim.nv_ptx.sim import MMABlockScale, TCGen05MMABlockScale
from shares import Share
from two_level_rows import drawn_blocks, last_place, scales_of

import mxref

ROWS = 128  # those of one instruction of Blackwell; RTX Blackwell's models take as many
FORMATS = {"nvfp4": "ue4m3", "fp4_ue4m3": "ue4m3", "fp4_e8m0": "ue8m0"}
CORES = {
    "Blackwell": lambda scale: TCGen05MMABlockScale(
        "Blackwell", f"m128n{ROWS}k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.{scale}"
    ),
    "RTX Blackwell": lambda scale: MMABlockScale(
        "RTX Blackwell", f"m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.{scale}"
    ),
}


def by_core(core: Any, a: mxref.Blocks, b: mxref.Blocks) -> np.ndarray:
    """The sums of whole steps of 64, each of which begins with the sum before."""
    total = torch.zeros(a.shape[0], b.shape[0])
    arrays = []
    for one in (a, b):
        codes, scales = one.codes, np.array(scales_of(one), np.uint8)
        codes = np.pad(codes[:, : one.shape[1]], ((0, 0), (0, -one.shape[1] % 64)))
        filler = 0x38 if one.format.scale.name == "ue4m3" else 0x7F
        missing = codes.shape[1] // 16 - scales.shape[1]
        scales = np.pad(scales, ((0, 0), (0, missing)), constant_values=filler)
        packed = mxref.pack(codes, "e2m1", fp4_packing="high_nibble_first")
        arrays.append((torch.tensor(packed), torch.tensor(scales).view(core.s_type)))
    (x, s), (y, t) = arrays
    for step in range(x.shape[1] // 32):
        some, four = slice(32 * step, 32 * step + 32), slice(4 * step, 4 * step + 4)
        total = core(x[:, some], y[:, some].T, total, s[:, four], t[:, four].T)
    found: np.ndarray = total.numpy()
    return found


@pytest.mark.parametrize("architecture", CORES)
@pytest.mark.parametrize("name", FORMATS)
def test_blocks_of_sixteen_equal_mmasim(name: str, architecture: str, share: Share) -> None:
    """100,000 outputs of a core, at K up to 256, and 1,296 of 4,096; 2,500 without --complete."""
    core = CORES[architecture](FORMATS[name])
    draws = np.random.default_rng([*name.encode(), *architecture.encode()])
    outputs = count = special = 0
    rows = ROWS if share.complete else 36
    while outputs < (100_000 if share.complete else 2_500):
        length = int(draws.choice([16, 33, 64, 100, 128, 192, 256]))
        factors = draws.integers(0x38000000, 0x43000000, 2).tolist()
        a, b = (
            drawn_blocks(name, (rows, length), draws, (bits, "factor"), count % 2 == 1, 127)
            for bits in factors
        )
        want = by_core(core, a, b)
        if name == "nvfp4":
            scales = [one.tensor_scale.value for one in (a, b) if one.tensor_scale]
            want = want * (np.float32(scales[0]) * np.float32(scales[1]))
        got = mxref.matmul(a, b.T, accumulation="aligned_35")
        same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
        assert same.all(), (length, count)
        assert mxref.matmul_bounds(a[:20], b.T, rounding="any").hold(got[:20]).all()
        special += int(np.isnan(got).sum())
        outputs, count = outputs + got.size, count + 1
    assert special
    if share.complete:
        a, b = (drawn_blocks(name, (36, 4096), draws) for _ in range(2))
        want = by_core(core, a, b)
        if name == "nvfp4":
            scale = np.float32([a.tensor_scale.value])[0] if a.tensor_scale else np.float32(1)
            want = want * (scale * scale)
        assert np.array_equal(mxref.matmul(a, b.T, accumulation="aligned_35"), want)


@pytest.mark.parametrize("architecture", CORES)
@pytest.mark.parametrize("second", [2, 3, 4])
def test_the_last_place_equals_mmasim(second: int, architecture: str) -> None:
    a, b = last_place(second)
    want = by_core(CORES[architecture]("ue4m3"), a, b)
    assert mxref.matmul(a, b.T, accumulation="aligned_35") == want


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_torchao_multiplies_what_it_has_rounded(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its product of NVFP4 around a core's sums: alpha as in N42, of bfloat16 after rounding."""
    from torchao.prototype.mx_formats import nvfp4_tensor as torchao

    sides, blocks = [], []
    for seed, rows in enumerate((64, 96)):
        draws = torch.Generator().manual_seed(seed)
        x = torch.randn(rows, 128, generator=draws).to(dtype)
        scale = torchao.per_tensor_amax_to_scale(x.float().abs().max())
        one = torchao.NVFP4Tensor.to_nvfp4(x, per_tensor_scale=scale)
        codes = mxref.unpack(one.qdata.view(torch.uint8).numpy(), "e2m1", 128)
        scales, number = one.scale.view(torch.uint8).numpy(), np.float32(scale.item())
        blocks.append(mxref.Blocks(codes, scales, "nvfp4", 1, codes.shape, tensor_scale=number))
        sides.append(one)
    a, b = blocks
    core = CORES["RTX Blackwell"]("ue4m3")
    plain = [mxref.Blocks(x.codes, x.scale_codes, "fp4_ue4m3", 1, x.shape) for x in blocks]
    sums = torch.tensor(by_core(core, *plain))
    monkeypatch.setattr(torch, "_scaled_mm", lambda *_, out_dtype, **more: sums.to(out_dtype))
    whole = torchao._addmm_nvfp4_dispatch(sides[0], sides[1].t(), torch.ops.aten.mm.default)
    got = whole.float().numpy()
    alpha = torch.tensor([one.tensor_scale.value for one in blocks if one.tensor_scale])
    alpha = alpha[0] * alpha[1]
    assert np.array_equal(got, (sums.to(dtype) * alpha.to(dtype)).float().numpy())
    named: Any = {"accumulation": "aligned_35", "epilogue": "rounded", "alpha": alpha.item()}
    bias = torch.randn(len(b.codes), generator=torch.Generator().manual_seed(9)).to(dtype)
    target = np.float32 if dtype == torch.float32 else ml_dtypes.bfloat16
    mine = mxref.matmul(plain[0], plain[1].T, target, **named)
    assert np.array_equal(got, mine.astype(np.float32))
    added = torchao._addmm_nvfp4_dispatch(
        sides[0], sides[1].t(), torch.ops.aten.addmm.default, bias=bias
    )
    mine = mxref.matmul(plain[0], plain[1].T, target, bias=bias.float().numpy(), **named)
    assert np.array_equal(added.float().numpy(), mine.astype(np.float32))
    own = mxref.matmul(a, b.T, accumulation="aligned_35")
    if dtype == torch.float32:
        assert np.array_equal(got, own)
        dequantized = torch.mm(sides[0].dequantize(), sides[1].dequantize().t()).numpy()
        assert mxref.matmul_bounds(a, b.T).hold(dequantized).all()
        assert not np.array_equal(dequantized, mxref.matmul(a, b.T))
        return
    nearest = torch.tensor(own).to(dtype).float().numpy()
    apart = np.abs(got - nearest) / np.exp2(np.floor(np.log2(np.abs(nearest))) - 7)
    assert 0.3 < (apart > 0).mean() < 1
    assert apart.max() <= 2
