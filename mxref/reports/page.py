"""Pages: a template and its facts as one file of HTML that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mxref._version import VECTORS_VERSION, __version__
from mxref.reports.extra import extra
from mxref.support.text import printable
from mxref.support.whole_file import write_file

__all__ = ["page", "write_page"]


def page(template: str, *, command: str = "", **facts: Any) -> str:
    """A page as HTML.

    Args:
        template: name of a template of this room, without its ending.
        command: the command that makes the page, if one does.
        facts: what the template speaks of; text is escaped.

    Raises:
        ValueError: jinja2 is not installed.
    """
    jinja2 = extra("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["printable"] = printable
    text: str = environment.get_template(f"{template}.html").render(
        version=__version__, vectors=VECTORS_VERSION, command=command, **facts
    )
    return text


def write_page(path: Path, template: str, **facts: Any) -> None:
    """Write a page whole: see `page`.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: a package is missing, or the path is a device, a pipe or a socket.
    """
    write_file(path, page(template, **facts).encode("utf-8"))
