"""Competitors: turns specs into bots with an identity, without loading any bot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content import programs, store
from arena.content.collect import Collection
from arena.content.manifest import hashing_once
from arena.content.option_files import NamedFiles, place_options, with_files
from arena.content.packages import OURS, collect_package
from arena.content.submissions import added_submission
from arena.errors import ConfigError, PluginError
from arena.identities import FOLDER, hashed_before, identity_before, identity_of, shipped_weights
from arena.naming import Called, check_name, check_text, cut_label, labels_of
from arena.referee.timecontrol import TimeControl
from arena.reserved import NAME, OUR_KEYS, allowed_calls, may_read_proc, own_limit
from arena.shelf.kept import find_kept
from arena.shelf.listing import list_bots, read_bot, verify
from arena_db.records import BotRecord
from arena_plugins.program import CMD, EXEC
from arena_plugins.regular import refuse_special
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.content.store import Content
    from arena.shelf.listing import Listing
    from arena_plugins.entries import Entry

_ADAPTERS = ".adapters."
"""Part of the entry point of every bundled bot that runs foreign code."""
_WHEEL = ".whl"
"""Suffix of the wheel a bot was installed from, among its file names; no option can have such a name."""
_DIGITS = 8
"""Number of hex digits of a hash that are displayed."""


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """A bot that can be entered: its name, its identity, and how to start it."""

    label: str
    """Name of the bot in the tournament."""
    record: BotRecord
    spec: str
    """Spec of the bot, with absolute paths of the files it names, so that they are found from any folder."""
    entry: str
    """Hook of the bot as an entry point, `module:attr`; empty for a bot that cannot be started here."""
    folder: str = ""
    """Folder into which the bot's wheel was installed; empty for a bot of the arena's own environment."""
    options: Mapping[str, str]
    """Options for the hook, with files named as in `record.spec`; see `options_at`."""
    copies: Mapping[str, str] = {}
    """Paths in the content of the files that options name, by option; for a command by `cmd 0`, `cmd 1`."""
    runtime: str = ""
    """Path of this machine's program that runs the bot's command; empty if the bot brings its own program."""
    roots: tuple[str, ...] = ()
    """Folders of the bot's content that come first on its `sys.path`."""
    content: str = ""
    """SHA-256 of the bot's files in hex; empty for a person."""
    num_files: int = 0
    """Number of files in the bot's content."""
    place: str = ""
    """Folder in which the bot's content is kept; empty if the content was only hashed."""
    state: str = ""
    """The status of the files in `place` when their hash `content` was computed."""
    limit: TimeControl | None
    """The bot's own limit; None for that of the tournament."""
    procfs: bool = False
    """Whether the bot's process may read /proc in tiers that deny this to others."""
    allow: tuple[str, ...] = ()
    """Names in `arena.sandbox.launch.calls.ALLOWABLE`, whose system calls the bot may make in addition."""

    @property
    def is_absent(self) -> bool:
        """Whether the bot cannot be started here: only its record is known; its files are gone or changed."""
        return not self.entry

    @property
    def is_foreign(self) -> bool:
        """Whether the bot runs code that is not part of the arena: another distribution, or an adapter."""
        return self.record.distribution != OURS or _ADAPTERS in self.entry

    def options_at(self, root: str) -> dict[str, str]:
        """Return the options for a process in which the content is located at `root`."""
        shown = {key: f"{root}/{path}" for key, path in self.copies.items()}
        if self.runtime:
            shown[f"{CMD} 0"] = self.runtime
        given = with_files(self.options, shown)
        return self._for_hook(given)

    def options_here(self) -> dict[str, str]:
        """Return the options with files at their locations on this machine, for a bot in this process."""
        return self._for_hook(Spec.parse(self.spec).options)

    def _for_hook(self, options: Mapping[str, str]) -> dict[str, str]:
        # An adapter gets absolute paths, so it does not need the option that names the program's folder.
        hidden = (*OUR_KEYS, programs.FOLDER) if _ADAPTERS in self.entry else OUR_KEYS
        return {key: value for key, value in options.items() if key not in hidden}


class LeftOut(NamedTuple):
    """A bot that does not take part."""

    seat: int
    """Index of the bot in the list of bots."""
    bot: str
    """Label of the bot or, if it has none yet, its text as written."""
    why: str


