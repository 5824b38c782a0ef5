"""Where a trial takes place, and the seats of those who take part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import arena_plugins
from arena.own import own_python
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


class Ground(NamedTuple):
    """The circumstances of some trials."""

    tier: Tier
    """How bots are kept apart."""
    game: Game
    canary: Canary
    """What they reach for."""
    folder: Path
    """For all that is written."""

    def seat(self, row: Misbehaviour, token: str) -> Seat:
        """Give the seat of a bot.

        Args:
            row: which one.
            token: no other trial has it; its processes have it among their arguments.
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
