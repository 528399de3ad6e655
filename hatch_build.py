"""What the build of a wheel adds: the plain vectors in one archive."""

import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlainVectors(BuildHookInterface):
    """`vectors/plain` as `mxref/_vectors/plain.tar.xz`, the same bytes from every build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the archive; an editable installation reads the folder of its checkout."""
        if version == "editable":
            return
        vectors = Path(self.root, "vectors")
        self.folder = tempfile.TemporaryDirectory()
        archive = Path(self.folder.name, "plain.tar.xz")
        with tarfile.open(archive, "w:xz", preset=9) as tar:
            for path in sorted((vectors / "plain").rglob("*.*")):
                member = tarfile.TarInfo(path.relative_to(vectors).as_posix())
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(member, file)
        build_data["force_include"][str(archive)] = "mxref/_vectors/plain.tar.xz"

    def finalize(self, *_: object) -> None:
        """Remove the archive: the wheel has it."""
        if hasattr(self, "folder"):
            self.folder.cleanup()
