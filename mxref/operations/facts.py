"""What is known of an operation before there is a case: its call, its formats and what it reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.operations.filled_axes import FilledAxes
from mxref.policy.policy import READS, Policy

__all__ = ["Facts"]


class Facts:
    """What verbs ask instead of the operation's name."""

    #: Whether mxref has not got it: `defined` sets it.
    is_own: bool = False
    #: Its name in files and commands.
    name: ClassVar[str]
    #: The parameters of a target's function.
    parameters: ClassVar[str]
    #: The formats that it has, those of a user among them while they are known.
    formats: ClassVar[Collection[str]] = ELEMENT_FORMATS
    #: Clauses of SPEC_NOTES and coverage models of its cases that no other operation has.
    clauses: ClassVar[Mapping[str, str]] = {}
    models: ClassVar[Mapping[str, str]] = {}
    #: The clause that decides every answer, if one does.
    decided_by: ClassVar[str] = ""
    #: Whether cases of one file have different numbers of words in.
    varied: ClassVar[bool] = False
    #: Whether answers of one file have different numbers of words, too: a call has one case.
    single: ClassVar[bool] = False
    #: Whether the words in are codes and the words out are floats.
    from_codes: ClassVar[bool] = False
    #: Whether a case is one code: every input can be asked.
    one_code: ClassVar[bool] = False
    #: Whether the words in are bytes of a layout, which may be of another size than a policy has.
    unpacks: ClassVar[bool] = False
    #: Of operations that make blocks, what stands before the numbers of a case of one block.
    before_block: ClassVar[tuple[int, ...] | None] = None
    #: Members of choices that it refuses, whatever the words are.
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Whether the words out are floats of which every NaN is right where one is.
    one_nan: ClassVar[bool] = False
    #: Whether a policy of it has choices of its own, not those of `Policy`.
    own_choices: ClassVar[bool] = False
    #: Whether words in are random bits and their number, behind a number.
    random_bits: ClassVar[bool] = False
    #: Whether it is on a linear layer, whose operands become blocks.
    of_layers: ClassVar[bool] = False
    #: Of operations on whole blocks, what a block has at first: numbers, or codes.
    blocks: ClassVar[str] = ""
    #: What a call has many of.
    unit: ClassVar[str] = "rows"
    #: The sizes of its calls that may have to be multiples of something, in the order of MULTIPLES.
    multiples: ClassVar[tuple[str, ...]] = ("n",)
    #: Which sizes the axes of a call have, where calls are filled up by these alone.
    axes_filled: ClassVar[FilledAxes | None] = None
    #: How many arrays its function returns; of two the first has scale codes.
    arrays: ClassVar[int] = 1
    #: The most questions of the search about a format and float type; 0 if it has none.
    questions: ClassVar[int] = 0

    def called_as(self, format: str) -> str:
        """The call of a target's function, for errors.

        >>> from mxref.operations.registry import REGISTRY
        >>> [REGISTRY["quantize"].called_as(name) for name in ("mxfp4_e2m1", "nvfp4")]
        ['quantize(values, format)', 'quantize(values, format, tensor_scale)']
        """
        return f"{self.name}({self.parameters})"

    def slots(self, format: str) -> Collection[str]:
        """The float types that it can be asked in, or what files of a format have in place of them.

        >>> from mxref.operations.registry import REGISTRY
        >>> [(*REGISTRY[name].slots("e2m1"),) for name in ("encode", "decode", "pack")]
        [('f32', 'f16', 'bf16', 'f64'), ('f32',), ('bytes',)]
        """
        return LAYOUTS

    def slots_under(self, format: str, policy: Policy) -> Collection[str]:
        """Those that drawn questions under a policy have; bytes are in one of its layouts."""
        return self.slots(format)

    def by_name(self, format: str) -> tuple[str, ...]:
        """The parameters that a call in a format gives by name, which a target need not have."""
        return ()

    def reads(self, format: str = "") -> tuple[str, ...]:
        """The choices of a policy that it reads, of a format or of those of MX."""
        return READS[self.name]

    def members(self, format: str, choice: str) -> list[str]:
        """The members of a choice that it takes.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["encode_stochastic"].members("e2m1", "rounding")
        ['stochastic_a', 'stochastic_b', 'stochastic_c']
        """
        some = [one.value for one in Policy.members(choice)]
        if choice == "rounding":
            return [one for one in some if one.startswith("stochastic") == self.random_bits]
        return [one for one in some if one not in self.refused.get(choice, ())]
