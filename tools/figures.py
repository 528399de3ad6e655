"""Write into README.md and pages of docs/ the figures that can be computed in seconds.

    python tools/figures.py      # then `git diff` shows what was wrong

Other figures have commands of their own: `mxref score --picture`, `tools/ordinary.py --write`,
`tools/gpu/sass_counts.py`. Times and speeds are measured: pages say on which machine, and when.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "gpu"))

from sass_counts import MOST_SLOTS
from sass_table import GPUS, LEAST_SHARES

from mxref.cases.records import VectorFile
from mxref.conformance.score import covers
from mxref.formats.catalog import CODE_FORMATS, E2M1, ELEMENT_FORMATS
from mxref.mutants import MUTANTS, USES, Mutant, equivalent, origins
from mxref.support.whole_file import write_file
from mxref.targets.calls import without_cases

ROOT = Path(__file__).resolve().parents[1]

Figures = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a page with figures.

    Args:
        page: the file.
        text: the words of the sentence, `{}` for each figure; a page may break its lines.
        figures: computes them.
    """

    page: str
    text: str
    figures: Callable[[], Figures]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The sentence as a page has it: groups of words, and between them groups of a figure."""
        parts = (map(re.escape, re.split(r"\s+", part)) for part in self.text.split("{}"))
        words = ("(" + r"\s+".join(part) + ")" for part in parts)
        return re.compile(r"(\w(?:[\w,.]*\w)?)".join(words))


def with_figures(page: str, text: str) -> str:
    """The text of a page with today's figures in its sentences.

    Raises:
        ValueError: a sentence is not in the text, or more than once.
    """
    for sentence in SENTENCES:
        if sentence.page != page:
            continue
        found = [*sentence.pattern.finditer(text)]
        if len(found) != 1:
            raise ValueError(f"{page} must have once, and has {len(found)} times: {sentence.text}")
        parts = list(found[0].groups())
        parts[1::2] = [f"{n:,}" if isinstance(n, int) else n for n in sentence.figures()]
        text = text[: found[0].start()] + "".join(parts) + text[found[0].end() :]
    return text


# --- mutants --------------------------------------------------------------------------------------


@functools.cache
def cells() -> tuple[tuple[Mutant, VectorFile, bool], ...]:
    """Each mutant and each vector file that has cases for it, and whether it is wrong there.

    `mxref score` runs them, and fails where that is not so.
    """
    manifest = json.loads((ROOT / "vectors" / "manifest.json").read_text("utf-8"))
    names = [re.fullmatch(r"(\w+)/(.+)\.(\w+)\.jsonl", one["file"]) for one in manifest["files"]]
    files = [without_cases(*name.groups()) for name in names if name is not None]
    return tuple(
        (mutant, file, equivalent(mutant.id, file.format, file.float) is None)
        for file in files
        for mutant in MUTANTS
        if covers(mutant, file)
    )


def _by_origin() -> Figures:
    own, seen, lifted = origins(MUTANTS)
    return len(MUTANTS), own, lifted, seen, own


def _right_everywhere() -> Figures:
    return [len(MUTANTS) - len({mutant.id for mutant, _, is_wrong in cells() if is_wrong})]


def _killed() -> Figures:
    wrong = [mutant for mutant, _, is_wrong in cells() if is_wrong]
    lanes = sum(mutant.group[0] == "L" for mutant in wrong)
    return len(wrong), len(wrong), lanes, len(cells()) - len(wrong)


def _by_kind() -> Figures:
    own, seen, lifted = origins(MUTANTS)
    letters = "".join(mutant.group[0] for mutant in MUTANTS if not mutant.lifted_from)
    lanes = sum("." in mutant.id for mutant in MUTANTS)
    binades = sum(mutant.group == "C21" for mutant in MUTANTS)
    others = own - letters.count("L") - letters.count("P") - binades
    of_operations = others, letters.count("I"), letters.count("S")
    return (
        *(len(MUTANTS), *of_operations, lifted, _WORDS[lanes // 32], lanes),
        *(letters.count("L") - lanes, letters.count("P"), binades, seen, own),
    )


def _encoders() -> Figures:
    """Wrong encoders of float32, once for each format of the standard where they are wrong."""
    wrong = [file for _, file, is_wrong in cells() if is_wrong and file.format in ELEMENT_FORMATS]
    return [sum((file.op, file.float) == ("encode", "f32") for file in wrong)]


# --- others ---------------------------------------------------------------------------------------

_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def _ties() -> Figures:
    """Ties of E2M1, and those above an odd code, on which `>` and `>=` differ."""
    ties = range(E2M1.max_code)
    return _WORDS[sum(code % 2 for code in ties)], _WORDS[len(ties)]


def _threads() -> Figures:
    return [(ROOT / "docs" / "field.md").read_text("utf-8").count("\n### [")]


def _needed() -> Figures:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (numpy,) = (name for name in project["dependencies"] if name.startswith("numpy"))
    return [one.partition(">=")[2] for one in (numpy, project["requires-python"])]


_README, _SCORE, _PERFORMANCE = "README.md", "docs/score.md", "docs/performance.md"
SENTENCES = (
    Sentence(_README, "`>` where `>=` stood: {} of the {} ties go to the wrong side.", _ties),
    Sentence(_README, "(docs/field.md): {} public threads with an answer", _threads),
    Sentence(
        _README,
        "mxref has {} implementations with one bug each: {} bugs, and wrong encoders again inside "
        "blocks, tensors and NVFP4 ({}). {} of the {} say where they were seen",
        _by_origin,
    ),
    Sentence(
        _README, "where it changes an answer; {} change none, with a proof", _right_everywhere
    ),
    Sentence(_README, "Of {} wrong encoders of float32,", _encoders),
    Sentence(_README, "all 2^32 patterns in all {} element formats", lambda: [len(CODE_FORMATS)]),
    Sentence(_README, "NumPy ≥ {} and ml_dtypes, Python ≥ {}, nothing else.", _needed),
    Sentence(
        _SCORE,
        "`mxref score` runs {} implementations with one bug each against the vectors: {} of "
        "operations ({} of them on integers, {} in stochastic rounding); every wrong element "
        "encoder again inside blocks, tensors and NVFP4 ({}); each lane with each of {} faults "
        "({}), groups and orders of lanes ({}), pairs of elements and blocks ({}), scales wrong "
        "for a 64th of a binade ({}). {} of the {} that are not encoders again say where they "
        "were seen.",
        _by_kind,
    ),
    Sentence(
        _SCORE,
        "({} of {} pairs of a bug and a vector file, {} of these about lanes); in {} more pairs it "
        "changes none",
        _killed,
    ),
    Sentence(_SCORE, "{} mutants change none at all.", _right_everywhere),
    Sentence(
        _SCORE,
        "{} more answer every single case right",
        lambda: [_WORDS[len(USES)].capitalize()],
    ),
    Sentence(_SCORE, "what ordinary test data catches of {} mutants", _encoders),
    Sentence(_PERFORMANCE, "all 2^32 inputs in all {} formats", lambda: [len(CODE_FORMATS)]),
    Sentence(
        _PERFORMANCE,
        "{} bytes a clock in each on an H100, {} on an H200, {} on a B200.",
        lambda: [f"{gpu.bytes_a_clock:.1f}" for gpu in GPUS.values()],
    ),
    Sentence(
        _PERFORMANCE,
        "less than {} % (one direction) or {} % (both) of a copy's speed",
        lambda: [f"{100 * least:.0f}" for least in LEAST_SHARES.values()],
    ),
    Sentence(
        _PERFORMANCE,
        "more than {} slots (float32) or {} (bfloat16) with conversions, {} or {} by integers",
        lambda: [*MOST_SLOTS.values()],
    ),
)


def main() -> int:
    """Write the pages."""
    for page in dict.fromkeys(sentence.page for sentence in SENTENCES):
        text = with_figures(page, (ROOT / page).read_text("utf-8"))
        write_file(ROOT / page, text.encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
