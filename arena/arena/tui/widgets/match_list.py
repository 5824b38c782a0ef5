"""A list of stored matches without an end: pages of rows come from a provider as they are scrolled to."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

import msgspec
from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from typing_extensions import override

from arena.errors import ArenaError
from arena.results.names import LIST_WIDTHS, shortened
from arena.tui.text import left, right, safe
from arena.tui.widgets.match_pages import ALWAYS, COLUMNS, SORTS
from arena.tui.widgets.row_list import LIST_BINDINGS
from arena.watching.pages import PAGE_SIZE, PageRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events

    from arena.live.tables import MatchRow
    from arena.tui.widgets.match_pages import Column
    from arena.watching.pages import Page, Provider

_MAX_PAGES = 25
"""Pages that are remembered."""
_HEAD = 1
"""Lines above the rows."""


class MatchList(ScrollView, can_focus=True, inherit_bindings=False):
    """Matches of a store, however many: only pages in view are asked for, the last ones are remembered."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"match-list--head", "match-list--cursor", "match-list--dim"}
    DEFAULT_CSS = """
    MatchList {
        background: $arena-surface;
        color: $arena-text;
        & > .match-list--head { color: $arena-text; text-style: bold underline; }
        & > .match-list--cursor { color: $arena-text; text-style: reverse; }
        & > .match-list--dim { color: $arena-dim; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        Binding("s", "next_sort", "Sort", id="matches.sort"),
        Binding("S", "turn", "Reverse", show=False, id="matches.reverse"),
    ]
    ALLOW_SELECT = False
    HELP = (
        "All matches. Up and down (or k and j) move, home and end go to the ends, enter opens a match,"
        " s sorts by the next column, S turns the order round, a click on a head sorts by it."
    )

    class Selected(Message):
        """A match is to be opened."""

        def __init__(self, row: MatchRow, index: int) -> None:
            super().__init__()
            self.row = row
            self.index = index

    class Moved(Selected):
        """The cursor came to a match."""

    class Counted(Message):
        """A page is shown, and how many matches there are is known."""

    class Loaded(Message):
        """A page has come."""

        def __init__(self, request: PageRequest, page: Page | None, trouble: str) -> None:
            super().__init__()
            self.request = request
            self.page = page
            self.trouble = trouble

    def __init__(self, provider: Provider, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._provider = provider
        self._turn = Lock()
        self._pages: OrderedDict[int, tuple[MatchRow, ...]] = OrderedDict()
        self._asked: set[int] = set()
        self._wanted = PageRequest(page=0)
        self._bots: set[str] = set()
        self._address_width = 0
        self._called: tuple[int, int, Mapping[str, str]] = (0, 0, {})
        self.total = 0
        """How many matches there are under this condition."""
        self.trouble = ""
        """Why no matches come; empty when they do."""
        self.cursor = 0
        """The row the cursor is on."""

    @property
    def sort(self) -> tuple[str, bool]:
        """By what it is sorted, and whether downwards."""
        return self._wanted.sort, self._wanted.descending

    def on_mount(self) -> None:
        """Ask for the first page."""
        self._ask(0)

    def reload(
        self, *, sort: str | None = None, descending: bool | None = None, condition: str | None = None
    ) -> None:
        """Ask anew, perhaps with another order or condition; what is not given stays."""
        before = self._wanted
        self._wanted = PageRequest(
            page=0,
            sort=before.sort if sort is None else sort,
            descending=before.descending if descending is None else descending,
            condition=before.condition if condition is None else condition,
        )
        if self._wanted != before:
            self.cursor = 0
            self.scroll_to(y=0, animate=False)
        self._pages.clear()
        self._asked.clear()
        self._ask(self.cursor // PAGE_SIZE)

    def look_again(self) -> None:
        """Ask for what is new; till it comes all stays, and the cursor stays on its match but for the top."""
        self._asked.clear()
        self._ask(self.cursor // PAGE_SIZE)

    def row(self, index: int) -> MatchRow | None:
        """Give a row; None while its page has not come, which this asks for."""
        page, place = divmod(index, PAGE_SIZE)
        rows = self._pages.get(page)
        if rows is None:
            self._ask(page)
            return None
        self._pages.move_to_end(page)
        return rows[place] if place < len(rows) else None

    def _ask(self, page: int) -> None:
        if page in self._asked or not self.is_attached:
            return
        self._asked.add(page)
        request = msgspec.structs.replace(self._wanted, page=page)
        self.run_worker(partial(self._load, request), name=f"page-{page}", group="pages", thread=True)

    def _load(self, request: PageRequest) -> None:
        """Fetch a page, in a thread; two that wait for pages take turns."""
        try:
            with self._turn:
                page = self._provider(request)
            self.post_message(self.Loaded(request, page, ""))
        except ArenaError as error:
            self.post_message(self.Loaded(request, None, str(error)))

    def on_match_list_loaded(self, message: Loaded) -> None:
        """Show a page, if nobody has changed order or condition since."""
        message.stop()
        if msgspec.structs.replace(message.request, page=0) != msgspec.structs.replace(self._wanted, page=0):
            return
        self._asked.discard(message.request.page)
        self.trouble = message.trouble
        if message.page is not None:
            self._make_room(message.page.total - self.total)
            self._pages[message.request.page] = message.page.rows
            self._bots |= set(message.page.bots) | {name for row in message.page.rows for name in row.names}
            addresses = (cell_len(safe(row.address)) for row in message.page.rows)
            self._address_width = max(self._address_width, *addresses, 0)
            while len(self._pages) > _MAX_PAGES:
                self._pages.popitem(last=False)
            self._set_total(message.page.total)
        self.post_message(self.Counted())
        self.refresh()

    def _make_room(self, num_new: int) -> None:
        """Let what was shown move down where there are new matches above it."""
        if num_new == 0:
            return
        self._pages.clear()
        if num_new > 0 and self.cursor > 0 and self.sort == ("number", True):
            self.cursor += num_new
            self.virtual_size = Size(self._columns_width(), self.total + num_new + _HEAD)
            self.scroll_to(y=self.scroll_offset.y + num_new, animate=False)

    def _set_total(self, total: int) -> None:
        self.total = total
        self.cursor = min(self.cursor, max(0, total - 1))
        self.virtual_size = Size(self._columns_width(), total + _HEAD)

    @staticmethod
    def _columns_width() -> int:
        return 1

    @property
    def _width(self) -> int:
        """Cells beside the scroll bar."""
        return self.scrollable_content_region.width

    def _columns(self) -> list[Column]:
        columns: list[Column] = []
        room = self._width
        number = msgspec.structs.replace(COLUMNS[0], width=max(COLUMNS[0].width, self._address_width))
        for column in (number, *COLUMNS[1:]):
            if len(columns) >= ALWAYS and column.width + 1 > room:
                break
            columns.append(column)
            room -= column.width + 1
        return columns

    def _widths(self) -> list[int]:
        """Give the widths; names give way where even the first columns do not fit, and take what is left."""
        columns = self._columns()
        widths = [column.width for column in columns]
        names = [place for place, column in enumerate(columns) if column.key in ("first", "second")]
        spare = self._width - sum(widths) - len(widths)
        for place in names:
            widths[place] = max(LIST_WIDTHS[0], min(LIST_WIDTHS[-1], widths[place] + spare // len(names)))
        return widths

    def _text(self, column: Column, row: MatchRow, width: int) -> str:
        """Return what stands in a cell; bots are called by labels where their names are too long."""
        if column.key not in ("first", "second"):
            return column.write(row)
        known, cells, labels = self._called
        if (known, cells) != (len(self._bots), width):
            names = sorted(self._bots)
            labels = dict(zip(names, shortened(names, width), strict=True))
            self._called = (len(names), width, labels)
        return labels[column.write(row)]

    @override
    def render_line(self, y: int) -> Strip:
        width = self._width
        base = self.rich_style
        if y == 0:
            return self._strip(self._head_text(), "match-list--head", width)
        index = self.scroll_offset.y + y - _HEAD
        if self.total == 0:
            text = "" if y > 1 else safe(self.trouble) or ("loading ..." if self._asked else "no matches")
            return Strip([Segment(f" {text}", base)]).adjust_cell_length(width, base)
        if index >= self.total:
            return Strip.blank(width, base)
        row = self.row(index)
        if row is None:
            return self._strip(f" {self.trouble or '...'}", "match-list--dim", width)
        texts = zip(self._columns(), self._widths(), strict=True)
        text = " ".join(
            (right if column.is_right else left)(self._text(column, row, cells), cells)
            for column, cells in texts
        )
        if index == self.cursor:
            mark = ">" if self.has_focus else "-"
            return self._strip(mark + text, "match-list--cursor" if self.has_focus else "", width)
        return self._strip(" " + text, "", width)

    def _strip(self, text: str, component: str, width: int) -> Strip:
        base = self.rich_style
        style = base + self.get_component_rich_style(component, partial=True) if component else base
        return Strip([Segment(safe(text), style)]).adjust_cell_length(width, style)

    def _head_text(self) -> str:
        arrow = "v" if self._wanted.descending else "^"
        heads = [
            (right if column.is_right else left)(
                column.head + (arrow if column.key == self._wanted.sort else ""), cells
            )
            for column, cells in zip(self._columns(), self._widths(), strict=True)
        ]
        return " " + " ".join(heads)

    def go_to(self, index: int) -> None:
        """Put the cursor on a row, and bring it into view."""
        self.cursor = min(max(0, index), max(0, self.total - 1))
        room = max(1, self.size.height - _HEAD)
        top = self.scroll_offset.y
        if not top <= self.cursor < top + room:
            top = self.cursor if self.cursor < top else self.cursor - room + 1
            self.scroll_to(y=top, animate=False, force=True)
        row = self.row(self.cursor)
        if row is not None:
            self.post_message(self.Moved(row, self.cursor))
        self.refresh()

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages."""
        self.go_to(self.cursor + step * max(1, self.size.height - _HEAD))

    def action_to_end(self, step: int) -> None:
        """Move the cursor to the first or the last row."""
        self.go_to(0 if step < 0 else self.total - 1)

    def action_select(self) -> None:
        """Open the row of the cursor."""
        row = self.row(self.cursor)
        if row is not None:
            self.post_message(self.Selected(row, self.cursor))

    def action_next_sort(self) -> None:
        """Sort by the next column."""
        at = SORTS.index(self._wanted.sort) if self._wanted.sort in SORTS else -1
        self.reload(sort=SORTS[(at + 1) % len(SORTS)])

    def action_turn(self) -> None:
        """Turn the order round."""
        self.reload(descending=not self._wanted.descending)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on a row, or sort by a head; a second click opens the row."""
        event.stop()
        if event.y == 0:
            self._sort_at(event.x)
            return
        index = self.scroll_offset.y + event.y - _HEAD
        if index < self.total:
            self.go_to(index)
            if event.chain > 1:
                self.action_select()

    def _sort_at(self, x: int) -> None:
        edge = 1
        for column, width in zip(self._columns(), self._widths(), strict=True):
            edge += width + 1
            if x < edge and column.key in SORTS:
                same = column.key == self._wanted.sort
                self.reload(sort=column.key, descending=not self._wanted.descending if same else None)
                return
