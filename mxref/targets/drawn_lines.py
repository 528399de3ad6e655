"""Lines of questions beside the cases of a vector file, with ids of their own."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mxref.cases.names import names_of
from mxref.targets.calls import without_cases
from mxref.targets.line_protocol import LineQuestion, questions_of

__all__ = ["DRAWN", "drawn_questions"]

#: What stands before the number of a question beside the cases, in its id.
DRAWN = ".search_"


def drawn_questions(
    stem: str, inputs: NDArray[np.uint64], *, marked: bool = False
) -> list[LineQuestion]:
    """Questions beside the cases of a vector file, with ids of their own.

    Args:
        stem: the file's.
        inputs: the words, one question a row.
        marked: whether an id tells what is asked, so that recorded answers to others are known.

    >>> words = np.array([[0x3FC0]], np.uint64)
    >>> drawn_questions("encode/e2m1.bf16", words)[0].line()
    'encode.e2m1.bf16.search_0 encode e2m1 bf16 3fc0'
    >>> drawn_questions("encode/e2m1.bf16", words, marked=True)[0].id
    'encode.e2m1.bf16.search_0_f335c8d5'
    """
    names = names_of(stem)
    found = []
    for one in questions_of(without_cases(*names), inputs):
        mark = f"_{zlib.crc32(one.line().encode('ascii')):08x}" if marked else ""
        found.append(replace(one, id=f"{'.'.join(names)}{DRAWN}{one.id}{mark}"))
    return found
