"""The whole check of a target: vectors, the same cases again in other calls, families, a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_effects import float_state
from mxref.conformance.checking.extent import Extent
from mxref.conformance.checking.further import Further
from mxref.conformance.checking.progress import Progress, Tell
from mxref.conformance.checking.repeated_calls import first_calls
from mxref.conformance.checking.subjects import with_decided
from mxref.conformance.checking.target_speed import timed
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.verify import begun, described, with_rows
from mxref.policy.policy import Policy
from mxref.support.library_threads import few_threads
from mxref.targets.results import ResultsTarget
from mxref.targets.target import PythonTarget, Target

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["Extent", "check"]


@few_threads()
def check(
    target: Target,
    files: Sequence[VectorFile],
    policy: Policy | None = None,
    known: Mapping[str, str] | None = None,
    profile: Profile | None = None,
    extent: Extent = Extent(),  # noqa: B008  # it is frozen
    tell: Tell = lambda what, share: None,
) -> Report:
    """Check a target as kernels are used: see `verify` for the vectors alone.

    Args:
        target: the implementation; of one with recorded answers these are compared.
        files: the vector files.
        policy: what to compare with; see `verify`.
        known: reasons of known divergences by case id, kind or way of calling.
        profile: what to compare with where it speaks of something.
        extent: what is asked beside the vectors.
        tell: called from time to time with what is asked, and the share of the whole that is done.
    """
    report, covered = begun(target, files, policy, known, profile)
    again = extent.elements != 0
    level, search = extent.level, extent.search
    progress = Progress(tell, covered, level=level, again=again, search=search)
    state = float_state()
    if isinstance(target, PythonTarget) and extent.elements != 0:
        first_calls([(target.operations[file.op], file) for file in covered])
    answered, pace = timed(target, covered, progress.begin("the vectors"))
    if extent.search or extent.elements != 0:
        answered = [with_decided(target, one, extent.seed) for one in answered]
    if not answered or not isinstance(target, PythonTarget | ResultsTarget):
        return described(with_rows(report, [[one] for one in answered]))
    report = with_rows(report, [[one] for one in answered], why=False)
    further = Further(target, report, extent, pace, progress)
    if isinstance(target, ResultsTarget):
        further.compare_second_answers(target, answered)
    elif extent.elements != 0:
        further.ask_cases_again(target)
        further.ask_afresh(target)
    further.look_for_causes(answered)
    if isinstance(target, PythonTarget):
        further.name_adders(target)
    if isinstance(target, PythonTarget) and extent.elements != 0:
        further.confirm_stages(target, answered)
        further.ask_in_many_sizes(target)
        further.ask_products_and_layers(target)
        further.ask_formats_without_vectors(target)
        further.ask_calls_that_follow(target)
        further.look_at_arguments(target, state)
        further.ask_empty_calls(target, answered)
    further.decide_what_answers_are_compared_with()
    if isinstance(target, PythonTarget):
        further.ask_families(target)
        further.ask_every_output(target)
        if extent.elements != 0:
            further.ask_ordinary_calls(target)
    if extent.search:
        further.search(answered)
    return further.reported(answered)
