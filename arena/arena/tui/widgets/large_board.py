"""The large board of replay, focus and session: names of rows and columns, a grid, search information."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from typing_extensions import override

from arena.errors import ArenaError
from arena.live.geometry import geometry
from arena.live.wall import search_table
from arena.tui.text import right
from arena.tui.widgets.board_cells import (
    TALL,
    WIDE,
    FigureColumns,
    Marks,
    dense_row,
    grid_row,
    in_columns,
    search_rows,
    tall_row,
)
from arena.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from arena.live.geometry import Geometry
    from arena.live.replay_views import PlyGrade
    from arena.live.views import MatchView
    from arena.tui.text import Line

_SEARCH_LINES = 3
"""Number of lines with search figures: visits, shares, policy."""
_NUM_BEST = 5
"""Number of moves with figures in games whose moves are cells."""
_BEST_WIDTH = 6
"""Width of the figures of a move that is a cell, in cells of the terminal."""
_UNKNOWN = "?"
"""The score of an unsolved action, which is not shown in cells."""


class _Plan(NamedTuple):
    """The layout for the current size."""

    pitch: int
    """Terminal cells for one column."""
    has_grid: bool
    """Whether there are lines between columns and around the board."""
    num_scores: int
    """Number of lines with a judge's scores of the columns."""
    num_search: int
    """Number of lines with search information, with the heads of moves that are not columns."""
    has_status: bool
    margin: int
    """Number of cells left of the first column's middle cell, less one."""
    top: int
    """Line of the panel with the first row of the board."""
    rows: range
    """The visible rows."""
    pace: int
    """Number of lines from a row to the next: 2 with a rule in between, 4 with tall cells; both make cells
    square."""


