"""The board on which a person plays: a coin or ghost stone at the mouse or cursor, and the chosen move."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from typing_extensions import override

from arena.errors import ArenaError, IllegalMoveError
from arena.live.geometry import find_game, geometry, position
from arena.tui.widgets.large_board import LargeBoard

if TYPE_CHECKING:
    from textual import events

    from arena.live.geometry import Geometry
    from arena.live.views import MatchView

DIGITS = "123456789"


class PlayBoard(LargeBoard):
    """A board on which a person plays; the screen decides whether a move is accepted."""

    HELP = (
        "Your board. Mouse or arrows move the coin, a click or enter drops it where the ghost is, a digit at"
        " once. (x) is not confirmed yet, [X] is the last move. After esc, digits open screens again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "walk(0, -1)", "Left", show=False, id="board.left"),
        Binding("right,l", "walk(0, 1)", "Column", key_display="left/right", id="board.right"),
        Binding("up,k", "walk(-1, 0)", "Up", show=False, id="board.up"),
        Binding("down,j", "walk(1, 0)", "Down", show=False, id="board.down"),
        Binding("enter", "drop", "Drop", id="board.drop"),
        *(Binding(key, f"say('{key}')", f"Move {key}", show=False, id=f"board.{key}") for key in DIGITS),
    ]

    class Chosen(Message):
        """The person has chosen an action."""

        def __init__(self, action: int) -> None:
            super().__init__()
            self.action = action
            """The action, which may be illegal."""

    class Refused(Message):
        """The chosen move cannot be played."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason
            """The reason, as a sentence."""

    def __init__(self) -> None:
        super().__init__("board")
        self.has_coin_row = True
        self.player = 0
        """Which player the person is, 0 or 1."""
        self.pending: int | None = None
        """The action that the referee has not confirmed."""
        self.cursor: int | None = None
        """The action at the mouse or cursor."""
        self._pressed: int | None = None
        self._has_chosen = False

    def set_up(self, match: MatchView | None, player: int, pending: int | None) -> None:
        """Show a match in which the person is `player`, and a pending action."""
        self.player, self.pending = player, pending
        shape = self._shape_of(match)
        self.has_coin_row = shape is not None and shape.kind == "columns"
        if match is not None and self.match is not None and match.game != self.match.game:
            self.cursor = None
        self.show(match, live=True)
        self._mark()

    def point(self, action: int | None) -> None:
        """Move coin and ghost to an action; None hides them."""
        if action != self.cursor:
            self.cursor = action
            self._mark()

    @property
    def words(self) -> str:
        """The meaning of digits, `1-7 column`; empty if they are not moves."""
        shape = self._shape_of(self.match)
        if shape is None or not self._means("1"):
            return ""
        last = next(digit for digit in reversed(DIGITS) if self._means(digit))
        return f"1-{last} {'column' if shape.kind == 'columns' else 'cell'}"

    @override
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # A digit that is not a move of the game opens a screen, as everywhere else.
        return self._means(str(parameters[0])) if action == "say" else True

    def action_walk(self, down: int, right: int) -> None:
        """Move the coin past full columns, or the ghost from cell to cell."""
        match, shape = self.match, self._shape_of(self.match)
        if match is None or shape is None or shape.kind == "other":
            return
        if self.cursor is None:
            self.point(self._middle(shape))
            return
        row, column = divmod(shape.targets[self.cursor], shape.columns)
        if shape.kind == "cells":
            self.point(shape.action_at((row + down) % shape.rows, (column + right) % shape.columns))
            return
        for step in range(1, shape.columns + 1):
            action = shape.action_at(0, (column + step * right) % shape.columns)
            if action is not None and shape.landing(match.cells, action) is not None:
                self.point(action)
                return

    def action_drop(self) -> None:
        """Choose the action at the cursor."""
        if self.cursor is None:
            self.action_walk(0, 0)
        else:
            self._choose(self.cursor)

    def action_say(self, text: str) -> None:
        """Choose a move by its name."""
        action = self._parsed(text)
        if isinstance(action, int):
            self.point(action)
            self.post_message(self.Chosen(action))
        else:
            self.post_message(self.Refused(action or f'"{text}" is not a move of this game'))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse."""
        event.stop()
        self.point(self._under(event))

    def on_leave(self, event: events.Leave) -> None:
        """Hide coin and ghost when the mouse leaves."""
        event.stop()
        self._pressed = None
        self.point(None)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remember where the button was pressed."""
        event.stop()
        self._pressed = self._under(event)
        self.point(self._pressed)

    def on_click(self, event: events.Click) -> None:
        """Choose the action at the mouse if the button was pressed there, too; a double click counts once."""
        event.stop()
        action, self._pressed = self._pressed, None
        # A fast bot answers before the second click of a double click, which would be the next move.
        if event.chain > 1 and self._has_chosen:
            return
        self._has_chosen = action is not None and action == self._under(event)
        if action is not None and self._has_chosen:
            self._choose(action)

    def _choose(self, action: int) -> None:
        match, shape = self.match, self._shape_of(self.match)
        if match is not None and shape is not None and shape.landing(match.cells, action) is not None:
            self.post_message(self.Chosen(action))

    def _under(self, event: events.MouseEvent) -> int | None:
        place = event.get_content_offset(self)
        return None if place is None else self.action_at(place.x, place.y)

    def _mark(self) -> None:
        match, shape = self.match, self._shape_of(self.match)
        if match is None or shape is None or shape.kind == "other" or match.is_over:
            self.mark(player=self.player)
            return
        cursor, pending = self.cursor, self.pending
        ghost = None if cursor is None else shape.landing(match.cells, cursor)
        waits = None if pending is None else shape.landing(match.cells, pending)
        coin = None if cursor is None or shape.kind == "cells" else shape.targets[cursor] % shape.columns
        self.mark(ghost=ghost, pending=waits, coin=coin, player=self.player)

    def _middle(self, shape: Geometry) -> int | None:
        return shape.action_at(shape.rows // 2, shape.columns // 2)

    def _means(self, text: str) -> bool:
        """Return whether a text is a move of the game, legal or not."""
        return self._parsed(text) != ""

    def _parsed(self, text: str) -> int | str:
        """Return the action of a move's name, or why it is illegal; empty if it is not a move."""
        if self.match is None or not self.match.columns:
            return ""
        try:
            state = position(self.match.game, self.match.actions)
            return find_game(self.match.game).parse_move(state, text)
        except IllegalMoveError as error:
            return str(error)
        except ArenaError:
            return ""

    @staticmethod
    def _shape_of(match: MatchView | None) -> Geometry | None:
        try:
            return geometry(match.game) if match is not None and match.columns else None
        except ArenaError:
            return None
