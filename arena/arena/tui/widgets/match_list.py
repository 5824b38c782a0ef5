"""A list of stored matches of any length: pages of rows are requested as they are scrolled to."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
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

from arena.results.names import LIST_WIDTHS, shortened
from arena.tui.query_runner import QueryRunner
from arena.tui.text import left, right, safe
from arena.tui.widgets.match_columns import ALWAYS, COLUMNS, SORTS
from arena.tui.widgets.row_list import LIST_BINDINGS
from arena.watching.match_source import PAGE_SIZE, PageRequest
from arena.watching.query_answers import Answer, Empty, Loading, Rows, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events

    from arena.live.table_views import MatchRow
    from arena.tui.widgets.match_columns import MatchColumn
    from arena.watching.match_source import Page, Provider
    from arena.watching.query import Query

_MAX_PAGES = 20
"""Maximum number of cached pages of 200 rows: far more than a screen shows, however many matches there
are."""
_HEAD = 1
"""Number of lines above the rows."""


class MatchList(ScrollView, can_focus=True, inherit_bindings=False):
    """Matches of a store: only visible pages are requested, and the last ones are cached."""

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
        " s sorts by the next column, S reverses the order, a click on a head sorts by it."
    )

    class Selected(Message):
        """The user asked to open a match."""

        def __init__(self, row: MatchRow, index: int) -> None:
            super().__init__()
            self.row = row
            self.index = index

    class Moved(Selected):
        """The cursor moved to a match."""

    class Counted(Message):
        """The number of matches, or the reason why there are none, has been updated."""

    def __init__(self, provider: Provider, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # as in Textual
        super().__init__(id=id, classes=classes)
        self._provider = provider
        self._runner = QueryRunner(self, "pages")
        self._pages: OrderedDict[int, tuple[tuple[MatchRow, ...], int]] = OrderedDict()
        self._asked: tuple[int, ...] = ()
        self._is_asking_soon = False
        self._wanted = self._shown = PageRequest(page=0)
        self._num_newer = 0
        self._bots: set[str] = set()
        self._address_width = 0
        self._called: tuple[int, int, Mapping[str, str]] = (0, 0, {})
        self.total = 0
        """Number of matches found with the condition that is shown."""
        self.share = 0.0
        """Share of all matches that were searched; 1 when the search is complete."""
        self.is_stale = False
        """Whether the rows are about to be replaced, or the store cannot be read."""
        self._why = ""
        self.trouble = ""
        """The reason why no matches arrive; empty if they do."""
        self.cursor = 0
        """The row of the cursor."""

    @property
    def sort(self) -> tuple[str, bool]:
        """The column by which the list is sorted, and whether in descending order."""
        return self._wanted.sort, self._wanted.descending

    def on_mount(self) -> None:
        """Request the first page."""
        self._ask((0,))

    def on_unmount(self) -> None:
        """Cancel running requests."""
        self._runner.cancel()

    def reload(
        self, *, sort: str | None = None, descending: bool | None = None, condition: str | None = None
    ) -> None:
        """Request the rows again, perhaps with another order or condition; None keeps the current one.

        The current rows stay until there is something else to show.
        """
        before = self._wanted
        self._wanted = PageRequest(
            page=0,
            sort=before.sort if sort is None else sort,
            descending=before.descending if descending is None else descending,
            condition=before.condition if condition is None else condition,
        )
        self._ask((0,) if self._wanted != before else self._in_view())

    def look_again(self) -> None:
        """Request new matches; the rows stay until then, and the cursor stays unless it is at the top."""
        self._ask(self._in_view())

    def row(self, index: int) -> MatchRow | None:
        """Return a row; None while its page has not arrived, which is then requested."""
        page, place = divmod(index, PAGE_SIZE)
        rows, total = self._pages.get(page, ((), 0))
        if page in self._pages:
            self._pages.move_to_end(page)
        if place < len(rows):
            return rows[place]
        # A page can stay incomplete, if matches were removed since they were counted.
        if max(index, total) < self.total and not self._is_asked({page}) and not self._is_asking_soon:
            # All missing pages are requested in one call after the frame, since a jump passes many pages.
            self._is_asking_soon = True
            self.call_later(self._ask_missing)
        return None

    def _in_view(self) -> tuple[int, ...]:
        """Return the visible pages, that of the cursor last."""
        top = self.scroll_offset.y
        seen = {top // PAGE_SIZE, (top + self.size.height) // PAGE_SIZE} - {self.cursor // PAGE_SIZE}
        last = max(0, self.total - 1) // PAGE_SIZE
        return (*sorted(page for page in seen if page <= last), self.cursor // PAGE_SIZE)

    def _ask_missing(self) -> None:
        self._is_asking_soon = False
        pages = self._in_view()
        if self._wanted == self._shown and not self._is_asked(set(pages)):
            self._ask(pages)

    def _is_asked(self, pages: set[int]) -> bool:
        """Return whether pages have been requested already."""
        return self._runner.is_running and pages <= set(self._asked)

    def _ask(self, pages: tuple[int, ...]) -> None:
        """Request pages; the search for more matches continues with the last of them."""
        self._asked = pages
        wanted = self._wanted
        source = partial(self._load, wanted, pages)
        self._runner.run(source, self._doing, partial(self._take, wanted), key=(wanted, pages))

    @property
    def _doing(self) -> str:
        return "searching matches" if self._wanted.condition else "reading matches"

    def _load(
        self, wanted: PageRequest, pages: tuple[int, ...], query: Query
    ) -> Rows[tuple[int, Page]] | Empty:
        """Load pages, in a thread."""
        number, found = 0, None
        for number in pages:
            for page in self._provider(msgspec.structs.replace(wanted, page=number), query):
                if found is not None:
                    query.publish(found)
                found = (number, page)
                if number != pages[-1] and len(page.rows) == wanted.limit:
                    break
        if found is None or (found[1].total == 0 and found[1].share >= 1):
            return Empty()
        return Rows(found)

    def _take(self, wanted: PageRequest, answer: Answer[tuple[int, Page]]) -> None:
        """Show an answer."""
        if isinstance(answer, Loading):
            self.is_stale = wanted != self._shown or self.total == 0
        elif isinstance(answer, Unavailable):
            self.trouble, self.is_stale = answer.reason, True
        else:
            self.trouble, self.is_stale = "", False
            if wanted != self._shown:
                self._begin(wanted)
            if isinstance(answer, Rows):
                self._show_page(*answer.content)
            else:
                self._pages.clear()
                self._why = answer.why
                self.share = 1.0
                self._set_total(0)
        self.post_message(self.Counted())
        self.refresh()

    def _begin(self, wanted: PageRequest) -> None:
        """Start again from the top, with another condition or order."""
        self._shown = wanted
        self._pages.clear()
        self._num_newer = 0
        self.cursor = 0
        self.scroll_to(y=0, animate=False)

    def _show_page(self, number: int, page: Page) -> None:
        num_new, self._num_newer = page.num_newer - self._num_newer, page.num_newer
        if num_new or (page.share >= 1 and page.total < self.total):
            # The positions of all rows have changed.
            self._pages.clear()
        if num_new > 0 and self.cursor > 0:
            self.cursor += num_new
            self.virtual_size = Size(self._columns_width(), page.total + _HEAD)
            self.scroll_to(y=self.scroll_offset.y + num_new, animate=False)
        self._pages[number] = (page.rows, page.total)
        self.share = page.share
        self._bots |= set(page.bots) | {name for row in page.rows for name in row.names}
        addresses = (cell_len(safe(row.address)) for row in page.rows)
        self._address_width = max(self._address_width, *addresses, 0)
        while len(self._pages) > _MAX_PAGES:
            self._pages.popitem(last=False)
        self._set_total(page.total)

    def _set_total(self, total: int) -> None:
        self.total = total
        self.cursor = min(self.cursor, max(0, total - 1))
        self.virtual_size = Size(self._columns_width(), total + _HEAD)

    @staticmethod
    def _columns_width() -> int:
        return 1

    @property
    def _width(self) -> int:
        """Width without the scroll bar, in cells."""
        return self.scrollable_content_region.width

    def _columns(self) -> list[MatchColumn]:
        columns: list[MatchColumn] = []
        room = self._width
        number = msgspec.structs.replace(COLUMNS[0], width=max(COLUMNS[0].width, self._address_width))
        for column in (number, *COLUMNS[1:]):
            if len(columns) >= ALWAYS and column.width + 1 > room:
                break
            columns.append(column)
            room -= column.width + 1
        return columns

    def _widths(self) -> list[int]:
        """Return the widths of columns; names shrink if the first ones do not fit, and get any spare room."""
        columns = self._columns()
        widths = [column.width for column in columns]
        names = [place for place, column in enumerate(columns) if column.key in ("first", "second")]
        spare = self._width - sum(widths) - len(widths)
        for place in names:
            widths[place] = max(LIST_WIDTHS[0], min(LIST_WIDTHS[-1], widths[place] + spare // len(names)))
        return widths

    def _text(self, column: MatchColumn, row: MatchRow, width: int) -> str:
        """Return the text of a cell; bots have labels if their names are too long."""
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
            text = safe(self._nothing()) if y == 1 else ""
            return Strip([Segment(f" {text}", base)]).adjust_cell_length(width, base)
        if index >= self.total:
            return Strip.blank(width, base)
        row = self.row(index)
        if row is None:
            return self._strip(f" {self.trouble or '...'}", "match-list--dim", width)
        usual = "match-list--dim" if self.is_stale else ""
        texts = zip(self._columns(), self._widths(), strict=True)
        text = " ".join(
            (right if column.is_right else left)(self._text(column, row, cells), cells)
            for column, cells in texts
        )
        if index == self.cursor:
            mark = ">" if self.has_focus else "-"
            return self._strip(mark + text, "match-list--cursor" if self.has_focus else usual, width)
        return self._strip(" " + text, usual, width)

    def _nothing(self) -> str:
        """Return the text shown without rows; "no matches" only after all matches were searched."""
        if self.trouble:
            return self.trouble
        if self._wanted != self._shown or self.share < 1:
            return f"{self._doing} ..."
        if self._why:
            return self._why
        return "no match matches the filter; esc clears it" if self._shown.condition else "no matches"

    def _strip(self, text: str, component: str, width: int) -> Strip:
        base = self.rich_style
        style = base + self.get_component_rich_style(component, partial=True) if component else base
        return Strip([Segment(safe(text), style)]).adjust_cell_length(width, style)

    def _head_text(self) -> str:
        arrow = "v" if self._wanted.descending else "^"
        heads: list[str] = []
        for column, cells in zip(self._columns(), self._widths(), strict=True):
            mark = arrow if column.key == self._wanted.sort else ""
            blank = " " if mark and len(column.head) + 1 < cells else ""
            heads.append((right if column.is_right else left)(column.head + blank + mark, cells))
        return " " + " ".join(heads)

    def go_to(self, index: int) -> None:
        """Move the cursor to a row, and scroll it into view."""
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
        """Open the row at the cursor."""
        row = self.row(self.cursor)
        if row is not None:
            self.post_message(self.Selected(row, self.cursor))

    def action_next_sort(self) -> None:
        """Sort by the next column."""
        at = SORTS.index(self._wanted.sort) if self._wanted.sort in SORTS else -1
        self.reload(sort=SORTS[(at + 1) % len(SORTS)])

    def action_turn(self) -> None:
        """Reverse the order."""
        self.reload(descending=not self._wanted.descending)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to a row, or sort by the clicked column head; a second click opens the row."""
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
            if x < edge:
                if column.key in SORTS:
                    same = column.key == self._wanted.sort
                    self.reload(sort=column.key, descending=not self._wanted.descending if same else None)
                return
