"""Bots kept in their present state, so that later versions can be tested against them.

A bot plays from a copy of its files, which is pruned after it has been unused for a while. A kept bot has a
file `kept/IDENTITY.json` in the arena's home, and its copy is retained until the bot is removed.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from arena.errors import PluginError, StoreError
from arena.home import home
from arena.shelf.versions import has_digits, same_version
from arena_db.records import BotRecord
from arena_plugins.entries import NUM_DIGITS
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class KeptBot(msgspec.Struct, frozen=True, kw_only=True):
    """A bot that stays playable even if its original files change."""

    record: BotRecord
    """Its record, in the form that is stored with matches."""
    kept_at: float
    """When it was last kept, in seconds since the epoch (UTC)."""

    @property
    def address(self) -> str:
        """The unambiguous spec: `my-bot@3f2a91c0:depth=4`."""
        return str(Spec.parse(self.record.spec)._replace(version=self.record.content[:NUM_DIGITS]))


def keep_bot(bot: BotRecord) -> KeptBot:
    """Keep a bot whose files were copied; keeping it again makes it the one that was kept last.

    Raises:
        StoreError: its file cannot be written.
    """
    kept = KeptBot(record=bot, kept_at=time.time())
    path = _folder() / f"{bot.identity}.json"
    work = path.with_name(f".{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work.write_bytes(msgspec.json.encode(kept))
        work.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path.parent} ({error.strerror}), which says what bots are kept; mend its "
            "permissions, or set ARENA_HOME to another folder"
        ) from error
    finally:
        with suppress(OSError):
            work.unlink(missing_ok=True)
    return kept


def kept_bots() -> list[KeptBot]:
    """Return all kept bots, the one kept last first; unreadable files are skipped."""
    found: list[KeptBot] = []
    for path in sorted(_folder().glob("*.json")):
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
            found.append(msgspec.json.decode(path.read_bytes(), type=KeptBot))
    return sorted(found, key=lambda kept: (-kept.kept_at, kept.record.identity))


def last_other(bot: BotRecord) -> KeptBot | None:
    """Return the most recently kept bot with the same name other than this one, or None."""
    others = (
        kept for kept in kept_bots() if kept.record.name == bot.name and kept.record.identity != bot.identity
    )
    return next(others, None)


def find_kept(name: str, version: str, options: Mapping[str, str]) -> KeptBot | None:
    """Return the kept bot that a spec names, or None if none has that name and version.

    Args:
        name: the bot's name.
        version: a version or leading digits of a content hash, as after the `@`.
        options: the options of the spec; if empty, the kept bot may have any options.

    Raises:
        PluginError: several kept bots match.
    """
    known = [
        kept
        for kept in kept_bots()
        if kept.record.name == name and (not options or Spec.parse(kept.record.spec).options == options)
    ]
    found = [kept for kept in known if same_version(kept.record.version, version)]
    found = found or [kept for kept in known if has_digits(kept.record.version, kept.record.content, version)]
    if len(found) > 1:
        ways = ", ".join(kept.address for kept in found)
        raise PluginError(f"{name}@{version} fits {len(found)} kept bots; write one of {ways}")
    return found[0] if found else None


def drop_kept(kept: KeptBot) -> None:
    """Stop keeping a bot; its copy is pruned after it has been unused for a while.

    Raises:
        StoreError: its file cannot be removed.
    """
    try:
        (_folder() / f"{kept.record.identity}.json").unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {_folder()} ({error.strerror}); fix its permissions") from error


def _folder() -> Path:
    return home().absolute() / "kept"
