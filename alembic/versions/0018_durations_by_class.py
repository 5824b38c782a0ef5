"""Indexes durations by class: new matches of a class are next to each other.

In an index of exact durations, every new match changed another page.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | None = None
depends_on: str | None = None

# Sixty-four classes per power of two, up to 2 ** 31 milliseconds; one millisecond each below 128.
CASES = " ".join(
    f"WHEN duration_ms < {128 << power} THEN {64 * power} + duration_ms / {1 << power}" for power in range(25)
)
CLASS = f"(CASE {CASES} ELSE {64 * 25} + duration_ms / {1 << 25} END)"


def upgrade() -> None:
    op.drop_index("ix_matches_duration_ms_id", "matches")
    op.create_index("ix_matches_duration_class", "matches", [sa.text(CLASS), "id", "duration_ms"])


def downgrade() -> None:
    op.drop_index("ix_matches_duration_class", "matches")
    op.create_index("ix_matches_duration_ms_id", "matches", ["duration_ms", "id"])
