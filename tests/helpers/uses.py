"""What a report says of the ways of calling that change answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mxref.conformance.verdict.call_dependence import CallDependence


def assert_use(uses: Sequence[CallDependence], kind: str, text: str) -> CallDependence:
    """There is one, of a kind; so its text begins, where `...` stands for any words."""
    (use,) = uses
    assert use.kind == kind, use
    assert re.match(re.escape(text).replace(r"\.\.\.", ".*"), use.text), use.text
    return use
