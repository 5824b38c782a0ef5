"""View-models of bots: installed ones, broken ones, their results, faults and quarantines."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from arena.live.plain import moment_text

OK = "ok"
"""Status of a bot that loads."""
UNTRIED = "..."
"""Status of a bot that has not been loaded for a test yet."""
GONE = "not installed"
"""Status of a bot that has stored matches but is no longer installed."""


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the last run of the conformance kit on a bot."""

    bot: str
    """The spec that was checked."""
    game: str
    t: float
    """End of the run, in seconds since 1970 (UTC)."""
    num_passed: int
    num_checks: int
    failed: tuple[str, ...] = ()
    """One sentence for each check that failed."""
    is_outdated: bool = False
    """Whether the bot has changed since."""

    @property
    def result(self) -> str:
        """`13/13` or `FAIL 12/13`, followed by `old` if the bot has changed."""
        text = f"{self.num_passed}/{self.num_checks}"
        return f"{'FAIL ' * bool(self.failed)}{text}{' old' * self.is_outdated}"


class CompetitorView(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor: one spec and version under which the bot was entered."""

    spec: str
    version: str
    games: int
    """Number of matches that count, without walkovers and void matches."""
    faults: Mapping[str, int] = {}
    """Number of forfeits by termination."""
    quarantined: tuple[str, ...] = ()
    """Names of the tournaments in which the bot is quarantined."""

    @property
    def num_faults(self) -> int:
        """Number of forfeits of all kinds."""
        return sum(self.faults.values())


class BotRow(msgspec.Struct, frozen=True, kw_only=True):
    """A bot, under the name of its entry point."""

    name: str
    distribution: str = ""
    version: str = ""
    entry: str = ""
    """Entry point of the bot, as `module:attribute`."""
    place: str = ""
    """Location of the bot, `environment` or `folder`; empty if it is not installed."""
    status: str = UNTRIED
    """Status: `ok`, `...`, or the full reason why the bot cannot be used."""
    kind: str = ""
    """The status in short: `ok`, `...`, `fails`, `duplicate`, `bad name`, `changed` or `not installed`."""
    checks: tuple[CheckView, ...] = ()
    """The last check of each spec of the bot, newest first."""
    competitors: tuple[CompetitorView, ...] = ()
    """The bot's competitors, those with the most matches first."""

    @property
    def games(self) -> int:
        """Number of matches of all its competitors."""
        return sum(competitor.games for competitor in self.competitors)

    @property
    def num_faults(self) -> int:
        """Number of forfeits of all its competitors."""
        return sum(competitor.num_faults for competitor in self.competitors)

    @property
    def quarantined(self) -> tuple[str, ...]:
        """Names of the tournaments in which one of its competitors is quarantined."""
        return tuple(dict.fromkeys(name for bot in self.competitors for name in bot.quarantined))


class BotsView(msgspec.Struct, frozen=True, kw_only=True):
    """All bots, by name."""

    rows: tuple[BotRow, ...] = ()
    trouble: str = ""
    """Why stored results are missing; empty if they are not."""

    def with_status(self, statuses: Mapping[tuple[str, str, str], str]) -> BotsView:
        """Return the view with the results of loading bots, given by name, entry point and distribution."""
        return msgspec.structs.replace(self, rows=tuple(_tried(row, statuses) for row in self.rows))


def _tried(row: BotRow, statuses: Mapping[tuple[str, str, str], str]) -> BotRow:
    status = statuses.get((row.name, row.entry, row.distribution))
    if status is None or row.kind not in (UNTRIED, OK, "fails"):
        return row
    return msgspec.structs.replace(row, status=status, kind=OK if status == OK else "fails")


def bot_lines(row: BotRow) -> list[str]:
    """Return everything about a bot as lines of text, with the same content as its panel."""
    where = f"{row.entry} of {row.distribution} {row.version} ({row.place})" if row.place else GONE
    lines = [f"{row.name}: {where}", f"status: {row.status}"]
    for check in row.checks:
        lines.append(f"check of {check.bot}: {check.result} in {check.game}, {moment_text(check.t)}")
        lines += [f"  failed: {text}" for text in check.failed]
    if not row.checks:
        lines.append("never checked here")
    lines += [_competitor_line(competitor) for competitor in row.competitors]
    if not row.competitors:
        lines.append("no stored match")
    return lines


def _competitor_line(competitor: CompetitorView) -> str:
    kinds = ", ".join(f"{number} {name}" for name, number in sorted(competitor.faults.items()))
    faults = f"forfeits {competitor.num_faults} ({kinds})" if kinds else "no forfeit"
    held = f", quarantined in {', '.join(competitor.quarantined)}" if competitor.quarantined else ""
    return f"{competitor.spec} {competitor.version}: {competitor.games} matches, {faults}{held}"
