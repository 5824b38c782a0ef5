"""The environment of trials, and the seats of the bots in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import arena_plugins
from arena.own_python import own_python
from arena.referee.hosted import HostedSeat
from arena.sandbox.resources import Resources
from arena.trials.claims import installed_seat
from arena.trials.rogues import has_weights, rogue_seat

if TYPE_CHECKING:
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena.trials.canary import Canary
    from arena_plugins.contract import Game
    from arena_plugins.hostile.table import Misbehaviour

_PROGRAM = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")


class TrialEnvironment(NamedTuple):
    """The environment of some trials."""

    tier: Tier
    """Isolation tier of the bots."""
    game: Game
    canary: Canary
    """Bait for the bots."""
    folder: Path
    """Folder for all files."""

    def seat(self, row: Misbehaviour, token: str) -> Seat:
        """Return the seat of a bot.

        Args:
            row: the misbehaviour.
            token: unique to the trial; it is among the arguments of the bot's processes.
        """
        if row.is_plugin:
            folder = self.folder / f"{row.name}-{token}"
            make = rogue_seat if has_weights(row) else installed_seat
            return make(row, self.tier, self.game, folder, self.canary.store)
        options = [row.name, str(row.move), token, f"{self.canary.argument},mark:{token}"]
        return HostedSeat(
            own_python("-I", "-S", "-B", _PROGRAM, *options),
            name="hostile",
            version="1",
            tier=self.tier,
            resources=Resources(memory_bytes=row.memory_bytes),
        )
