"""What archives of the vectors say of profiles: answers that differ from `ocp`, and known bugs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mxref.cli.explain_profiles import profile_data
from mxref.cli.spec_notes import clause_of_member
from mxref.conformance.compare.profile_columns import profile_files
from mxref.golden.archives import Extra
from mxref.profiles import PROFILES

__all__ = ["extras"]

_ANSWERED = "Files that it answers, and how many answers are not those of ocp:"


def extras(files: Mapping[str, bytes]) -> dict[str, Extra]:
    """The files of profiles for these vectors, by their paths.

    Args:
        files: all vectors by their names.
    """
    found, answered = dict[str, Extra](), dict[str, list[str]]()
    for path, profile, text, lines in profile_files(files):
        answered.setdefault(profile, []).append(f"- {_stem(path)}: {lines}")
        if lines:
            found[path] = Extra(text, lines, (profile,))
    for name in (name for name in PROFILES if name in answered):
        lines_of = (*_known(profile_data(PROFILES[name])), "", _ANSWERED, *answered[name])
        found[f"known/{name}.txt"] = Extra(("\n".join(lines_of) + "\n").encode("ascii"), 0, ())
    return found


def _stem(path: str) -> str:
    """The file of the vectors that a file of answers is about."""
    return path.removesuffix(".txt").split("/", 3)[3]


def _known(data: Mapping[str, Any]) -> Iterator[str]:
    """What is known of a profile, in lines."""
    for what in ("name", "source", "version", "has", "policy"):
        yield f"{what}: {data[what]}"
    yield ""
    yield "Choices other than those of ocp, each with its clause in SPEC_NOTES:"
    clauses = clause_of_member()
    for name, value in data["choices"].items():
        yield f"- {name}={value} {clauses.get((name, value), '')}".rstrip()
    if data["stages"]:
        yield ""
        yield "Stages that are not as the policy says:"
        for stage, about in data["stages"].items():
            yield f"- {stage}: {about}"
    if data["bugs"]:
        yield ""
        yield "Known bugs, each with the clause that it breaks and its page in docs/reports:"
        for bug in data["bugs"]:
            yield f"- {bug['what']}; {bug['clause']}; {bug['page']}.md; {bug['status']}"
