"""Pages of a bot and of two bots head to head; every row opens a match or another page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from typing_extensions import override

from arena.results.condition import word
from arena.tui.screens.dashboard import dashboard_of
from arena.tui.screens.opening import show_matches
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.screen import ArenaScreen
from arena.tui.text import safe
from arena.tui.widgets.charts import LineChart, RatingPlot
from arena.tui.widgets.item_list import ItemList
from arena.tui.widgets.row_list import LIST_BINDINGS
from arena.watching.bot_pages import read_bot, read_versus
from arena.watching.query_answers import Empty, Loading, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from arena.results.bot_page import BotPage
    from arena.results.versus import Versus
    from arena.tui.text import Line
    from arena.tui.widgets.row_list import RowList
    from arena.watching.page_rows import PageRow, Target
    from arena.watching.query_answers import Answer

_VERSIONS: Final = "Elo over versions"
_TIME: Final = "Elo over time, each tournament from its mean"
_NAME: Final = 22
"""Width of a version's name beside its line, in cells."""


class PageScreen(ArenaScreen):
    """The base class of the pages of a bot and of two bots."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "matches", "All matches", id="page.matches")]
    CSS = """
    #page PagePanel { width: 1fr; height: 1fr; }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._reads = self.query_runner("page")
        self._title = title

    @override
    def compose_body(self) -> ComposeResult:
        with Vertical(id="page"):
            yield PagePanel(self._title, nothing="reading ...")
            yield from self.compose_charts()

    def compose_charts(self) -> ComposeResult:
        """Yield the widgets below or beside the rows."""
        yield from ()

    def on_mount(self) -> None:
        """Read the page."""
        self.reload()

    @property
    def panel(self) -> PagePanel:
        """The panel with the rows."""
        return self.query_one(PagePanel)

    def words(self) -> list[str]:
        """Return the filter for all matches of the page."""
        return []

    async def action_matches(self) -> None:
        """Show all matches of the page in the list of matches."""
        await show_matches(self, self.words())

    def on_row_list_selected(self, message: RowList.Selected) -> None:
        """Open the target of a row."""
        message.stop()
        target = self.panel.row(message.row).target
        if target is not None:
            dashboard_of(self).push_screen(_screen_of(target, self.tournament))

    @property
    def tournament(self) -> str:
        """Name of the only tournament whose matches are counted; empty for all."""
        return ""

    def say(self, answer: Answer[object]) -> None:
        """Show why there is no page."""
        if isinstance(answer, Loading):
            return
        self.panel.show(None, answer.why if isinstance(answer, Empty) else getattr(answer, "reason", ""))

    @override
    def export_filter(self) -> str:
        return " ".join(self.words())

    @override
    def text_to_copy(self) -> str:
        row = self.panel.current
        return "" if row is None else row.text.strip()


class BotPageScreen(PageScreen):
    """A bot: opponents, worst losses, versions, mistakes, openings, tournaments, forfeits."""

    NAME = "bot"
    HELP = (
        "A bot against each opponent, its worst losses (those of which the ratings expected most), versions,"
        " mistakes by stored grades, openings, tournaments and forfeits. Enter opens a row: the match, the"
        " head-to-head or the version; o shows all its matches. Where there is room, charts show its Elo over"
        " versions and over time; c shows them alone. As text: arena bots show BOT, arena bots history BOT"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "curves", "Curves", id="bot.curves")]
    CSS = f"""{PageScreen.CSS}
    BotPageScreen #curves {{ display: none; height: 16; }}
    BotPageScreen #curves > * {{ width: 1fr; height: 1fr; }}
    BotPageScreen.-wide.-tall #curves {{ display: block; layout: horizontal; }}
    BotPageScreen.-huge.-tall #page {{ layout: horizontal; }}
    BotPageScreen.-huge.-tall #curves {{ layout: vertical; width: 76; height: 1fr; }}
    BotPageScreen.-huge.-tall #curves RatingPlot {{ height: 16; }}
    BotPageScreen.-curves PagePanel {{ display: none; }}
    BotPageScreen.-curves #curves {{ display: block; height: 1fr; width: 1fr; }}
    """

    def __init__(self, bot: str) -> None:
        """Create the page of a bot, given by its name, or `~` and its identity for a single version."""
        super().__init__(f"bot {bot}")
        self._bot = bot

    @override
    def compose_charts(self) -> ComposeResult:
        with Vertical(id="curves"):
            yield RatingPlot(_VERSIONS)
            yield LineChart(_TIME, label=_NAME)

    def action_curves(self) -> None:
        """Show only the charts, or the page again."""
        is_alone = not self.has_class("-curves")
        self.set_class(is_alone, "-curves")
        self.call_after_refresh(self.query_one(RatingPlot if is_alone else PagePanel).focus)

    @override
    def go_back(self) -> bool:
        if self.has_class("-curves"):
            self.action_curves()
            return True
        return super().go_back()

    @override
    def reload(self) -> None:
        self._reads.run(partial(read_bot, bot=self._bot), "reading the bot", self._take, key=self._bot)

    def _take(self, answer: Answer[BotPage]) -> None:
        from arena.watching.page_rows import bot_rows

        if isinstance(answer, Rows):
            self.panel.title = f"bot {answer.content.bot}"
            self.panel.show(partial(bot_rows, answer.content))
            self._draw(answer.content)
        else:
            self.say(answer)

    def _draw(self, page: BotPage) -> None:
        from arena.watching.bot_pages import curves_of, version_ratings_of

        where, rows = version_ratings_of(page)
        plot = self.query_one(RatingPlot)
        plot.title = f"{_VERSIONS}: {where}"
        plot.show(rows)
        unit, lines = curves_of(page)
        nothing = "no ratings were kept; arena bots history computes them"
        self.query_one(LineChart).show(lines, nothing=nothing, axis=unit)

    @override
    def words(self) -> list[str]:
        return [word("bot", self._bot)]

    @override
    def opponent(self) -> str:
        return "" if self._bot.startswith("~") else self._bot


