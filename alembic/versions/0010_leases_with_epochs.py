"""Adds the epoch of a lease, which each claim increments, and the time when its holder last wrote.

A lease of an older store gets epoch 0; its holder last wrote when it last renewed the lease.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | None = None
depends_on: str | None = None

EIGHT_BYTES: sa.Double[float] = sa.Double()
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
STRICT = {"sqlite_strict": True}


def upgrade() -> None:
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.add_column(sa.Column("epoch", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("beat_at", DOUBLE, nullable=False, server_default="0"))
    # In earlier revisions each renewal lasted a minute.
    op.execute("UPDATE leases SET beat_at = expires_at - 60 WHERE uuid <> ''")
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.alter_column("epoch", server_default=None)
        batch.alter_column("beat_at", server_default=None)
        batch.create_check_constraint(op.f("ck_leases_epoch_least"), "epoch >= 0")


def downgrade() -> None:
    with op.batch_alter_table("leases", table_kwargs=STRICT) as batch:
        batch.drop_constraint(op.f("ck_leases_epoch_least"), type_="check")
        batch.drop_column("beat_at")
        batch.drop_column("epoch")