class LargeBoard(Panel, can_focus=True):
    """A large board; `show` sets the match, `mark` the move that a person is about to make."""

    HELP = (
        "The board. [X] is the last move. N are the visits of the last mover's search, N% their shares,"
        " P% its policy; figures that the bot does not report are absent. S, or the cell itself, is a judge's"
        " score of a move: +7 wins in 7 plies, = draws, -12 loses in 12; * is best. *X* is the winning line."
    )
    DEFAULT_CSS = """
    LargeBoard { width: 38; height: 17; }
    """

    def __init__(
        self,
        title: str = "board",
        *,
        id: str | None = None,  # noqa: A002 # as in Textual
        classes: str | None = None,
    ) -> None:
        super().__init__(title, id=id, classes=classes)
        self.match: MatchView | None = None
        """The match that is shown."""
        self.status = ""
        """The line below the board; empty for last move and side to move."""
        self.is_live = False
        """Whether the search of the thinking bot is shown instead of that of the last mover."""
        self.grade: PlyGrade | None = None
        """A judge's grade of the position."""
        self.has_coin_row = False
        """Whether there is always a line for the coin (the next stone, above its column), so that the board
        stays put."""
        self._ghost: int | None = None
        self._pending: int | None = None
        self._coin: int | None = None
        self._player = 0
        self._is_flipped = False

    def show(
        self, match: MatchView | None, *, status: str = "", live: bool = False, grade: PlyGrade | None = None
    ) -> None:
        """Show a match, and `status` below it instead of last move and side to move.

        Args:
            match: the match.
            status: the line below the board; empty for last move and side to move.
            live: whether the search of the thinking bot is shown.
            grade: a judge's grade of the position; None shows no scores.
        """
        before = (self.match, self.status, self.is_live, self.grade)
        self.match, self.status, self.is_live, self.grade = match, status, live, grade
        if match is not before[0] or (status, live, grade) != before[1:]:
            self.repaint()

    def mark(
        self,
        *,
        ghost: int | None = None,
        pending: int | None = None,
        coin: int | None = None,
        player: int = 0,
    ) -> None:
        """Show the move that a person is about to make.

        Args:
            ghost: cell in which a stone would land.
            pending: cell of a stone that the referee has not confirmed.
            coin: column above which the coin (the next stone) is drawn; without a ghost, since the column is
                full, it is drawn as `-`.
            player: the player of these stones.
        """
        self._ghost, self._pending, self._coin, self._player = ghost, pending, coin, player
        self.repaint()

    def flip(self) -> None:
        """Flip the board: columns from the right, and rows from the bottom.

        In games where stones fall, rows stay: they would seem to fall upwards.
        """
        self._is_flipped = not self._is_flipped
        self.repaint()

    def action_at(self, x: int, y: int) -> int | None:
        """Return the action at a position in the widget (frame included); None outside the board."""
        match, shape = self.match, self._shape()
        if match is None or shape is None:
            return None
        plan = self._plan(match, shape, self.size.width - 2, self.size.height - 2)
        column = (x - 1 - plan.margin) // plan.pitch if x - 1 >= plan.margin else -1
        row = (y - 1 - plan.top) // plan.pace
        if not 0 <= column < shape.columns:
            return None
        if shape.kind == "columns":
            # The space above and below a column also belongs to it.
            return shape.action_at(0, self._column(column, shape))
        if not 0 <= row < len(plan.rows):
            return None
        cell_row = plan.rows[row]
        return shape.action_at(self._source(cell_row, shape), self._column(column, shape))

    @override
    def body(self, width: int, height: int) -> list[Line]:
        match, shape = self.match, self._shape()
        if match is None:
            return []
        if shape is None or not match.columns:
            return [((f" {match.trouble or 'no board'}", "alert"),)]
        plan = self._plan(match, shape, width, height)
        lines: list[Line] = []
        if self.has_coin_row or self._coin is not None:
            lines.append(self._coin_line(plan, shape))
        names = [shape.column_names[self._column(column, shape)] for column in range(shape.columns)]
        lines.append(self._heads(plan, names))
        if plan.has_grid:
            lines.append(self._rule(plan, shape, self.glyphs.grid_top))
        lines += self._rows(plan, shape, match)
        if plan.has_grid:
            lines.append(self._rule(plan, shape, self.glyphs.grid_bottom))
        if plan.num_scores and self.grade is not None:
            lines.append(self._score_line(plan, shape, self.grade))
        if plan.num_search:
            lines += self._search_lines(plan, shape, match)
        if plan.has_status:
            lines.append(((f" {self.status or self._status_text(match)}", "alert" if match.trouble else ""),))
        return lines

    def _plan(self, match: MatchView, shape: Geometry, width: int, height: int) -> _Plan:
        names = max(map(len, shape.row_names))
        columns = shape.columns
        has_grid = names + 3 + WIDE * columns <= width
        pitch = WIDE if has_grid else 2 if names + 2 + 2 * columns <= width else 1
        coin = int(self.has_coin_row or self._coin is not None)
        # Room is given to the most useful parts first: board, line below, search, rules around the board.
        room = height - shape.rows - 1 - coin
        has_status = room >= 1
        is_scored = self.grade is not None and has_grid and shape.kind == "columns"
        num_scores = int(is_scored and room - has_status >= 1)
        room -= has_status + num_scores
        wanted = _SEARCH_LINES + (shape.kind != "columns")
        num_search = wanted if room >= wanted else 0
        has_rules = has_grid and room - num_search >= 2  # noqa: PLR2004 # one above, one below
        shown = max(0, min(shape.rows, height - 1 - coin))
        last = shape.rows - 1 if match.last_cell is None else match.last_cell // columns
        top = min(max(0, last - shown // 2), shape.rows - shown)
        spare = room - num_search - 2 * has_rules
        margin = names + 2 if has_grid else names + 1
        pace = 2 if has_rules and spare >= shape.rows - 1 else 1
        if has_rules and names + 3 + TALL * columns <= width and spare >= 3 * shape.rows - 1:
            pitch, pace = TALL, 4
        return _Plan(
            pitch=pitch,
            has_grid=has_rules,
            num_scores=num_scores,
            num_search=num_search,
            has_status=has_status,
            margin=margin,
            top=1 + coin + has_rules,
            rows=range(top, top + shown),
            pace=pace,
        )

    def _rows(self, plan: _Plan, shape: Geometry, match: MatchView) -> list[Line]:
        """Draw the rows, with rules between them if there is room."""
        lines: list[Line] = []
        for row in plan.rows:
            if plan.pace > 1 and row > plan.rows.start:
                lines.append(self._rule(plan, shape, self.glyphs.grid_middle))
            lines += self._row(plan, shape, match, row)
        return lines

    def _row(self, plan: _Plan, shape: Geometry, match: MatchView, row: int) -> list[Line]:
        source = self._source(row, shape)
        start = source * shape.columns
        cells = match.cells[start : start + shape.columns]
        marks = Marks(match.last_cell, self._ghost, self._pending, self._player, match.winning)
        scores = self._cell_scores(shape, start)
        if self._is_flipped:
            cells = cells[::-1]
            last, ghost, pending = (_mirrored(cell, start, shape.columns) for cell in marks[:3])
            lit = (_mirrored(cell, start, shape.columns) for cell in marks.lit)
            marks = Marks(last, ghost, pending, self._player, tuple(cell for cell in lit if cell is not None))
            scores = tuple((shape.columns - 1 - column, text) for column, text in scores)
        name = right(shape.row_names[source], max(map(len, shape.row_names)))
        side = (self.glyphs.grid_side, "border")
        if plan.pitch == TALL:
            # The name is beside the middle line of the cells.
            heads = (" " * len(name), name, " " * len(name))
            drawn = tall_row(cells, start, marks, self.glyphs, scores)
            return [((f" {head} ", "dim"), side, *line) for head, line in zip(heads, drawn, strict=True)]
        if plan.pitch == WIDE:
            return [((f" {name} ", "dim"), side, *grid_row(cells, start, marks, self.glyphs, scores))]
        return [((f" {name}", "dim"), *dense_row(cells, start, marks, self.glyphs, plan.pitch))]

    def _cell_scores(self, shape: Geometry, start: int) -> tuple[tuple[int, str], ...]:
        """Return a judge's scores of the cells of a row, by column, in games whose actions are cells."""
        if self.grade is None or shape.kind != "cells":
            return ()
        cells = {shape.targets[action]: (action, text) for action, text in self.grade.scores.items()}
        return tuple(
            (cell - start, self._starred(action, text, WIDE - 1))
            for cell, (action, text) in sorted(cells.items())
            if start <= cell < start + shape.columns and text != _UNKNOWN
        )

    def _starred(self, action: int, text: str, width: int) -> str:
        """Append a star to the score of a best action if there is room."""
        is_best = self.grade is not None and action in self.grade.best
        return f"{text}*" if is_best and len(text) < width else text[:width]

    def _score_line(self, plan: _Plan, shape: Geometry, grade: PlyGrade) -> Line:
        columns = [self._column(column, shape) for column in range(shape.columns)]
        actions = {shape.targets[action] % shape.columns: action for action in grade.scores}
        texts = [
            self._starred(actions[column], grade.scores[actions[column]], WIDE) if column in actions else ""
            for column in columns
        ]
        return (
            (f" {'S':<{plan.margin}}", "dim"),
            (in_columns(texts, plan.pitch, _inset(plan)), "eval"),
        )

    def _rule(self, plan: _Plan, shape: Geometry, pieces: tuple[str, str, str, str]) -> Line:
        start, line, joint, end = pieces
        rule = joint.join([line * (plan.pitch - 1)] * shape.columns)
        return ((" " * plan.margin + start + rule + end, "border"),)

    def _heads(self, plan: _Plan, names: list[str]) -> Line:
        if plan.pitch >= WIDE:
            middle = " ".join(f"{name:^{plan.pitch - 1}}" for name in names)
            return ((" " * (plan.margin + 1) + middle, "dim"),)
        if max(map(len, names)) > plan.pitch:
            names = [name[-1] for name in names]
        return ((" " * (plan.margin + 1) + "".join(f"{name:<{plan.pitch}}" for name in names), "dim"),)

    def _coin_line(self, plan: _Plan, shape: Geometry) -> Line:
        if self._coin is None:
            return ()
        column = self._column(self._coin, shape)
        offset = plan.margin + 1 + column * plan.pitch + (plan.pitch - 1) // 2
        if self._ghost is None:
            return ((" " * offset + "-", "dim"),)
        return ((" " * offset + self.glyphs.players[self._player], ("first", "second")[self._player]),)

    def _search_lines(self, plan: _Plan, shape: Geometry, match: MatchView) -> list[Line]:
        """Return search figures below their columns, or those of the best moves side by side."""
        if shape.kind == "columns":
            if plan.pitch < WIDE:
                return []
            table = search_table(match, shape.columns, live=self.is_live)
            order = [self._column(column, shape) for column in range(shape.columns)]
            return search_rows(
                table, self.glyphs, order, FigureColumns(plan.pitch, plan.margin, _inset(plan))
            )
        table = search_table(match, _NUM_BEST, live=self.is_live)
        moves = () if table is None else table.moves
        heads = "".join(right(move, _BEST_WIDTH) for move in moves)[1:]
        line = ((f" {'':<{plan.margin}}{heads}", "dim"),)
        columns = FigureColumns(_BEST_WIDTH, plan.margin)
        return [line, *search_rows(table, self.glyphs, range(len(moves)), columns)]

    def _status_text(self, match: MatchView) -> str:
        if match.trouble:
            return match.trouble
        last = ""
        if match.moves:
            move = match.moves[-1]
            last = f"last {self.glyphs.players[move.player]} {move.text}"
        if match.is_over:
            return f"{last}    {match.result} {match.end}".strip()
        side = self.glyphs.players[match.to_move] if match.to_move in (0, 1) else "-"
        return f"{last}    to move {side}".strip()

    def _column(self, column: int, shape: Geometry) -> int:
        return shape.columns - 1 - column if self._is_flipped else column

    def _source(self, row: int, shape: Geometry) -> int:
        """Return the board row that is drawn in this row from the top."""
        return shape.rows - 1 - row if self._is_flipped and shape.kind != "columns" else row

    def _shape(self) -> Geometry | None:
        try:
            return None if self.match is None else geometry(self.match.game)
        except ArenaError:
            return None


def _inset(plan: _Plan) -> int:
    """Return how far from the right edge of a column its numbers end, so that three digits are centred."""
    return (plan.pitch - WIDE) // 2


def _mirrored(cell: int | None, start: int, columns: int) -> int | None:
    """Return the place of a cell of this row after mirroring the row; None for cells of other rows."""
    if cell is None or not 0 <= cell - start < columns:
        return None
    return start + columns - 1 - (cell - start)
