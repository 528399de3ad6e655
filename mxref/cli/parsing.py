"""Parsers of the command line, and errors about unknown words."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from mxref.support.text import suggestion, unknown_name

__all__ = ["Parser", "refuse_arguments", "refuse_verb"]


class _Once(argparse.Action):
    """Stores the value of an option; a second value must be the same."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        given: dict[str, Any] = vars(namespace).setdefault("_given", {})
        again = option_string is not None and self.dest in given
        if again and given[self.dest] != values:
            got = f"{given[self.dest]} and {values}"
            raise argparse.ArgumentError(self, f"it must be given once, got {got}: keep one")
        given[self.dest] = values
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that refuses two values of one option, unless they are a list."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for action in (None, "store"):
            self.register("action", action, _Once)
        #: Makes the end of its help, which takes time.
        self.last_part: Callable[[], str] = str

    def format_help(self) -> str:
        """The text of `--help`."""
        return super().format_help() + self.last_part()

    @property
    def option_names(self) -> list[str]:
        """The options that it knows."""
        return list(self._option_string_actions)


def refuse_verb(word: str, verbs: Iterable[str]) -> NoReturn:
    """Refuse a word that is no verb.

    >>> refuse_verb("verfy", ["verify", "fuzz"])
    Traceback (most recent call last):
    ValueError: VERB must be one of verify, fuzz, got 'verfy' (did you mean 'verify'?)
    """
    text = unknown_name("VERB", word, dict.fromkeys(verbs))
    if word.endswith(".py"):
        text = f"VERB must come first, got {word!r} (did you mean `mxref verify {word}`?)"
    raise ValueError(text)


def refuse_arguments(parser: Parser, words: Sequence[str]) -> NoReturn:
    """Refuse arguments that a verb does not have, and suggest the nearest option."""
    near = suggestion(words[0], parser.option_names) if words[0].startswith("--") else ""
    parser.error(f"unrecognized arguments: {' '.join(words)}{near}")
