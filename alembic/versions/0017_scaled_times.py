"""Adds pools of bots whose seconds are scaled by the speed of their worker machine."""

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: str | None = None
depends_on: str | None = None

PROCESSES = ("hosted", "in-process")
NEW_PROCESSES = ("hosted", "hosted-scaled", "in-process")
COUNT = sa.text("SELECT count(*) FROM pools WHERE process = 'hosted-scaled'")


def upgrade() -> None:
    know_processes(NEW_PROCESSES)


def downgrade() -> None:
    # Refused rather than renamed: the seal of a tournament includes its pool, and would no longer be valid.
    if op.get_bind().execute(COUNT).scalar():
        raise RuntimeError("revision 0016 cannot store tournaments with --speed scale; delete them first")
    know_processes(PROCESSES)


def know_processes(processes: tuple[str, ...]) -> None:
    """Change the kinds of processes that a pool may have."""
    with op.batch_alter_table("pools", table_kwargs={"sqlite_strict": True}) as batch:
        batch.drop_constraint(op.f("ck_pools_process_known"), type_="check")
        batch.create_check_constraint(
            op.f("ck_pools_process_known"), " OR ".join(f"process = '{one}'" for one in processes)
        )
