"""The libraries that mxref is measured beside: their operations, and functions that call them.

A library is imported when a side of it is made. Timed is only the library's own call on its own
arrays; conversions of inputs and results are not.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmark import sides_numpy, sides_torch
from benchmark.jobs import Job, Side

__all__ = ["PEERS", "Peer"]

_MX = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")
_FLOATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
_BLOCKS_BOTH_WAYS = {"quantize": _MX, "dequantize": _MX}


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that mxref is measured beside.

    Args:
        name: name of the library.
        needs: arguments of `pip install`, with the measured versions.
        module: the package that Python imports.
        does: its operations, each with its formats.
        side: makes its side of a job.
        profiles: mxref's profiles of it, tried where results differ; {rule} is the scale rule.
        floats: float types that it takes.
        checkout: environment variable that names a checkout, for a library that no registry has.
        slow: whether it starts slowly; then it is measured only if --peer names it.
        rules: scale rules of its `quantize`.
    """

    name: str
    needs: str
    module: str
    does: Mapping[str, tuple[str, ...]]
    side: Callable[[Job], Side]
    profiles: tuple[str, ...] = ()
    floats: tuple[str, ...] = ("f32", "bf16")
    checkout: str = ""
    slow: bool = False
    rules: tuple[str, ...] = ("floor",)

    @property
    def absent(self) -> str:
        """How to get the library if it is not installed; else empty.

        >>> PEERS["ml_dtypes"].absent
        ''
        """
        if self.checkout and not os.path.isdir(os.environ.get(self.checkout, "")):
            return f"{self.checkout} must name a checkout of {self.needs}"
        module = "torch" if self.checkout else self.module
        return "" if importlib.util.find_spec(module) else f"pip install {self.needs}"

    @property
    def version(self) -> str:
        """The installed version; "a checkout" for a checkout."""
        if self.checkout:
            return "a checkout"
        return importlib.metadata.version(self.module.replace("_", "-"))

    def measures(self, job: Job) -> bool:
        """Whether the library can do a job."""
        others = set(job.choices) - {"scale_rule"}
        rule = job.choices.get("scale_rule", "floor")
        return (
            job.format in self.does.get(job.op, ())
            and job.float in self.floats
            and not others
            and rule in self.rules
        )


_ALL = (
    Peer(
        "ml_dtypes",
        "ml_dtypes==0.6.0",
        "ml_dtypes",
        {"encode": _FLOATS, "decode": _FLOATS, "dequantize": _MX},
        sides_numpy.with_ml_dtypes,
        ("ml_dtypes",),
    ),
    Peer(
        "torch",
        "torch==2.13.0",
        "torch",
        {"encode": ("e5m2", "e4m3"), "decode": ("e5m2", "e4m3")},
        sides_torch.with_torch,
        ("torch", "torch_e5m2"),
    ),
    Peer(
        "torchao",
        "torch==2.13.0 torchao==0.18.0",
        "torchao",
        {**_BLOCKS_BOTH_WAYS, "pack": ("e2m1",), "unpack": ("e2m1",)},
        sides_torch.with_torchao,
        ("torchao_0_18_{rule}",),
        rules=("floor", "ceil", "rceil", "even"),
    ),
    Peer(
        "torchao_compiled",
        "torch==2.13.0 torchao==0.18.0",
        "torchao",
        {**_BLOCKS_BOTH_WAYS, "pack": ("e2m1",), "unpack": ("e2m1",)},
        sides_torch.with_torchao_compiled,
        ("torchao_0_18_{rule}",),
        slow=True,
        rules=("floor", "ceil", "rceil", "even"),
    ),
    Peer(
        "torchmx",
        "torch==2.13.0 torchao==0.6.1, then pip install --no-deps torchmx==0.1.0",
        "torchmx",
        {"quantize": _MX[1:], "dequantize": _MX[1:]},
        sides_torch.with_torchmx,
        ("torchmx",),
        floats=("bf16",),
    ),
    Peer(
        "gfloat",
        "gfloat==0.5.2",
        "gfloat",
        {"encode": (*_FLOATS, "int8"), "decode": (*_FLOATS, "int8")},
        sides_numpy.with_gfloat,
        ("gfloat",),
    ),
    Peer(
        "gguf",
        "gguf==0.19.0",
        "gguf",
        {"quantize": ("mxfp4_e2m1",), "dequantize": ("mxfp4_e2m1",)},
        sides_numpy.with_gguf,
        ("gguf_mxfp4",),
        floats=("f32",),
    ),
    Peer(
        "compressed_tensors",
        "torch==2.13.0 compressed-tensors==0.20.0",
        "compressed_tensors",
        {"quantize": ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1")},
        sides_torch.with_compressed_tensors,
        ("compressed_tensors",),
    ),
    Peer(
        "mlx",
        "mlx==0.32.4 mlx-cpu==0.32.4",
        "mlx",
        {
            "encode": ("e4m3",),
            "decode": ("e4m3",),
            "quantize": ("mxfp8_e4m3", "mxfp4_e2m1"),
            "dequantize": ("mxfp8_e4m3", "mxfp4_e2m1"),
        },
        sides_numpy.with_mlx,
        ("mlx_0_32",),
        floats=("f32",),
    ),
    Peer(
        "microxcaling",
        "github.com/microsoft/microxcaling at 7bc41952, and pip install torch==2.13.0",
        "mx",
        {"quantize": (*_MX, "mxint8")},
        sides_torch.with_microxcaling,
        ("microxcaling_torch_even",),
        checkout="MXREF_MICROXCALING",
    ),
)
#: Every peer by its name.
PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _ALL}
