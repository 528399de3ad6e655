"""What tests of the Triton fast path ask of a process of its own, see `triton_process`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from planting import Rewrites, rewritten

import mxref
from mxref import golden, pack
from mxref.conformance import load_target, verify
from mxref.conformance.compare.compare import run_file, same_answers
from mxref.conformance.score import call_operation
from mxref.conformance.sweeping.sweep import sweep
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.mutants import MUTANTS, Mutant
from mxref.operands.word_rows import same_width
from mxref.policy.policy import Policy

ROOT = Path(__file__).resolve().parents[2]
FASTPATH = ROOT / "tools" / "fastpath" / "triton"
RULES = ("floor", "ceil", "rceil", "even", "rceil_reciprocal")
LINE = 9 << 24  # numbers from one line to the next, for offsets past 2**32


def target(rule: str = "floor") -> Any:
    os.environ["MX_RULE"] = rule
    return load_target(str(FASTPATH / "target.py"))


def covered(of: Any) -> list[golden.VectorFile]:
    def is_covered(stem: str) -> bool:
        op, name = stem.split("/")
        return bool(of.covers(op, *name.rsplit(".", 1)))

    return golden.read_vectors(ROOT / "vectors", is_covered)


def level1(rule: str, overflow: str) -> list[Any]:
    """The verdict, cases and failures of every file."""
    os.environ["MX_OVERFLOW"] = overflow
    report = verify(target(rule), covered(target(rule)))
    outcomes = [outcome for row in report.rows for outcome in row.outcomes]
    return [
        report.verdict,
        {one.file.stem: [len(one.file.cases), len(one.failures)] for one in outcomes},
    ]


def every_input(block: str) -> dict[str, list[int]]:
    """By operation and rule: inputs and wrong answers; of the product of a block only that."""
    element = BLOCK_FORMATS[block].element.name
    asked = [("encode", element, "bf16", "floor"), ("dequantize", block, "bf16", "floor")]
    asked += [("shared_scale", element, "bf16", rule) for rule in RULES]
    return dict(_swept(asked))


def block_product() -> dict[str, list[int]]:
    """The same of all that a block of FP4 may hold."""
    return dict(_swept([("quantize", "mxfp4_e2m1", "f32", "rceil")]))


def _swept(asked: list[tuple[str, str, str, str]]) -> Iterator[tuple[str, list[int]]]:
    for op, format, float, rule in asked:
        swept = sweep(target(rule), op, format, float)
        yield f"{op} {rule}", [swept.cases, swept.tally.wrong, swept.passed]


def packed() -> dict[str, list[int]]:
    """By block format: blocks, and those whose codes `quantize` packs otherwise than `pack`."""
    import torch

    files = {file.stem: file for file in covered(target())}
    kernels: Any = sys.modules["mx_kernels"]
    found = {}
    for name, fmt in BLOCK_FORMATS.items():
        words = files[f"quantize/{name}.f32"].input_words()
        words = torch.from_numpy(words.astype(np.uint32).view(np.float32))
        element = fmt.element.name
        scales, codes = kernels.quantize(words, element, "rceil", packed=True)
        _, loose = kernels.quantize(words, element, "rceil")
        wrong = (codes.numpy() != pack(loose.numpy(), element)).any(axis=1)
        back = kernels.dequantize(scales, codes, element, packed=True)
        same = kernels.dequantize(scales, loose, element)
        wrong |= (back.view(torch.int32) != same.view(torch.int32)).numpy().any(axis=1)
        found[name] = [len(words), int(wrong.sum())]
    return found


def museum(*chosen: str) -> dict[str, dict[str, list[int]]]:
    """By mutant and file: cases, wrong answers, and those unlike the mutant's of the museum.

    Of the bugs whose names are these.
    """
    from triton_bugs import PLANTED

    by_id = {mutant.id: mutant for mutant in MUTANTS}
    files = covered(target())
    found = {}
    planted = {bug.ids: bug for bug in PLANTED if bug.ids in chosen}
    for name in with_bugs({ids: bug.rewrites for ids, bug in planted.items()}):
        for id in name.split():
            asked = [one for one in files if _has(by_id[id], one, planted[name].floats)]
            found[id] = dict(_compared(by_id[id], asked))
    return found


def with_bugs(bugs: dict[str, Rewrites]) -> Iterator[str]:
    """The names of bugs, each while a target loaded now finds kernels with it."""
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, rewrites) in enumerate(bugs.items()):
            _plant(rewrites, Path(folder, f"kernels_{i}.py"))
            yield name


def _sums(counts: Iterable[list[int]]) -> list[int]:
    return [sum(ones) for ones in zip(*counts, strict=True)]


def _plant(rewrites: Rewrites, path: Path) -> None:
    """Kernels with a bug, which a target loaded after this finds."""
    path.write_text(rewritten((FASTPATH / "mx_kernels.py").read_text("utf-8"), rewrites), "utf-8")
    _load_kernels(path)


def matrices() -> dict[str, list[int]]:
    """By kind of matrix: answers, and those unlike mxref's."""
    from triton_matrices import answers

    target()
    return dict(answers(sys.modules["mx_kernels"], complete=True))


