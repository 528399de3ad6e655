"""The limits of scale rules for ``mxref explain``: of one rule, and of all side by side."""

from __future__ import annotations

from mxref.cli.explanation import print_rows, print_wrapped
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.policy.choice import Choice

__all__ = ["limits_of_all", "limits_of_member", "show_limits_of_all", "show_limits_of_member"]

_BESIDE = "scale, by that of floor (amax = p * 2^E)"


def limits_of_member(member: Choice, format: str | None) -> list[dict[str, str]] | None:
    """The limits of a rule: one row for each element format, or that of a format alone.

    Args:
        member: a member of any choice.
        format: an element or block format, or None.

    Returns:
        The rows, or None if the member is no scale rule with a limit.

    >>> from mxref.policy.scale_rule import ScaleRule
    >>> limits_of_member(ScaleRule.TOSA, "mxfp4_e2m1")[0]["limit"]
    '< 7'
    """
    from mxref.golden.scale_limits import beside_floor
    from mxref.policy.scale_rule import ScaleRule

    if not isinstance(member, ScaleRule) or member.is_quirk:
        return None
    block = BLOCK_FORMATS.get(format or "")
    element = format if block is None else block.element.name
    rows = beside_floor(member)
    return [one for one in rows if one["format"] == element] or rows


def show_limits_of_member(rows: list[dict[str, str]]) -> None:
    """Print the limits of one rule, a line for each format."""
    print()
    header = ("format", "amax / 2^k must be", "if equal", _BESIDE)
    print_rows(header, [tuple(one.values()) for one in rows])


def limits_of_all(format: str | None) -> dict[str, list[dict[str, str]]]:
    """`limits_of_member` of every scale rule; no rows for a rule without a limit."""
    from mxref.policy.scale_rule import ScaleRule

    return {rule.value: limits_of_member(rule, format) or [] for rule in ScaleRule}


def show_limits_of_all(limits: dict[str, list[dict[str, str]]]) -> None:
    """Print the limits of all rules: a column for each format, or one format with more of it."""
    known = {rule: rows for rule, rows in limits.items() if rows}
    formats = [one["format"] for one in known["floor"]]
    print()
    if len(formats) == 1:
        print_wrapped(f"{formats[0]}: the scale is the smallest 2^k with amax / 2^k in the limit")
        header = ("rule", "amax / 2^k", "if equal", _BESIDE)
        rows = [
            (rule, one["limit"], one["at_the_limit"], _unlike_floor(one["beside_floor"]))
            for rule, (one,) in known.items()
        ]
        print_rows(header, rows)
    else:
        print_wrapped(
            "The scale is the smallest 2^k for which amax / 2^k is in the limit. Exactly at the "
            "limit k stays where it is `<=`, and is k + 1 where it is `<`; no amax meets a sqrt2."
        )
        columns = ("amax / 2^k", *formats)
        cells = [(rule, *(one["limit"] for one in found)) for rule, found in known.items()]
        print_rows(columns, cells)
    others = ", ".join(rule for rule in limits if rule not in known)
    print_wrapped(f"no exact limit (float32 arithmetic): {others}")


def _unlike_floor(beside: str) -> str:
    """The parts of a text of `beside_floor` that name another scale than FLOOR's.

    >>> _unlike_floor("the same for p <= 1.75, twice for p > 1.75"), _unlike_floor("the same")
    ('twice for p > 1.75', 'the same')
    """
    other = [part for part in beside.split(", ") if not part.startswith("the same")]
    return ", ".join(other) or "the same"
