"""Where mutants were seen: threads, files and pages that say or show the very mistake.

A citation has one of five forms: ``owner/repository#number``, a thread;
``owner/repository@commit:path``, a file; ``package==version:place``, a part of a package that was
run or read; ``arXiv:number``, a paper; and the path of a page of docs/ that has the measurement.
After it stand the ids of the mutants that it is a source of; ``C5c*`` are all that begin with C5c,
``C23[ab]`` are C23a and C23b. A mutant of `encode` inside blocks has the sources of the mutant
itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase

__all__ = ["SOURCES", "link", "sources"]

_UNIVERSAL = "stillwater-sc/universal@e6aa3570:include/sw/universal/number/mxfloat"
#: Threads, files and pages -> the ids of the mutants that were seen there.
SOURCES: dict[str, str] = {
    "1bit-MONSTER/1bit-MONSTER#300": "E5 E5q E5d",
    "1bit-MONSTER/1bit-MONSTER#304": "A2",
    "1bit-MONSTER/1bit-MONSTER#572": "G3c G3d I10b",
    "1bit-MONSTER/1bit-MONSTER#1268": "I11c I18b",
    "1bit-MONSTER/1bit-MONSTER#1273": "H6c",
    "1CatAI/1Cat-vLLM#222": "D5 D5q",
    "AMD-AGI/Primus-Turbo#383": "G14c",
    "amd/Quark#20": "I27g",
    "amd/ZenDNN#34": "H38b",
    "apache/tvm#20315": "E5h E5hq",
    "arch-hdl-lang/arch-com#848": "E10 E10q",
    "arch-hdl-lang/arch-com#905": "D3",
    "arch-hdl-lang/arch-com#908": "E10 E10q",
    "bitsandbytes-foundation/bitsandbytes#1995": "G10",
    "boostorg/decimal#1026": "A8",
    "clMathLibraries/clBLAS#201": "H38c",
    "Comfy-Org/comfy-kitchen#56": "D9b",
    "deepseek-ai/DeepGEMM#37": "H2",
    "deepseek-ai/TileKernels#16": "C19 C19q",
    "DeepWok/mase#321": "C3 C3q G5",
    "Epistates/pmetal#32": "D7c H30c",
    "FlashML-org/FreeToken#85": "C24w",
    "flashinfer-ai/flashinfer#2440": "D2",
    "flashinfer-ai/flashinfer#3264": "C23f C23p",
    "flashinfer-ai/flashinfer#3448": "C23k",
    "flashinfer-ai/flashinfer#3497": "D7z",
    "flashinfer-ai/flashinfer#3932": "D7i E5d E5i",
    "flashinfer-ai/flashinfer#4023": "C22h* D1",
    "flashinfer-ai/flashinfer#4087": "G9h",
    "google/XNNPACK#10460": "E6b E6bq",
    "graphcore-research/gfloat#49": "A11",
    "HabanaAI/vllm-fork#2141": "C24v",
    "HazyResearch/ThunderKittens#141": "H13",
    "huggingface/kernels-community#680": "C24b",
    "huggingface/kernels-community#681": "C24a",
    "huggingface/transformers#42775": "B5a",
    "huggingface/transformers#46763": "C24j",
    "hw-native-sys/pto-isa#319": "A2 C24y",
    "inclusionAI/humming#39": "C24f",
    "intel/intel-xpu-backend-for-triton#7029": "E6 E6q",
    "intel/intel-xpu-backend-for-triton#7772": "E6 E6q E7 E7q",
    "intel/torch-xpu-ops#2951": "B17b",
    "intel/torch-xpu-ops#5001": "I20d I20dw",
    "invergent-ai/surogate#162": "B1b",
    "jax-ml/jax#30467": "D7e",
    "jax-ml/jax#40419": "C1 C1q",
    "jax-ml/ml_dtypes#298": "C4e",
    "jax-ml/ml_dtypes#398": "C4e",
    "jax-ml/ml_dtypes#400": "B5a",
    "jax-ml/ml_dtypes#401": "A14",
    "JuliaMath/BFloat16s.jl#125": "B1c E8",
    "jundot/omlx#2159": "E10 E10q",
    "kekzl/imp#567": "G3v G3w",
    "kekzl/imp#1544": "D7b",
    "kit-cel/lecture-examples#15": "C8",
    "leanprover/TensorLib#98": "A17c B2",
    "llvm/llvm-project#144157": "A1b",
    "llvm/llvm-project#214919": "E2a E2aq",
    "local-inference-lab/b12x#388": "E5 E5q E5d",
    "microsoft/microxcaling#3": "F4 F4b F4bq",
    "microsoft/microxcaling#36": "G4 G4b",
    "microsoft/onnxruntime#3442": "I4c",
    "microsoft/onnxruntime#16105": "I24d",
    "microsoft/onnxruntime#22253": "I27f",
    "microsoft/onnxruntime#28551": "I27n",
    "microsoft/onnxruntime#28606": "I3",
    "microsoft/onnxruntime#29611": "H1b I21b I21bw",
    "microsoft/onnxruntime#31155": "H14",
    "microsoft/onnxruntime#31573": "H10c",
    "microsoft/onnxruntime#32122": "C6b C24h",
    "microsoft/onnxruntime#32452": "I3m",
    "mitsuhiko/libfixmath#13": "I12",
    "ml-explore/mlx#2578": "H37",
    "ml-explore/mlx#2699": "H38b",
    "ml-explore/mlx#2962": "H30",
    "ml-explore/mlx#3762": "E10 E10q E10c",
    "ml-explore/mlx#4135": "E6 E6q",
    "ml-explore/mlx#4353": "C4 C4q",
    "modular/modular#6600": "D7d D7k D7l G12 H32",
    "NNgen/nngen#61": "A1c I3e",
    "numpy/numpy#14788": "H5",
    "NVIDIA/cutlass#424": "H38e",
    "NVIDIA/cutlass#3394": "H8 H8b",
    "NVIDIA/cutlass#3536": "H6 H6b",
    "NVIDIA/cutlass#3596": "H40c",
    "NVIDIA/Fuser#4711": "L10a",
    "NVIDIA/Fuser#4801": "G9h",
    "NVIDIA/Model-Optimizer#250": "F2 F2c F2cq",
    "NVIDIA/Model-Optimizer#1397": "C13d C15b C15bq",
    "NVIDIA/Model-Optimizer#1633": "C13d",
    "NVIDIA/Model-Optimizer#1962": "D9b",
    "NVIDIA/Model-Optimizer#2243": "D5b",
    "NVIDIA/TransformerEngine#534": "C24m",
    "NVIDIA/TransformerEngine#2408": "C22h* C22i* D1",
    "NVIDIA/TransformerEngine#2589": "D2",
    "NVIDIA/TransformerEngine#3262": "E1 E1q E2a E2aq H22e",
    "NVIDIA/TransformerEngine#3281": "S6",
    "onnx/onnx#5456": "A1",
    "onnx/onnx#5764": "B19a",
    "onnx/onnx#6220": "B19h",
    "onnx/onnx#7223": "B15 C24x",
    "onnx/onnx#7784": "A16b",
    "ooples/AiDotNet.Tensors#440": "L1.*",
    "ooples/AiDotNet.Tensors#582": "I15",
    "ooples/AiDotNet.Tensors#801": "E5 E5q",
    "OpenMathLib/OpenBLAS#4728": "E3 H4",
    "openxla/xla#46897": "H39f",
    "PaddlePaddle/PaddleFleet#1474": "G13b",
    "PTO-ISA/SuperNPUBench#49": "B2 C19 C19q",
    "pytorch/ao#1912": "B5a",
    "pytorch/ao#2939": "G1 G1f G1u G1z",
    "pytorch/ao#3382": "G2b G2v",
    "pytorch/ao#4117": "C22h* C22i* D1",
    "pytorch/ao#4201": "C10",
    "pytorch/ao#4714": "C24a",
    "pytorch/ao#4725": "C19 C19q",
    "pytorch/executorch#20655": "I7",
    "pytorch/FBGEMM#9": "I3",
    "pytorch/FBGEMM#1628": "C24c",
    "pytorch/FBGEMM#2919": "G4d",
    "pytorch/pytorch#75009": "G10",
    "pytorch/pytorch#162202": "D9e",
    "pytorch/pytorch#180875": "H39h",
    "riscv/riscv-arch-test#988": "A12",
    "robertknight/rten#81": "H38c",
    "RobTand/prismaquant#321": "B18 B18b",
    "ROCm/aiter#2900": "G14c",
    "ROCm/aiter#3556": "E2a E2aq",
    "ROCm/aiter#3992": "A1",
    "ROCm/aiter#4748": "C14e",
    "ROCm/aiter#5259": "C24d",
    "ROCm/composable_kernel#1889": "G1u L11a",
    "ROCm/hip-ep#134": "I27b",
    "ROCm/llvm-project#3275": "S8",
    "ROCm/MIOpenGEMM#13": "H38c",
    "ROCm/rocm-libraries#12362": "C10",
    "ROCm/rocm-systems#6870": "B8a G1e",
    "ROCm/TransformerEngine#485": "C24p",
    "ROCm/tritonBLAS#67": "H39",
    "scott-griffiths/bitstring#334": "C2 C2q",
    "scott-griffiths/bitstring#342": "A2",
    "sgl-project/sglang#28418": "C24j",
    "sgl-project/sglang#29036": "C24k",
    "sgl-project/sglang#29954": "C1f",
    "sgl-project/sglang#30900": "C24q",
    "sgl-project/sglang#31210": "C24i",
    "sgl-project/sglang#37140": "A1 B8a C24z",
    "sgl-project/sglang#40581": "A1 B8a B19i",
    "stillwater-sc/universal#1351": "B10",
    "tensorflow/tensorflow#25087": "I12e",
    "tenstorrent/tt-metal#29734": "A2 B1",
    "tenstorrent/tt-metal#42989": "A17a",
    "tenstorrent/tt-metal#51971": "B4a",
    "tenstorrent/tt-metal#51975": "A16",
    "tenstorrent/tt-metal#56525": "I3k",
    "tenstorrent/tt-metal#56526": "I4b",
    "THUDM/slime#2256": "C24a",
    "tile-ai/tilelang#750": "C6n C6nq",
    "tile-ai/tilelang#2324": "H35",
    "tile-ai/tilelang#2617": "H13",
    "tile-ai/tilelang#2702": "E5h E5hq",
    "tile-ai/tilelang#2704": "E5h E5hq",
    "tile-ai/tilelang#2710": "E5h E5hq E6 E6q",
    "tile-ai/tilelang#2748": "C6n C6nq",
    "tile-ai/tilelang#2944": "B6c",
    "tile-ai/tilelang#2947": "I7",
    "tile-ai/tilelang-metax#101": "C3e",
    "tile-ai/tilelang-metax#140": "B8a",
    "triton-lang/triton#2583": "A13",
    "triton-lang/triton#5197": "G1",
    "triton-lang/triton#8413": "C20 C20q",
    "triton-lang/triton#9808": "A15b",
    "triton-lang/triton#10745": "E11a",
    "triton-lang/triton#11624": "E1 E1q H22e",
    "triton-lang/triton#11734": "G8 G8i",
    "triton-lang/triton#11737": "E1 E1q",
    "triton-lang/triton#11753": "A1 A13",
    "triton-lang/triton#11897": "A1 A7 A11b A15",
    "ucb-bar/saturn-vectors#101": "B5a",
    "uccl-project/uccl#804": "B19b E11c",
    "uxlfoundation/oneDNN#518": "H10b",
    "uxlfoundation/oneDNN#2903": "S2",
    "uxlfoundation/oneDNN#5626": "B5a",
    "uxlfoundation/oneDNN#5879": "F3 F3b",
    "vllm-project/compressed-tensors#538": "C6a C6r C6rt",
    "vllm-project/compressed-tensors#630": "C2 C2q",
    "vllm-project/vllm#31676": "H39d H40m",
    "vllm-project/vllm#32201": "B9a",
    "vllm-project/vllm#34577": "E1c",
    "vllm-project/vllm#37135": "D7b H30b H36",
    "vllm-project/vllm#39663": "H17b",
    "vllm-project/vllm#43557": "C20 C20q",
    "vllm-project/vllm#46676": "D6 E1 E1q",
    "vllm-project/vllm#47315": "H34b",
    "vllm-project/vllm#53110": "C5c*",
    "vllm-project/vllm#53668": "C5c*",
    "vllm-project/vllm#58089": "D9c",
    "vllm-project/vllm-xpu-kernels#193": "C24e",
    "vllm-project/vllm-xpu-kernels#553": "G7c H33b H34",
    "Z3Prover/z3#10608": "A10c",
    "amd-quark==0.13:quark/torch/utils/pack.py": "G8d",
    "arXiv:2403.00232": "H2",
    "ggml-org/llama.cpp@01243c5:ggml/src/ggml-impl.h": "B8a C17e",
    "ggml-org/llama.cpp@01243c5:ggml/src/ggml-quants.c": "G3 G3u",
    "graphcore-research/gfloat@b142762d:src/gfloat/block.py": "C1 C1b C1bq C1q C11b",
    "graphcore-research/gfloat@b142762d:src/gfloat/round.py": "S5",
    "microsoft/microxcaling@7bc41952:mx/mx_ops.py": "C1 C1q C13b C13bq C16",
    "mit-han-lab/fouroversix@dadfad69:src/fouroversix/csrc/include/utils.h": "C20c C23[abeg]",
    "numpy==2.4.6:exp2": "D8 D8q",
    "torchao==0.18.0:prototype/mx_formats/nvfp4_tensor.py": "H36b",
    "pytorch/ao@36027d82:torchao/prototype/mx_formats/nvfp4_tensor.py": "C12c D3",
    "pytorch/ao@36027d82:torchao/testing/_mxfp8_test_utils.py": "C17b C19 C19q",
    "pytorch/ao@99c8d52c:torchao/prototype/mx_formats/mx_linear.py": "H15 H16 H19* H20 H21*",
    "ROCm/mxDataGenerator@a71a9c89:lib/include/ocp_e4m3_mxfp8_impl.hpp": "B12 B17 E4 E4q",
    f"{_UNIVERSAL}/mxblock_impl.hpp": "C10 C15c C15cq F5",
    f"{_UNIVERSAL}/mxfloat_fwd.hpp": "C5b*",
    "tinygrad/tinygrad@a9069c17:tinygrad/dtype.py": "B5b B13b",
    "docs/ledger/compressed_tensors.md": "C18 E2a E2aq",
    "docs/ledger/cuda.md": "C3e C11e",
    "docs/ledger/fbgemm.md": "A1 C3 C3q C4 C4q E4 E4q",
    "docs/ledger/gfloat.md": "F1",
    "docs/ledger/gguf.md": "A4 B17 E2b E2bq E4 E4q",
    "docs/ledger/integers.md": "I1 I2 I7f I10 I11",
    "docs/ledger/microxcaling.md": "A1 F5",
    "docs/ledger/ml_dtypes.md": "B16 C8e C15e",
    "docs/ledger/mlx_0_31.md": "C15a C15aq E2a E2aq",
    "docs/ledger/onnx.md": "C3e",
    "docs/ledger/openvino.md": "C11e",
    "docs/ledger/pychop.md": "B17 C1 C1q C10 C11b F1",
    "docs/ledger/quark.md": "B17 B18 B18b C3 C3q E2a E2aq",
    "docs/ledger/torch.md": "A14 B5c B6a",
    "docs/ledger/torchao_main.md": "D3b D3c",
    "docs/ledger/tosa.md": "F1",
    "docs/ledger/transformer_engine.md": "C10 C11b D3b D3c",
    "docs/ledger/triton_kernels.md": "E1 E1q E2a E2aq",
    "docs/reports/compressed-tensors-float16-scale-1.md": "C7 C7q",
    "docs/reports/executorch-int32-dequantize-wraps.md": "I7",
    "docs/reports/executorch-qcs4w-offset.md": "I11b I18",
    "docs/reports/gguf-nvfp4-scale-448.md": "B8a",
    "docs/reports/gguf-scale-byte-wraps.md": "C14 C14q",
    "docs/reports/jax-zero-block.md": "D2",
    "docs/reports/mlx-nan-becomes-a-number.md": "B14",
    "docs/reports/mlx-scale-byte-wraps.md": "C14 C14q",
    "docs/reports/onnx-quantize-linear-wraps.md": "I5",
    "docs/reports/onnxruntime-blocked-quantize-wraps.md": "I5",
    "docs/reports/openvino-double-rounding.md": "A13",
    "docs/reports/openvino-float16-subnormal.md": "B4b",
    "docs/reports/quark-e8m0-byte-0.md": "C12 C12e C12q",
    "docs/reports/torch-int32-saturation.md": "I5",
    "docs/reports/tosa-mxint8-tiny.md": "A17b",
    "docs/reports/tosa-product-overflow.md": "H3b",
}


#: id or pattern -> its places in SOURCES.
_PLACES: dict[str, list[int]] = defaultdict(list)
for _place, _ids in enumerate(SOURCES.values()):
    for _one in _ids.split():
        _PLACES[_one].append(_place)
_PATTERNS = [one for one in _PLACES if {*one} & {*"*["}]
_CITATIONS = tuple(SOURCES)


def sources(*ids: str) -> Iterator[str]:
    """The citations of a mutant, by its id and those of mutants whose mistake it is.

    >>> list(sources("A16b"))
    ['onnx/onnx#7784']
    """
    names = {*ids, *(one for one in _PATTERNS if any(fnmatchcase(id, one) for id in ids))}
    places = {place for name in names for place in _PLACES.get(name, ())}
    return (_CITATIONS[place] for place in sorted(places))


def link(citation: str) -> str:
    """A citation as an address, if it has one.

    >>> link("onnx/onnx#7784")
    'https://github.com/onnx/onnx/issues/7784'
    >>> link("tinygrad/tinygrad@a9069c17:tinygrad/dtype.py")
    'https://github.com/tinygrad/tinygrad/blob/a9069c17/tinygrad/dtype.py'
    >>> link("docs/ledger/onnx.md")
    'docs/ledger/onnx.md'
    """
    thread = re.fullmatch(r"([^#@:]+)#([0-9]+)", citation)
    if thread is not None:
        return f"https://github.com/{thread[1]}/issues/{thread[2]}"
    file = re.fullmatch(r"([^#@:]+)@([0-9a-f]+):(.+)", citation)
    if file is not None:
        return f"https://github.com/{file[1]}/blob/{file[2]}/{file[3]}"
    paper = re.fullmatch(r"arXiv:(.+)", citation)
    return f"https://arxiv.org/abs/{paper[1]}" if paper is not None else citation
