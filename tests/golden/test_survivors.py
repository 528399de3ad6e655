"""What `regen` writes without building it: the schema is the committed one, to the byte."""

from __future__ import annotations

from helpers import VECTORS

from mxref.golden.schema import schema_lines


def test_the_committed_schema_is_what_is_written() -> None:
    assert (VECTORS / "schema.json").read_text("ascii") == "\n".join(schema_lines()) + "\n"
