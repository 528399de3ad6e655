"""A killed `regen` leaves the old set of vectors or the new one, whole, and the next one cleans up.

A copy of the process is killed before its n-th change to the file system, for every n: so no moment
between two changes is left out, on any machine. The command itself is killed after some time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import ROOT, run
from shares import Share

from mxref import golden
from mxref.cases.read import STAGED, file_bytes
from mxref.golden import store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and fork")
VECTORS = ROOT / "vectors"

#: For every n: a copy of the folder, in which a copy of this process is killed at its n-th change.
_KILLER = """
import os, pickle, shutil, signal, sys
from pathlib import Path
from mxref.golden import store
root = Path(sys.argv[1])
texts = pickle.loads((root / "texts").read_bytes())
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree")
count = 0
while True:
    count += 1
    folder = root / f"killed_{count:03}"
    shutil.copytree(root / "old", folder)
    pid = os.fork()
    if pid == 0:
        left = count
        def hook(event, arguments):
            global left
            is_write = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if event in CHANGES or is_write:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        store.write(folder, texts)
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        break
"""


def small_sets(tmp_path: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Two whole sets: of the new one a file is new, others are changed or as they were."""
    stems = ["decode/e2m1.f32", "decode/e3m2.f32", "decode_scale/e8m0.f32", "dequantize/mxint8.f32"]
    old = {}
    for stem in stems:
        for path in (f"{stem}.jsonl", f"plain/{stem}.txt"):
            old[path] = (VECTORS / path).read_bytes()
    new = dict(old)
    for path in ("decode/e2m1.f32.jsonl", "dequantize/mxint8.f32.jsonl"):
        header, *lines = new[path].decode("ascii").splitlines()
        fewer = json.dumps({**json.loads(header), "cases": len(lines) - 1}, separators=(",", ":"))
        new[path] = "\n".join([fewer, *lines[:-1]]).encode("ascii") + b"\n"
        plain = f"plain/{path.removesuffix('.jsonl')}.txt"
        new[plain] = b"".join(new[plain].splitlines(keepends=True)[:-1])
    for path in ("decode_scale/e8m0.f32.jsonl", "plain/decode_scale/e8m0.f32.txt"):
        del new[path]
    for path in ("decode/e4m3.f32.jsonl", "shared_scale/int8.f32.jsonl"):
        new[path] = (VECTORS / path).read_bytes()
    return with_manifest(old), with_manifest(new)


def with_manifest(files: dict[str, bytes]) -> dict[str, bytes]:
    version = json.loads((VECTORS / "manifest.json").read_bytes())["mxref_vectors"]
    entries = [
        {
            "file": path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "cases": data.count(b"\n") - path.endswith(".jsonl"),
        }
        for path, data in files.items()
    ]
    manifest = {"mxref_vectors": version, "spec": "OCP MX v1.0", "files": entries}
    return {**files, "manifest.json": store.manifest_bytes(manifest)}


def lay_out(folder: Path, texts: dict[str, bytes]) -> None:
    for path, data in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "README.md").write_text("for people\n")
    (folder / "decode" / "notes.md").write_text("somebody's\n")


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


OTHERS = {"README.md": b"for people\n", "decode/notes.md": b"somebody's\n"}


@pytest.fixture(scope="module")
def killed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[Path], dict[str, bytes], dict[str, bytes]]:
    root = tmp_path_factory.mktemp("kill")
    old, new = small_sets(root)
    lay_out(root / "old", old)
    (root / "texts").write_bytes(pickle.dumps(new))
    done = run(sys.executable, "-W", "ignore", "-c", _KILLER, root)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(root.glob("killed_*")), old, new


