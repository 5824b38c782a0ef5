"""Competitors: from a spec on the command line to a bot with an identity, read from metadata alone."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError, OptionError
from arena.naming import check_text, cut_label
from arena.referee.timecontrol import TimeControl
from arena.sandbox.launch.calls import ALLOWABLE
from arena.shelf.listing import list_bots, pick_bot, verify
from arena.shelf.records import hash_file
from arena.shelf.shipped import FOLDER, shipped_weights
from arena_db.records import BotRecord
from arena_plugins.program import CMD, is_file, split_command
from arena_plugins.regular import refuse_special
from arena_plugins.spec import OptionReader, Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins.entries import Entry

_OURS = "bot-arena"
_ADAPTERS = ".adapters."
"""In the entry of every bundled bot that runs foreign code."""
_WHEEL = ".whl"
"""Among the files of a bot, the wheel it was installed from; no option can be called that."""
_LIMIT_KEYS = ("tc", "st", "nodes")
_PROCFS = "procfs"
_ALLOW = "allow"
_OUR_KEYS = (*_LIMIT_KEYS, _PROCFS, _ALLOW)
"""Options of every bot that are the arena's affair, and unknown to the bot."""


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """A bot that can be entered: what it is called, what it is, how it is started."""

    label: str
    """Its name in the tournament."""
    record: BotRecord
    spec: str
    """Its spec with the files it names by absolute paths, so that they are found from any folder."""
    entry: str
    """Where its hook lies, `module:attr`."""
    folder: str = ""
    """The folder on the shelf it was installed into; empty for a bot of the arena's own environment."""
    options: Mapping[str, str]
    """What its hook is given: the options of the spec without those that are the arena's affair."""
    limit: TimeControl | None
    """Its own limit, or None for the tournament's."""
    procfs: bool = False
    """Whether its process may read /proc in tiers where no other may."""
    allow: tuple[str, ...] = ()
    """Names of `arena.sandbox.launch.calls.ALLOWABLE`: system calls it may make where no other may."""

    @property
    def is_foreign(self) -> bool:
        """Whether its code came with neither the arena nor a bot of it: other distributions, and adapters."""
        return self.record.distribution != _OURS or _ADAPTERS in self.entry


def resolve(texts: Sequence[str], *, margin_ms: int, twins: bool = False) -> list[Competitor]:
    """Find the bots of some specs, without loading any of them.

    Of bots with one label (twins, or two files of one name) the second is called `A_2`.

    Args:
        texts: specs in seat order.
        margin_ms: the margin of limits that a spec sets for its bot.
        twins: whether one bot may stand there twice.

    Raises:
        PluginError: an unknown bot, one whose installed files were changed, or a malformed spec.
        OptionError: a limit in a spec is no number.
        ConfigError: one bot twice, without `twins`, or a limit that cannot be.
    """
    found: list[Competitor] = []
    labels: list[str] = []
    listing = list_bots()
    for text in texts:
        spec = Spec.parse(text)
        competitor = _resolve_one(spec, pick_bot(listing, spec), margin_ms)
        if not twins and any(other.record.identity == competitor.record.identity for other in found):
            raise ConfigError(
                f"{competitor.label} is entered twice; a bot meets itself only in: arena match A A"
            )
        labels.append(competitor.label)
        count = labels.count(competitor.label)
        if count > 1:
            competitor = msgspec.structs.replace(competitor, label=cut_label(f"{competitor.label}_{count}"))
        found.append(competitor)
    return found


def as_entered(bot: Competitor, was: BotRecord) -> Competitor | None:
    """Give a bot under the record by which a store knows it; None if it is another one by now.

    Stores of earlier versions know bots without the weights they bring along.
    """
    if bot.record.identity == was.identity:
        return bot
    hashes = {name: sha for name, sha in files_of(bot.record).items() if not name.startswith(FOLDER)}
    before = _identity(bot.record.spec, bot.record.distribution, bot.record.version, hashes)
    return msgspec.structs.replace(bot, record=was) if before == was.identity else None


