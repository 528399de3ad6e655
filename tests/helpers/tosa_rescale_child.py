"""Run by tests/peers/test_tosa_peer.py in an environment with tosa-tools 2026.8.0: RESCALE.

Arguments: a folder with q, m and s in files `I.q.npy` …, and the JSON list of cases: input zero
point, output zero point, dtype of the output, rounding, bits. Answers are `I.out.npy`.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

MODEL = Path(sys.executable).with_name("tosa_reference_model")
TYPES = {"int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT48"}


def answer(folder, i, input_zp, output_zp, dtype, rounding, bits):
    # Of that environment alone: this file is also read where tests are collected.
    from serializer import numpy_utils
    from serializer import tosa_serializer as ts
    from tosa.Op import Op
    from tosa.RoundingMode import RoundingMode

    q, m, s = (np.load(folder / f"{i}.{name}.npy") for name in ("q", "m", "s"))
    unsigned = q.dtype.kind == "u", dtype.startswith("u")
    kinds = [getattr(ts.DType, TYPES[str(name).removeprefix("u")]) for name in (q.dtype, dtype)]
    graph = ts.TosaSerializer(str(folder))
    first = graph.addPlaceholder(list(q.shape), kinds[0], None)
    wide = ts.DType.INT32 if bits == 32 else ts.DType.INT16
    consts = [
        graph.addConst([len(m)], wide, m.tolist()),
        graph.addConst([len(s)], ts.DType.INT8, s.tolist()),
        graph.addConst([1], kinds[0], [input_zp]),
        graph.addConst([1], kinds[1], [output_zp]),
    ]
    last = graph.addOutput(list(q.shape), kinds[1])
    attribute = ts.TosaSerializerAttribute()
    mode = getattr(RoundingMode, f"{rounding.upper()}_ROUND")
    attribute.RescaleAttribute(bits == 32, mode, len(m) > 1, *unsigned)
    names = [first.name, *(const.name for const in consts)]
    graph.addOperator(Op.RESCALE, names, [last.name], attribute)
    (folder / "graph.tosa").write_bytes(graph.serialize())
    numpy_utils.save_npy(folder / "in.npy", q.view(str(q.dtype).removeprefix("u")), kinds[0])
    command = [
        str(MODEL), f"--flatbuffer_dir={folder}", f"--output_dir={folder}",
        "--tosa_file=graph.tosa",
        f"--ifm_name={first.name}", "--ifm_file=in.npy", f"--ofm_name={last.name}",
        f"--ofm_file={i}.out.npy",
    ]  # fmt: skip
    subprocess.run(command, check=True)


if __name__ == "__main__":
    for i, case in enumerate(json.loads(sys.argv[2])):
        answer(Path(sys.argv[1]), i, *case)
