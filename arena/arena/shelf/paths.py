"""Advice for users who write a file or folder where the name of a bot belongs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from arena_plugins.program import CMD, EXEC
from arena_plugins.spec import Spec

_FILE: Final = "file"
_OPTIONS: Final = {"python": _FILE, "kaggle": _FILE, EXEC: CMD, "gomocup": CMD}
"""For each adapter, the option that names what it runs."""
_ARCHIVES: Final = (".tar.gz", ".tgz")
_HOOK: Final = b"make_bot"
_ENGINE: Final = "pbrain"
"""Name prefix of Gomocup engines."""
_HEAD: Final = 1 << 20
"""Bytes at the beginning of a file in which the hook is searched for."""


def way_in(text: str) -> str:
    """Describe how to enter the file or folder that `text` names; empty if it names neither."""
    adapter, colon, rest = text.partition(":")
    if colon and adapter in _OPTIONS and _exists(rest):
        return f"{text} names a file without its option; write {_spec(adapter, rest)}"
    if not _exists(text):
        return f"there is no file {text}" if os.sep in adapter else ""
    path = Path(text)
    if path.is_dir():
        return _way_into(path, text)
    if path.suffix == ".whl":
        return f"{text} is a wheel; run arena bots install {text}"
    return f"{text} is a file; write {_spec(_adapter_of(path), text)}"


def _way_into(path: Path, text: str) -> str:
    if (path / "pyproject.toml").is_file():
        return f"{text} is a package; run pip install {text}, and write the name of its bot"
    if (path / "main.py").is_file():
        return f"{text} is a folder; write {_spec(_adapter_of(path / 'main.py'), text)}"
    return f"{text} is a folder without a main.py; name the program in it, as python:file={path / 'bot.py'}"


def _adapter_of(path: Path) -> str:
    if path.name.startswith(_ENGINE):
        return "gomocup"
    if path.name.endswith(_ARCHIVES):
        return "kaggle"
    if path.suffix != ".py":
        return EXEC
    with path.open("rb") as file:
        return "python" if _HOOK in file.read(_HEAD) else "kaggle"


def _spec(adapter: str, path: str) -> str:
    if _OPTIONS[adapter] == CMD and os.sep not in path:
        path = f".{os.sep}{path}"
    return str(Spec(adapter, {_OPTIONS[adapter]: path}))


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False
