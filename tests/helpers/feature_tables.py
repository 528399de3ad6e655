"""Features in tables of units beside those that are worked out by hand."""

from __future__ import annotations

from typing import Any

from features_by_hand import real

from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN


def assert_feature(name: str, got: int, want: Any) -> None:
    """A number in a table says what was worked out by hand; None is unknown."""
    assert (got == UNKNOWN) == (want is None), name
    if want is not None:
        plain = FEATURES[name].plain(got)
        is_real = FEATURES[name].kind == "real" and not FEATURES[name].names
        assert (real(str(plain)) if is_real else plain) == want, name
