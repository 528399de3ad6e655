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

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "tools" / "adapters"

#: Adapters of what the extra `peers` brings: a file, and how many of its cases fail.
PEERS = {
    "torch_adapter": ("encode_scale/e8m0.f32", 0),
    "torch_e5m2": ("encode/e5m2.bf16", 0),
    "torchao_floor": ("quantize/mxfp4_e2m1.f32", 18),
    "torchao_ceil": ("shared_scale/e4m3.bf16", 1),
    "torchao_even": ("shared_scale/e4m3.bf16", 1),
    "torchao_rceil": ("shared_scale/e4m3.bf16", 1),
    "torchao_casts": ("encode/e2m1.f32", 6),
    "torchao_layouts": ("pack_scales/e8m0.bytes", 0),
    "cuda_constructors": ("encode/e4m3.f32", 0),
    "cuda_satfinite": ("encode/e4m3.f64", 0),
    "cuda_nosat": ("encode/e5m2.f16", 0),
    "cuda_e8m0_rn": ("encode_scale/e8m0.bf16", 0),
    "cuda_e8m0_rz": ("encode_scale/e8m0.bf16", 0),
    "cuda_e8m0_rp": ("encode_scale/e8m0.bf16", 0),
    "cuda_e8m0_rn_nosat": ("encode_scale/e8m0.bf16", 0),
    "cuda_e8m0_rz_nosat": ("encode_scale/e8m0.bf16", 0),
    "cuda_e8m0_rp_nosat": ("encode_scale/e8m0.bf16", 0),
    "gguf_adapter": ("dequantize/mxfp4_e2m1.f32", 0),
    "compressed_tensors_adapter": ("encode/e2m3.f32", 6),
    "compressed_tensors_mxfp8": ("encode/e4m3.f32", 0),
    "compressed_tensors_reads": ("dequantize/mxfp8_e4m3.bf16", 0),
    "onnx_adapter": ("encode/e2m3.f32", 0),
    "onnx_nosat": ("encode/e4m3.f32", 0),
    "onnx_down": ("encode_scale/e8m0.f32", 0),
    "onnx_nearest": ("encode_scale/e8m0.f32", 0),
    "ml_dtypes_adapter": ("decode/e4m3.f32", 0),
    "gfloat_adapter": ("decode/e4m3.f32", 0),
    "apytypes_adapter": ("encode/e5m2.f64", 0),
    "executorch_adapter": ("dequantize/mxfp8_e4m3.f32", 0),
    "jax_adapter": ("quantize/mxfp8_e4m3.f32", 34),
    "jax_casts": ("encode/e4m3.f64", 0),
    "mlx_0_32_fp4": ("dequantize/mxfp4_e2m1.f32", 0),
    "mlx_0_32_fp8": ("encode/e4m3.f32", 6),
    "openvino_adapter": ("encode/e2m1.f32", 0),
    "openvino_fp8": ("encode/e4m3.f32", 0),
    "pychop_adapter": ("quantize/mxfp8_e4m3.f32", 3),
    "qwix_adapter": ("quantize/mxfp4_e2m1.f32", 22),
}
#: The others.
OTHERS = {
    "fbgemm_nearest": ("dequantize/mxfp4_e2m1.f32", 1),
    "fbgemm_floor": ("dequantize/mxfp4_e2m1.f32", 1),
    "fbgemm_even": ("quantize/mxfp4_e2m1.f32", 24),
    "fbgemm_ceil": ("dequantize/mxfp4_e2m1.f32", 1),
    "mlx_0_31_fp4": ("dequantize/mxfp4_e2m1.f32", 0),
    "mlx_0_31_fp8": ("encode/e4m3.f32", 6),
    "neural_compressor_even": ("quantize/mxint8.f32", 17),
    "neural_compressor_nearest": ("quantize/mxint8.f32", 17),
    "quark_even": ("encode/e2m1.f32", 5),
    "quark_floor": ("encode/e2m1.f32", 5),
    "quark_ceil": ("encode/e2m1.f32", 5),
    "quark_e8m0": ("encode_scale/e8m0.f32", 2890),
    "quark_fake": ("quantize/mxint8.f32", 21),
    "quark_triton_even": ("quantize/mxfp4_e2m1.f16", 2),
    "quark_triton_up": ("quantize/mxfp4_e2m1.f16", 1),
    "quark_triton_down": ("quantize/mxfp4_e2m1.f16", 38),
    "torchmx_adapter": ("quantize/mxfp4_e2m1.bf16", 0),
    "torchmx_int8": ("quantize/mxint8.bf16", 48),
    "tosa_adapter": ("quantize/mxfp4_e2m1.f32", 0),
    "tosa_casts": ("encode/e4m3.f32", 0),
    "triton_kernels_up_fp4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels_up_fp8": ("dequantize/mxfp8_e4m3.f32", 0),
    "triton_kernels_down_fp4": ("dequantize/mxfp4_e2m1.f32", 0),
    "triton_kernels_down_fp8": ("dequantize/mxfp8_e4m3.f32", 0),
}
#: Those of originals that no registry has: the variable that names the checkout besides.
ORIGINALS = {
    "microxcaling_torch_nearest": ("MXREF_MICROXCALING", "quantize/mxint8.f32", 17),
    "microxcaling_torch_even": ("MXREF_MICROXCALING", "quantize/mxint8.f32", 17),
    "microxcaling_torch_floor": ("MXREF_MICROXCALING", "shared_scale/e2m1.bf16", 86),
    "microxcaling_cuda_nearest": ("MXREF_MICROXCALING", "quantize/mxfp8_e4m3.f32", 0),
    "microxcaling_cuda_even": ("MXREF_MICROXCALING", "quantize/mxint8.bf16", 0),
    "microxcaling_cuda_floor": ("MXREF_MICROXCALING", "shared_scale/e2m1.f32", 0),
    "torchao_main_floor": ("MXREF_TORCHAO_MAIN", "quantize/mxfp4_e2m1.f32", 0),
    "torchao_main_ceil": ("MXREF_TORCHAO_MAIN", "quantize/mxfp8_e5m2.bf16", 0),
    "torchao_main_even": ("MXREF_TORCHAO_MAIN", "quantize/mxfp4_e2m1.f32", 1),
    "torchao_main_rceil": ("MXREF_TORCHAO_MAIN", "quantize/mxfp6_e2m3.f32", 0),
    "transformer_engine_adapter": ("MXREF_TRANSFORMER_ENGINE", "shared_scale/e4m3.f32", 4),
}
#: What other adapters are made of.
PARTS = {
    "_microxcaling",
    "_peer",
    "_torchao",
    "_values",
    "cuda_adapter",
    "fbgemm_adapter",
    "microxcaling_adapter",
    "microxcaling_cuda_adapter",
    "mlx_adapter",
    "neural_compressor_adapter",
    "quark_adapter",
    "quark_triton_adapter",
    "torchao_adapter",
    "torchao_main_adapter",
    "torchmx_order",
    "triton_kernels_adapter",
}


def test_no_adapter_is_left_out() -> None:
    assert {path.stem for path in ADAPTERS.glob("*.py")} == {*PEERS, *OTHERS, *ORIGINALS} | PARTS


def failed(name: str, stem: str) -> int:
    files = read_vectors(ROOT / "vectors", lambda path: path == stem)
    target = load_target(str(ADAPTERS / f"{name}.py"))
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
        load_target(str(ADAPTERS / f"{name}.py"))
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
    for name in ("microxcaling_torch_even", "microxcaling_cuda_even"):
        with pytest.raises(TargetError, match=wanted):
            load_target(str(ADAPTERS / f"{name}.py"))
