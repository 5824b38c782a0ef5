"""How many matches go to a worker at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.records import MatchRecord

BATCH_S = 2.0
"""A batch should take about this long: long enough to hide what sending costs, short enough to be lost."""
MAX_BATCH = 200
_MEMORY = 0.8


class BatchSize:
    """Learns how long matches take and sizes batches by it; the first ones hold a single match."""

    def __init__(self) -> None:
        self._match_s = BATCH_S

    def learn(self, records: Sequence[MatchRecord]) -> None:
        """Take the durations of a played batch into account."""
        for record in records:
            self._match_s = _MEMORY * self._match_s + (1 - _MEMORY) * record.duration_ms / 1000

    def size(self, num_left: int, num_workers: int) -> int:
        """Give the next size; near the end batches shrink, so that all workers end together."""
        wanted = int(BATCH_S / max(self._match_s, BATCH_S / MAX_BATCH))
        fair = math.ceil(num_left / (2 * num_workers))
        return max(1, min(wanted, fair))
