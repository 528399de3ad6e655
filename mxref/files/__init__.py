"""Files of tensors and of blocks: ``.npy``, ``.npz``, ``.safetensors`` and ``.gguf``.

``.gguf`` needs the package gguf (the extra ``io``). Tensors are mapped to the file, so
that a tensor larger than memory can be quantized.

>>> import mxref, pathlib, tempfile
>>> blocks = mxref.quantize([[1.0, -2.0, 3.0]], "mxfp4_e2m1")
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder, "x.safetensors")
...     write_blocks(path, {"weight": blocks})
...     read_blocks(path)["weight"].dequantize()
array([[ 1., -2.,  3.]], dtype=float32)
"""

from __future__ import annotations

from mxref.files.any_file import entries, read_blocks, read_tensors, write_blocks
from mxref.files.stored import Entry

__all__ = ["Entry", "entries", "read_blocks", "read_tensors", "write_blocks"]
