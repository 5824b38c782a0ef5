"""Creates a new bot project: a renamed copy of the complete plugin in `plugins/template`."""

from __future__ import annotations

import re
from pathlib import Path

from arena_plugins.errors import PluginError
from arena_plugins.spec import NAME

_WORDS = re.compile(r"arena_template|arena-template|\btemplate\b")


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write a plugin for a bot called `name` into the new `folder`; return the written files, sorted.

    The package is named `arena_` plus the lower-case name, with `_` for characters identifiers cannot have.

    Raises:
        PluginError: the name is not allowed, the folder exists, or it cannot be written.
    """
    if not NAME.match(name):
        raise PluginError(f'"{name}" cannot be a name; use letters, digits, "_", ".", "-", at most 64')
    package = "arena_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    words = {"arena_template": package, "arena-template": package.replace("_", "-"), "template": name}
    source = _template()
    written: list[Path] = []
    try:
        folder.mkdir(parents=True)
        for file in sorted(source.rglob("*")):
            relative = file.relative_to(source)
            if not file.is_file() or any(_is_leftover(part) for part in relative.parts):
                continue
            target = folder / _renamed(str(relative), words)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed(file.read_text("utf-8"), words), "utf-8")
            written.append(target)
    except FileExistsError as error:
        raise PluginError(f"{folder} exists; choose another folder or remove it") from error
    except OSError as error:
        raise PluginError(f"cannot write {folder}: {error}") from error
    return sorted(written)


def _template() -> Path:
    here = Path(__file__)
    for folder in (here.with_name("template"), here.parents[1] / "template"):  # in a wheel, in a checkout
        if (folder / "pyproject.toml").is_file():
            return folder
    raise PluginError("this installation lacks the template of a bot; install bot-arena again")


def _is_leftover(part: str) -> bool:
    return (
        part.startswith((".", "__pycache__"))
        or part.endswith((".pyc", ".egg-info"))
        or part in {"dist", "build"}
    )


def _renamed(text: str, words: dict[str, str]) -> str:
    return _WORDS.sub(lambda found: words[found.group()], text)
