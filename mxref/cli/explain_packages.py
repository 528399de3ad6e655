"""``mxref explain torchao``: the profiles whose names begin with that of a package."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mxref.cli.explanation import Explanation, print_rows, print_wrapped
from mxref.formats.catalog import BLOCK_FORMATS, FLOAT_SCALED_FORMATS

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["explain_package", "of_package"]

#: Choices that every profile has a way for, also if it is the way of `ocp`.
_ALWAYS = ("scale_rule", "scale_arithmetic")
#: One name for all formats of FP8 under float32 scales.
_FLOAT_SCALED = "FP8, float32 scales"
#: Stages that decide what those choices do otherwise.
_DECIDING = ("scale", "tensor", "blocks")


def of_package(name: str) -> tuple[str, ...]:
    """The profiles that are named after a package, if they are several; also after its version.

    >>> of_package("GGUF"), of_package("torchao-main")[:2], of_package("p3109")
    (('gguf_mxfp4', 'gguf_nvfp4'), ('torchao_main_floor', 'torchao_main_ceil'), ())
    """
    from mxref.profiles.registry import BUILT_IN, PROFILES

    bare = re.sub(r"[-_.\s]+", "_", name.lower())
    found = [one for one in PROFILES if one in BUILT_IN and f"{one}_".startswith(f"{bare}_")]
    return tuple(found) if len(found) > 1 else ()


def explain_package(options: argparse.Namespace) -> list[Explanation]:
    """The list of a package's profiles; of a profile's own name only if profiles are asked for."""
    from mxref.profiles import PROFILES

    name = options.name
    found = of_package(name)
    if not found or (name in PROFILES and options.kind != "profiles"):
        return []
    rows = [_facts(PROFILES[one]) for one in found]
    about = f"{len(rows)} profiles, with the formats and the ways of each"
    data = {"kind": "profiles", "name": name, "about": about, "listed": rows}
    return [Explanation(data, _show)]


def _facts(profile: Profile) -> dict[str, Any]:
    """A profile's formats, the choices that it makes, and its own stages."""
    from mxref.policy.policy import Policy

    default, own = Policy().choices(), profile.policy.choices()
    names = [*dict.fromkeys(one for some in (profile.formats or {}).values() for one in some)]
    blocks = [*dict.fromkeys((profile.formats or {}).get("quantize", ()))]
    small = [one for one in blocks if one not in FLOAT_SCALED_FORMATS]
    read = [_ALWAYS[one not in BLOCK_FORMATS] for one in small]
    return {
        "profile": profile.name,
        "formats": names,
        "choices": {
            name: value for name, value in own.items() if value != default[name] or name in read
        },
        "stages": list(profile.replaced),
    }


def _show(data: dict[str, Any]) -> None:
    print_wrapped(f"{data['name']}: {data['about']}; more of one: mxref explain NAME")
    rows = []
    for one in data["listed"]:
        ways = [f"{name}={value}" for name, value in one["choices"].items()]
        own = [stage for stage in _DECIDING if stage in one["stages"]]
        ways += [f"own {' and '.join(own)}"] if own else []
        rows.append((one["profile"], _in_short(one["formats"]), "; ".join(ways)))
    print_rows(("profile", "formats", "ways"), rows)


def _in_short(names: Iterable[str]) -> str:
    """Formats in a line: one name for all MX formats of a width, and no element beside its blocks.

    >>> _in_short(["e4m3", "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2"]), _in_short(["e4m3"])
    ('mxfp8, mxfp6_e3m2', 'e4m3')
    """
    given = [_FLOAT_SCALED if one in FLOAT_SCALED_FORMATS else one for one in names]
    held = {one.partition("_")[2] for one in given if one in BLOCK_FORMATS}
    short = []
    for one in given:
        width = one.partition("_")[0]
        family = [other for other in BLOCK_FORMATS if other.startswith(f"{width}_")]
        whole = one in BLOCK_FORMATS and {*family} <= {*given}
        if one not in held:
            short.append(width if whole else one)
    return ", ".join(dict.fromkeys(short)) or "all"
