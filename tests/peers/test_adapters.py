"""Every adapter of tools/adapters loads and answers one file as it is known to.

What the extra `peers` brings must be there; an adapter of another library is skipped by name where
that is absent.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mxref.cases.read import read_vectors
from mxref.conformance import TargetError, load_target, verify
from mxref.targets.target import PythonTarget

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from ledger.claims import ADAPTERS, claiming, claiming_integers  # noqa: E402

#: Adapters of what the extra `peers` brings: a file, and how many of its cases fail.
PEERS = {
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
}
#: The others.
OTHERS = {
    "fbgemm.NEAREST": ("dequantize/mxfp4_e2m1.f32", 2),
    "fbgemm.FLOOR": ("dequantize/mxfp4_e2m1.f32", 2),
    "fbgemm.EVEN": ("quantize/mxfp4_e2m1.f32", 138),
    "fbgemm.CEIL": ("dequantize/mxfp4_e2m1.f32", 2),
    "mlx_0_31.FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "mlx_0_31.FP8": ("encode/e4m3.f32", 6),
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
    "torchmx": ("quantize/mxfp4_e2m1.bf16", 0),
    "torchmx.INT8": ("quantize/mxint8.bf16", 172),
    "tosa": ("quantize/mxfp4_e2m1.f32", 0),
    "tosa.CASTS": ("encode/e4m3.f32", 0),
    "triton_kernels.UP_FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels.UP_FP8": ("dequantize/mxfp8_e4m3.f32", 0),
    "triton_kernels.DOWN_FP4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels.DOWN_FP8": ("dequantize/mxfp8_e4m3.f32", 0),
}
#: Those of originals that no registry has: the variable that names the checkout besides.
ORIGINALS = {
    "microxcaling.NEAREST": ("MXREF_MICROXCALING", "quantize/mxint8.f32", 94),
    "microxcaling.EVEN": ("MXREF_MICROXCALING", "quantize/mxint8.f32", 94),
    "microxcaling.FLOOR": ("MXREF_MICROXCALING", "shared_scale/e2m1.bf16", 88),
    "microxcaling_cuda.NEAREST": ("MXREF_MICROXCALING", "quantize/mxfp8_e4m3.f32", 0),
    "microxcaling_cuda.EVEN": ("MXREF_MICROXCALING", "quantize/mxint8.bf16", 0),
    "microxcaling_cuda.FLOOR": ("MXREF_MICROXCALING", "shared_scale/e2m1.f32", 0),
    "torchao_main.FLOOR": ("MXREF_TORCHAO_MAIN", "quantize/mxfp4_e2m1.f32", 0),
    "torchao_main.CEIL": ("MXREF_TORCHAO_MAIN", "quantize/mxfp8_e5m2.bf16", 0),
    "torchao_main.EVEN": ("MXREF_TORCHAO_MAIN", "quantize/mxfp4_e2m1.f32", 1),
    "torchao_main.RCEIL": ("MXREF_TORCHAO_MAIN", "quantize/mxfp6_e2m3.f32", 0),
    "transformer_engine": ("MXREF_TRANSFORMER_ENGINE", "shared_scale/e4m3.f32", 4),
}


#: Adapters of products, which tests/tools holds to their records; that of torch needs a GPU.
PRODUCTS = {
    "microxcaling_products_adapter",
    "mmasim_adapter",
    "torch_matmul_adapter",
    "torchao_0_6_products_adapter",
    "torchao_products_adapter",
    "torchmx_products_adapter",
    "tosa_matmul_adapter",
}
#: What adapters are made of.
PARTS = {
    "_integers",
    "_layers",
    "_microxcaling",
    "_mlx",
    "_peer",
    "_torchao",
    "_values",
    "torchmx_order",
}


def test_no_adapter_is_left_out() -> None:
    adapters = claiming()
    assert {*adapters} == {*PEERS, *OTHERS, *ORIGINALS}
    files = {path.stem for path in ADAPTERS.glob("*.py")}
    others = {one.path.stem for one in (*adapters.values(), *claiming_integers().values())}
    assert files == others | PARTS | PRODUCTS


def target_named(name: str) -> PythonTarget:
    return load_target(claiming()[name].spec)


def failed(name: str, stem: str) -> int:
    files = read_vectors(ROOT / "vectors", lambda path: path == stem)
    target = target_named(name)
    report = verify(target, files, target.policy)  # its profile: test_profiles_of_peers.py
    assert report.compared == len(files[0].cases)
    return len(report.failures)


def failed_alone(name: str, stem: str) -> int:
    """The same in a process of its own, which has not yet imported what an adapter sets up."""
    text = "import sys, test_adapters; print(test_adapters.failed(*sys.argv[1:]))"
    command = [sys.executable, "-c", text, name, stem]
    folder = Path(__file__).parent
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return int(run.stdout.split()[-1])


@pytest.mark.parametrize(("name", "stem", "failures"), [(n, *v) for n, v in PEERS.items()])
@pytest.mark.filterwarnings("ignore")
def test_peers(name: str, stem: str, failures: int) -> None:
    assert failed(name, stem) == failures


@pytest.mark.parametrize(("name", "stem", "failures"), [(n, *v) for n, v in OTHERS.items()])
@pytest.mark.filterwarnings("ignore")
def test_others(name: str, stem: str, failures: int) -> None:
    try:
        target_named(name)
    except TargetError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error))
    ask = failed_alone if name.startswith("quark_triton") else failed
    assert ask(name, stem) == failures


@pytest.mark.parametrize(
    ("name", "variable", "stem", "failures"), [(n, *v) for n, v in ORIGINALS.items()]
)
def test_originals(name: str, variable: str, stem: str, failures: int) -> None:
    if variable not in os.environ:
        pytest.skip(f"{variable} names no checkout")
    assert failed_alone(name, stem) == failures


@pytest.mark.parametrize("value", [None, "", "no/absolute/path", "/no/such/folder"])
def test_what_a_checkout_is(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("MXREF_MICROXCALING", raising=False)
    if value is not None:
        monkeypatch.setenv("MXREF_MICROXCALING", value)
    wanted = "MXREF_MICROXCALING must name a checkout of github.com/microsoft/microxcaling at 7bc4"
    for name in ("microxcaling.EVEN", "microxcaling_cuda.EVEN"):
        with pytest.raises(TargetError, match=wanted):
            target_named(name)
