"""A yes-or-no question over the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static
from typing_extensions import override

from arena.tui.text import safe

if TYPE_CHECKING:
    from textual.app import ComposeResult


class ConfirmScreen(ModalScreen[bool]):
    """A question that is dismissed with True by `y` or `enter`, with False by `n` or `escape`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes", id="confirm.yes"),
        Binding("n,escape,q", "answer(False)", "No", id="confirm.no"),
    ]
    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; }
    ConfirmScreen > Vertical {
        width: 60; max-width: 100%; height: auto; max-height: 100%;
        background: $arena-surface; color: $arena-text; border: heavy $arena-focus; padding: 0 1;
    }
    ConfirmScreen Static { width: 100%; height: auto; }
    """

    def __init__(self, question: str, consequence: str = "") -> None:
        """Create the question.

        Args:
            question: the question.
            consequence: what happens after yes; empty lines separate paragraphs.
        """
        super().__init__()
        self.text = Text(safe(question), style="bold")
        """The text that is shown."""
        if consequence:
            paragraphs = "\n\n".join(map(safe, consequence.split("\n\n")))
            self.text.append(f"\n\n{paragraphs}", style="not bold")
        self.text.append("\n\ny yes   n no", style="not bold")

    @override
    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self.text)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 # as the binding says it
        """Close the question with an answer."""
        self.dismiss(answer)
