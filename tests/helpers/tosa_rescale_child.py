"""Run by tests/peers/test_tosa_peer.py in an environment with tosa-tools 2026.8.0: RESCALE.

Arguments: a folder with q, m and s in files `I.q.npy` …, and the JSON list of cases: input zero
point, output zero point, dtype of the output, rounding, bits. Answers are `I.out.npy`.
"""

import json
import sys
from pathlib import Path

import numpy as np

ADAPTERS = Path(__file__).resolve().parents[2] / "tools" / "adapters"


def answer(folder, i, input_zp, output_zp, dtype, rounding, bits):
    # Of that environment alone: this file is also read where tests are collected.
    from tosa_rescale_adapter import model_rescale

    q, m, s = (np.load(folder / f"{i}.{name}.npy") for name in ("q", "m", "s"))
    np.save(
        folder / f"{i}.out.npy",
        model_rescale(q, m, s, input_zp, output_zp, dtype, bits, rounding),
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ADAPTERS))
    for i, case in enumerate(json.loads(sys.argv[2])):
        answer(Path(sys.argv[1]), i, *case)
