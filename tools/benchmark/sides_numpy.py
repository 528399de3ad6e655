"""Sides of libraries that compute without torch; `peers` lists the libraries."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from benchmark.jobs import (
    Job,
    Side,
    bits_of_array,
    block_bits,
    blocks_of,
    codes_of_job,
    values_of,
)
from mxref.support.threads import CHUNK

__all__ = ["with_gfloat", "with_gguf", "with_ml_dtypes", "with_mlx"]

Array = NDArray[Any]


def with_ml_dtypes(job: Job) -> Side:
    """Casts with `astype`; `dequantize` decodes elements and scales and multiplies."""
    ml_dtypes = importlib.import_module("ml_dtypes")
    small = np.dtype(getattr(ml_dtypes, job.small))
    if job.op == "encode":
        x = values_of(job)
        return Side(lambda: x.astype(small), bits_of_array)
    if job.op == "decode":
        codes = codes_of_job(job).view(small)
        return Side(lambda: codes.astype(job.dtype), bits_of_array)
    blocks = blocks_of(job)
    elements = blocks.codes.reshape(-1, 32).view(small)
    scales = blocks.scale_codes.reshape(-1, 1).view(ml_dtypes.float8_e8m0fnu)
    return Side(lambda: elements.astype(job.dtype) * scales.astype(job.dtype), bits_of_array)


def with_gfloat(job: Job) -> Side:
    """`round_ndarray`, `encode_ndarray` and `decode_ndarray`, a chunk at a time."""
    gfloat = importlib.import_module("gfloat")
    formats = importlib.import_module("gfloat.formats")
    info, parts = getattr(formats, f"format_info_ocp_{job.element}"), range(0, job.elements, CHUNK)
    if job.op == "encode":
        x = values_of(job).reshape(-1)

        def encode() -> Array:
            codes = np.empty(x.size, np.uint8)
            for start in parts:
                part = slice(start, start + CHUNK)
                rounded = gfloat.round_ndarray(info, x[part], sat=True)
                codes[part] = gfloat.encode_ndarray(info, rounded)
            return codes

        return Side(encode, bits_of_array)
    codes = codes_of_job(job).reshape(-1)

    def decode() -> Array:
        x = np.empty(codes.size, job.dtype)
        for start in parts:
            part = slice(start, start + CHUNK)
            x[part] = gfloat.decode_ndarray(info, codes[part].astype(np.int64))
        return x

    return Side(decode, bits_of_array)


def with_gguf(job: Job) -> Side:
    """`quants.quantize` and `quants.dequantize`, on blocks as they are stored."""
    quants = importlib.import_module("gguf.quants")
    mxfp4 = importlib.import_module("gguf").GGMLQuantizationType.MXFP4
    if job.op == "quantize":
        x = values_of(job)

        def answer(result: Array) -> Array:
            stored = result.reshape(-1, 17)
            codes = np.concatenate([stored[:, 1:] & 15, stored[:, 1:] >> 4], axis=1)
            return block_bits(stored[:, 0], codes)

        return Side(lambda: quants.quantize(x, mxfp4), answer)
    blocks = blocks_of(job)
    stored = mxref.pack_blocks(
        blocks.scale_codes, blocks.codes, job.format, scale_place="before", fp4_packing="halves"
    )
    return Side(lambda: quants.dequantize(stored, mxfp4), bits_of_array)


def with_mlx(job: Job) -> Side:
    """`quantize` and `dequantize` on the CPU, and casts to and from E4M3."""
    mx = importlib.import_module("mlx.core")
    mx.set_default_device(mx.cpu)
    if job.op == "encode":
        x = mx.array(values_of(job))
        return Side(lambda: _evaluated(mx.to_fp8(x)), _mlx_bits)
    if job.op == "decode":
        codes, wide = mx.array(codes_of_job(job)), getattr(mx, job.dtype.name)
        return Side(lambda: _evaluated(mx.from_fp8(codes, wide)), _mlx_bits)
    mode = "mxfp8" if job.element == "e4m3" else "mxfp4"
    if job.op == "quantize":
        x = mx.array(values_of(job))

        def answer(result: Any) -> Array:
            packed = np.array(result[0]).view(np.uint8)
            codes = mxref.unpack(packed, job.element, job.shape[-1])
            return block_bits(np.array(result[1]), codes)

        return Side(lambda: _evaluated(mx.quantize(x, mode=mode)), answer)
    blocks, wide = blocks_of(job), getattr(mx, job.dtype.name)
    words = mx.array(mxref.pack(blocks.codes, job.element).view(np.uint32))
    scales = mx.array(blocks.scale_codes)
    return Side(lambda: _evaluated(mx.dequantize(words, scales, mode=mode, dtype=wide)), _mlx_bits)


def _evaluated(result: Any) -> Any:
    """A result of mlx, computed now instead of when it is first read."""
    importlib.import_module("mlx.core").eval(result)
    return result


def _mlx_bits(result: Any) -> Array:
    return bits_of_array(np.array(result))
