"""Writes stored matches as a folder of positions for training, with a data card that describes it."""

from __future__ import annotations

import importlib.metadata
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError
from arena.export._job import ExportJob, WriteOptions
from arena.export._manifest import (
    KIND,
    BoardSpec,
    BotEntry,
    Cut,
    DatasetSplit,
    Manifest,
    Overlap,
    TournamentEntry,
    write_manifest,
)
from arena.export._names import weights_of
from arena.export._parquet import load_pyarrow
from arena.export._source import Source
from arena.export._staging import staged
from arena.export.match_selection import POSITION_FORMATS, count
from arena.export.schema import COLUMNS, SCHEMA_VERSION
from arena_plugins import load_game
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from arena.export._names import PoolBot
    from arena.export.match_selection import Count, ExportQuery
    from arena_db.store import Store

SALT = "arena"
"""Default salt for drawing splits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSettings:
    """How positions are written."""

    form: str
    """One of `POSITION_FORMATS`."""
    split: float | None = None
    """Share of the matches for training, between 0 and 1; None for no validation split."""
    salt: str = SALT
    dedup: bool = False
    """Whether each split has only one row per canonical position."""
    disjoint: bool = False
    """Whether validation rows whose position occurs in training are dropped."""

    def check(self) -> None:
        """Check that the settings are valid and do not contradict each other.

        Raises:
            ConfigError: the settings are not; the message says why.
            PluginError: Parquet is requested but pyarrow is not installed.
        """
        if self.form not in POSITION_FORMATS:
            raise ConfigError(
                f"cannot write positions as {self.form}; use one of {', '.join(POSITION_FORMATS)}"
            )
        if self.split is not None and not 0 < self.split < 1:
            raise ConfigError(f"--split {self.split:g} is not a share between 0 and 1, such as 0.9")
        if self.disjoint and self.split is None:
            raise ConfigError("--disjoint needs --split: there is no validation without it")
        if self.form == "parquet":
            load_pyarrow()

    def cut(self) -> Cut | None:
        """Return how matches are split; None if all are for training."""
        return None if self.split is None else Cut(fraction=self.split, salt=self.salt)


class Report(NamedTuple):
    """A summary of what was written."""

    num_matches: int
    num_positions: int
    """Number of positions before rows were merged or dropped."""
    num_rows: dict[str, int]
    """Number of rows, by split."""
    num_bytes: int


def export_positions(
    store: Store,
    query: ExportQuery,
    settings: ExportSettings,
    out: Path,
    *,
    progress: Callable[[int, int, int], None] | None = None,
) -> Report:
    """Write the positions of stored matches to a new folder, atomically.

    Args:
        store: the store of the matches.
        query: the matches to export.
        settings: how positions are written.
        out: the folder; it may exist if it is empty.
        progress: called with the finished matches, all matches, and the positions so far.

    Raises:
        ConfigError: no match or matches of several games are selected, the settings are invalid, or `out`
            exists.
        PluginError: the game is not installed, or Parquet is requested and pyarrow is not installed.

        ExportError: a match breaks the rules of its game, or the disk is full.
    """
    settings.check()
    found = count(store, query)
    game = only_game(found)
    with staged(out, is_folder=True) as folder:
        source = Source(store, query, load_game(game), game)
        wish = WriteOptions(settings.form, settings.cut(), settings.dedup, settings.disjoint)
        job = ExportJob(source, folder, wish, found, progress)
        job.run()
        manifest = _manifest(job, query, settings, game)
        write_manifest(folder, manifest)
        _write_card(folder, manifest)
    return Report(
        sum(part.num_matches for part in manifest.splits.values()),
        sum(part.num_positions for part in manifest.splits.values()),
        {name: part.num_rows for name, part in manifest.splits.items()},
        sum(file.num_bytes for part in manifest.splits.values() for file in part.files),
    )


def only_game(found: Count) -> str:
    """Return the spec of the only game in an export.

    Raises:
        ConfigError: there is no match, or there are matches of several games.
    """
    if len(found.games) == 1:
        return found.games[0]
    if not found.games:
        raise ConfigError("no stored match fits; arena matches --unrated shows what there is")
    raise ConfigError(f"matches of {' and '.join(found.games)} fit; choose one with --game")


def _manifest(job: ExportJob, query: ExportQuery, settings: ExportSettings, spec: str) -> Manifest:
    """Return the manifest of a finished export."""
    game, names, overlap = job.source.game, job.source.names, job.overlap
    return Manifest(
        kind=KIND,
        schema_version=SCHEMA_VERSION,
        format=settings.form,
        game=BoardSpec(
            spec=spec,
            rows=game.shape[0],
            columns=game.shape[1],
            num_actions=game.num_actions,
            symmetries=tuple(game.symmetries),
        ),
        query=query.asked(),
        split=settings.cut(),
        dedup=settings.dedup,
        disjoint=settings.disjoint,
        num_unique_matches=sum(tally.num_unique() for tally in job.tallies.values()),
        splits={split: _part(job, split) for split in job.cutter.splits},
        overlap=Overlap(
            num_distinct=overlap.num_distinct,
            num_positions=overlap.num_positions,
            is_dropped=settings.disjoint,
        ),
        bots=tuple(_bot(competitor) for competitor in names.competitors),
        tournaments=tuple(
            TournamentEntry(name=each.name, pool=each.pool.name, seed=each.seed) for each in names.tournaments
        ),
        versions=_versions(settings.form),
    )


def _part(job: ExportJob, split: str) -> DatasetSplit:
    tally, files, names = job.tallies[split], job.files[split], job.source.names.terminations
    return DatasetSplit(
        num_matches=tally.num_matches,
        num_positions=tally.num_positions,
        num_distinct=tally.num_distinct,
        num_rows=files.num_rows,
        rows_sha256=files.rows_sha256,
        terminations={names[code]: tally.terminations[code] for code in sorted(tally.terminations)},
        files=files.files(),
    )


def _bot(competitor: PoolBot) -> BotEntry:
    record, pool, elo = competitor
    return BotEntry(
        identity=record.identity,
        name=record.name,
        spec=record.spec,
        distribution=record.distribution,
        version=record.version,
        weights=weights_of(record),
        pool=pool,
        elo=None if math.isnan(elo) else elo,
    )


def _versions(form: str) -> dict[str, str]:
    names = ["bot-arena", "numpy", *(["pyarrow"] if form == "parquet" else [])]
    return {name: importlib.metadata.version(name) for name in names}


NAME = "README.md"
_CELL = 200
"""Maximum number of characters written of a table cell."""


def _write_card(folder: Path, manifest: Manifest) -> None:
    """Write the data card into the folder."""
    parts = (_head(manifest), _splits(manifest), _bots(manifest), _columns(), _rest(manifest))
    (folder / NAME).write_text("\n".join("\n".join(part) for part in parts) + "\n", encoding="utf-8")


def _head(manifest: Manifest) -> list[str]:
    matches = sum(part.num_matches for part in manifest.splits.values())
    positions = sum(part.num_positions for part in manifest.splits.values())
    unique = manifest.num_unique_matches
    asked = ", ".join(f"`--{name} {value}`" for name, value in manifest.query.items()) or "all rated matches"
    return [
        f"# Positions of {_clean(manifest.game.spec)}",
        "",
        f"{_number(positions)} positions of {_number(matches)} stored matches, written by `arena export`.",
        f"Asked for: {_clean(asked)}. Each row is a position in which an action followed.",
        "",
        (
            f"- different matches (mirrored and turned ones count as one): {_number(unique)} of"
            f" {_number(matches)}{_percent(unique, matches)}"
        ),
        f"- equal positions merged (`--dedup`): {_yes(is_so=manifest.dedup)}",
        "",
    ]


def _splits(manifest: Manifest) -> list[str]:
    rows = [
        (
            name,
            _number(part.num_matches),
            _number(part.num_positions),
            _number(part.num_distinct),
            _number(part.num_rows),
            ", ".join(f"{kind} {_number(num)}" for kind, num in part.terminations.items()) or "-",
        )
        for name, part in manifest.splits.items()
    ]
    lines = ["## Splits", ""]
    lines += _table(("split", "matches", "positions", "distinct", "rows", "ended by"), rows)
    lines.append("")
    if manifest.split is None:
        return [*lines, "Nothing was set apart for validation.", ""]
    overlap, positions = manifest.overlap, manifest.splits["validation"].num_positions
    return [
        *lines,
        f"A match is for training with probability {manifest.split.fraction:g}, by SHA-256 of the salt",
        f"`{_clean(manifest.split.salt)}` and its hash: equal matches, mirrored ones too, lie together.",
        f"{_number(overlap.num_positions)} validation positions{_percent(overlap.num_positions, positions)},",
        f"{_number(overlap.num_distinct)} distinct ones, occur in training, too;",
        f"they were {'left out' if overlap.is_dropped else 'kept (`--disjoint` leaves them out)'}.",
        "",
    ]


def _bots(manifest: Manifest) -> list[str]:
    rows = [
        (
            bot.spec,
            bot.version,
            bot.pool,
            "-" if bot.elo is None else f"{bot.elo:.1f}",
            bot.identity[:12],
            bot.weights[:12] or "-",
        )
        for bot in manifest.bots
    ]
    return [
        "## Bots and their limits",
        "",
        *_table(("bot", "version", "limit, and how it was run", "Elo", "identity", "weights"), rows),
        "",
        f"Tournaments: {', '.join(_clean(each.name) for each in manifest.tournaments)}.",
        "",
    ]


def _columns() -> list[str]:
    rows = [
        (column.name, column.kind, column.text + (" (may be missing)" if column.nullable else ""))
        for column in COLUMNS
    ]
    return ["## Columns", "", *_table(("column", "type", "holds"), rows), ""]


def _rest(manifest: Manifest) -> list[str]:
    written = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return [
        "## Licence",
        "",
        "None is attached: the matches belong to whoever held the tournaments. Ask them, and the authors of",
        "the bots, before you publish this.",
        "",
        f"`manifest.json` has the SHA-256 of every file. Written with {_clean(written)}.",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def _cell(text: str) -> str:
    return _clean(text).replace("|", "\\|")


def _clean(text: str) -> str:
    return clean_text(text, _CELL)


def _number(number: int) -> str:
    return f"{number:,}"


def _percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else "no"
