"""Kaggle submissions: a file, a folder and an archive with the same files result in the same content."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from arena.content.programs import FOLDER
from arena.content.store import work_folder
from arena.content.trusted_links import follow
from arena.content.unpacking import archive_kind, unpack
from arena.errors import OptionError, PluginError
from arena_plugins.submission import FILE, KAGGLE, MAIN

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from arena.content.collect import Collection

_AGENT = "agent"
"""The folder of a content that contains the files of a submission."""


@contextmanager
def added_submission(
    collection: Collection, name: str, options: Mapping[str, str]
) -> Generator[tuple[dict[str, Path], dict[str, str]]]:
    """Add the files of the submission that a bot's options name; an archive stays unpacked within the block.

    Yields:
        The path of the submission on this machine, and the path of its `main.py` in the content, each by
        option. Both are empty for other bots, and if the option `folder` names the agent's files.

    Raises:
        OptionError: there is no such file or folder.
        PluginError: it has no `main.py`, cannot be read, or exceeds a limit.
        StoreError: there is no space to unpack it.
    """
    if name != KAGGLE or FILE not in options or FOLDER in options:
        yield {}, {}
        return
    path = _submission(collection.what, options[FILE])
    found = {FILE: path}, {FILE: f"{_AGENT}/{MAIN}"}
    if path.is_dir():
        _add_folder(collection, path, path)
        yield found
    elif archive_kind(path):
        with work_folder() as folder:
            unpack(path, folder)
            _add_folder(collection, folder, path)
            yield found
    else:
        # Kaggle does the same, so a single file and a folder with only that file are one competitor.
        collection.add_file(f"{_AGENT}/{MAIN}", path)
        yield found


def _submission(what: str, text: str) -> Path:
    """Return the file or folder that an option names.

    Raises:
        OptionError: it does not exist.
        PluginError: it is reached through a link that `follow` refuses.
    """
    try:
        path = follow(what, Path(text))
        is_there = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, contains a NUL, or a loop of links
        path, is_there = Path(), False
    if not text or not is_there:
        raise OptionError(
            f'{KAGGLE}: there is no file "{text}"; write {KAGGLE}:{FILE}=AGENT.py, a folder with a {MAIN}, '
            "or its archive (.tar.gz, .zip)"
        )
    return path


def _add_folder(collection: Collection, folder: Path, submission: Path) -> None:
    """Add the files of a folder, which is the submission or its unpacked archive."""
    collection.add_tree(_AGENT, folder)
    if f"{_AGENT}/{MAIN}" in collection.files:
        return
    inner = min((path for path in collection.files if path.endswith(f"/{MAIN}")), key=len, default="")
    others = sorted(
        path for path in collection.files if path.startswith(f"{_AGENT}/") and path.endswith(".py")
    )
    if inner:
        place = inner.removeprefix(f"{_AGENT}/").removesuffix(f"/{MAIN}")
        advice = f"it is in {place}; pack what is in that folder, or name the folder"
    elif others:
        names = ", ".join(path.removeprefix(f"{_AGENT}/") for path in others[:5])
        advice = f"its modules are {names}; call the one with the agent {MAIN}"
    else:
        advice = "it has no module at all"
    raise PluginError(f"{KAGGLE}: {submission.name} has no {MAIN} at its top: {advice}")
