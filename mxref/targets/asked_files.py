"""The vector files that a target is asked; no other files are read or made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from mxref.cases.answers import answerable
from mxref.cases.names import names_of, stem_of
from mxref.cases.read import by_stem, read_manifest, read_vectors
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS, CODE_FORMATS, E8M0, OTHER_BLOCK_FORMATS
from mxref.golden.made_files import made_files
from mxref.operations.product_words import PAIRS
from mxref.operations.registry import CALL_OPERATIONS, OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases
from mxref.targets.target import Target

__all__ = ["is_asked", "read_for"]

_FORMATS = CODE_FORMATS, BLOCK_FORMATS, OTHER_BLOCK_FORMATS, (E8M0.name, *PAIRS)


def is_asked(target: Target, op: str, format: str, float: str, policy: Policy) -> bool:
    """Whether a target covers an operation, format and float type, and a policy has answers."""
    return target.covers(op, format, float) and answerable(op, format, float, policy)


def read_for(
    folder: Path,
    target: Target,
    policy: Policy,
    ids: Iterable[str] = (),
    only: Callable[[str, str, str], bool] = lambda op, format, float: True,
    read: Iterable[VectorFile] = (),
    formats: Collection[str] = (),
) -> list[VectorFile]:
    """The vector files that are needed: a folder's in the order of its manifest, then made ones.

    Made files are those of formats beside MX's. A target that does not name such a format is not
    asked about it, and the files are not listed.

    Args:
        folder: where the manifest is.
        target: the target; files that it is not asked come without their cases.
        policy: the policy that its answers are compared with.
        ids: ids of cases whose files are read in any case.
        only: the operations, formats and float types that it is asked; all by default.
        read: files that were read before.
        formats: formats whose files come in any case, without their cases if they are not asked.

    Raises:
        VectorError: there is no manifest, or a file that is read is damaged.
    """
    named = set(map(stem_of, ids))
    unread: dict[str, VectorFile] = {}
    entries = read_manifest(folder)
    stems = by_stem(entries)
    # The formats of others are in modules that take time to import.
    asked = CALL_OPERATIONS.keys() & getattr(target, "operations", OPERATIONS)
    others = CALL_OPERATIONS.keys() - asked
    for stem in stems:
        op, format, float = names_of(stem)
        tables = (CALL_OPERATIONS[op].formats,) if op in asked else _FORMATS
        known = op in others or (op in OPERATIONS and any(format in table for table in tables))
        if not known or stem in named:
            continue  # left to `read_vectors`, which refuses unknown names
        if not (only(op, format, float) and is_asked(target, op, format, float, policy)):
            unread[stem] = VectorFile(op, format, float, ("ocp",), 1, 0, 0, ())
    found = {file.stem: file for file in read} | unread
    files = read_vectors(folder, lambda stem: stem not in found, entries)
    found |= {file.stem: file for file in files}
    made = [found[stem] for stem in stems]
    for stem, make in made_files().items():
        names = names_of(stem)
        if stem in stems:
            continue
        if stem in found:
            made.append(found[stem])
        elif stem in named or (only(*names) and is_asked(target, *names, policy)):
            made.append(make())
        elif names[1] in formats:
            made.append(without_cases(*names))
    return made
