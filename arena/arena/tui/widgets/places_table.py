"""The table by place of a Swiss tournament: points, tie-breaks, and ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from arena.tui.widgets.table import Col, ColumnTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.table_views import StandingRow
    from arena.results.place_table import PlaceRow


class RankedBot(NamedTuple):
    """A bot with its place and its rating."""

    place: PlaceRow
    standing: StandingRow


def _elo(bot: RankedBot) -> str:
    row = bot.standing
    error = "" if row.error is None else f" +/- {row.error:.0f}"
    return f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}{error}"


COLUMNS: Final = (
    Col("#", lambda bot: str(bot.place.place), 2, is_right=True),
    Col("bot", lambda bot: bot.standing.label, 6, is_name=True),
    Col("pts", lambda bot: f"{bot.place.points:g}", 4, is_right=True),
    Col("Buchholz", lambda bot: f"{bot.place.buchholz:g}", 8, 1, is_right=True),
    Col("cut1", lambda bot: f"{bot.place.cut_one:g}", 4, 4, is_right=True),
    Col("median", lambda bot: f"{bot.place.median:g}", 6, 5, is_right=True),
    Col("SB", lambda bot: f"{bot.place.sonneborn_berger:g}", 5, 2, is_right=True),
    Col(
        "direct",
        lambda bot: "-" if bot.place.direct is None else f"{bot.place.direct:g}",
        6,
        6,
        is_right=True,
    ),
    Col("wins", lambda bot: str(bot.place.wins), 4, 3, is_right=True),
    Col("Elo", _elo, 12, 7, is_right=True),
    Col("state", lambda bot: bot.standing.standing, 5, 8),
    Col("name", lambda bot: bot.place.name, 8, 9, is_name=True),
)


class PlacesTable(ColumnTable[RankedBot]):
    """The bots by place."""

    HELP = (
        "By points; ties are broken by the tie-breaks in the order of their columns. Enter opens the matches"
        " of a bot."
    )

    def __init__(self) -> None:
        super().__init__(COLUMNS, "places", nothing="nothing is played yet")

    @override
    def show(
        self, rows: Sequence[RankedBot], *, title: str | None = None, nothing: str | None = None
    ) -> None:
        is_longer = len(rows) != self.num_rows
        super().show(rows, title=title, nothing=nothing)
        self.refresh(layout=is_longer)

    @override
    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.num_rows + 3
