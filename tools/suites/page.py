"""docs/suites.md, made of suites.json."""

from __future__ import annotations

import textwrap

from suites.table import Suite, suites

HEAD = """# Other projects' own test suites, run on mxref

mxref is checked by its slow twin, by comparison with other libraries
([the ledger](ledger/README.md)), and by the tests of other projects, run on mxref in place of
their own code. Tests and expectations stay as they are; a shim of a few lines, in
`tools/suites/shims`, hands their calls to mxref.

```sh
python tools/suites --sources ~/sources           # every suite whose files are here
python tools/suites --sources ~/sources gfloat    # one; it is an error if it is absent
python tools/suites --flip onnx                   # how many tests notice a wrong lowest bit
```

It prints a line for each suite, and for an absent one what it needs: its library has to be
installed, and its tests are in that package, in a source distribution that pip downloads into the
folder of `--sources`, or in a checkout that an environment variable names. `tests/peers` runs
those that are here, and says which are not.

Only tests that ask mxref for a value and pass are counted. Tests that need a GPU, or a format
that mxref does not have, are skipped and count as nothing. A failing test is an error unless
suites.json gives its reason; so is one with a reason that passes, and any other count.
"""
SIGNS = """
*Values* are all codes and numbers that mxref gives in these tests.
*Notice* is how many of the tests fail if the lowest bit of every answer of mxref is flipped.
The others ask for values but look at something else, such as shapes or a tolerance.
"""


def row(suite: Suite) -> str:
    """A suite's line of the table."""
    cells = [
        f"[{suite.name}](https://github.com/{suite.project})",
        suite.version,
        suite.licence,
        suite.got.replace(suite.variable, f"`{suite.variable}`") if suite.variable else suite.got,
        f"{suite.tests:,}",
        f"{suite.notice:,}",
        f"{suite.values:,}",
        f"{len(suite.known)}",
    ]
    return f"| {' | '.join(cells)} |"


def item(text: str) -> str:
    """An item of a list, in lines of at most 120 characters."""
    return textwrap.fill(
        f"- {text}",
        120,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def page() -> str:
    """The text of the page."""
    table = suites()
    heads = ["suite", "version", "licence", "tests from", "tests", "notice", "values", "differ"]
    lines = [HEAD, f"| {' | '.join(heads)} |", "|---|---|---|---|--:|--:|--:|--:|"]
    lines += [row(suite) for suite in table.values()]
    total = [sum(getattr(s, n) for s in table.values()) for n in ("tests", "notice", "values")]
    counts = " | ".join(f"{n:,}" for n in [*total, sum(len(s.known) for s in table.values())])
    lines += [f"| all | | | | {counts} |", SIGNS, "## What each asks, and by which policy", ""]
    for s in table.values():
        lines.append(item(f"**{s.name}**: {s.what}. Policy: {s.policy}. Compared: {s.compared}."))
    lines += ["", "## What differs, and why", ""]
    for s in table.values():
        lines += [item(f"{s.name}, `{test}`: {reason}.") for test, reason in s.known.items()]
    return "\n".join(lines) + "\n"
