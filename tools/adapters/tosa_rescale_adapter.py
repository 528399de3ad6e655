"""RESCALE of the TOSA reference model (tosa-tools 2026.8.0), by its two roundings.

SINGLE has 16-bit multipliers, too. The model has an environment of its own.
"""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

_PIN = "tosa-tools==2026.8.0"
_MODEL = Path(sys.executable).with_name("tosa_reference_model")
_NUMPY = peer("serializer.numpy_utils", _PIN)
_TS = peer("serializer.tosa_serializer", _PIN)
_OP = peer("tosa.Op", _PIN).Op
_ROUNDING = peer("tosa.RoundingMode", _PIN).RoundingMode
_TYPES = {"int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT48"}
_BITS32 = [
    "int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int32",
    "int32-int32", "uint8-int8", "uint8-int16",
]  # fmt: skip
Array = NDArray[Any]


def model_rescale(
    q: Array, multiplier: Array, shift: Array, input_zp: int, output_zp: int, dtype: Any,
    bits: int, rounding: str,
) -> Array:  # fmt: skip
    """The operator on integers; those of 48 bits are int64."""
    names = q.dtype.name, np.dtype(dtype).name
    kinds = [getattr(_TS.DType, _TYPES[name.removeprefix("u")]) for name in names]
    with tempfile.TemporaryDirectory() as folder:
        graph = _TS.TosaSerializer(folder)
        first = graph.addPlaceholder(list(q.shape), kinds[0], None)
        wide = _TS.DType.INT32 if bits == 32 else _TS.DType.INT16
        constants = [
            graph.addConst([len(multiplier)], wide, multiplier.tolist()),
            graph.addConst([len(shift)], _TS.DType.INT8, shift.tolist()),
            graph.addConst([1], kinds[0], [input_zp]),
            graph.addConst([1], kinds[1], [output_zp]),
        ]
        last = graph.addOutput(list(q.shape), kinds[1])
        attribute = _TS.TosaSerializerAttribute()
        unsigned = (name.startswith("u") for name in names)
        mode = getattr(_ROUNDING, f"{rounding.upper()}_ROUND")
        attribute.RescaleAttribute(bits == 32, mode, len(multiplier) > 1, *unsigned)
        inputs = [first.name, *(one.name for one in constants)]
        graph.addOperator(_OP.RESCALE, inputs, [last.name], attribute)
        Path(folder, "graph.tosa").write_bytes(graph.serialize())
        signed = q.view(names[0].removeprefix("u"))
        _NUMPY.save_npy(Path(folder, "in.npy"), signed, kinds[0])
        command = [
            str(_MODEL), "--flatbuffer_dir", folder, "--output_dir", folder,
            "--tosa_file", "graph.tosa", "--ifm_name", first.name, "--ifm_file", "in.npy",
            "--ofm_name", last.name, "--ofm_file", "out.npy",
        ]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"the reference model says {run.stderr.strip()[-200:]}")
        found: Array = np.load(Path(folder, "out.npy"))
        return found.view(dtype)


SINGLE = SimpleNamespace(
    INTEGERS="rounding=single",
    FORMATS=[*_BITS32, "int8-int8_m16"],
    rescale=partial(model_rescale, rounding="single"),
)
DOUBLE = SimpleNamespace(
    INTEGERS="rounding=double",
    FORMATS=_BITS32,
    rescale=partial(model_rescale, rounding="double"),
)
