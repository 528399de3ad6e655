"""Other projects' own tests on mxref: of packages, source distributions and checkouts."""

from __future__ import annotations

import re
import sys

from helpers import ROOT, run
from needs import checkout
from report_pages import home
from suites.table import suites


def suites_of(environment: str) -> list[str]:
    """The suites that run in an environment, the first that has what they need."""
    wanted = {name: " ".join(suite.needs) for name, suite in suites().items()}
    homes = {n: home(dict(re.findall(r"([\w-]+)==([\w.]+)", text))) for n, text in wanted.items()}
    return [name for name in homes if homes[name] == environment]


def run_suite(name: str) -> None:
    """Hold a suite to tools/suites/suites.json."""
    if variable := suites()[name].variable:
        checkout(variable)
    command = [str(ROOT / "tools" / "suites"), "--sources", str(ROOT / ".suites"), name]
    done = run(sys.executable, *command)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