class VersusScreen(PageScreen):
    """Two bots head to head."""

    NAME = "versus"
    HELP = (
        "Two bots: score, Elo, likelihood of superiority and their evidence, worst losses of both, openings"
        " and the newest matches. Enter opens the match of a row, x swaps the two bots, o shows all their"
        " matches. As text: arena versus A B"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("x", "turn", "Turn around", id="versus.turn")]

    def __init__(self, bot: str, opponent: str, tournament: str = "") -> None:
        """Create the page of two bots; `tournament` limits the matches, empty means all of them."""
        super().__init__("head to head")
        self._bots = bot, opponent
        self._tournament = tournament

    @property
    @override
    def tournament(self) -> str:
        return self._tournament

    @override
    def reload(self) -> None:
        bot, opponent = self._bots
        source = partial(read_versus, bot=bot, opponent=opponent, tournament=self._tournament)
        self._reads.run(source, "reading their matches", self._take, key=self._bots)

    def _take(self, answer: Answer[Versus]) -> None:
        from arena.watching.page_rows import versus_rows

        if isinstance(answer, Rows):
            cell = answer.content.meetings[0].cell
            where = f" in {self._tournament}" if self._tournament else ""
            self.panel.title = f"{cell.bot} v {cell.opponent}{where}"
            self.panel.show(partial(versus_rows, answer.content))
        else:
            self.say(answer)

    def action_turn(self) -> None:
        """Swap the two bots."""
        self._bots = self._bots[1], self._bots[0]
        self.reload()

    @override
    def words(self) -> list[str]:
        words = [word("tournament", self._tournament)] if self._tournament else []
        return [*words, word("bot", self._bots[0]), word("vs", self._bots[1])]


def _screen_of(target: Target, tournament: str) -> ArenaScreen:
    if target.match:
        return ReplayScreen(target.match, ply=target.ply)
    if target.opponent:
        return VersusScreen(target.bot, target.opponent, tournament)
    return BotPageScreen(target.bot)


class PagePanel(ItemList["PageRow"]):
    """A list whose rows are computed again for each width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        Binding("n", "section(1)", "Section", id="page.section"),
        Binding("N", "section(-1)", "Section before", show=False, id="page.section-before"),
        Binding("w", "losses", "Worst losses", id="page.losses"),
    ]
    HELP = (
        "Sections of a page. Up and down move, n and N go to the next and previous section, w to the losses;"
        " enter opens the match, bot or head-to-head of a row."
    )

    def __init__(self, title: str = "", *, nothing: str = "") -> None:
        """Create the panel.

        Args:
            title: title of the frame.
            nothing: text if there are no rows.
        """
        super().__init__(title, nothing=nothing)
        self._make: Callable[[int], Sequence[PageRow]] | None = None
        self._width = 0

    def show(self, make: Callable[[int], Sequence[PageRow]] | None, nothing: str = "") -> None:
        """Show other rows.

        Args:
            make: returns the rows for a width in cells; None for no rows.
            nothing: text if there are no rows.
        """
        self._make, self._nothing, self._width = make, nothing, 0
        self._fit(self.size.width - 2)
        self.repaint()

    @override
    def body(self, width: int, height: int) -> list[Line]:
        self._fit(width)
        return super().body(width, height)

    @override
    def row_line(self, row: int, width: int) -> Line:
        shown = self._rows[row]
        return ((f" {safe(shown.text)}", shown.style),)

    def action_section(self, step: int) -> None:
        """Move to the first row of the next or previous section."""
        heads = [place for place, row in enumerate(self._rows) if row.style == "title"]
        beyond = [place for place in heads if (place - self.cursor) * step > 0]
        if beyond:
            self.go_to(min(beyond, key=lambda place: abs(place - self.cursor)))

    def action_losses(self) -> None:
        """Move to the worst loss; from there to the worst loss of the other bot, if there is one."""
        heads = [place for place, row in enumerate(self._rows) if row.text.startswith("worst losses")]
        if heads:
            head = next((place for place in heads if place > self.cursor), heads[0])
            self.go_to(head + 2)

    def _fit(self, width: int) -> None:
        if self._make is None:
            self._rows = ()
        elif width > 0 and width != self._width:
            self._rows, self._width = self._make(width - 1), width
