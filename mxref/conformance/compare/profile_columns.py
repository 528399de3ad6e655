"""Files with the answers of profiles where they differ from those of `ocp`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from mxref.cases.parse import parse
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import right_answers, same_answers
from mxref.operands.word_rows import same_width, stripped
from mxref.profiles import PROFILES, Profile
from mxref.targets.profile_target import speaks_of

__all__ = ["profile_files"]

#: The operations whose files have answers of profiles.
_OPERATIONS = ("encode", "decode", "encode_scale", "decode_scale", "quantize", "dequantize")
#: What stands for the answer where an implementation raises an error.
_REFUSED = "error"


def profile_files(files: Mapping[str, bytes]) -> Iterator[tuple[str, str, bytes, int]]:
    """The answers of each profile to each file: path, profile, text, number of lines.

    A line is the number of a line of the plain file, from 1 on, and the profile's output words, or
    ``error`` where the implementation raises one. Answers that equal those of `ocp` as
    ``vectors/README.md`` compares them have no line.

    Args:
        files: all vectors by their names.
    """
    for name, data in files.items():
        if name.partition("/")[0] in _OPERATIONS and name.endswith(".jsonl"):
            file = parse(data.decode("ascii"), name)
            for profile in PROFILES.values():
                if speaks_of(profile, file.op, file.format, file.float):
                    lines = [f"{line}\n" for line in _lines(file, profile)]
                    path = f"plain/profiles/{profile.name}/{file.stem}.txt"
                    yield path, profile.name, "".join(lines).encode("ascii"), len(lines)


def _lines(file: VectorFile, profile: Profile) -> Iterator[str]:
    inputs, want = file.input_words(), file.outputs(0)
    own = right_answers(file, inputs, profile.policy, profile)
    words, wanted = same_width(own.words, want)
    same = np.all(same_answers(file, wanted, words, inputs), axis=1)
    same[[*own.errors]] = False
    for i in np.flatnonzero(~same).tolist():
        given = [f"{word:0{file.out_digits}x}" for word in stripped(words[i])]
        yield " ".join([str(i + 1), *([_REFUSED] if i in own.errors else given)])
