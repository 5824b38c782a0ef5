"""Small submissions to Kaggle, each with one quirk of a real one."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PLACE = "/kaggle_simulations/agent"
FIRST = "[c for c in range(conf.columns) if not obs.board[c]][0]"
"""Source of an agent's expression for the leftmost column that is not full."""
PLAIN = f"def agent(obs, conf): return {FIRST}\n"
HELPER = "def first(obs, conf): return " + FIRST + "\n"
BOOK = b'{"columns": [3, 2, 4]}'


class Submission(NamedTuple):
    """The files of a submission, and how they are packed."""

    files: Mapping[str, str | bytes]
    """Path to content."""
    packed: str = "folder"
    """`folder`, `file`, or the suffix of its archive."""
    uses_path: bool = False
    """Whether it opens files at Kaggle's path."""


def write_submission(submission: Submission, folder: Path, name: str = "submission") -> Path:
    """Write a submission below a folder; return its file, folder or archive."""
    files = {
        path: text.encode() if isinstance(text, str) else text for path, text in submission.files.items()
    }
    if submission.packed == "file":
        path = folder / f"{name}.py"
        path.write_bytes(files["main.py"])
        return path
    if submission.packed == "folder":
        for path, content in files.items():
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return folder / name
    archive = folder / f"{name}{submission.packed}"
    if submission.packed == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path, content in files.items():
                packed.writestr(path, content)
        return archive
    with tarfile.open(archive, "w" if submission.packed == ".tar" else "w:gz") as packed:
        for path, content in files.items():
            packed.addfile(_member(f"./{path}", size=len(content)), io.BytesIO(content))
    return archive


def _weights() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(7.0))
    return file.getvalue()


ZOO: dict[str, Submission] = {
    "folder with a helper": Submission(
        {
            "main.py": "from helper import first\ndef agent(obs, conf): return first(obs, conf)",
            "helper.py": HELPER,
        }
    ),
    "helper in a package, imported late": Submission(
        {
            "main.py": "def agent(obs, conf):\n  from lib.deep import first\n  return first(obs, conf)",
            "lib/__init__.py": "",
            "lib/deep.py": HELPER,
        },
        ".tgz",
    ),
    "data at Kaggle's path": Submission(
        {
            "main.py": f"""
import glob, json, os, pathlib
import numpy as np
HERE = "{PLACE}" if os.path.exists("/kaggle_simulations") else "."
book = json.load(open(HERE + "/data/book.json"))
weights = np.load(os.path.join(HERE, "data", "weights.npy"))
table = np.loadtxt("{PLACE}/data/table.txt")
assert pathlib.Path("{PLACE}", "data/table.txt").read_text() == "1 2\\n"
assert sorted(os.listdir("{PLACE}")) == ["data", "main.py"] and os.path.isdir("{PLACE}/data")
assert [os.path.basename(path) for path in glob.glob("{PLACE}/data/*.json")] == ["book.json"]
assert len(weights) == 7 and list(table) == [1, 2] and not os.path.exists("{PLACE}/nothing")
def agent(obs, conf):
    with open(b"{PLACE}/data/book.json", "rb") as file:
        assert file.read()
    return next(c for c in [*book["columns"], *range(conf.columns)] if not obs.board[c])
""",
            "data/book.json": BOOK,
            "data/weights.npy": _weights(),
            "data/table.txt": "1 2\n",
        },
        ".tar.gz",
        uses_path=True,
    ),
    "Kaggle's path on sys.path": Submission(
        {
            "main.py": f"""
import importlib.util, sys
sys.path.append("{PLACE}")
sys.path.insert(0, "{PLACE}/lib")
import helper
from only_in_lib import first
spec = importlib.util.spec_from_file_location("by_path", "{PLACE}/lib/by_path.py")
by_path = importlib.util.module_from_spec(spec)
spec.loader.exec_module(by_path)
def agent(obs, conf):
    assert by_path.NAME == "by path" and helper.first(obs, conf) == first(obs, conf)
    return first(obs, conf)
""",
            "helper.py": HELPER,
            "lib/only_in_lib.py": HELPER,
            "lib/by_path.py": "NAME = 'by path'",
        },
        ".zip",
        uses_path=True,
    ),
    "reads beside __file__": Submission(
        {
            "main.py": """
import json, os
with open(os.path.join(os.path.dirname(__file__), "book.json")) as file:
    BOOK = json.load(file)
def agent(obs, conf):
    assert conf.__raw_path__ == __file__
    return next(c for c in [*BOOK["columns"], *range(conf.columns)] if not obs.board[c])
""",
            "book.json": BOOK,
        },
        ".tar",
        uses_path=True,
    ),
    "last callable": Submission(
        {
            "main.py": f"""
def agent(obs, conf): return None
limit = 3
real = lambda obs, conf: {FIRST}
size = 4
"""
        },
        "file",
    ),
    "instance of a class": Submission(
        {
            "main.py": f"""
class Agent:
    def __init__(self): self.count = 0
    def __call__(self, obs, conf):
        self.count += 1
        return {FIRST}
agent = Agent()
"""
        },
        "file",
    ),
    "observation alone": Submission(
        {
            "main.py": """
def agent(observation):
    return [c for c in range(7) if observation["board"][c] == 0][0]
"""
        },
        "file",
    ),
    "extra arguments": Submission(
        {"main.py": f"def agent(obs, conf, memory={{}}, *rest, depth=4, **more):\n  return {FIRST}"}, "file"
    ),
    "plays with its output": Submission(
        {
            "main.py": f"""
import io, os, sys
print("loaded")
print("to stderr", file=sys.stderr)
os.write(1, b"raw\\n")
sys.stdout.write("no end of line")
sys.stdout.close()
sys.stdout = io.StringIO()
sys.stderr = None
def agent(obs, conf):
    print("thinking about", obs.step)
    os.write(1, b"raw again\\n")
    sys.stdout = open(os.devnull, "w")
    return {FIRST}
"""
        },
        "file",
    ),
    "globals of a helper": Submission(
        {
            "main.py": "from lib.inner import memory\ndef agent(obs, conf):\n  memory.seen.append(obs.step)\n"
            f"  assert len(memory.seen) == obs.step // 2 + 1, memory.seen\n  return {FIRST}",
            "lib/__init__.py": "",
            "lib/inner/memory.py": "seen = []",
        }
    ),
}
"""Submissions that play; `seen` grows by one per move only if each match begins with fresh modules."""