@hashing_once()
def resolve(  # noqa: PLR0913 - bots, and how each may be entered
    texts: Sequence[str],
    *,
    margin_ms: int,
    twins: bool = False,
    keep: bool = True,
    in_place: bool = False,
    left_out: list[LeftOut] | None = None,
) -> list[Competitor]:
    """Find the bots of some specs and hash their files, without loading any of them.

    Different bots with the same label also get the folders of their files in their names, or, if that does
    not help, their version and the first digits of their content hash. The second of two twins is called
    `A_2`.

    Args:
        texts: the specs, in seat order.
        margin_ms: the margin for time controls that a spec sets for its bot.
        twins: whether the same bot may occur twice.
        keep: whether contents are copied; without copies no bot can be started.
        in_place: whether the bots are to run in this process, from where they are installed. Nothing is
            copied then, and folders named by options are working folders, not content.
        left_out: receives the bots that cannot be entered; without it the first of them raises.

    Raises:
        PluginError: a bot is unknown, its installed files were modified, a file cannot be read, or a spec is
            malformed.
        OptionError: one of the arena's own options has an invalid value.
        ConfigError: a bot occurs twice without `twins`, two bots have equal names, or a limit is impossible.
        StoreError: a content cannot be written.
    """
    found: list[Competitor] = []
    called: list[tuple[Called, str]] = []
    listing = list_bots()
    frozen: set[str] = set()
    for seat, text in enumerate(texts):
        try:
            kept = _resolve_kept(text, listing, in_place=in_place)
            frozen |= set() if kept is None else {kept[0].record.name}
            competitor, names = kept or _resolve_one(
                text, listing, margin_ms, keep=keep and not in_place, in_place=in_place
            )
            if not twins:
                _refuse_doubles(names, text, called)
        except (PluginError, ConfigError) as error:
            if left_out is None:
                raise
            left_out.append(LeftOut(seat, text, str(error)))
            continue
        found.append(competitor)
        called.append((names, text))
    # If a kept version of a bot takes part, the labels of its other versions contain their versions as well.
    names_of = [
        names if names.is_given or bot.record.name not in frozen else names.with_version()
        for bot, (names, _) in zip(found, called, strict=True)
    ]
    labels = labels_of(names_of)
    return [msgspec.structs.replace(bot, label=label) for bot, label in zip(found, labels, strict=True)]


def _refuse_doubles(bot: Called, text: str, others: Sequence[tuple[Called, str]]) -> None:
    """Check that neither a bot nor another one with its name has already been entered.

    Raises:
        ConfigError: one of them has been entered.
    """
    for other, written in others:
        if other.identity == bot.identity:
            same = "" if text == written else f"{text} has the same files and options as {written}; "
            raise ConfigError(
                f"{bot.names[0]} is entered twice; {same}only arena match A A lets a bot play itself"
            )
    if bot.is_given:
        labels_of([*(other for other, _ in others if other.is_given), bot])


def as_entered(bot: Competitor, was: BotRecord) -> Competitor | None:
    """Return the bot with the record that a store has of it; None if its files or options have changed.

    Stores of earlier versions identify bots without their code, and even older ones without their weights.
    """
    if bot.record.identity == was.identity:
        return bot
    if was.content:
        return None
    spec, files = hashed_before(Spec.parse(bot.spec))
    files |= {key: sha for key, sha in files_of(bot.record).items() if key.startswith((FOLDER, _WHEEL))}
    named = {key: sha for key, sha in files.items() if not key.startswith(FOLDER)}
    for hashes in (files, named):
        if identity_before(spec, bot.record.distribution, bot.record.version, hashes) == was.identity:
            return msgspec.structs.replace(bot, record=was)
    return None


def entered(was: BotRecord, label: str) -> Competitor | None:
    """Return a competitor as it was entered before, from its kept content; None if the content is gone."""
    bot = _read_entered(was)
    if bot is None or not was.content:
        return None
    content = store.find_content(bot.content)
    if content is None or bot.content != was.content:
        return None
    return msgspec.structs.replace(bot, record=was, label=label, place=content.folder, state=content.state)


def entered_spec(was: BotRecord) -> str:
    """Return the spec with which a bot was last entered here, with absolute paths; empty if unknown."""
    bot = _read_entered(was)
    return "" if bot is None else bot.spec


def _read_entered(was: BotRecord) -> Competitor | None:
    """Return the stored data for starting a bot again; None if unreadable. The bot's content may be gone."""
    data = store.read_entered(was.identity)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Competitor)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def files_of(record: BotRecord) -> dict[str, str]:
    """Return the files that belong to a bot, with the SHA-256 of each in hex."""
    return msgspec.json.decode(record.files or "{}", type=dict[str, str])


def short(content: str) -> str:
    """Return the leading digits of a hash that are displayed."""
    return content[:_DIGITS]


def _resolve_one(
    text: str, listing: Listing, margin_ms: int, *, keep: bool, in_place: bool
) -> tuple[Competitor, Called]:
    spec, entry = read_bot(listing, text)
    refuse_special(spec.name, spec.options)
    options = {key: value for key, value in spec.options.items() if key != NAME}
    collection, named, content = _content_of(spec, entry, keep=keep, in_place=in_place)
    hashes = {file.path: file.sha256 for file in content.inventory.files}
    files = {key: hashes[path] for key, path in named.copies.items() if path in hashes}
    # Files are identified by their content; their location is not part of the identity.
    shown = Spec(spec.name, with_files(options, _names(named)))
    absolute = Spec(spec.name, with_files(spec.options, {key: str(at) for key, at in named.sources.items()}))
    relative = with_files(options, _names(named) | named.copies)
    record = BotRecord(
        identity=identity_of(spec.name, entry.value, relative, content.hash),
        name=spec.name,
        spec=check_text(f"the spec of {spec.name}", str(shown)),
        distribution=entry.distribution,
        version=entry.version,
        files=json.dumps(files | _shipped(entry, spec.options), sort_keys=True),
        content=content.hash,
    )
    given = check_name(spec.name, spec.options[NAME]) if NAME in spec.options else ""
    names = (given,) if given else _names_for(spec, options, named, content.hash, entry.version)
    competitor = Competitor(
        label=cut_label(names[0]),
        record=record,
        spec=str(absolute._replace(version=spec.version)),
        entry=entry.value,
        folder=entry.folder,
        options={key: value for key, value in shown.options.items() if key not in OUR_KEYS},
        copies=named.copies,
        runtime=named.runtime,
        roots=collection.roots,
        content=content.hash,
        num_files=len(content.inventory.files),
        place=content.folder,
        state=content.state,
        limit=own_limit(spec, margin_ms),
        procfs=may_read_proc(spec),
        allow=allowed_calls(spec),
    )
    if keep:
        store.write_entered(record.identity, msgspec.json.encode(competitor))
    return competitor, Called(record.identity, names, is_given=bool(given))


