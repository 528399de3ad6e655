"""Sets of two and three faults, drawn from all that have different stages.

`PAIRS` and `TRIPLES`, of sets.txt, are what `draw` gives with `SEED`; prove_strange.py draws them
anew.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
from right_kernel import MX
from strange_faults import FAULTS

SEED = 20261128
Set = tuple[str, str, str, tuple[str, ...]]

_QUANTIZE = [("quantize", MX[i % 6]) for i in range(60)]
_OTHERS = [
    ("encode", "mxfp8_e4m3"), ("encode", "mxfp6_e2m3"), ("encode", "mxfp4_e2m1"),
    ("encode", "mxfp8_e5m2"), ("dequantize", "mxfp8_e4m3"), ("dequantize", "mxfp8_e5m2"),
    ("dequantize", "mxfp6_e3m2"), ("dequantize", "mxint8"), ("quantize", "nvfp4"),
    ("quantize", "nvfp4"), ("quantize_tensor", "mxfp4_e2m1"), ("quantize_tensor", "mxfp8_e4m3"),
    ("matmul", "mxfp8_e4m3"), ("matmul", "mxfp4_e2m1"), ("matmul", "mxint8"),
]  # fmt: skip
SLOTS = {
    2: [*_QUANTIZE[:45], *_OTHERS],
    3: [*_QUANTIZE[45:56], *_OTHERS[3:5], ("quantize", "nvfp4"), ("quantize_tensor", "mxint8")],
}
_OWN = {"quantize_tensor": ("axis", "scale_matrix", "tail")}


def possible(operation: str, block_format: str, size: int) -> Iterable[tuple[str, ...]]:
    """All sets of faults of different stages; of a tensor one fault at least is its own."""
    names = [
        one.name
        for one in FAULTS.values()
        if operation in one.operations and block_format in one.formats
    ]
    for faults in combinations(names, size):
        stages = [FAULTS[name].stage for name in faults]
        own = _OWN.get(operation)
        if len(set(stages)) == size and (own is None or any(stage in own for stage in stages)):
            yield faults


def draw(
    visible: Callable[[tuple[str, ...], str, str], bool],
) -> tuple[tuple[Set, ...], tuple[Set, ...]]:
    """For each slot a set that is new and in which no fault is hidden.

    It is the first in a random order, where sets of faults that were drawn seldom go first.
    """
    rng, used = np.random.default_rng(SEED), Counter[str]()
    drawn: dict[int, list[Set]] = {2: [], 3: []}
    for size, slots in SLOTS.items():
        for number, (operation, name) in enumerate(slots, 1):
            every = list(possible(operation, name, size))
            taken = {one[3] for one in drawn[size] if one[1:3] == (operation, name)}
            order = [every[i] for i in rng.permutation(len(every))]
            for faults in sorted(order, key=lambda some: sorted(used[one] for one in some)[::-1]):
                if faults not in taken and visible(faults, name, operation):
                    break
            else:
                raise ValueError(f"no set is left for {operation} of {name}")
            used.update(faults)
            drawn[size].append((f"{'PT'[size - 2]}{number:02}", operation, name, faults))
    return tuple(drawn[2]), tuple(drawn[3])


def read(size: int) -> tuple[Set, ...]:
    """The sets of so many faults in sets.txt, which has one a line."""
    lines = (Path(__file__).parent / "sets.txt").read_text("ascii").splitlines()
    found = ((*line[:3], tuple(line[3:])) for line in map(str.split, lines))
    return tuple(one for one in found if len(one[3]) == size)


PAIRS, TRIPLES = read(2), read(3)
