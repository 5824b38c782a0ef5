"""Adds the mark up to which matches are in the stored sums: a save only appends, sums follow in batches.

Up to revision 0006 the row of `summing` existed only during an upgrade; in a store without it, all matches
are counted. A downgrade leaves such a row if matches are not counted yet, and revision 0006 then counts them.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STRICT = {"sqlite_strict": True}
NEWEST = "SELECT coalesce(max(id), 0) FROM matches"


def upgrade() -> None:
    connection = op.get_bind()
    mark = connection.exec_driver_sql("SELECT next_match FROM summing").scalar()
    all_counted = connection.exec_driver_sql(NEWEST).scalar_one() + 1
    op.drop_table("summing")
    op.create_table(
        "summing",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_match", BIG, nullable=False),
        sa.Column("upgrading", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_summing_one_row")),
        sa.CheckConstraint("next_match >= 1", name=op.f("ck_summing_next_match_least")),
        sa.CheckConstraint("upgrading IN (0, 1)", name=op.f("ck_summing_upgrading_flag")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summing")),
        **STRICT,
    )
    row = (all_counted, 0) if mark is None else (mark, 1)
    connection.exec_driver_sql("INSERT INTO summing (id, next_match, upgrading) VALUES (1, ?, ?)", row)


def downgrade() -> None:
    connection = op.get_bind()
    mark, upgrading = connection.exec_driver_sql("SELECT next_match, upgrading FROM summing").one()
    newest = connection.exec_driver_sql(NEWEST).scalar_one()
    op.drop_table("summing")
    op.create_table(
        "summing",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_match", BIG, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_summing_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summing")),
        **STRICT,
    )
    if upgrading or mark <= newest:
        connection.exec_driver_sql("INSERT INTO summing (id, next_match) VALUES (1, ?)", (mark,))
