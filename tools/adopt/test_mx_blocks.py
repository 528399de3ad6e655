"""Tests of torchao's MXTensor.to_mx for MXFP8 in its modes. To copy into a repository.

Archive: mxref-vectors-VERSION-mxfp8_e4m3.zip, unpacked; the variable MXREF_VECTORS has its folder.
Answers are compared with what the profile of a mode promises: `ocp`, but where
plain/profiles/torchao_0_18_MODE has another answer.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torchao.prototype.mx_formats.mx_tensor import MXTensor, ScaleCalculationMode

PLAIN = Path(os.environ.get("MXREF_VECTORS", "mxref-vectors")) / "plain"
NAME = "quantize/mxfp8_e4m3.{}.txt"
TYPES = {"f32": (np.uint32, torch.float32), "bf16": (np.uint16, torch.bfloat16)}


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("mode", ["FLOOR", "CEIL", "EVEN", "RCEIL"])
def test_blocks(mode: str, source: str) -> None:
    """32 numbers a case; then the scale code and 32 element codes."""
    words, dtype = TYPES[source]
    lines = (PLAIN / NAME.format(source)).read_text().splitlines()
    rows = [[int(word, 16) for word in line.split()] for line in lines]
    own = PLAIN / "profiles" / f"torchao_0_18_{mode.lower()}" / NAME.format(source)
    for line in own.read_text().splitlines() if own.exists() else ():
        number, *answer = line.split()
        rows[int(number) - 1][32:] = [int(word, 16) for word in answer]
    every = np.array(rows, np.uint64)
    numbers = torch.from_numpy(every[:, :32].astype(words).view(f"i{np.dtype(words).itemsize}"))
    made = MXTensor.to_mx(numbers.view(dtype), torch.float8_e4m3fn, 32, ScaleCalculationMode[mode])
    scales = made.scale.view(torch.uint8).numpy().reshape(-1)
    codes = made.qdata.view(torch.uint8).numpy().reshape(-1, 32)
    got = np.column_stack([scales, codes])
    want = every[:, 32:]
    both_nan = (want[:, 1:] & 0x7F == 0x7F) & (got[:, 1:] & 0x7F == 0x7F)
    right = (got[:, 0] == want[:, 0]) & ((got[:, 1:] == want[:, 1:]) | both_nan).all(axis=1)
    right |= (want[:, 0] == 0xFF) & (got[:, 0] == 0xFF)
    assert [i + 1 for i in np.flatnonzero(~right)] == []
