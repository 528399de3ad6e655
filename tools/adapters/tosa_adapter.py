"""The TOSA reference model (tosa-tools 2026.8.0): casts to and from blocks.

It holds NumPy back, so it has an environment of its own. The mode CASTS is the operator CAST to and
from FP8.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

import mxref

_PIN = "tosa-tools==2026.8.0"
_MODEL = Path(sys.executable).with_name("tosa_reference_model")
_NUMPY = peer("serializer.numpy_utils", _PIN)
_TS = peer("serializer.tosa_serializer", _PIN)
_TYPE, _OP = _TS.DType, peer("tosa.Op", _PIN).Op

POLICY = "ocp+int8_range=full+scale_rule=tosa"
PROFILE = "tosa"
FORMATS = [
    "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8",
]  # fmt: skip
FLOATS = ["f32", "bf16"]
_ATTRIBUTES = {
    _OP.CAST: "CastAttribute", _OP.CAST_TO_BLOCK_SCALED: "CastToBlockScaledAttribute",
    _OP.CAST_FROM_BLOCK_SCALED: "CastFromBlockScaledAttribute",
}  # fmt: skip
_TYPES = {
    "e5m2": _TYPE.FP8E5M2, "e4m3": _TYPE.FP8E4M3, "e3m2": _TYPE.FP6E3M2, "e2m3": _TYPE.FP6E2M3,
    "e2m1": _TYPE.FP4E2M1, "mxint8": _TYPE.MXINT8, "float32": _TYPE.FP32, "bfloat16": _TYPE.BF16,
    "float16": _TYPE.FP16,
}  # fmt: skip


def _run(op: int, inputs: list[tuple[NDArray[Any], int]], outputs: list[Any]) -> list[NDArray[Any]]:
    """One operator on arrays with their types, by way of files; outputs are shapes and types."""
    with tempfile.TemporaryDirectory() as folder:
        graph = _TS.TosaSerializer(folder)
        first = [graph.addPlaceholder(list(array.shape), kind, None) for array, kind in inputs]
        last = [graph.addOutput(list(shape), kind) for shape, kind in outputs]
        attribute = _TS.TosaSerializerAttribute()
        getattr(attribute, _ATTRIBUTES[op])(*(() if op == _OP.CAST else (32,)))
        graph.addOperator(op, [t.name for t in first], [t.name for t in last], attribute)
        Path(folder, "graph.tosa").write_bytes(graph.serialize())
        names = {"ifm": [t.name for t in first], "ofm": [t.name for t in last]}
        command = [
            str(_MODEL), "--flatbuffer_dir", folder, "--output_dir", folder,
            "--tosa_file", "graph.tosa",
        ]  # fmt: skip
        for end, some in names.items():
            files = [f"{name}.npy" for name in some]
            command += [f"--{end}_name", ",".join(some), f"--{end}_file", ",".join(files)]
        for name, (array, kind) in zip(names["ifm"], inputs, strict=True):
            own = _NUMPY.TOSA_DTYPE_MAPPING[kind]["compute_dtype"]
            codes = array.dtype == np.uint8 and kind != _TYPE.MXINT8
            _NUMPY.save_npy(Path(folder, f"{name}.npy"), array.view(own) if codes else array, kind)
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"the reference model says {run.stderr.strip()[-200:]}")
        return [np.load(Path(folder, f"{name}.npy")) for name in names["ofm"]]


def _codes(stored: NDArray[Any], name: str) -> NDArray[Any]:
    """One code to a byte: FP6 and FP4 come packed."""
    packed = name in ("e3m2", "e2m3", "e2m1")
    return mxref.unpack(stored, name, 32) if packed else stored.view(np.uint8)


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """CAST_TO_BLOCK_SCALED."""
    name = block_format.split("_")[-1]
    outputs = [(values.shape, _TYPES[name]), ((len(values), 1), _TYPE.FP8UE8M0)]
    source = (values, _TYPES[values.dtype.name])
    stored, scales = _run(_OP.CAST_TO_BLOCK_SCALED, [source], outputs)
    return scales.view(np.uint8)[:, 0], _codes(stored, name)


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """CAST_FROM_BLOCK_SCALED."""
    kind = _TYPES[block_format.split("_")[-1]]
    inputs = [(codes, kind), (scale_codes[:, None], _TYPE.FP8UE8M0)]
    outputs = [(codes.shape, _TYPES[np.dtype(dtype).name])]
    return _run(_OP.CAST_FROM_BLOCK_SCALED, inputs, outputs)[0].view(dtype)


def _cast(array: NDArray[Any], source: str, to: str) -> NDArray[Any]:
    return _run(_OP.CAST, [(array, _TYPES[source])], [(array.shape, _TYPES[to])])[0]


CASTS = SimpleNamespace(
    PROFILE="tosa",
    POLICY="ocp+overflow=nonsaturating",
    FORMATS=["e5m2", "e4m3"],
    FLOATS=["f32", "bf16", "f16"],
    encode=lambda values, format: _cast(values, values.dtype.name, format).view(np.uint8),
    decode=lambda codes, format: _cast(codes, format, "float32"),
)