def matrix_bugs() -> dict[str, list[int]]:
    """The same of few matrices, of tiles of all sizes, and of kernels with bugs."""
    from triton_matrices import answers, sizes
    from triton_matrix_bugs import OF_MATRICES

    target()
    kernels = sys.modules["mx_kernels"]
    found = {**sizes(kernels), **dict(answers(kernels, complete=False))}
    for name in with_bugs(OF_MATRICES):
        counts = (one for _, one in answers(sys.modules["mx_kernels"], complete=False))
        found[f"bug: {name}"] = _sums(counts)
    return found


def reciprocals() -> dict[str, list[int]]:
    """Scales of rceil_reciprocal around every threshold: answers and wrong ones.

    By format; and of kernels with bugs.
    """
    from triton_matrix_bugs import OF_RECIPROCALS

    target()
    found = {name: _unlike_at_thresholds(name) for name in _elements()}
    for name in with_bugs(OF_RECIPROCALS):
        found[f"bug: {name}"] = _sums(map(_unlike_at_thresholds, ("e2m1", "int8")))
    return found


def _elements() -> list[str]:
    return [fmt.element.name for fmt in BLOCK_FORMATS.values()]


def _unlike_at_thresholds(element: str) -> list[int]:
    """Every binade at its ends and around the largest number's significand, subnormal ones, too."""
    import torch

    kernels: Any = sys.modules["mx_kernels"]
    largest = next(f.element for f in BLOCK_FORMATS.values() if f.element.name == element)
    top = int(np.float32(float(largest.max_normal)).view(np.uint32))
    near = np.concatenate([(top & 0x7FFFFF) + np.arange(-4, 5), [0, 1, 0x7FFFFF]])
    words = np.add.outer(np.arange(1, 255) << 23, near).ravel()
    shorter = ((0x800000 | near[:9]) >> np.arange(1, 24)[:, np.newaxis]).ravel()
    words = np.unique(np.concatenate([words, shorter, shorter + 1, np.maximum(shorter - 1, 0)]))
    amax = words.astype(np.uint32).view(np.float32)
    blocks = torch.nn.functional.pad(torch.from_numpy(amax)[:, None], (0, 31))
    scales = kernels.quantize(blocks, element, "rceil_reciprocal")[0][:, 0].numpy()
    want = mxref.shared_scale(amax, element, "rceil_reciprocal")
    return [amax.size, int((scales != want).sum())]


def far_apart() -> list[int]:
    """Bytes of lines 9 * 2**24 numbers apart, and those unlike the bytes of lines side by side.

    The last begins past 2**32. The storage is of 9 GiB, of which next to nothing is touched.
    """
    import torch

    target()
    mx: Any = sys.modules["mx_kernels"]
    near = torch.arange(1024, dtype=torch.float16).view(32, 32)
    room = torch.empty(31 * LINE + 32, dtype=torch.float16)
    far = room.as_strided((32, 32), (LINE, 1))
    far.copy_(near)
    counts = [0, 0]
    for x, y in ((far, near), (far.T, near.T)):
        found, want = mx.quantize_both(x, "e4m3"), mx.quantize_both(y, "e4m3")
        for one, other in zip(sum(found, ()), sum(want, ()), strict=True):
            counts[0] += one.numel()
            counts[1] += int((one != other).sum())
        read = mx.dequantize(*mx.quantize(-y, "e4m3"), "e4m3", torch.float16)
        mx.dequantize(*mx.quantize(-y, "e4m3"), "e4m3", out=x)
        counts[0] += x.numel()
        counts[1] += int((x.view(torch.int16) != read.view(torch.int16)).sum())
        far.copy_(near)
    return counts


