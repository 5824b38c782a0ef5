"""Questions of a screen to the store: one at a time; a new one cancels the one before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from arena.tui.look import app_of
from arena.watching.answers import Empty, Loading, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer
    from textual.widget import Widget

    from arena.watching.answers import Answer, Rows
    from arena.watching.query import Queries, Query

SLOW_S: Final = 0.15
"""Seconds after which it is said that a question is being answered."""
_SPIN_S: Final = 0.25
"""Seconds from one picture of the spinner to the next."""
_FIRST_DELAY_S: Final = 0.25
_LAST_DELAY_S: Final = 4.0
"""Seconds until a store that is gone is asked again: doubled each time, up to this."""


class Asking(Protocol):
    """An app with questions to a store."""

    queries: Queries


@runtime_checkable
class Busy(Protocol):
    """A screen that says what is being read."""

    def show_doing(self, sender: object, text: str) -> None:
        """Say what `sender` is doing; an empty text takes that away."""
        ...

    def show_lost(self, sender: object, text: str) -> None:
        """Say that the store is gone or locked; an empty text takes that away."""
        ...


class _Question(NamedTuple):
    """What is asked."""

    source: Callable[[Query], Rows[Any] | Empty]
    doing: str
    show: Callable[[Answer[Any]], None]
    key: object


class Asks:
    """Asks for a screen or widget, in threads; answers are shown in the thread of the screen.

    A question that is asked again under the same key while it is being answered is asked once more after
    that; any other one cancels the one before. A store that is gone or locked is asked again by itself.
    """

    def __init__(self, node: Widget, name: str) -> None:
        """Make it.

        Args:
            node: whose workers do the work; it has to call `cancel` when it is unmounted.
            name: of the workers.
        """
        self._node = node
        self._name = name
        self._query: Query | None = None
        self._asked: _Question | None = None
        self._again = False
        self._delay_s = _FIRST_DELAY_S
        self._timer: Timer | None = None

    def ask(
        self,
        source: Callable[[Query], Rows[Any] | Empty],
        doing: str,
        show: Callable[[Answer[Any]], None],
        *,
        key: object = None,
    ) -> None:
        """Ask; call it in the thread of the screen.

        Args:
            source: reads the store, in a thread.
            doing: what is being done, shown after 150 ms: `reading bots`.
            show: called with each answer: `Loading` if it takes long, then `Rows`, `Empty` or `Unavailable`.
            key: equal for questions that are the same; None for one that is like no other.
        """
        if self._query is not None and self._asked is not None and key is not None and key == self._asked.key:
            self._again, self._asked = True, _Question(source, doing, show, key)
            return
        self._delay_s = _FIRST_DELAY_S
        self._ask(_Question(source, doing, show, key))

    @property
    def is_asking(self) -> bool:
        """Whether a question is being answered."""
        return self._query is not None

    def cancel(self) -> None:
        """End the question: nothing more is shown of it."""
        if self._query is not None:
            self._query.cancel()
        self._query, self._again = None, False
        self._rest()

    def _ask(self, question: _Question) -> None:
        self.cancel()
        if not self._node.is_attached:
            return
        queries = cast("Asking", app_of(self._node)).queries
        query = self._query = queries.new()
        self._asked = question
        self._timer = self._node.set_timer(SLOW_S, partial(self._say, query, 0), name=f"{self._name}-slow")

        def work() -> None:
            try:
                queries.ask(query, question.source, lambda answer: self._hand(query, self._show, answer))
            finally:
                self._hand(query, self._end)

        self._node.run_worker(work, name=self._name, group=self._name, thread=True)

    def _hand(self, query: Query, what: Callable[..., None], *given: object) -> None:
        """Have something done in the thread of the screen, which is that of no query."""
        if not query.is_cancelled:
            self._node.call_later(what, query, *given)

    def _show(self, query: Query, answer: Answer[Any]) -> None:
        if query is not self._query or query.is_cancelled or self._asked is None:
            return
        lost = answer.reason if isinstance(answer, Unavailable) and answer.is_passing else ""
        if self._node.is_attached and isinstance(self._node.screen, Busy):
            self._node.screen.show_lost(self, lost)
        self._asked.show(answer)
        if lost:
            question = self._asked
            delay_s, self._delay_s = self._delay_s, min(_LAST_DELAY_S, 2 * self._delay_s)
            self._node.set_timer(delay_s, partial(self._retry, question), name=f"{self._name}-again")
        else:
            self._delay_s = _FIRST_DELAY_S

    def _retry(self, question: _Question) -> None:
        """Ask again, unless something else is asked by now."""
        if question is self._asked and self._query is None:
            self._ask(question)

    def _end(self, query: Query) -> None:
        if query is not self._query:
            return
        self._query = None
        self._rest()
        if self._again and self._asked is not None:
            self._again = False
            self._ask(self._asked)

    def _say(self, query: Query, turn: int) -> None:
        """Say that it takes a while; again and again, so that it is seen to go on."""
        if query is not self._query or self._asked is None or not self._node.is_attached:
            return
        if turn == 0:
            self._asked.show(Loading(self._asked.doing))
        spin = "" if app_of(self._node).animation_level == "none" else "|/-\\"[turn % 4]
        screen = self._node.screen
        if isinstance(screen, Busy):
            screen.show_doing(self, f"{spin} {self._asked.doing} ...".strip())
        self._timer = self._node.set_timer(_SPIN_S, partial(self._say, query, turn + 1))

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._node.is_attached and isinstance(self._node.screen, Busy):
            self._node.screen.show_doing(self, "")
