"""What targets may claim: formats and float types that they cover, a profile, what is so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from typing import TYPE_CHECKING, Any

from mxref.bits.floats import LAYOUTS
from mxref.formats.aliases import own_name
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    MX_BLOCKS,
    MX_ELEMENTS,
    OTHER_BLOCK_FORMATS,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
)
from mxref.formats.own_formats import KINDS
from mxref.operations.product_words import PAIRS
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy
from mxref.support.text import short, unknown_name
from mxref.targets.imports import TargetError

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = [
    "claimable",
    "claimed",
    "claimed_names",
    "claimed_policy",
    "claimed_profile",
    "claims_cover",
    "said_true",
    "smallest_block",
    "usual_formats",
]

#: What may be claimed, calls aside: to list the formats of all calls takes time.
_FLOATS_AND_FORMATS: Mapping[str, tuple[Container[str], ...]] = {
    "FLOATS": (LAYOUTS,),
    "FORMATS": (MX_ELEMENTS, (E8M0.name,), MX_BLOCKS, OTHER_CODE_FORMATS, OTHER_BLOCK_FORMATS),
}


def usual_formats() -> dict[str, object]:
    """The formats that a target covers unless it names them: those of MX, and of calls."""
    operations = CALL_OPERATIONS.items()
    calls = {name: op for op, one in operations for name in (*one.formats, *one.further)}
    return {**calls, **dict.fromkeys((*MX_ELEMENTS, E8M0.name, *MX_BLOCKS))}


def claimable(claim: str) -> Mapping[str, object]:
    """What a target may name in `FLOATS`, and in `FORMATS`: also those beside MX, and pairs."""
    if claim == "FLOATS":
        return LAYOUTS
    others = {**OTHER_CODE_FORMATS, **OTHER_BLOCK_FORMATS, **dict.fromkeys(PAIRS)}
    return {**usual_formats(), **others, **OWN_FORMATS}


def claimed_names(target: str, claim: str, names: Collection[object]) -> frozenset[str]:
    """The formats (`FORMATS`) or float types (`FLOATS`) that a target claims.

    Raises:
        TargetError: a name that is not known.
    """
    found = set()
    at_once = _FLOATS_AND_FORMATS[claim]
    for name in names:
        if claim == "FORMATS" and isinstance(name, KINDS):
            found.add(name.name)
            continue
        if isinstance(name, str) and any(name in table for table in at_once):
            found.add(name)
            continue
        known = claimable(claim)
        try:
            own = name if claim != "FORMATS" or name in [*known] else own_name(claim, name)
        except ValueError as error:
            raise TargetError(f"target {target}: {error}") from None
        if not isinstance(own, str) or own not in known:
            raise TargetError(f"target {target}: {unknown_name(claim, name, known)}")
        found.add(own)
    return frozenset(found)


def claimed(
    given: object, name: str, attribute: str, unclaimed: Callable[[], Mapping[str, object]]
) -> frozenset[str]:
    """The names in an attribute of a target; what `unclaimed` gives where it has none.

    Raises:
        TargetError: no list, or a name that is not known.
    """
    if given is None:
        return frozenset(unclaimed())
    if isinstance(given, str) or not isinstance(given, Collection):
        raise TargetError(
            f"target {name} must have a list of names in {attribute}, got {short(given)}"
        )
    return claimed_names(name, attribute, given)


def claims_cover(
    formats: Collection[str], floats: Collection[str], format: str, float: str
) -> bool:
    """Whether a format, or a pair of them, and a float type are claimed; scales have one format."""
    has_format = format == E8M0.name or format in formats
    has_format = has_format or all(one in formats for one in format.split("-"))
    return has_format and (float in floats or float not in LAYOUTS)  # or the name of a layout


def claimed_profile(given: object, name: str) -> Profile:
    """The profile that a target claims to equal, by its name or itself.

    Raises:
        TargetError: no profile.
    """
    from mxref.profiles import PROFILES, Profile

    if isinstance(given, Profile):
        return given
    if not isinstance(given, str) or given not in PROFILES:
        raise TargetError(f"target {name}: {unknown_name('PROFILE', given, PROFILES)}")
    return PROFILES[given]


def claimed_policy(given: object, name: str) -> Policy:
    """The policy that a target claims, by its text or itself.

    Raises:
        TargetError: no policy.
    """
    try:
        return given if isinstance(given, Policy) else Policy.parse(given)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise TargetError(f"target {name} claims an unknown POLICY: {error}") from None


def said_true(has: Mapping[str, Any], attribute: str, name: str) -> bool:
    """Whether a target says True; an integer is a constant of the kernel.

    Raises:
        TargetError: neither True nor False.
    """
    said = has.get(attribute, False)
    if not isinstance(said, int):
        raise TargetError(f"target {name}: {attribute} must be True or False, got {short(said)}")
    return said is True


def smallest_block(formats: Collection[str]) -> int:
    """The elements of the smallest block of formats; of MX where none is a block format."""
    known = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
    return min((known[one].elements_per_block for one in formats if one in known), default=32)