def gpu_parts() -> dict[str, Any]:
    """What the check on a GPU makes of this target, interpreted."""
    import gpu_python

    found: dict[str, Any] = {}
    for policy in ("rounding=stochastic_a", "overflow=nonsaturating"):
        os.environ["MX_OVERFLOW"] = gpu_python.overflow_of(policy)
        found[policy] = gpu_python.other_policy(target(), policy)
    with contextlib.redirect_stdout(sys.stderr):
        return found | gpu_python.matrices(sys.modules["mx_kernels"], "cpu", (32, 64))


def stochastic() -> dict[str, list[int]]:
    """By file: cases and wrong answers of rounding by chance."""
    of, found = target(), {}
    for file in covered(of):
        if file.op == "encode_stochastic":
            outcome = run_file(of, file, Policy.parse("ocp+rounding=stochastic_a"))
            assert not outcome.errors, next(iter(outcome.errors.values()))
            found[file.stem] = [len(file.cases), len(outcome.failures)]
    return found


def _load_kernels(path: Path) -> None:
    """The kernels that a target loaded after this finds."""
    spec = importlib.util.spec_from_file_location("mx_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["mx_kernels"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["mx_kernels"])


def _has(mutant: Mutant, file: golden.VectorFile, floats: tuple[str, ...]) -> bool:
    is_asked = file.op == mutant.op and file.format in mutant.formats
    return is_asked and file.float in mutant.floats and file.float in {*floats, *_SLOTS}


#: What stands in place of a float type where layouts are asked for.
_SLOTS = ("bytes", "low_nibble_first", "lsb_first", "tiles_128x4")


def _compared(mutant: Mutant, files: list[golden.VectorFile]) -> Iterator[tuple[str, list[int]]]:
    policy = Policy.parse(mutant.policy)
    os.environ["MX_OVERFLOW"] = policy.element.overflow.value
    of = target(policy.scale.scale_rule.value)
    for file in files:
        outcome = run_file(of, file, policy)
        assert not outcome.errors, (mutant.id, file.stem, next(iter(outcome.errors.values())))
        assert mutant.run is not None
        own = call_operation(mutant.run, file, outcome.inputs).astype(np.uint64)
        unlike = ~same_answers(file, *same_width(own, outcome.answers)).all(axis=1)
        yield file.stem, [len(file.cases), len(outcome.failures), int(unlike.sum())]


def instructions(architecture: str) -> dict[str, dict[str, int]]:
    """By call: the instructions that a GPU of an architecture would get, with their numbers."""
    from triton_compiled import instructions

    sys.path.insert(0, str(FASTPATH))
    import mx_kernels as mx

    return instructions(mx, int(architecture))


def refused() -> dict[str, str]:
    """What the functions say of codes that a kernel would read wrongly, or beyond their end."""
    import torch

    sys.path.insert(0, str(FASTPATH))
    import mx_kernels as mx

    codes = torch.zeros(32, dtype=torch.uint8)
    signed, few, x = codes.view(torch.int8), codes[:1], torch.zeros(16, 32)
    calls = {
        "dequantize": lambda: mx.dequantize(few, signed, "e4m3"),
        "dequantize scales": lambda: mx.dequantize(signed[:1], codes, "e4m3"),
        "decode": lambda: mx.decode(signed, "e4m3"),
        "pack": lambda: mx.pack(signed, "e2m1"),
        "unpack": lambda: mx.unpack(signed, "e2m1", 64),
        "unpack fp4": lambda: mx.unpack(codes, "e2m1", 65),
        "unpack fp6": lambda: mx.unpack(codes[:27], "e3m2", 37),
        "unpack fp8": lambda: mx.unpack(codes, "e4m3", 33),
        "pack_scales": lambda: mx.pack_scales(signed.reshape(4, 8)),
        "no such scale": lambda: mx.quantize(x, "e2m1", tensor_scale=1.0),
        "no chance": lambda: mx.quantize(x, "nvfp4", seed=1),
        "blocks of 16": lambda: mx.quantize_both(x[:, :24], "nvfp4"),
        "another out": lambda: mx.dequantize(few, codes, "e4m3", out=x),
        "unpack_scales": lambda: mx.unpack_scales(torch.cat([codes] * 15), (1, 1)),
    }

    def said(call: Callable[[], object]) -> str:
        try:
            call()
        except ValueError as error:
            return str(error)
        return "nothing"

    return {name: said(call) for name, call in calls.items()}