def _resolve_kept(text: str, listing: Listing, *, in_place: bool) -> tuple[Competitor, Called] | None:
    """Return the kept bot that a spec with a version names; None for an installed or unknown bot.

    Raises:
        PluginError: several kept bots match, its copy is gone, or it is to run in this process.
    """
    with suppress(PluginError):
        read_bot(listing, text)
        return None
    try:
        spec = Spec.parse(text)
    except PluginError:
        return None
    options = {key: value for key, value in spec.options.items() if key != NAME}
    kept = find_kept(spec.name, spec.version, options) if spec.version else None
    if kept is None:
        return None
    if in_place:
        raise PluginError(
            f"{kept.address} is a kept copy, and kept copies cannot run in the arena's own process; leave "
            "out --isolation none"
        )
    bot = entered(kept.record, "")
    if bot is None:
        raise PluginError(
            f"the copy of {kept.address} is gone or was changed; remove it with "
            f"arena bots remove {kept.address}"
        )
    given = check_name(spec.name, spec.options[NAME]) if NAME in spec.options else ""
    address = Spec.parse(kept.address)
    if given:
        address = address._replace(options={**address.options, NAME: given})
    was = kept.record
    names = (given,) if given else _versioned(Spec.parse(was.spec)._replace(version=was.version), was.content)
    called = Called(was.identity, names, is_given=bool(given))
    return msgspec.structs.replace(bot, spec=str(address)), called


def _content_of(
    spec: Spec, entry: Entry, *, keep: bool, in_place: bool
) -> tuple[Collection, NamedFiles, Content]:
    """Collect and hash the files of a bot.

    Raises:
        OptionError: an option does not name a file.
        PluginError: a file cannot be read, or a limit is exceeded.
        StoreError: the files cannot be kept.
    """
    collection = Collection(spec.name)
    # The bot `exec` is a program that is started instead of a host, so no adapter code takes part.
    if spec.name != EXEC:
        collect_package(collection, entry)
    with added_submission(collection, spec.name, spec.options) as (sources, copies):
        may_name_files = {
            key: value for key, value in spec.options.items() if key not in (*OUR_KEYS, *sources)
        }
        named = place_options(
            collection, may_name_files, has_program=_ADAPTERS in entry.value, takes_folders=not in_place
        )
        named = named._replace(sources=named.sources | sources, copies=named.copies | copies)
        if named.runtime:
            programs.add_environment(collection, named.runtime)
        return collection, named, store.keep_content(collection) if keep else store.hash_content(collection)


def _names(named: NamedFiles) -> dict[str, str]:
    return {key: path.name for key, path in named.sources.items()}


def _shipped(entry: Entry, options: Mapping[str, str]) -> dict[str, str]:
    """Return the hash of the wheel a bot was installed from, or the hashes of the weights it brings.

    Raises:
        PluginError: the files of the wheel were modified, or weights cannot be read.
    """
    return {_WHEEL: verify(entry).sha256} if entry.folder else shipped_weights(entry.value, options)


def _names_for(
    spec: Spec, options: Mapping[str, str], named: NamedFiles, content: str, version: str
) -> tuple[str, ...]:
    """Return possible names of a bot, from short to long.

    The names are the spec, with more and more of the folders of the bot's files, then with its version and
    the first digits of its content hash.
    """
    own = {key: place.parts for key, place in named.sources.items() if key in named.copies}
    if programs.FOLDER in own:
        own = {programs.FOLDER: own[programs.FOLDER]}
    shortest = with_files(options, _names(named))
    texts = [shortest]
    for depth in range(2, max(map(len, own.values()), default=0) + 1):
        tails = {key: "/".join(parts[-depth:]).replace("//", "/") for key, parts in own.items()}
        texts.append(with_files(options, _names(named) | tails))
    return (
        *(str(Spec(spec.name, text, spec.version)) for text in texts),
        *_versioned(Spec(spec.name, shortest, spec.version or version), content),
    )


def _versioned(spec: Spec, content: str) -> tuple[str, str]:
    """Return the names of a bot with its version, and with the first digits of its content hash as well."""
    return str(spec), f"{spec.address}+{short(content)}{str(spec).removeprefix(spec.address)}"
