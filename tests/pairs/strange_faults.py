"""Wrong kernels made of small faults, by a hand that has read the documentation alone.

A kernel is a chain of stages, each a plain NumPy function. `RIGHT` of right_kernel has the
right one of every stage, a `Fault` of faults.toml puts another one in its place, and `kernel` makes
the functions of docs/check.md from what is left and what is put in. A kernel has at most one fault
in a stage.

Stages of `quantize`: amax, scale, special_blocks, value, round, overflow, special_elements, places.
`encode`: cast, round, overflow, special_elements. `nvfp4`: amax, tensor_scale, block_scale, round,
overflow, special_elements, places. `quantize_tensor`: axis, tail and scale_matrix beside those of
`quantize`. `dequantize`: scale_decoded, code_decoded, product, lanes, output. `matmul`:
scale_decoded, code_decoded, operand, product_scale, sum, output.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import right_kernel
from planting import function_of
from right_kernel import ELEMENTS, RIGHT, Array, codes_of, mx_blocks, nv_blocks


@dataclass(frozen=True)
class Fault:
    """One wrong stage; `text` is what a perfect diagnosis would say, `seen` where it is seen."""

    name: str
    stage: str
    operations: tuple[str, ...]
    formats: tuple[str, ...]
    text: str
    seen: str
    change: Callable[..., Any]


def cut_to_bfloat16(x: Array) -> Array:
    bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    cut = bits.view(np.float32).astype(np.float64)
    return np.where(np.isnan(x), x, cut)


def planted(name: str, fault: dict[str, Any]) -> Fault:
    """A fault of the file: its function sees what right_kernel has."""
    space = {**vars(right_kernel), "ml_dtypes": ml_dtypes, "cut_to_bfloat16": cut_to_bfloat16}
    change = function_of(name, fault.pop("code"), space)
    formats = fault.pop("formats")
    if isinstance(formats, str):
        formats = space[formats]
    operations = tuple(fault.pop("operations"))
    return Fault(name, operations=operations, formats=tuple(formats), change=change, **fault)


_TEXT = Path(__file__).with_name("faults.toml").read_text("utf-8")
FAULTS = {name: planted(name, fault) for name, fault in tomllib.loads(_TEXT).items()}


def kernel(faults: tuple[str, ...], block_format: str, operation: str) -> Any:
    """A target with these faults, of one operation. Without faults it is right."""
    chosen = {FAULTS[name].stage: FAULTS[name].change for name in faults}
    if len(chosen) != len(faults):
        raise ValueError(f"faults must be of different stages, got {faults}")
    s, f = SimpleNamespace(**{**RIGHT, **chosen}), ELEMENTS[block_format]

    def encode(values: Array, format: str) -> Array:
        with np.errstate(all="ignore"):
            codes = codes_of(s, s.cast(np.asarray(values).astype(np.float64), f), f)
        return codes.astype(np.uint8)

    def quantize(values: Array, block_format: str, *tensor: Any) -> tuple[Array, Array]:
        x = np.asarray(values).astype(np.float64)
        with np.errstate(all="ignore"):
            return nv_blocks(s, x, f, *tensor) if tensor else mx_blocks(s, x, f)

    def quantize_tensor(values: Array, block_format: str, axis: int) -> tuple[Array, Array]:
        down = axis % 2 == 0
        x = s.tail(s.axis(np.asarray(values).astype(np.float64), down))
        with np.errstate(all="ignore"):
            scales, codes = mx_blocks(s, x.reshape(-1, 32), f)
        scales = s.scale_matrix(scales.reshape(len(x), x.shape[1] // 32), down)
        codes = codes.reshape(x.shape)
        return np.ascontiguousarray(scales), np.ascontiguousarray(codes.T if down else codes)

    def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
        with np.errstate(all="ignore"):
            numbers = s.code_decoded(codes, f)
            x = s.lanes(s.product(s.scale_decoded(scale_codes), numbers))
            result: Array = s.output(x, dtype)
        return result

    def matmul(
        scales_a: Array, codes_a: Array, scales_b: Array, codes_b: Array,
        format_a: str, format_b: str,
    ) -> Array:  # fmt: skip
        with np.errstate(all="ignore"):
            a, b = s.code_decoded(codes_a, f), s.code_decoded(codes_b, f)
            rows = s.operand(s.scale_decoded(scales_a), False)
            columns = s.operand(s.scale_decoded(scales_b), True)
            total = np.zeros((len(a), len(b)))
            for i in range(rows.shape[1]):
                some = slice(32 * i, 32 * i + 32)
                term = a[:, some] @ b[:, some].T * s.product_scale(rows[:, i], columns[:, i])
                total = s.sum(total, term, i, rows.shape[1])
            result: Array = s.output(total, np.float32)
        return result

    functions = {
        "encode": encode, "quantize": quantize, "quantize_tensor": quantize_tensor,
        "dequantize": dequantize, "matmul": matmul,
    }  # fmt: skip
    return SimpleNamespace(
        POLICY="ocp",
        FORMATS=[f.name if operation == "encode" else block_format],
        FLOATS=["f32", "bf16", "f16"] if operation == "dequantize" else ["f32"],
        **{operation: functions[operation]},
    )
