"""The record of one implementation: all its operations against its profile and against `ocp`.

A record is plain data: for each operation, format and float type the cases, the residuals (answers
that are not the profile's) and the differences (answers that are not those of `ocp`), by kind.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ledger.asks import ELEMENTS, random_elements, rounds
from ledger.recording import record
from ledger.tally import Tally
from mxref.cases.answers import answerable
from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import wanted_answers
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.asked_files import is_asked, read_for
from mxref.targets.calls import Answers
from mxref.targets.profile_target import profile_target
from mxref.targets.target import PythonTarget

__all__ = ["examine", "profile_files", "speaks_of", "wanted"]

Words = NDArray[np.uint64]


def examine(
    target: PythonTarget,
    *,
    share: int = 1,
    elements: int = ELEMENTS,
    product: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """The record of a target that claims a profile.

    Args:
        target: the implementation.
        share: ask 1 of `share` scales of the block product, and 1 of `share` random elements.
        elements: the number of random elements.
        product: whether to ask the block product.
        progress: told of each file when it is done.

    Raises:
        ValueError: the target claims no profile, or has no operation that vectors cover.
    """
    profile = target.profile
    if profile is None:
        raise ValueError(f"target {target.name} must claim a PROFILE, it has none")
    files = profile_files(target)
    if not files:
        raise ValueError(f"target {target.name} must have something that there are vectors of")
    random = random_elements(files, elements)
    shown: set[tuple[str, ...]] = set()
    records = []
    for file in files:
        tally = Tally(file, answerable(file.op, file.format, file.float, Policy()))
        silent = not speaks_of(profile, file)
        if not silent:
            count = random.get(file.stem, 0)
            for origin, words in rounds(file, profile.policy, count, share, product=product):
                answers = target.ask(file, words)
                tally.add(origin, words, answers, *wanted(target, file, words))
        records.append(record(tally, target, profile, shown, silent=silent))
        progress(file.stem)
    return {
        "profile": profile.name,
        "version": profile.version,
        "source": profile.source,
        "share": share,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "files": records,
    }


def profile_files(target: PythonTarget, read: Iterable[VectorFile] = ()) -> list[VectorFile]:
    """The vector files that a target with a profile is asked.

    Args:
        target: the implementation.
        read: files that have been read already.
    """
    return [
        file
        for file in read_for(vectors_folder(), target, target.policy, read=read)
        if is_asked(target, file.op, file.format, file.float, target.policy)
    ]


def _is_modelled(op: str) -> bool:
    """Whether profiles model the operation; otherwise the claimed policy gives the answers."""
    return op not in LAYOUT_OPERATIONS or op in ("pack", "unpack")


def speaks_of(profile: Profile, file: VectorFile) -> bool:
    """Whether a profile says what the answers to a file are; the implementation is asked then."""
    if file.op in LAYOUT_OPERATIONS:
        return not _is_modelled(file.op) or profile.speaks_of(file.op, file.format)
    return profile_target(profile).covers(file.op, file.format, file.float)


def wanted(target: PythonTarget, file: VectorFile, words: Words) -> tuple[Answers, Words]:
    """The answers of the profile, or of the claimed policy, and those of `ocp` if it has any."""
    own = target if target.profile is None else profile_target(target.profile)
    if file.op not in LAYOUT_OPERATIONS:
        return own.ask(file, words), OwnTarget(Policy()).ask(file, words).words
    policy = Answers(wanted_answers(file, target.policy)[1])
    want = own.ask(file, words) if _is_modelled(file.op) else policy
    has_ocp = answerable(file.op, file.format, file.float, Policy())
    return want, wanted_answers(file, Policy())[1] if has_ocp else policy.words
