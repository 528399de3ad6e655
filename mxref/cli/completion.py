"""Completion of the command line in shells; the only module that uses shtab."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["SHELLS", "PrintCompletion"]

SHELLS = ("bash", "zsh", "fish")
#: Metavars of arguments that are files, though their type does not say so.
_FILES = ("TARGET",)


class PrintCompletion(argparse.Action):
    """Prints the script that completes the command in a shell, and ends the command."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, shell: Any, *_: Any
    ) -> None:
        """Print and exit.

        Raises:
            ValueError: shtab is not installed.
        """
        try:
            import shtab
        except ImportError:
            raise ValueError("--print-completion needs shtab: pip install shtab") from None
        words = _words()
        for action in _actions(parser):
            if action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.type is Path or action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.option_strings and action.choices is None:
                action.choices = words.get(action.dest)
        print(shtab.complete(parser, shell))
        parser.exit()


def _words() -> dict[str, list[str]]:
    """For the options that take names: metavar -> the names."""
    from mxref.bits.floats import LAYOUTS
    from mxref.cli.format_names import formats_of
    from mxref.operations.registry import OPERATIONS
    from mxref.profiles import PROFILES

    return {
        "format": [name for names in formats_of("all") for name in names],
        "float": [*LAYOUTS],
        "op": [*OPERATIONS],
        "profile": [*PROFILES],
    }


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of its verbs."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _actions(one)
