"""The golden vectors of mxref, as files."""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """The folder with `manifest.json`, `README.md` and the files that the manifest lists."""
    return Path(__file__).parent / "vectors"
