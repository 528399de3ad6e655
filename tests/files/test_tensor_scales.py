"""Scales of whole tensors in files: where they lie, and which numbers are one."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest

import mxref
from mxref import files


def test_scales_of_tensors_lie_first_where_they_are_aligned(tmp_path: Path) -> None:
    """Readers map the file, and float32 numbers must begin at multiples of four bytes."""
    path, x = tmp_path / "x.safetensors", np.ones(2)
    kinds = {"a": "mxfp4_e2m1", "b": "nvfp4", "c": "nvfp4"}
    files.write_blocks(path, {name: mxref.quantize(x, kind) for name, kind in kinds.items()})
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    places = {name: entry["data_offsets"] for name, entry in header.items()}
    assert length % 8 == 0
    assert (places["b_scale_2"], places["c_scale_2"]) == ([0, 4], [4, 8])
    assert sorted(places.values()) == [*places.values()]  # the header has the order of the bytes
    assert list(places)[2:] == ["a", "a_scale", "b", "b_scale", "c", "c_scale"]


@pytest.mark.parametrize(
    ("bits", "is_factor"),
    [
        (0x00000000, False),
        (0x00000001, True),
        (0x3F800000, True),
        (0x7F7FFFFF, True),
        (0x7F800000, False),  # Inf
        (0x7FC00000, False),
        (0x80000000, False),
        (0xBF800000, False),
    ],
)
def test_a_factor_of_nvfp4_in_gguf_is_positive_and_finite(
    tmp_path: Path, bits: int, is_factor: bool
) -> None:
    """Any other number beside it is a tensor of its own."""
    path, packed = tmp_path / "x.gguf", np.full((1, 36), 0x38, np.uint8)
    scale = np.uint32([bits]).view(np.float32)
    writer = gguf.GGUFWriter(path, "test")
    writer.add_tensor("a.weight", packed, raw_dtype=gguf.GGMLQuantizationType.NVFP4)
    writer.add_tensor("a.scale", scale)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = dict(files.read_tensors(path))
    assert list(found) == ["a.weight", *["a.scale"] * (not is_factor)]
    assert found["a.weight"].format.name == ("nvfp4" if is_factor else "fp4_ue4m3")
    if is_factor:
        assert found["a.weight"].tensor_scale.bits == bits
    else:
        assert found["a.scale"].view(np.uint32).tolist() == [bits]
