"""FP8 under float32 scales: DeepSeek-V3, DeepGEMM, Transformer Engine, torchao, vLLM and SGLang.

Each is a policy: which floor the largest magnitude has, how the scale follows from it, whether it
is a power of two, and how elements are divided. Blocks of a row, a column or a tensor are those of
these formats with such a `block_size`. Source: SPEC_NOTES N48 to N51.
"""

from __future__ import annotations

from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile

__all__ = ["PROFILES"]

_E4M3 = ("fp8_e4m3_f32", "fp8_e4m3_f32_128x128")
_BOTH = (*_E4M3, "fp8_e5m2_f32", "fp8_e5m2_f32_128x128")
_FLOATS = ("f32", "f16", "bf16")
_PEERS = "tests/peers/test_float_scale_peers.py"
_READ = "read in its source; it runs on GPUs alone"

_TE = "scale_from=multiplier_or_one+element_from=multiplier+block_nan=ignore"
_TORCHAO = "nan=signed+amax_floor=1e-12+scale_from=multiplier+element_from=multiplier"
_NATIVE = "nan=signed+amax_floor=scale+element_from"
_SGLANG = "amax_floor=1e-10+block_nan=ignore"
_LOG2, _BITS = "+scale_power=exp2_ceil_log2", "+scale_power=bit_ceiling"

#: Name, choices, source, version, with what it was compared, formats, float types.
_ROWS: tuple[tuple[str, str, str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    *(
        (
            f"deepseek_v3_fp8{end}",
            "block_nan=ignore+amax_floor=1e-4+element_from=quotient" + power,
            "deepseek-ai/DeepSeek-V3, inference/kernel.py: act_quant",
            "9b4e9788",
            _PEERS,
            _E4M3[:1],
            _FLOATS,
        )
        for end, power in (("", ""), ("_ue8m0", _LOG2))
    ),
    *(
        (
            f"deepgemm_fp8{end}",
            "nan=signed+amax_floor=1e-4+element_from=reciprocal" + power,
            "deepseek-ai/DeepGEMM, deep_gemm/utils/math.py: per_token_cast_to_fp8, "
            "per_channel_cast_to_fp8 and per_block_cast_to_fp8",
            "54e22612",
            _PEERS,
            _E4M3,
            _FLOATS,
        )
        for end, power in (("", ""), ("_ue8m0", _BITS))
    ),
    *(
        (
            f"transformer_engine_fp8_{end}",
            _TE + power,
            "NVIDIA/TransformerEngine, transformer_engine/common/recipe/recipe_common.cuh and "
            + file,
            "2.20.0 in development (d0067d0d)",
            f"{_PEERS}: its references in PyTorch, but for NaN and infinity",
            _BOTH,
            floats,
        )
        for end, power, file, floats in (
            ("block", _BITS, "common/transpose/quantize_transpose_*_blockwise.cu", _FLOATS),
            ("block_float32", "", "common/transpose/quantize_transpose_*_blockwise.cu", _FLOATS),
            # The largest number of float32, not of the source, stands for an infinite multiplier.
            ("current", "", "common/recipe/current_scaling.cu", ("f32", "f16")),
            ("current_power", _BITS, "common/recipe/current_scaling.cu", _FLOATS),
        )
    ),
    *(
        (
            f"torchao_0_18_float8{end}",
            choices,
            f"pytorch/ao, torchao/{file}",
            "0.18.0, torch 2.13.0",
            _PEERS,
            _BOTH,
            ("f32", "bf16"),
        )
        for end, choices, file in (
            ("", _TORCHAO, "float8 and prototype/blockwise_fp8_training/kernels.py"),
            ("_power", _TORCHAO + _LOG2, "float8: round_scales_to_power_of_2"),
            (
                "_inference",
                "nan=signed+scale_from=source_quotient+element_from=quotient",
                "quantization/quant_primitives.py: _choose_scale_float8, _quantize_affine_float8",
            ),
        )
    ),
    (
        "vllm_fp8_group",
        "block_nan=ignore+amax_floor=1e-10+element_from=quotient",
        "vllm-project/vllm, csrc/quantization/w8a8/fp8/per_token_group_quant.cu, and "
        "utils/fp8_utils.py: per_token_group_quant_fp8, both without UE8M0",
        "0f5257e2, 007d5005",
        _READ,
        _E4M3[:1],
        _FLOATS,
    ),
    *(
        (
            f"vllm_fp8_{end}",
            f"{_NATIVE}={how}",
            "vllm-project/vllm, vllm/model_executor/layers/quantization/input_quant_fp8.py: "
            + function,
            "014af6b5",
            _PEERS,
            _E4M3,
            _FLOATS,
        )
        for end, how, function in (
            ("group_native", "quotient", "_quantize_group_native, as on a CPU"),
            ("group_native_ue8m0", f"quotient{_LOG2}", "_quantize_group_native with use_ue8m0"),
            ("native", "reciprocal", "forward_native: tokens and tensors, as on a CPU"),
        )
    ),
    *(
        (
            f"sglang_fp8_group{end}",
            f"{_SGLANG}+{choices}",
            f"sgl-project/sglang, {file}",
            version,
            _READ,
            _E4M3[:1],
            _FLOATS,
        )
        for end, choices, file, version in (
            *(
                (
                    end,
                    "scale_from=reciprocal+element_from=multiplier" + power,
                    "sgl-kernel/csrc/gemm/per_token_group_quant_8bit.cu",
                    "00568d90",
                )
                for end, power in (("", ""), ("_ue8m0", _BITS))
            ),
            (
                "_triton",
                "element_from=reciprocal",
                "python/sglang/srt/layers/quantization/fp8_kernel.py: _per_token_group_quant_8bit",
                "008601fa",
            ),
        )
    ),
)

PROFILES = tuple(
    Profile(
        name,
        Policy.parse("ocp+" + choices),
        source,
        version,
        checked=checked,
        formats={"quantize": formats, "dequantize": formats},
        floats=floats,
    )
    for name, choices, source, version, checked, formats, floats in _ROWS
)
