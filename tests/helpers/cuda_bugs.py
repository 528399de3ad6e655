"""Bugs that are planted in the CUDA fast path, of data/cuda_bugs.toml."""

from helpers import table

_OF = table("cuda_bugs")
MUTANTS, KERNEL_MUTANTS = _OF["MUTANTS"], _OF["KERNEL_MUTANTS"]
KERNEL_BUGS, ENCODER_BUGS, SCALE_BUGS = _OF["KERNEL_BUGS"], _OF["ENCODER_BUGS"], _OF["SCALE_BUGS"]
NVFP4_BUGS, NO_BUGS, ODD_BUGS = _OF["NVFP4_BUGS"], _OF["NO_BUGS"], _OF["ODD_BUGS"]
BOTH_BUGS, DEQUANTIZE_BUGS = _OF["BOTH_BUGS"], _OF["DEQUANTIZE_BUGS"]
FLOAT16_BUGS, WIDE_BUGS = _OF["FLOAT16_BUGS"], _OF["WIDE_BUGS"]
STOCHASTIC_BUGS, PHILOX_BUGS = _OF["STOCHASTIC_BUGS"], _OF["PHILOX_BUGS"]
CHANCE_BUGS, GUARDS = _OF["CHANCE_BUGS"], _OF["GUARDS"]
_BLOCKS = ("mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1")
#: The vectors that show bugs of kernels, each by itself: folders and names of files.
SHOWS = (
    *((f"{name}.{x}", name.split("_")[0], x) for name in _BLOCKS for x in ("f32", "bf16", "f16")),
    ("fp4_ue4m3.bf16", "fp4_ue4m3", "bf16"),
    ("nvfp4.f32", "nvfp4", "f32"),
)
