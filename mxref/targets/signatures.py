"""How a target's functions are called, in words for errors."""

from __future__ import annotations

from mxref.formats.catalog import OTHER_BLOCK_FORMATS

__all__ = ["called_as"]

#: The parameters of each function, as `mxref.targets.target` describes them.
_PARAMETERS = {
    "encode": "values, format",
    "decode": "codes, format",
    "encode_scale": "values",
    "decode_scale": "codes",
    "shared_scale": "amax, format",
    "quantize": "values, format",
    "dequantize": "scale_codes, codes, format, dtype",
    "encode_stochastic": "values, random_bits, random_width, format",
    "pack": "codes, format",
    "unpack": "bytes, format, count",
    "pack_scales": "scale_codes",
    "unpack_scales": "bytes, shape",
    "pack_blocks": "scale_codes, codes, format",
    "unpack_blocks": "bytes, format",
    "quantize_tensor": "values, format, axis",
    "matmul": "scales_a, codes_a, scales_b, codes_b, format_a, format_b",
    "linear": "x, w, bias, format",
    "linear_gradients": "x, w, grad, format",
    "quantize_affine": "values, scale, zero_point, quant_min, quant_max, dtype, axis",
    "dequantize_affine": "codes, scale, zero_point, quant_min, quant_max, dtype, axis",
    "pack_int4": "codes",
    "unpack_int4": "bytes, k",
    "rescale": "values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits",
    "grid_sample": "codes, grid, align_corners, padding, zero_point",
    "linear_qcs8w": "x, w, scales",
    "linear_qcs4w": "x, w, scales",
}


def called_as(op: str, format: str) -> str:
    """The call of a function, as `mxref.targets.target` describes it.

    Args:
        op: the operation.
        format: the format that it is asked for.

    >>> called_as("quantize", "mxfp4_e2m1"), called_as("quantize", "nvfp4")
    ('quantize(values, format)', 'quantize(values, format, tensor_scale)')
    """
    block = OTHER_BLOCK_FORMATS.get(format)
    more = ", tensor_scale" if block is not None and block.tensor_scale else ""
    return f"{op}({_PARAMETERS[op]}{more})"
