"""The operators of PyTorch on a CPU: vectors, matrices, opcheck, torch.compile, a training step.

The header is compiled by g++; nvcc takes the same file. No GPU takes part.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from helpers import tool
from numpy.typing import NDArray

import mxref
from mxref.cli import main

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "fastpath" / "torch"
sys.path.insert(0, str(FOLDER))
import mx_torch  # noqa: E402

TARGET = FOLDER / "torch_target.py"
SMALL = [name for name, fmt in mx_torch.FORMATS.items() if fmt.bits < 8]
DTYPES = {torch.float32: np.float32, torch.bfloat16: ml_dtypes.bfloat16, torch.float16: np.float16}


@pytest.fixture(autouse=True)
def _compiled_here(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MX_TORCH_CACHE", str(tmp_path_factory.getbasetemp() / "mx_torch"))


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers over many binades, with zeros, a NaN and infinities."""
    random = torch.Generator().manual_seed(sum(shape))
    x = torch.randn(shape, generator=random) * torch.exp(4 * torch.randn(shape, generator=random))
    flat = x.view(-1)
    flat[::17], flat[5], flat[-2] = 0.0, float("nan"), float("inf")
    return x.to(dtype)


def as_numpy(x: torch.Tensor) -> NDArray[Any]:
    """The same numbers."""
    return x.detach().float().numpy().astype(DTYPES[x.dtype])


def wanted(x: torch.Tensor, format: str, rule: str, unit: float | None = None) -> Any:
    """mxref's blocks along the last axis, and codes with those of the tail that is filled up."""
    policy = "ocp" if format == "nvfp4" else f"ocp+scale_rule={rule}"
    fill = -x.shape[-1] % mx_torch.FORMATS[format].size
    values = np.pad(as_numpy(x), [(0, 0)] * (x.dim() - 1) + [(0, fill)])
    more = {} if format != "nvfp4" else {"tensor_scale": np.float32(1 if unit is None else unit)}
    return mxref.quantize(values, format, policy, **more)