def which(folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """Which set is read; read_vectors refuses a file whose digest is not the manifest's."""
    found = golden.read_vectors(folder)
    for name, texts in (("old", old), ("new", new)):
        lines = {f"{file.stem}.jsonl": list(file.lines()) for file in found}
        wanted = {
            path: data.decode("ascii").splitlines()
            for path, data in texts.items()
            if path.endswith(".jsonl")
        }
        if lines == wanted:
            return name
    raise AssertionError(f"{folder} holds neither set")


@pytest.mark.sampled(12)
def test_a_kill_before_any_change_leaves_one_whole_set(
    killed: tuple[list[Path], dict[str, bytes], dict[str, bytes]],
) -> None:
    folders, old, new = killed
    *folders, whole = folders  # the last one was not killed
    states = [which(folder, old, new) for folder in folders]
    # Old up to one moment, and new from there on; many moments on both sides of it.
    first = states.index("new")
    assert states == ["old"] * first + ["new"] * (len(states) - first)
    assert first >= 8
    assert len(states) - first >= 12
    assert contents(whole) == {**new, **OTHERS}


@pytest.mark.sampled(0)
def test_the_plain_files_are_of_the_same_set(
    killed: tuple[list[Path], dict[str, bytes], dict[str, bytes]],
) -> None:
    """What the manifest lists but `read_vectors` does not read."""
    folders, old, new = killed
    for folder in folders:
        texts = {"old": old, "new": new}[which(folder, old, new)]
        for path, data in texts.items():
            assert file_bytes(folder, path) == data, (folder, path)


def test_a_new_manifest_is_in_its_place_only_when_all_files_are(
    killed: tuple[list[Path], dict[str, bytes], dict[str, bytes]],
) -> None:
    """So that a reader that knows nothing of staged files is told by the digests."""
    folders, _, new = killed
    for folder in folders:
        if (folder / "manifest.json").read_bytes() == new["manifest.json"]:
            found = contents(folder)
            assert {path: found.get(path) for path in new} == new, folder


@pytest.mark.sampled(6)
def test_the_next_regen_cleans_up(
    killed: tuple[list[Path], dict[str, bytes], dict[str, bytes]], tmp_path: Path
) -> None:
    folders, old, new = killed
    for folder in folders:
        for number, texts in enumerate((new, old)):  # forward, or back again
            copy = tmp_path / f"{folder.name}_{number}"
            shutil.copytree(folder, copy)
            golden.write(copy, texts)
            assert contents(copy) == {**texts, **OTHERS}
            assert not (copy / STAGED).exists()
            assert list(copy.rglob("*.tmp")) == []
            shutil.rmtree(copy)


def test_check_tells_of_an_interrupted_regen(
    killed: tuple[list[Path], dict[str, bytes], dict[str, bytes]],
) -> None:
    folders, _, new = killed
    staged = [folder for folder in folders if (folder / STAGED).exists()]
    assert staged
    for folder in staged:
        problems = golden.check(folder, new)
        assert problems[0] == f"{STAGED} is what a killed `mxref regen` left: run it again"
        assert problems[1:] in (
            ["decode/notes.md is not a vector file"],
            # Files of the old set that were still to be removed.
            [
                "decode/notes.md is not a vector file",
                "decode_scale/e8m0.f32.jsonl is not a vector file",
                "plain/decode_scale/e8m0.f32.txt is not a vector file",
            ],
            ["decode/notes.md is not a vector file", "plain/decode_scale/e8m0.f32.txt"
             " is not a vector file"],
            ["decode/notes.md is not a vector file", "decode_scale/e8m0.f32.jsonl"
             " is not a vector file"],
        )  # fmt: skip


def test_a_staging_folder_of_a_reused_process_number_is_not_mixed_in(tmp_path: Path) -> None:
    old, new = small_sets(tmp_path)
    folder = tmp_path / "vectors"
    lay_out(folder, old)
    stale = folder / f"{STAGED}.{os.getpid()}.tmp"
    stale.mkdir()
    (stale / "decode").mkdir()
    (stale / "decode" / "e9m9.f32.jsonl").write_bytes(b"stale\n")
    golden.write(folder, new)
    assert contents(folder) == {**new, **OTHERS}


def test_a_disk_that_is_full_changes_nothing(tmp_path: Path) -> None:
    old, new = small_sets(tmp_path)
    folder = tmp_path / "vectors"
    lay_out(folder, old)
    before = contents(folder)
    script = (
        "import pickle, resource, signal, sys; from pathlib import Path\n"
        "from mxref.golden import store\n"
        "sys.dont_write_bytecode = True\n"  # the limit would cut it, and tell nobody
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"  # write fails instead: EFBIG
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "texts = pickle.loads(Path(sys.argv[2]).read_bytes())\n"
        "try: store.write(Path(sys.argv[1]), texts)\n"
        "except OSError as error: print(error.filename)\n"
    )
    (tmp_path / "texts").write_bytes(pickle.dumps(new))
    done = run(sys.executable, "-c", script, folder, tmp_path / "texts")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folder))
    assert contents(folder) == before


# --- the command itself ---------------------------------------------------------------------------


#: The command, with the committed files as what it has built.
_BUILT = """
import json, sys
from pathlib import Path
from mxref import golden
from mxref.cli import main
vectors = Path(sys.argv[1])
paths = [entry["file"] for entry in json.loads((vectors / "manifest.json").read_bytes())["files"]]
files = {path: (vectors / path).read_bytes() for path in [*paths, "manifest.json"]}
golden.build = lambda *_, **__: files
sys.exit(main(sys.argv[2:]))
"""


def start(folder: Path, jobs: int, *, built: bool = False) -> subprocess.Popen[str]:
    begin = ["-c", _BUILT, str(VECTORS)] if built else ["-m", "mxref"]
    command = [sys.executable, *begin, "regen", "--out", str(folder), "--jobs", str(jobs)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip


def group_ended(group: int) -> bool:
    """Whether every process of a group has ended; waits up to two minutes for that."""
    for _ in range(1200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.sampled(12)
@pytest.mark.complete
def test_the_command_killed_over_its_run_leaves_a_whole_set(share: Share, tmp_path: Path) -> None:
    """Twelve moments if complete, else three early ones; then once while it writes."""
    old, _ = small_sets(tmp_path)
    delays = [0.3, 1.0, 2.0] if not share.complete else [0.3 * 1.4**i for i in range(12)]
    for number, delay in enumerate(delays):
        folder = tmp_path / str(number)
        lay_out(folder, old)
        with start(folder, jobs=1 + number % 2) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        assert group_ended(process.pid), "a worker has outlived its parent"
        ours = {path: data for path, data in contents(folder).items() if path not in OTHERS}
        if process.returncode == -signal.SIGKILL and ours == old:
            assert which(folder, old, old) == "old"
        else:
            assert len(golden.read_vectors(folder)) > 70
        shutil.rmtree(folder)


@pytest.mark.complete
def test_command_killed_while_it_writes_leaves_a_whole_set(share: Share, tmp_path: Path) -> None:
    """If complete, after it has built every file itself."""
    old, _ = small_sets(tmp_path)
    folder = tmp_path / "vectors"
    lay_out(folder, old)
    with start(folder, jobs=2, built=not share.complete) as process:
        while process.poll() is None and not list(folder.glob(f"{STAGED}*")):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert group_ended(process.pid)
    read = {file.stem for file in golden.read_vectors(folder)}
    old_stems = {path.removesuffix(".jsonl") for path in old if path.endswith(".jsonl")}
    assert read == old_stems or len(read) > 70
