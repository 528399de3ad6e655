"""The environments of other implementations, for .ci/run, tools/peers.sh and tests/peers.

    python3 tools/environments.py FOLDER NAME...     # makes FOLDER/NAME; NAME is current or older

One that is complete and of the same packages is kept. `older` has what does not go with `current`:
torchmx wants a torchao of 2024, there are two MLX, and tosa-tools holds NumPy back. torch is
installed first, so that the CPU build is enough: point pip at it, or CUDA comes along.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

__all__ = ["ENVIRONMENTS", "Environment", "lacking", "make", "pins"]

ROOT = Path(__file__).resolve().parents[1]


class Environment(NamedTuple):
    """What is installed, in this order.

    Args:
        first: what pip installs before all others.
        packages: what it installs with the project.
        extras: those of the project.
        alone: packages without what they depend on.
        folder: a folder of a wheel that lies in site-packages without the rest of it, or empty.
        wheel: that wheel.
    """

    first: str
    packages: tuple[str, ...]
    extras: tuple[str, ...]
    alone: tuple[str, ...]
    folder: str = ""
    wheel: str = ""


# fbgemm-gpu-cpu 1.9 does not load with this torch and 1.8 asks for another, amd-quark asks for an
# older ONNX, neural-compressor for much that is not needed. The package triton-kernels is another
# project than what vLLM carries.
ENVIRONMENTS = {
    "current": Environment(
        "torch==2.13.0",
        ("numpy==2.4.6", "ninja", "prettytable", "onnxslim"),
        ("test", "peers"),
        ("fbgemm-gpu-cpu==1.8.0", "amd-quark==0.13", "neural-compressor==3.10"),
        "vllm/third_party/triton_kernels",
        "vllm==0.33.0",
    ),
    "older": Environment(
        "torch==2.13.0",
        ("numpy==2.1.3", "tosa-tools==2026.8.0", "mlx==0.31.2", "mlx-cpu==0.31.2", "pytest>=8"),
        ("fuzz",),
        ("torchao==0.6.1", "torchmx==0.1.0"),
    ),
}


def requirements(name: str) -> list[str]:
    """Every package that an environment asks for, those of extras too."""
    one = ENVIRONMENTS[name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for extra in one.extras for line in project["optional-dependencies"][extra]]
    return [one.first, *one.packages, *extras, *one.alone]


def pins(name: str) -> dict[str, str]:
    """The packages that an environment has in one version, and that version.

    >>> pins("older")["torchao"], pins("current")["torchao"]
    ('0.6.1', '0.18.0')
    """
    lines = requirements(name)
    return dict(re.findall(r"^([\w-]+)==([\w.]+)$", "\n".join(lines), re.M))


def lacking(name: str) -> list[str]:
    """What the running environment lacks to be one of this name: each as pip would take it."""
    absent = []
    for package, version in pins(name).items():
        try:
            found = metadata.version(package).partition("+")[0]  # without +cpu
        except metadata.PackageNotFoundError:
            found = ""
        if found != version:
            absent.append(f"{package}=={version}")
    return absent


def make(folder: Path, name: str) -> None:
    """FOLDER/NAME, unless it is there.

    Raises:
        subprocess.CalledProcessError: a package cannot be installed.
    """
    one, home = ENVIRONMENTS[name], (folder / name).resolve()
    stamp, content = home / "complete", "\n".join([str(ROOT), *requirements(name), one.wheel, ""])
    if stamp.exists() and stamp.read_text("utf-8") == content:
        return
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, one.first], check=True)
    subprocess.run([*pip, *one.packages, "-e", f"{ROOT}[{','.join(one.extras)}]"], check=True)
    subprocess.run([*pip, "--no-deps", *one.alone], check=True)
    if one.folder:
        unpack(one.wheel, one.folder, home)
    stamp.write_text(content, "utf-8")
    print(f"environment {name}: {time.monotonic() - begun:.0f} s")


def unpack(wheel: str, inside: str, home: Path) -> None:
    """Put one folder of a wheel, and METADATA with the wheel's version, into an environment."""
    python, (site,) = str(home / "bin" / "python"), home.glob("lib/python*/site-packages")
    with tempfile.TemporaryDirectory() as wheels:
        pip = [python, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels, wheel]
        subprocess.run(pip, check=True)
        (whole,) = Path(wheels).iterdir()
        with zipfile.ZipFile(whole) as archive:
            for member in archive.namelist():
                path = Path(member)
                if member.endswith(".dist-info/METADATA"):
                    target = site / path
                elif member.startswith(f"{inside}/") and not member.endswith("/"):
                    target = site / path.relative_to(Path(inside).parent)
                else:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not {*sys.argv[2:]} <= {*ENVIRONMENTS}:
        sys.exit(__doc__)
    for word in sys.argv[2:]:
        make(Path(sys.argv[1]), word)
