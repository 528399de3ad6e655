"""Adapters of tools/adapters, asked where their libraries are: a file, and how many cases fail."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from ledger import recording
from ledger.claims import ADAPTERS, Adapter, claiming, claiming_integers, claiming_products
from ledger.examine import examine
from ledger.product_page import product_summary
from ledger.products import examine_products
from ledger.residuals import unlisted
from needs import absent, checkout

from mxref.cases.read import read_vectors
from mxref.conformance import Report, TargetError, load_target, verify
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.asked_files import read_for

ROOT = Path(__file__).resolve().parents[2]
#: Those of the environment `current`.
CURRENT = {
    "torch": ("encode_scale/e8m0.f32", 0),
    "torch.E5M2": ("encode/e5m2.bf16", 0),
    "torchao.FLOOR": ("quantize/mxfp4_e2m1.f32", 90),
    "torchao.CEIL": ("shared_scale/e4m3.bf16", 1),
    "torchao.EVEN": ("shared_scale/e4m3.bf16", 1),
    "torchao.RCEIL": ("shared_scale/e4m3.bf16", 1),
    "torchao.CASTS": ("encode/e2m1.f32", 6),
    "torchao.LAYOUTS": ("pack_scales/e8m0.bytes", 0),
    "cuda.CONSTRUCTORS": ("encode/e4m3.f32", 0),
    "cuda.SATFINITE": ("encode/e4m3.f64", 0),
    "cuda.NOSAT": ("encode/e5m2.f16", 0),
    "cuda.E8M0_RN": ("encode_scale/e8m0.bf16", 0),
    "cuda.E8M0_RZ": ("encode_scale/e8m0.bf16", 0),
    "cuda.E8M0_RP": ("encode_scale/e8m0.bf16", 0),
    "cuda.E8M0_RN_NOSAT": ("encode_scale/e8m0.bf16", 0),
    "cuda.E8M0_RZ_NOSAT": ("encode_scale/e8m0.bf16", 0),
    "cuda.E8M0_RP_NOSAT": ("encode_scale/e8m0.bf16", 0),
    "gguf": ("dequantize/mxfp4_e2m1.f32", 0),
    "compressed_tensors": ("encode/e2m3.f32", 6),
    "compressed_tensors.MXFP8": ("encode/e4m3.f32", 0),
    "compressed_tensors.READS": ("dequantize/mxfp8_e4m3.bf16", 0),
    "onnx": ("encode/e2m3.f32", 0),
    "onnx.NOSAT": ("encode/e4m3.f32", 0),
    "onnx.DOWN": ("encode_scale/e8m0.f32", 0),
    "onnx.NEAREST": ("encode_scale/e8m0.f32", 0),
    "ml_dtypes": ("decode/e4m3.f32", 0),
    "gfloat": ("decode/e4m3.f32", 0),
    "apytypes": ("encode/e5m2.f64", 0),
    "executorch": ("dequantize/mxfp8_e4m3.f32", 0),
    "jax": ("quantize/mxfp8_e4m3.f32", 76),
    "jax_casts": ("encode/e4m3.f64", 0),
    "mlx_0_32.FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "mlx_0_32.FP8": ("encode/e4m3.f32", 6),
    "openvino": ("encode/e2m1.f32", 0),
    "openvino.FP8": ("encode/e4m3.f32", 0),
    "pychop": ("quantize/mxfp8_e4m3.f32", 7),
    "qwix": ("quantize/mxfp4_e2m1.f32", 27),
    "fbgemm.NEAREST": ("dequantize/mxfp4_e2m1.f32", 2),
    "fbgemm.FLOOR": ("dequantize/mxfp4_e2m1.f32", 2),
    "fbgemm.EVEN": ("quantize/mxfp4_e2m1.f32", 138),
    "fbgemm.CEIL": ("dequantize/mxfp4_e2m1.f32", 2),
    "neural_compressor.EVEN": ("quantize/mxint8.f32", 94),
    "neural_compressor.NEAREST": ("quantize/mxint8.f32", 94),
    "quark.EVEN": ("encode/e2m1.f32", 5),
    "quark.FLOOR": ("encode/e2m1.f32", 5),
    "quark.CEIL": ("encode/e2m1.f32", 5),
    "quark.E8M0": ("encode_scale/e8m0.f32", 2890),
    "quark.FAKE": ("quantize/mxint8.f32", 96),
    "quark_triton.EVEN": ("quantize/mxfp4_e2m1.f16", 2),
    "quark_triton.UP": ("quantize/mxfp4_e2m1.f16", 1),
    "quark_triton.DOWN": ("quantize/mxfp4_e2m1.f16", 38),
    "triton_kernels.UP_FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels.UP_FP8": ("dequantize/mxfp8_e4m3.f32", 0),
    "triton_kernels.DOWN_FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels.DOWN_FP8": ("dequantize/mxfp8_e4m3.f32", 0),
}
#: Those of the environment `older`.
OLDER = {
    "mlx_0_31.FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "mlx_0_31.FP8": ("encode/e4m3.f32", 6),
    "torchmx": ("quantize/mxfp4_e2m1.bf16", 0),
    "torchmx.INT8": ("quantize/mxint8.bf16", 172),
    "tosa": ("quantize/mxfp4_e2m1.f32", 0),
    "tosa.CASTS": ("encode/e4m3.f32", 0),
}
#: Those of originals that no registry has, in the environment `current`.
ORIGINALS = {
    "microxcaling.NEAREST": ("quantize/mxint8.f32", 94),
    "microxcaling.EVEN": ("quantize/mxint8.f32", 94),
    "microxcaling.FLOOR": ("shared_scale/e2m1.bf16", 88),
    "microxcaling_cuda.NEAREST": ("quantize/mxfp8_e4m3.f32", 0),
    "microxcaling_cuda.EVEN": ("quantize/mxint8.bf16", 0),
    "microxcaling_cuda.FLOOR": ("shared_scale/e2m1.f32", 0),
    "torchao_main.FLOOR": ("quantize/mxfp4_e2m1.f32", 0),
    "torchao_main.CEIL": ("quantize/mxfp8_e5m2.bf16", 0),
    "torchao_main.EVEN": ("quantize/mxfp4_e2m1.f32", 1),
    "torchao_main.RCEIL": ("quantize/mxfp6_e2m3.f32", 0),
    "transformer_engine": ("shared_scale/e4m3.f32", 4),
}
FILES = CURRENT | OLDER | ORIGINALS
#: Those of products in each.
CURRENT_PRODUCTS = (
    *("mmasim.ALIGNED_13", "mmasim.ALIGNED_25", "mmasim.ALIGNED_35", "microxcaling_products"),
    *("torchao_products.MATMUL", "torchao_products.FLOOR", "torchao_products.RCEIL"),
)
OLDER_PRODUCTS = (
    *("torchao_0_6_products.TRAINING", "torchao_0_6_products.INFERENCE"),
    *("torchmx_products", "tosa_matmul"),
)
#: Those of integer operations in `older`: how the report ends.
OLDER_INTEGERS = {
    "tosa_rescale.SINGLE": "conforms",
    "tosa_rescale.DOUBLE": "conforms; rescale (int8-int8, int8-uint8, int16-int8, int32-int8, int3",
}
#: The checkouts of originals.
CHECKOUTS = {
    "microxcaling": "MXREF_MICROXCALING",
    "torchao_main": "MXREF_TORCHAO_MAIN",
    "transformer_engine": "MXREF_TRANSFORMER_ENGINE",
}
#: What must be the first to import its library.
ALONE = ("quark_triton", *CHECKOUTS)
#: Elements of `examined`, and of those that take blocks one by one, in Python.
ELEMENTS, SLOW = 100_000, {"gfloat": 10_000, "pychop": 10_000}

Found = TypeVar("Found")


def every() -> dict[str, Adapter]:
    """All adapters by their names."""
    return claiming() | claiming_integers() | claiming_products()


def failed(name: str) -> int:
    """How many cases of the adapter's file it fails under its POLICY."""
    stem, _ = FILES[name]
    files = read_vectors(ROOT / "vectors", lambda path: path == stem)
    target = load_target(every()[name].spec)
    report = verify(target, files, target.policy)
    assert report.compared == len(files[0].cases)
    return len(report.failures)


