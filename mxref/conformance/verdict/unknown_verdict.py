"""The verdict on rows that no known bug, policy or profile gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.conformance.compare.clauses import clauses_violated
from mxref.conformance.compare.compare import Failure
from mxref.conformance.verdict.product_verdict import product_verdict
from mxref.conformance.verdict.row import VerifyRow
from mxref.formats.catalog import E8M0, MX_BLOCKS, MX_ELEMENTS
from mxref.operations.registry import DOT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.support.text import a_few

if TYPE_CHECKING:
    from mxref.conformance.verdict.cause.cause import Stage

__all__ = ["nearest", "unknown_verdict", "violations"]

#: The verdict on a cause that nothing known is near.
UNKNOWN = "cause unknown"
#: The most different texts of rows that a verdict has.
_TEXTS = 3
#: Where the numbers of formats beside those of MX are defined, which is no clause.
_SECTION = "the definition of its format (SPEC_NOTES, Formats)"
#: The formats of the standard.
_FORMATS = frozenset((*MX_ELEMENTS, *MX_BLOCKS, E8M0.name))


def unknown_verdict(rows: Sequence[VerifyRow], policy: Policy) -> str:
    """The verdict on rows of which nothing known gives all answers.

    Clauses that they violate come first, then errors. It ends with what is nearest, if anything is.

    Args:
        rows: the rows, each with failures.
        policy: what they were compared with.
    """
    cause = nearest(rows)
    if clauses := "".join(violations(rows, policy)):
        return f"{clauses}; {cause}"
    errors = Counter(one.error for row in rows for _, one in row.failures if one.got is None)
    if errors:
        return f"fails with errors: {a_few([error for error, _ in errors.most_common()], 1)}"
    if outside := product_verdict(rows):
        return f"{outside}; {cause}"
    known = f"no policy or profile known to mxref gives them: {_rule_or_bug(rows)}"
    return f"unexplained: {_standing(rows)}, and {known}{'' if cause == UNKNOWN else f'; {cause}'}"


def violations(rows: Iterable[VerifyRow], policy: Policy) -> Iterator[str]:
    """The clauses that wrong answers violate, as one part of a verdict."""
    clauses = clauses_violated((pair for row in rows for pair in row.failures), policy)
    if named := sorted(clauses):
        where = (_SECTION if clause == "formats" else clause for clause in named)
        yield f"violates {', '.join(where)}"


def nearest(rows: Iterable[VerifyRow]) -> str:
    """What is known of rows: what is nearest to them, what stages do, and where they are wrong.

    Where that is not all, it says of how many it is not; of rows of which nothing is known, that.
    """
    told: dict[str, list[VerifyRow]] = {}
    for row in rows:
        told.setdefault("; ".join(dict.fromkeys(_known(row))) or UNKNOWN, []).append(row)
    if len(told) == 1:
        return next(iter(told))
    unknown = told.pop(UNKNOWN, [])
    texts = [f"{_names(some)}: {text}" for text, some in told.items()]
    more = f"; and {len(texts) - _TEXTS} other causes" * (len(texts) > _TEXTS)
    left = f"; {UNKNOWN} in {_names(unknown)}" if unknown else ""
    return "; ".join(texts[:_TEXTS]) + more + left


def _names(rows: Sequence[VerifyRow]) -> str:
    return a_few([f"{row.op} {row.format}" for row in rows], 3)


def _known(row: VerifyRow) -> Iterator[str]:
    """What is known of a row, in a few sentences."""
    from mxref.conformance.verdict.describe.description import Description
    from mxref.conformance.verdict.describe.product_description import ProductDescription

    apart = row.causes[0].stages if row.causes else ()
    where = row.description
    exact = where.text if isinstance(where, Description) and where.is_short else ""
    if row.beside:
        cause = row.causes[0]
        name = f"profile {cause.name}" if cause.kind == "profile" else cause.policy
        left = sum(len(one.failures) for one in row.beside)
        beside = exact or f"{left} answers are wrong"
        yield f"nearest is {name}; beside it {beside}"
    elif exact:
        yield exact
    if row.op in DOT_OPERATIONS and any(one.left for one in apart):
        left_of = f"beside which {apart[0].left} of {apart[0].total} outputs are wrong"
        yield f"nearest is: {'; and '.join(one.text for one in apart)}, {left_of}"
    elif any(one.text or one.exact for one in apart):
        yield from (f"{one.name}: {_of_stage(one)}" for one in apart)
    if isinstance(where, ProductDescription) and where.sums:
        yield where.sums


def _of_stage(stage: Stage) -> str:
    """What a stage does, as far as it is known."""
    if stage.text and not stage.left:
        return stage.text
    if not stage.text and stage.exact:
        return stage.rest
    left = f"{stage.left} of {stage.total} {stage.unit} are wrong"
    if not stage.text:
        return f"{left}, by no rule that is known"
    return f"nearest is: {stage.text}; beside it {stage.rest if stage.exact else left}"


def _standing(rows: Sequence[VerifyRow]) -> str:
    """What the standard says of answers that it does not rule out and that nothing known gives."""
    missing = [_missing(row) for row in rows]
    if all(missing):
        return "no standard says what is right here"
    others = [row for row, without in zip(rows, missing, strict=True) if not without]
    scales = [_is_scale(*pair) for row in others for pair in row.failures]
    text = "the standard leaves these bits open"
    if any(scales):
        text = "the standard recommends other scales but requires none (MX 6.3)"
        text += "" if all(scales) else ", and leaves the other bits open"
    named = " and no ".join(dict.fromkeys(filter(None, missing)))
    return f"{text} and has no {named}" if named else text


def _missing(row: VerifyRow) -> str:
    """What the standard does not have, of what a row is about; empty if it has all."""
    if row.operation.own_choices:
        return "integer operations"
    return "" if _FORMATS.issuperset(row.format.split("-")) else row.format


def _rule_or_bug(rows: Sequence[VerifyRow]) -> str:
    """That answers which nothing known gives are a rule or a bug; a rule has no float types."""
    outcomes = [one for row in rows for one in row.outcomes]
    wrong = {one.file.float for one in outcomes if one.failures}
    right = dict.fromkeys(one.file.float for one in outcomes if one.file.float not in wrong)
    if not right:
        return "a rule of its own, or a bug"
    return f"most likely a bug, since all answers from {', '.join(right)} are right"


def _is_scale(file: VectorFile, failure: Failure) -> bool:
    """Whether the standard recommends the scale that a wrong answer has not."""
    tensor = file.op == "quantize_tensor" and failure.got is not None
    return tensor or failure.case.rule in ("MX-6.3", "N2")
