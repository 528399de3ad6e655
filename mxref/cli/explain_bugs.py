"""``mxref explain bugs``: known bugs of other implementations, and the clauses they break."""

from __future__ import annotations

import argparse
import functools
import re
from typing import Any, NamedTuple

from mxref.cli.explanation import Explanation, print_rows, print_wrapped
from mxref.cli.spec_notes import document

__all__ = ["Bug", "bugs_of", "explain_bugs", "known_bugs", "print_bugs"]


class Bug(NamedTuple):
    """A known bug: the name of its page in docs/reports, and its row in docs/reports/README.md."""

    page: str
    implementation: str
    what: str
    clause: str
    status: str


@functools.cache
def known_bugs() -> tuple[Bug, ...]:
    """Every bug that docs/reports has a page of, by the name of the implementation.

    >>> known_bugs()[0].implementation, known_bugs()[0].clause
    ('AMD Quark 0.13', 'MX-5.3.3, MX-5.4.1')

    Raises:
        ValueError: the list is neither beside the package nor in it.
    """
    text = document("REPORTS.md", "docs/reports/README.md")
    row = r"^\| \[([\w-]+)\]\(\1\.md\) \| " + r" \| ".join([r"(.+?)"] * 4) + r" \|$"
    rows = [Bug(*found) for found in re.findall(row, text, re.MULTILINE)]
    return tuple(sorted(rows, key=lambda bug: bug.implementation.casefold()))


def bugs_of(name: str) -> list[Bug]:
    """The bugs of a library, by its name or that of a profile.

    >>> [bug.page for bug in bugs_of("torchao_0_18_rceil")], len(bugs_of("mlx")), bugs_of("cuda")
    (['torch-int32-saturation'], 2, [])
    """
    from mxref.profiles import PROFILES

    bare = name.lower().replace("-", "_")

    def same(library: str) -> bool:
        own = library.lower().replace("-", "_")
        of_profile = bare in PROFILES and bare.startswith(f"{own}_")
        return bare == own or of_profile or own.startswith(f"{bare}_")

    return [bug for bug in known_bugs() if any(map(same, _libraries(bug.implementation)))]


def _libraries(implementation: str) -> list[str]:
    """The names in an implementation's text, without versions and what is in brackets.

    >>> _libraries("torch 2.13.0, ml_dtypes 0.6.0"), _libraries("MLX 0.31.2, 0.32.4 (CPU)")
    (['torch', 'ml_dtypes'], ['MLX'])
    """
    return re.findall(r"\b[A-Za-z][\w.-]*", re.sub(r"\(.*?\)", "", implementation))


def explain_bugs(options: argparse.Namespace) -> list[Explanation]:
    """All known bugs, or those of a library; a profile's own explanation lists its bugs."""
    from mxref.profiles import PROFILES

    name = options.name
    if name in PROFILES and options.kind != "bugs":
        return []
    found = list(known_bugs()) if name == "bugs" else bugs_of(name)
    if not found:
        return []
    about = "bugs of other implementations that docs/reports has a page of"
    listed = [bug._asdict() for bug in found]
    return [Explanation({"kind": "bugs", "name": name, "about": about, "bugs": listed}, _show)]


def _show(data: dict[str, Any]) -> None:
    found = [Bug(**one) for one in data["bugs"]]
    if data["name"] != "bugs":
        print_bugs(found)
        return
    rows = [(bug.implementation, bug.page, bug.clause) for bug in found]
    print_rows(("implementation", "page of docs/reports", "clause"), rows)
    print("what each does: mxref explain bugs fbgemm; a clause: mxref explain MX-5.4.1")


def print_bugs(found: list[Bug]) -> None:
    """Print what each bug does, and the clause it breaks."""
    rows = [(bug.implementation, bug.what, bug.clause) for bug in found]
    print_rows(("implementation", "known bug", "clause"), rows)
    print_wrapped(f"reproducers: docs/reports, {', '.join(f'{bug.page}.md' for bug in found)}")
