"""Makes wheels by hand: zip files with metadata, including ones that no build tool would make."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

BOT = """
from arena_plugins.contract import PlayResult
from arena_plugins.hookspecs import hookimpl

class Bot:
    deterministic = True

    def play(self, state, limit):
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""
"""A module with a bot that plays the first legal action, and refuses no option."""


class Metadata(NamedTuple):
    """The metadata of a wheel."""

    version: str = "1.0"
    requires: Iterable[str] = ()
    """The dependencies of the distribution."""
    title: str | None = None
    """Its name, if it differs from that in file names."""
    more_points: str = ""
    """More lines of its entry points."""


_PLAIN = Metadata()


def make_wheel(
    folder: Path,
    name: str,
    bots: Mapping[str, str],
    files: Mapping[str, str],
    metadata: Metadata = _PLAIN,
) -> Path:
    """Write a wheel and return its path.

    Args:
        folder: destination; it is created.
        name: name of the distribution, as in file names.
        bots: entry points of bots.
        files: texts by their paths in the wheel.
        metadata: its metadata.
    """
    version, requires, title, more_points = metadata
    info = f"{name}-{version}.dist-info"
    points = "".join(f"{bot} = {value}\n" for bot, value in bots.items())
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    texts = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {title or name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": (f"[arena.bots]\n{points}\n" if bots else "") + more_points,
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in texts.items())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in {**texts, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(inside, text)
    return path


def make_index(folder: Path, *wheels: Path) -> str:
    """Write wheels as a package index and return its address."""
    for wheel in wheels:
        page = folder / wheel.name.partition("-")[0].replace("_", "-")
        page.mkdir(parents=True, exist_ok=True)
        (page / wheel.name).write_bytes(wheel.read_bytes())
        links = "".join(f'<a href="{file.name}">{file.name}</a>\n' for file in page.glob("*.whl"))
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return folder.as_uri()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
