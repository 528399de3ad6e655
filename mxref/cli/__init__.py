"""The command line: one module for each verb."""

from mxref.cli.command_line import main

__all__ = ["main"]