# --- bits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", mx_torch.RULES)
def test_the_vectors(rule: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("MX_RULE", rule)
    part = "--op quantize --format mxfp8_e5m2 --format mxint8 --float f32 --sizes 3000"
    asked = [] if rule == "floor" else part.split()
    assert main(["verify", str(TARGET), *asked]) == 0, capsys.readouterr().out
    assert ": conforms" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", mx_torch.FORMATS)
def test_tensors_with_tails_and_strides(format: str, dtype: torch.dtype, tiled: bool) -> None:
    whole = drawn(6, 130, 2, dtype=dtype)
    unit = torch.tensor(0.75) if format == "nvfp4" else None
    for x in (whole[..., 0], whole[1].T, whole[:0, 0], whole[0, 0, :1], whole.movedim(1, -1)):
        for packed in (False, True):
            scales, codes = mx_torch.quantize(x, format, "rceil", unit, packed=packed, tiled=tiled)
            blocks = wanted(x, format, "rceil", 0.75)
            expected = blocks.scale_codes
            if tiled:
                lines = expected.reshape(x.shape[:-1].numel(), expected.shape[-1])
                expected = mxref.pack_scales(lines, "ocp+scale_layout=tiles_128x4").reshape(-1)
            np.testing.assert_array_equal(scales.numpy(), expected)
            bytes_of = blocks.codes
            if packed and mx_torch.FORMATS[format].bits < 8:
                line = mxref.pack(bytes_of.reshape(-1), blocks.format.element)
                bytes_of = line.reshape(codes.shape)
            np.testing.assert_array_equal(codes.numpy(), bytes_of)
            how = {"packed": packed, "tiled": tiled, "length": x.shape[-1]}
            y = mx_torch.dequantize(scales, codes, format, dtype, unit, **how)
            numbers = blocks.dequantize(dtype=DTYPES[dtype])[..., : x.shape[-1]]
            assert y.dtype == dtype
            np.testing.assert_array_equal(y.float().numpy(), numbers.astype(np.float32))


@pytest.mark.parametrize("format", mx_torch.FORMATS)
def test_both_directions_are_those_of_the_matrix_and_its_transpose(format: str) -> None:
    x = drawn(70, 99, dtype=torch.bfloat16)[:, 1:]
    for packed, tiled in ((False, False), (True, True)):
        how = {"packed": packed, "tiled": tiled}
        both = mx_torch.quantize_both(x, format, "even", **how)
        one = mx_torch.quantize(x, format, "even", **how)
        other = mx_torch.quantize(x.T.contiguous(), format, "even", **how)
        for found, expected in zip(both, (*one, *other), strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("amax", [0.0, 1.0, 2688.0, 3.0e38, 2.0**-149, 0.1])
def test_the_scale_of_a_tensor_is_that_of_mxref(amax: float) -> None:
    x = torch.tensor([[amax, -amax / 2] * 8])
    blocks = mxref.quantize(x.numpy(), "nvfp4")
    assert mx_torch.tensor_scale(x).item() == np.uint32(blocks.tensor_scale.bits).view(np.float32)
    found = mx_torch.quantize(x, "nvfp4", tensor_scale=mx_torch.tensor_scale(x))
    np.testing.assert_array_equal(found[0].numpy(), blocks.scale_codes)
    np.testing.assert_array_equal(found[1].numpy(), blocks.codes)


#: Text of the C file, what a bug makes of it, and the test that is to fail.
BUGS = [
    ("i % blocks, scales, codes", "0, scales, codes", "tails"),
    (
        "{across.values.step, across.values.line}",
        "{across.values.line, across.values.step}",
        "both",
    ),
    (
        "scale_place<F, C>(t, recipe, line, chunk)]",
        "scale_place<F, C>(t, recipe, line, 0)]",
        "tails",
    ),
    ("how.tiles != 0", "false", "tails"),
    ("mx::as_bits(how.tensor)", "0x3f800000u", "tails or scale"),
    ("static_cast<mx::Rule>(how.rule)", "mx::Rule::floor", "rceil"),
]


@pytest.mark.parametrize(("old", "new", "where"), BUGS)
def test_a_bug_of_the_interface_is_caught(old: str, new: str, where: str, tmp_path: Path) -> None:
    for name in ("cuda", "torch", "triton"):
        (tmp_path / name).mkdir()
        for path in (FOLDER.parent / name).iterdir():
            if path.is_file():
                (tmp_path / name / path.name).write_bytes(path.read_bytes())
    source = tmp_path / "torch" / "mx_torch.cu"
    assert source.read_text().count(old) == 1
    source.write_text(source.read_text().replace(old, new))
    copy = tmp_path / "test_copy.py"
    text = Path(__file__).read_text()
    folder = next(line for line in text.splitlines() if line.startswith("FOLDER = "))
    text = text.replace(folder, f"FOLDER = Path({str(source.parent)!r})", 1)
    copy.write_text(text)
    helpers = Path(__file__).resolve().parents[1] / "helpers"
    path = os.pathsep.join([str(helpers), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", copy,
         "-k", "tails_and_strides or both_directions or scale_of_a_tensor"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 1, run.stdout[-3000:]
    assert "AssertionError" in run.stdout, where


# --- PyTorch --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["mxfp8_e4m3", "mxfp6_e2m3", "nvfp4"])
def test_opcheck(format: str) -> None:
    x = drawn(5, 70)[:, ::2].nan_to_num(1.0, 2.0).requires_grad_()  # it takes no NaN for another
    unit = torch.tensor(2.0) if format == "nvfp4" else None
    way = {"packed": True, "tiled": True}
    scales, codes = mx_torch.quantize(x, format, "rceil", unit, **way)
    assert not codes.requires_grad
    torch.library.opcheck(mx_torch.quantize, (x.detach(), format, "rceil", unit), way)
    torch.library.opcheck(mx_torch.quantize_both, (x.detach(), format, "rceil", unit), way)
    torch.library.opcheck(
        mx_torch.dequantize, (scales, codes, format, torch.bfloat16, unit), {**way, "length": 33}
    )
    torch.library.opcheck(mx_torch.fake_quantize, (x, format, "rceil", unit))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_without_a_graph_break_it_gives_the_same(backend: str) -> None:
    def step(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = mx_torch.fake_quantize(x * 2, "mxfp6_e3m2", "rceil") + 1
        scales, codes = mx_torch.quantize(y, "mxfp4_e2m1", packed=True, tiled=True)
        back = mx_torch.dequantize(scales, codes, "mxfp4_e2m1", packed=True, tiled=True)
        return y, scales, codes, back

    x = drawn(40, 96)
    x = torch.where(x.isfinite(), x, 1.0)
    compiled = torch.compile(step, fullgraph=True, backend=backend, dynamic=False)
    for found, expected in zip(compiled(x), step(x), strict=True):
        assert torch.equal(found, expected)
    assert torch.equal(compiled(x[:7])[2], step(x[:7])[2])


def test_a_training_step_is_that_of_mxrefs_numbers() -> None:
    """Two layers: by the operators, and by mxref's numbers in plain torch, they end the same."""
    random = torch.Generator().manual_seed(3)
    inputs = torch.randn(16, 64, generator=random)
    start = [torch.randn(48, 64, generator=random) / 8, torch.randn(10, 48, generator=random) / 7]

    class Straight(torch.autograd.Function):
        """mxref's numbers, and the gradient as it comes."""

        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            blocks = mxref.quantize(x.detach().numpy(), "mxfp8_e4m3", "ocp+scale_rule=rceil")
            return torch.from_numpy(blocks.dequantize())

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    def trained(quantized: Any) -> list[torch.Tensor]:
        weights = [w.clone().requires_grad_() for w in start]
        optimizer = torch.optim.SGD(weights, lr=0.5)
        for _ in range(3):
            optimizer.zero_grad()
            hidden = torch.relu(quantized(inputs) @ quantized(weights[0]).T)
            loss = (quantized(hidden) @ quantized(weights[1]).T).square().mean()
            loss.backward()
            optimizer.step()
        return [w.detach() for w in weights]

    ours = trained(lambda x: mx_torch.fake_quantize(x, "mxfp8_e4m3", "rceil"))
    theirs = trained(Straight.apply)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not torch.equal(ours[0], start[0])


def test_where_nvcc_is_not_found_triton_gives_the_same() -> None:
    """In Triton's interpreter, in a process that has not imported Triton before."""
    text = """
import sys, torch, mx_torch
x = torch.randn(6, 75, generator=torch.Generator().manual_seed(1))
for format in mx_torch.FORMATS:
    unit = torch.tensor(0.5) if format == "nvfp4" else None
    for packed, tiled in ((False, False), (True, True)):
        way = mx_torch._way(format, packed=packed, tiled=tiled)
        theirs = mx_torch._by_triton(x, way, "rceil", unit)
        ours = mx_torch.quantize(x, format, "rceil", unit, packed=packed, tiled=tiled)
        assert all(map(torch.equal, ours, theirs)), (format, packed)
print("equal")
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(FOLDER)}
    run = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=600
    )
    assert (run.returncode, run.stdout) == (0, "equal\n"), run.stderr


@pytest.mark.parametrize(("number", "format"), [("90", "E3M2"), ("100f", "NVFP4")])
def test_nvcc_takes_it(number: str, format: str, tmp_path: Path) -> None:
    nvcc = tool("nvcc")
    command = [nvcc, "-std=c++17", "-O2", "-shared", "-Xcompiler", "-fPIC", "-x", "cu"]
    command += ["-gencode", f"arch=compute_{number},code=sm_{number}", f"-DMX_FORMAT={format}"]
    command += [f"-I{FOLDER.parent / 'cuda'}", FOLDER / "mx_torch.cu", "-o", tmp_path / "mx.so"]
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=900)
    assert (run.returncode, run.stderr) == (0, "")
    names = subprocess.run(["nm", "-D", tmp_path / "mx.so"], capture_output=True, text=True).stdout
    for name in ("mx_quantize", "mx_quantize_both", "mx_dequantize", "mx_error"):
        assert f" T {name}\n" in names


# --- what is refused ------------------------------------------------------------------------------

X = torch.ones(2, 32)
REFUSED = [
    ((X, "e4m3"), {}, ValueError, r"format must be one of mxfp8_e5m2, .*, got 'e4m3'"),
    ((X, "mxint8", "nearest"), {}, ValueError, r"rule must be one of floor, .*, got 'nearest'"),
    ((X.double(), "mxint8"), {}, TypeError, r"x must be float32, .*, got torch\.float64"),
    (
        (X.sum(), "mxint8"),
        {},
        ValueError,
        r"x must have an axis along which blocks run, got 0 axes",
    ),
    ((X, "mxint8", "floor", X.sum()), {}, ValueError, r"tensor_scale must be None but for nvfp4"),
    ((X, "nvfp4", "floor", 0 * X.sum()), {}, ValueError, r"positive and finite, got 0\.0"),
]


@pytest.mark.parametrize(("arguments", "more", "error", "said"), REFUSED)
def test_what_quantize_refuses(
    arguments: Any, more: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        mx_torch.quantize(*arguments, **more)


def test_what_the_others_refuse() -> None:
    scales, codes = mx_torch.quantize(X, "mxfp4_e2m1", packed=True)
    with pytest.raises(
        ValueError, match=r"must be \[2, 2\], \[2, 32\], got \[2, 1\] and \[2, 16\]"
    ):
        mx_torch.dequantize(scales, codes, "mxfp4_e2m1", packed=True, length=33)
    with pytest.raises(ValueError, match="scales and codes must be"):
        mx_torch.dequantize(scales[:1], codes, "mxfp4_e2m1", packed=True)
    with pytest.raises(TypeError, match=r"must be bytes, got torch\.int8"):
        mx_torch.dequantize(scales.char(), codes, "mxfp4_e2m1")
    with pytest.raises(ValueError, match="x must be a matrix, got 1 axes"):
        mx_torch.quantize_both(X[0], "mxint8")
