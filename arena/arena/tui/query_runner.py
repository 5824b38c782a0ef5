"""Asynchronous queries of a screen to the store: one at a time; a new one cancels the previous one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from arena.tui.look import app_of
from arena.watching.query_answers import Empty, Loading, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer
    from textual.widget import Widget

    from arena.watching.query import Queries, Query
    from arena.watching.query_answers import Answer, Rows

SLOW_S: Final = 0.15
"""Seconds after which a running query is announced."""
_SPIN_S: Final = 0.25
"""Seconds between two frames of the spinner."""
_FIRST_DELAY_S: Final = 0.25
_LAST_DELAY_S: Final = 4.0
"""First and maximum delay in seconds before a query is repeated when the store is gone; doubled each time."""


class HasQueries(Protocol):
    """An app with queries to a store."""

    queries: Queries


@runtime_checkable
class ShowsActivity(Protocol):
    """A screen that shows what is being read."""

    def show_doing(self, sender: object, text: str) -> None:
        """Show what `sender` is doing; an empty text clears it."""
        ...

    def show_lost(self, sender: object, text: str) -> None:
        """Show that the store is gone or locked; an empty text clears it."""
        ...


class _Question(NamedTuple):
    """A query: its source, a text for the time while it runs, and a function that shows its answers."""

    source: Callable[[Query], Rows[Any] | Empty]
    doing: str
    show: Callable[[Answer[Any]], None]
    key: object


class QueryRunner:
    """Runs queries for a screen or widget in threads; answers are shown in the thread of the screen.

    A query with the key of the running one is run once more after it; any other query cancels the running
    one. If the store is gone or locked, the query is repeated automatically.
    """

    def __init__(self, node: Widget, name: str) -> None:
        """Create the object.

        Args:
            node: the widget whose workers run the queries; it must call `cancel` when it is unmounted.
            name: name of the workers.
        """
        self._node = node
        self._name = name
        self._query: Query | None = None
        self._asked: _Question | None = None
        self._again = False
        self._delay_s = _FIRST_DELAY_S
        self._timer: Timer | None = None

    def run(
        self,
        source: Callable[[Query], Rows[Any] | Empty],
        doing: str,
        show: Callable[[Answer[Any]], None],
        *,
        key: object = None,
    ) -> None:
        """Run a query; must be called in the thread of the screen.

        Args:
            source: a function that reads the store; called in a thread.
            doing: the activity, shown after 150 ms: `reading bots`.
            show: called with each answer: `Loading` if it takes long, then `Rows`, `Empty` or `Unavailable`.
            key: equal for equal queries; None for a query that equals no other.
        """
        if self._query is not None and self._asked is not None and key is not None and key == self._asked.key:
            self._again, self._asked = True, _Question(source, doing, show, key)
            return
        self._delay_s = _FIRST_DELAY_S
        self._run(_Question(source, doing, show, key))

    @property
    def is_running(self) -> bool:
        """Whether a query is running."""
        return self._query is not None

    def cancel(self) -> None:
        """Cancel the query: none of its answers is shown any more."""
        if self._query is not None:
            self._query.cancel()
        self._query, self._again = None, False
        self._rest()

    def _run(self, question: _Question) -> None:
        self.cancel()
        if not self._node.is_attached:
            return
        queries = cast("HasQueries", app_of(self._node)).queries
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
        """Call a function in the thread of the screen, unless the query was cancelled."""
        if not query.is_cancelled:
            self._node.call_later(what, query, *given)

    def _show(self, query: Query, answer: Answer[Any]) -> None:
        if query is not self._query or query.is_cancelled or self._asked is None:
            return
        lost = answer.reason if isinstance(answer, Unavailable) and answer.is_passing else ""
        if self._node.is_attached and isinstance(self._node.screen, ShowsActivity):
            self._node.screen.show_lost(self, lost)
        self._asked.show(answer)
        if lost:
            question = self._asked
            delay_s, self._delay_s = self._delay_s, min(_LAST_DELAY_S, 2 * self._delay_s)
            self._node.set_timer(delay_s, partial(self._retry, question), name=f"{self._name}-again")
        else:
            self._delay_s = _FIRST_DELAY_S

    def _retry(self, question: _Question) -> None:
        """Repeat a query, unless another one has been started meanwhile."""
        if question is self._asked and self._query is None:
            self._run(question)

    def _end(self, query: Query) -> None:
        if query is not self._query:
            return
        self._query = None
        self._rest()
        if self._again and self._asked is not None:
            self._again = False
            self._run(self._asked)

    def _say(self, query: Query, turn: int) -> None:
        """Show the activity of a query that takes long, with an animated spinner."""
        if query is not self._query or self._asked is None or not self._node.is_attached:
            return
        if turn == 0:
            self._asked.show(Loading(self._asked.doing))
        spin = "" if app_of(self._node).animation_level == "none" else "|/-\\"[turn % 4]
        screen = self._node.screen
        if isinstance(screen, ShowsActivity):
            screen.show_doing(self, f"{spin} {self._asked.doing} ...".strip())
        self._timer = self._node.set_timer(_SPIN_S, partial(self._say, query, turn + 1))

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._node.is_attached and isinstance(self._node.screen, ShowsActivity):
            self._node.screen.show_doing(self, "")