def _member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname, member.mode = kind, size, target, 0o644
    return member


def _tar(*members: tarfile.TarInfo) -> Callable[[Path], Path]:
    """Pack a good `main.py`, then these members, filled with zeros."""

    def write(folder: Path) -> Path:
        path = folder / "hostile.tar.gz"
        with tarfile.open(path, "w:gz", compresslevel=1) as packed:
            packed.addfile(_member("main.py", size=len(PLAIN)), io.BytesIO(PLAIN.encode()))
            for member in members:
                packed.addfile(member, io.BytesIO(bytes(member.size)))
        return path

    return write


def _claimed(size: int) -> Callable[[Path], Path]:
    """Pack a file whose header claims a wrong size."""

    def write(folder: Path) -> Path:
        path = folder / "hostile.tar"
        path.write_bytes(_member("main.py", size=size).tobuf() + bytes(1024))
        return path

    return write


def _zip(name: str, content: bytes = b"x", mode: int = 0o100644) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "hostile.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("main.py", PLAIN)
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            packed.writestr(member, content)
        return path

    return write


def _text(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def _cut(folder: Path) -> Path:
    path = _tar(_member("data", size=1 << 20))(folder)
    path.write_bytes(path.read_bytes()[:-200])
    return path


def _followed(folder: Path) -> Path:
    path = _tar()(folder)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"more"))
    return path


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "path out of the folder": (
        _tar(_member("../outside.py", size=3)),
        "it contains the invalid name '../outside.py'",
    ),
    "path out, in the middle": (_tar(_member("a/../../outside.py", size=3)), "it contains the invalid name"),
    "absolute path": (
        _tar(_member("/tmp/outside.py", size=3)),  # noqa: S108
        "it contains the invalid name '/tmp/outside.py'",
    ),
    "symbolic link": (_tar(_member("a", tarfile.SYMTYPE, target="/etc/passwd")), "is a link or a device"),
    "hard link": (_tar(_member("a", tarfile.LNKTYPE, target="/etc/passwd")), "is a link or a device"),
    "device": (_tar(_member("null", tarfile.CHRTYPE)), "is a link or a device"),
    "pipe": (_tar(_member("pipe", tarfile.FIFOTYPE)), "is a link or a device"),
    "bomb": (_tar(_member("zeros", size=64 << 20)), "unpacks to more than 200 times its size"),
    "bomb of zip": (_zip("zeros", bytes(64 << 20)), "unpacks to more than 200 times its size"),
    "larger than it is": (_claimed(1 << 40), "unpacks to more than 536870912 bytes"),
    "smaller than nothing": (_claimed(-(1 << 20)), "cannot be unpacked"),
    "too many files": (_tar(*(_member(f"f{n}") for n in range(10_001))), "more than 10000 files and folders"),
    "long name without end": (_tar(_member("x" * (1 << 18))), "cannot be unpacked: a header has"),
    "twice": (_tar(_member("main.py", size=3)), "main.py is in it twice"),
    "file and folder": (_tar(_member("a", size=1), _member("a/b", size=1)), "a is both a file and a folder"),
    "link in a zip": (_zip("a", b"/etc/passwd", 0o120777), "a is a link or a device"),
    "path out of a zip": (_zip("../outside.py"), "it contains the invalid name"),
    "cut off": (_cut, "cannot be unpacked"),
    "something behind": (_followed, "something follows the last file"),
    "no archive": (_text("hostile.tar.gz", b"print('hello')"), "cannot be unpacked"),
    "another kind": (
        _text("hostile.tar.bz2", b"BZh91AY&SY"),
        "is packed with bzip2; pack it as .tar.gz or .zip",
    ),
    "no main.py": (
        lambda folder: write_submission(Submission({"x/main.py": PLAIN}, ".tar.gz"), folder),
        "has no main.py at its top: it is in x",
    ),
}
"""Submissions that are refused: how each is made, and the expected message."""
