"""FP4 in blocks of 16 under E8M0 against torchao 0.18.0's `to_mx`, whose block size is free.

It needs torch and torchao.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers import vector_file
from torchao.prototype.mx_formats import mx_tensor
from torchao.prototype.mx_formats.config import ScaleCalculationMode

import mxref
from mxref.operands.splitmix import splitmix64

COUNT = 1 << 16


def blocks() -> np.ndarray:
    """Those of the vectors, and numbers of any size whose blocks reach over 16 binades."""
    cases = vector_file("quantize/fp4_e8m0.f32").input_words().astype(np.uint32)
    words = splitmix64(16, COUNT * 16).reshape(-1, 16)
    top = splitmix64(17, COUNT)[:, np.newaxis] % np.uint64(255)
    fields = top - np.minimum(top, words >> np.uint64(60))
    rest = fields << np.uint64(23) | words & np.uint64(0x807FFFFF)
    return np.concatenate([cases, rest.astype(np.uint32)]).view(np.float32)


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL", "RCEIL", "EVEN"])
def test_every_code(mode: str) -> None:
    """torchao divides by 2**-126 where the scale is 2**-127: its profile has this, too."""
    x, rule = blocks(), mode.lower()
    x = x[np.isfinite(x).all(axis=1)]
    scales, packed = mx_tensor.to_mx(
        torch.tensor(x), torch.float4_e2m1fn_x2, 16, ScaleCalculationMode[mode]
    )
    nibbles = packed.view(torch.uint8).numpy()
    codes = np.stack([nibbles & 15, nibbles >> 4], axis=-1).reshape(x.shape)
    scale_codes = scales.view(torch.uint8).numpy().reshape(-1)
    model = mxref.profile(f"torchao_0_18_{rule}").quantize(x, "mxfp4_e2m1", block_size=16)
    assert (model.scale_codes[:, 0] == scale_codes).all()
    assert (model.codes == codes).all()
    found = mxref.quantize(x, "fp4_e8m0", scale_rule=rule)
    assert (found.scale_codes[:, 0] == scale_codes).all()
    normal = scale_codes > 0
    assert normal.sum() > COUNT // 2
    assert (found.codes[normal] == codes[normal]).all()
