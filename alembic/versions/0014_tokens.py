"""Adds accounts and tokens of people and programs that may access a server."""

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | None = None
depends_on: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EIGHT_BYTES: sa.Double[float] = sa.Double()
DOUBLE = EIGHT_BYTES.with_variant(sa.REAL(), "sqlite")
ROLES = " OR ".join(f"role = '{role}'" for role in ("viewer", "bot", "author", "host"))


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", DOUBLE, nullable=False),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 64", name=op.f("ck_accounts_name_length")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
        sqlite_strict=True,
    )
    op.create_table(
        "tokens",
        sa.Column("id", BIG, nullable=False),
        sa.Column("account_id", BIG, nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("created_at", DOUBLE, nullable=False),
        sa.Column("expires_at", DOUBLE, nullable=True),
        sa.Column("revoked_at", DOUBLE, nullable=True),
        sa.Column("used_on", sa.Integer(), nullable=True),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("length(sha256) BETWEEN 32 AND 32", name=op.f("ck_tokens_sha256_length")),
        sa.CheckConstraint(ROLES, name=op.f("ck_tokens_role_known")),
        sa.CheckConstraint("length(bot) BETWEEN 0 AND 64", name=op.f("ck_tokens_bot_length")),
        sa.CheckConstraint(
            "length(content_hash) BETWEEN 32 AND 32", name=op.f("ck_tokens_content_hash_length")
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_tokens_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("sha256", name=op.f("uq_tokens_sha256")),
        sqlite_strict=True,
    )


def downgrade() -> None:
    op.drop_table("tokens")
    op.drop_table("accounts")