def unexplained(name: str) -> list[str]:
    """What an adapter answers that is neither its profile's or policy's nor listed."""
    record = asked(examined, name)
    assert record["files"]
    if "profile" in record:
        return unlisted({"adapter": name, **record, "share": 0}, listed("implementations"))
    lines = product_summary({"adapter": name, **record}, listed("products"))[0].splitlines()[1:]
    return [line for line in lines if "listed, but not found" not in line]  # of so few outputs


def examined(name: str) -> dict[str, Any]:
    """A record of the ledger, of few elements or outputs; its examples are not the simplest."""
    target = load_target(every()[name].spec)
    if name in claiming_products():
        return examine_products(target, outputs=1)
    with patch.object(recording, "simplest", lambda _wrong, _file, row: row):
        return examine(target, elements=SLOW.get(name, ELEMENTS), product=False)


def integer_report(name: str) -> Report:
    """What `verify` finds in integer operations."""
    target = load_target(every()[name].spec)
    files = read_for(
        ROOT / "vectors", target, target.policy, only=lambda op, *_: op in CALL_OPERATIONS
    )
    return verify(target, [file for file in files if file.cases])


def listed(kind: str) -> list[dict[str, Any]]:
    """What is known to differ."""
    found: list[dict[str, Any]] = json.loads((ADAPTERS / f"{kind}.json").read_text("utf-8"))
    return found


def asked(function: Callable[..., Found], name: str, *words: str) -> Found:
    """What a function of this module finds of an adapter, if its library or checkout is here."""
    for original, variable in CHECKOUTS.items():
        if name.startswith(original):
            checkout(variable)
    if name.startswith(ALONE):
        found: Found = alone(name.partition(".")[0])[name][function.__name__]
        return found
    try:
        return function(name, *words)
    except TargetError as error:
        if "pip install" in str(error):
            absent(str(error))
        raise


@functools.cache
def alone(file: str) -> dict[str, dict[str, Any]]:
    """What `failed` and `examined` find of all adapters of a file, in a process of its own.

    That has not yet imported what they set up, and some take long to import.
    """
    folders = [ROOT, ROOT / "tools", ROOT / "tests" / "helpers"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", "import peer_adapters as p, sys; p.answer(sys.argv[1])", file]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode and "pip install" in (last := run.stderr.splitlines()[-1]):
        absent(last)
    assert run.returncode == 0, run.stderr
    found: dict[str, dict[str, Any]] = json.loads(run.stdout.splitlines()[-1])
    return found


def answer(file: str) -> None:
    """Print what `alone` reads."""
    names = [name for name in every() if name.partition(".")[0] == file]
    functions = (failed, examined)
    found = {
        name: {f.__name__: f(name) for f in functions if f is examined or name in FILES}
        for name in names
    }
    print(json.dumps(found))