def files_of(record: BotRecord) -> dict[str, str]:
    """Give the files that belong to a bot, with the SHA-256 of each in hex."""
    return msgspec.json.decode(record.files or "{}", type=dict[str, str])


def _resolve_one(spec: Spec, entry: Entry, margin_ms: int) -> Competitor:
    refuse_special(spec.name, spec.options)
    files = _files(spec.options)
    hashes = {key: _hash(path) for key, path in files.items()}
    if entry.folder:
        hashes[_WHEEL] = verify(entry).sha256
    else:
        hashes |= shipped_weights(entry.value, spec.options)
    # A file is known by its content: where it lies is no part of the identity.
    content = Spec(spec.name, _with_files(spec.options, {key: path.name for key, path in files.items()}))
    absolute = Spec(spec.name, _with_files(spec.options, {key: str(path) for key, path in files.items()}))
    record = BotRecord(
        identity=_identity(str(content), entry.distribution, entry.version, hashes),
        name=spec.name,
        spec=check_text(f"the spec of {spec.name}", str(content)),
        distribution=entry.distribution,
        version=entry.version,
        files=json.dumps(hashes, sort_keys=True),
    )
    return Competitor(
        label=cut_label(str(content._replace(version=spec.version))),
        record=record,
        spec=str(absolute._replace(version=spec.version)),
        entry=entry.value,
        folder=entry.folder,
        options={key: value for key, value in absolute.options.items() if key not in _OUR_KEYS},
        limit=_own_limit(spec, margin_ms),
        procfs=_may_read_proc(spec),
        allow=_allowed_calls(spec),
    )


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file that a spec names.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return hash_file(path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def _identity(spec: str, distribution: str, version: str, hashes: Mapping[str, str]) -> str:
    content = json.dumps([spec, distribution, version, hashes], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _files(options: Mapping[str, str]) -> dict[str, Path]:
    """Give the files that options name, by the option; those in a command as `cmd 0`, `cmd 1`."""
    files: dict[str, Path] = {}
    for key, value in options.items():
        if key == CMD:
            # Not resolved: behind a link a program may be another one.
            words = enumerate(split_command(value))
            files |= {f"{key} {i}": Path(word).absolute() for i, word in words if is_file(word)}
        # A number is one, even where a file is called 5.
        elif key not in _OUR_KEYS and not value.replace(".", "", 1).isdecimal() and is_file(value):
            files[key] = Path(value).resolve()
    return files


def _with_files(options: Mapping[str, str], shown: Mapping[str, str]) -> dict[str, str]:
    """Give `options` with each file as it is shown."""
    given = {key: shown.get(key, value) for key, value in options.items()}
    if any(key.startswith(f"{CMD} ") for key in shown):
        words = split_command(options[CMD])
        given[CMD] = shlex.join(shown.get(f"{CMD} {i}", word) for i, word in enumerate(words))
    return given


def _may_read_proc(spec: Spec) -> bool:
    """Read the option `procfs`.

    Raises:
        OptionError: it is neither on nor off.
    """
    return OptionReader(spec.name, spec.options).flag(_PROCFS, default=False)


def _allowed_calls(spec: Spec) -> tuple[str, ...]:
    """Read the option `allow`, names joined by plus signs.

    Raises:
        OptionError: a name is not on the list.
    """
    names = tuple(dict.fromkeys(filter(None, spec.options.get(_ALLOW, "").split("+"))))
    for name in names:
        if name not in ALLOWABLE:
            raise OptionError(
                f"{spec}: {_ALLOW}={name} is not one of {', '.join(ALLOWABLE)}, the only ones there are"
            )
    return names


def _own_limit(spec: Spec, margin_ms: int) -> TimeControl | None:
    if not any(key in spec.options for key in _LIMIT_KEYS):
        return None
    try:
        seconds = float(spec.options["st"]) if "st" in spec.options else None
        nodes = int(spec.options["nodes"]) if "nodes" in spec.options else None
    except ValueError as error:
        raise OptionError(f"{spec}: st is a number of seconds, nodes a whole number") from error
    return TimeControl.parse(spec.options.get("tc"), seconds, nodes, margin_ms=margin_ms)
