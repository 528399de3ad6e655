"""What a whole check asks of a target beside the vectors, in steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_effects import FloatState, changed_arguments
from mxref.conformance.checking.changed_answers import ask_cases_again
from mxref.conformance.checking.computed import Compared
from mxref.conformance.checking.computed_calls import ask_one_by_one, ask_sizes
from mxref.conformance.checking.extent import Extent
from mxref.conformance.checking.following_calls import ask_following_calls, fresh_calls
from mxref.conformance.checking.formats_without_vectors import ask_unfiled, unfiled_tensors
from mxref.conformance.checking.loaded_afresh import wrong_after_others
from mxref.conformance.checking.ordinary_calls import ask_ordinary
from mxref.conformance.checking.product_epilogues import ask_epilogues
from mxref.conformance.checking.product_outputs import ask_outputs
from mxref.conformance.checking.progress import Progress, within
from mxref.conformance.checking.repeated_calls import ask_nothing
from mxref.conformance.checking.repeated_products import wrong_by_shape
from mxref.conformance.checking.search import Search
from mxref.conformance.checking.subjects import (
    explained_by_stages,
    explaining,
    layer_subjects,
    product_subjects,
    subjects,
    unsearched,
)
from mxref.conformance.checking.target_speed import PACES
from mxref.conformance.compare.compare import Answered
from mxref.conformance.verdict.call_dependence import (
    CallDependence,
    OrdinaryScope,
    Scope,
    unsteady_rows,
)
from mxref.conformance.verdict.product_verdict import accumulation_notes
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.verify import described, with_rows
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import DOT_OPERATIONS, PRODUCT_OPERATIONS, REGISTRY
from mxref.support.library_threads import limit_note
from mxref.targets.calls import Answers
from mxref.targets.target import PythonTarget

if TYPE_CHECKING:
    from mxref.profiles import Profile
    from mxref.targets.results import ResultsTarget

__all__ = ["Further"]

#: Kinds of use of which a sequence of calls, where one is wrong, says more.
_VAGUE = ("size", "options", "company", "numbers", "memory")
#: How often another cause is looked for where the search contradicts one.
_ROUNDS = 3
#: Vector files, with what gives the target's answers to them.
_AskedBy: TypeAlias = "tuple[list[VectorFile], AnyPolicy, Profile | None]"


class Further:
    """What is asked beside the vectors, in steps, and what is found.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        extent: how much is asked.
        pace: seconds for a million elements.
        progress: is told what begins.
    """

    def __init__(
        self,
        target: PythonTarget | ResultsTarget,
        report: Report,
        extent: Extent,
        pace: float,
        progress: Progress,
    ) -> None:
        self.target, self.report, self.extent, self.pace = target, report, extent, pace
        # Without other calls the search still keeps to what the speed of the target allows.
        self.most = extent.elements or next(most for slowest, most in PACES if pace <= slowest)
        self.progress = progress
        self.scope = Scope(seed=extent.seed, level=extent.level, elements=self.most)
        self.uses: list[CallDependence] = []
        self.computed: list[Compared] = []
        self.asked_by: list[_AskedBy] = []
        self.unsteady_by: list[_AskedBy] = []
        self.shapes: tuple[str, ...] = ()
        self.ordinary: list[OrdinaryScope] = []
        self.whole: frozenset[tuple[str, str]] = frozenset()

    def note(self, *notes: str) -> None:
        """Say more of what was asked or refused."""
        self.scope = replace(self.scope, notes=(*self.scope.notes, *notes))

    def compare_second_answers(self, target: ResultsTarget, answered: Sequence[Answered]) -> None:
        """The second answers of a program, which has answered some cases twice."""
        from mxref.conformance.checking.second_answers import second_answers

        self.uses += second_answers(target, [one.file for one in answered])
        self.note(*([target.note] if target.note else []))

    def ask_cases_again(self, target: PythonTarget) -> None:
        """Every case in calls of many sizes, twice."""
        if not self.extent.elements and self.most < PACES[0][1]:
            slow = f"slow: a million elements take {self.pace:.0f} s"
            slow = slow if math.isfinite(self.pace) else "every call that was timed raised"
            self.note(f"{slow}, so that a call has at most {self.most:,} elements (--sizes N)")
        tell = self.progress.begin("the vectors again, in other calls")
        uses, asked = ask_cases_again(target, self.report, self.most, tell)
        self.uses += uses
        self.scope = replace(
            self.scope, calls=asked.calls, smallest=asked.smallest, largest=asked.largest
        )
        self.note(*asked.notes)

    def ask_afresh(self, target: PythonTarget) -> None:
        """The vectors once more where they fail, of a fast target that nothing was asked before."""
        if self.pace <= PACES[0][0]:
            self.uses += wrong_after_others(target, self.report, self.uses)

    def look_for_causes(self, answered: Sequence[Answered]) -> None:
        """What gives the answers of each row; of those that depend on the call, if it is known."""
        self.report = with_rows(self.report, [[one] for one in answered], self.uses)
        known = {(row.op, row.format) for row in self.report.rows if row.causes}
        self.uses = [use.of_mixed() if (use.op, use.format) in known else use for use in self.uses]

    def name_adders(self, target: PythonTarget) -> None:
        """How a wrong matrix unit adds, where no known bug gives its answers."""
        if any(row.op == "mma" and row.wrong and not row.causes for row in self.report.rows):
            from mxref.conformance.checking.unit_causes import with_adders

            self.report, notes = with_adders(self.report, target, self.uses)
            self.note(*notes)

    def confirm_stages(self, target: PythonTarget, answered: Sequence[Answered]) -> None:
        """Products once more whose vectors some stages give; causes that others contradict go."""
        if not any(map(explained_by_stages, self.report.rows)):
            return
        from mxref.conformance.checking.product_confirmed import contradicted

        self.whole = contradicted(target, self.report, self.most)
        if self.whole:
            left = [row for row in self.report.rows if (row.op, row.format) not in self.whole]
            self.report = replace(self.report, rows=tuple(left))
            self.report = self.with_computed(answered)

    def ask_calls_that_follow(self, target: PythonTarget) -> None:
        """Calls after others; what is found there says more than the sizes of wrong calls."""
        self.progress.begin("calls that follow others")
        is_fast = self.most >= PACES[0][1]
        calls = fresh_calls(target, self.report, self.most)
        uses, count = ask_following_calls(calls, many=is_fast, streams=target.streams)
        mended = {(use.op, use.format) for use in uses}
        steady = [use for use in self.uses if use.kind not in _VAGUE]
        known = {(use.op, use.format) for use in steady}
        others = [use for use in self.uses if use.kind in _VAGUE]
        self.uses = steady + [use for use in others if (use.op, use.format) not in mended]
        self.uses += [use for use in uses if (use.op, use.format) not in known]
        self.scope = replace(self.scope, following=count)

    def ask_in_many_sizes(self, target: PythonTarget) -> None:
        """Layouts and integers in many sizes; of a slow target in smaller ones: there are many."""
        beside = unfiled_tensors(target, self.report) if self.extent.unfiled else ()
        fewer = self.most if self.most >= PACES[0][1] else self.most // 4
        tell = self.progress.begin("layouts and integers in many sizes")
        every = [*subjects(self.report), *beside]
        uses, asked = ask_sizes(target, every, fewer, tell=tell)
        self.uses += uses
        self.scope = replace(
            self.scope,
            calls=self.scope.calls + asked.calls,
            smallest=self.scope.smallest or min(asked.calls, 1),
            largest=self.scope.largest or asked.largest,
        )
        self.note(*asked.notes)
        self.ordinary += asked.ordinary

    def ask_products_and_layers(self, target: PythonTarget) -> None:
        """Products and layers in many shapes; they are counted by themselves."""
        tell = self.progress.begin("products and layers in many shapes")
        products, layers = product_subjects(target, self.report), layer_subjects(self.report)
        share = len(products) / max(len(products) + len(layers), 1)
        for some, start, end in ((products, 0, share), (layers, share, 1)):
            uses, asked = ask_one_by_one(target, some, self.most, within(tell, start, end))
            self.uses += uses
            self.shapes += asked.notes
            self.ordinary += asked.ordinary
        uses, notes = ask_epilogues(product_subjects(target, self.report), self.most)
        self.uses += uses
        self.shapes += notes
        self.uses += wrong_by_shape(target, self.report, self.uses)

    def ask_formats_without_vectors(self, target: PythonTarget) -> None:
        """Formats and float types that no vector file has."""
        if self.extent.unfiled:
            uses, asked = ask_unfiled(target, self.report, self.most)
            self.uses += uses
            self.note(*asked.notes)
            self.ordinary += asked.ordinary

    def look_at_arguments(self, target: PythonTarget, state: FloatState) -> None:
        """Whether calls with cases change arguments, or the state of arithmetic before them."""
        self.uses += list(changed_arguments(target, self.report, self.uses, state))

    def ask_empty_calls(self, target: PythonTarget, answered: Sequence[Answered]) -> None:
        """A call without a case for each operation that has answered some."""
        some = [one.file for one in answered if len(one.answers.errors) < len(one.file.cases)]
        uses, notes = ask_nothing(target, some)
        self.uses += uses
        self.note(*notes, *self.shapes)

    def decide_what_answers_are_compared_with(self) -> None:
        """The files of every row whose answers a policy or profile gives so far, with that."""
        unsteady = unsteady_rows(self.uses)
        for row in self.report.rows:
            policy = explaining(row, self.report, listing=self.extent.listing)
            if policy is not None:
                files = [outcome.file for outcome in row.outcomes if outcome.file.cases]
                profile = self.report.profile if row.profile else None
                is_steady = (row.op, row.format) not in unsteady
                by = self.asked_by if is_steady else self.unsteady_by
                by.append((files, policy, profile))

    def ask_families(self, target: PythonTarget) -> None:
        """Exhaustive families: all at level 2, else those that are small, of a fast target."""
        tell = self.progress.begin("every input of a kind")
        if all(file.op in PRODUCT_OPERATIONS for files, *_ in self.asked_by for file in files):
            return  # without importing their makers: products have none
        from mxref.conformance.checking.level_two import ask_families
        from mxref.golden.level2 import default_families, families

        is_fast = self.extent.elements != 0 and self.most >= PACES[0][1]
        chosen = default_families() if is_fast else []
        if self.extent.level == 2:
            chosen = families()
        for i, (files, policy, profile) in enumerate(self.asked_by):
            tell(i / len(self.asked_by))
            self.computed += ask_families(target, chosen, policy, profile, files)
        cases = sum(one.cases for one in self.computed)
        self.scope = replace(self.scope, families=len(self.computed), family_cases=cases)

    def ask_every_output(self, target: PythonTarget) -> None:
        """Every output of products; those of the cases are compared before."""
        found = [
            ask_outputs(target, outcome, self.report.policy)
            for row in self.report.rows
            if row.op in DOT_OPERATIONS
            for outcome in row.outcomes
        ]
        self.computed += found
        if count := sum(one.cases for one in found):
            self.note(f"products: {count:,} outputs, of every row with every row")

    def ask_ordinary_calls(self, target: PythonTarget) -> None:
        """Whole calls drawn like tensors.

        What is wrong in calls of few cases, in equal ones, or is not reproducible, may be so
        because of what the cases of a call have in common: if all calls that have it are wrong.
        """
        self.progress.begin("calls drawn like tensors")
        uses, computed, scopes = ask_ordinary(target, self.asked_by, self.most, self.extent.seed)
        kinds = "size", "company", "state", "memory"
        unsure = {(use.op, use.format): use for use in self.uses if use.kind in kinds}
        some = [by for by in self.unsteady_by if by[0] and (by[0][0].op, by[0][0].format) in unsure]
        for use in ask_ordinary(target, some, self.most, self.extent.seed, sure=True)[0]:
            self.uses[self.uses.index(unsure[use.op, use.format])] = use
        self.uses += uses
        self.computed += computed
        self.scope = replace(self.scope, ordinary=(*scopes, *self.ordinary))

    def search(self, answered: Sequence[Answered]) -> None:
        """A search for wrong answers, and for answers that what is known does not give.

        What does not give them is looked for again, with them, and compared in turn.
        """
        self.progress.begin("a search")
        search = Search(self.target, self.most, self.extent.seed)
        known, by = self.report.known, [file for files, *_ in self.asked_by for file in files]
        first: list[Compared] = []
        for files, policy, profile in self.asked_by:
            for file in files:
                first += search.asked(file, policy, profile, known)
        found, rows = [*first], tuple[VerifyRow, ...]()
        for _ in range(_ROUNDS):
            more = list(search.confirmed(self.report, self.uses, by, rows))
            found += more
            self.computed += more
            if not any(one.wrong for one in more):
                break
            rows = self.report.rows
            self.report = self.with_computed(answered)
        self.computed += first
        where = dict.fromkeys((one.op, one.format) for one in found)
        in_part = {(one.op, one.format) for one in found if one.cases < REGISTRY[one.op].questions}
        asked = {*where} | {(file.op, file.format) for file in by}
        self.scope = replace(
            self.scope,
            searched=sum(one.cases for one in found),
            searched_in=tuple(pair for pair in where if pair not in in_part),
            unsearched=unsearched(self.report, self.uses, asked),
        )

    def with_computed(self, answered: Sequence[Answered]) -> Report:
        """The report of the answers to the vectors and to what was computed."""
        files_of = {one.file.stem: [one] for one in answered}
        for outcome in (one.outcome for one in self.computed if one.outcome is not None):
            file, given = outcome.file, Answers(outcome.answers, outcome.errors)
            choices = outcome.policy if file.row.own_choices else None
            given_to = Answered(file, outcome.inputs, given, choices)
            files_of.setdefault(file.stem, []).append(given_to)
        return with_rows(self.report, list(files_of.values()), self.uses, whole=self.whole)

    def reported(self, answered: Sequence[Answered]) -> Report:
        """The report of everything."""
        told = described(self.with_computed(answered))
        notes = (*told.scope.notes, *self.scope.notes, *accumulation_notes(told.rows))
        notes += (limit_note(),) if limit_note() else ()
        return replace(told, scope=replace(self.scope, notes=notes))
