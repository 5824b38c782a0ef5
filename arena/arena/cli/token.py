"""`arena token`: tokens for the server."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click
from rich_click import RichCommand, RichGroup

from arena.cli.options import db_option, format_option
from arena.errors import ConfigError, NotFoundError
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from arena_db.tokens import TokenRecord

_ROLES: Final = ("viewer", "bot", "author", "host")
_SPAN: Final = re.compile(r"(?P<number>[1-9][0-9]{0,4})(?P<unit>[hdw])")
_SECONDS: Final = {"h": 3600, "d": 86_400, "w": 604_800}
_COLUMNS: Final = {
    "token": "Token",
    "account": "Account",
    "role": "Role",
    "state": "State",
    "until": "Valid until",
    "used_on": "Last used",
}


@click.group(cls=RichGroup)
def token() -> None:
    """Make and revoke tokens, which allow people and programs to view the server, or to send it commands.

    A token is shown once; the store keeps only its hash. arena serve accepts it without a restart.
    """


@token.command(cls=RichCommand)
@click.argument("account")
@click.option(
    "--role",
    type=click.Choice(_ROLES),
    default="viewer",
    show_default=True,
    help="viewer: reads pages. bot: connects as one bot. author: also submits bots. host: also commands.",
)
@click.option("--bot", "bot_name", metavar="NAME", help="With --role bot: the bot it connects as.")
@click.option(
    "--expires",
    default="180d",
    show_default=True,
    metavar="TIME",
    help="How long it is valid: 12h, 30d, 8w, or never (no end).",
)
@db_option
def new(account: str, *, role: str, bot_name: str | None, expires: str, db: str | None) -> None:
    """Make a token for ACCOUNT, a name of a person or a program; an account may have several.

    In a browser: open the server's address followed by /?token=TOKEN. In programs: send the header
    Authorization: Bearer TOKEN.
    """
    from arena.cli.output import say
    from arena.home import open_store
    from arena.secret_tokens import digest_of, new_token

    for what, name in (("ACCOUNT", account), ("--bot", bot_name)):
        if name is not None and not NAME.match(name):
            raise ConfigError(
                f'{what} "{name}" is not a valid name; use letters, digits, "_", ".", "-", at most 64'
            )
    if (role == "bot") != (bot_name is not None):
        raise ConfigError("--role bot and --bot NAME belong together: such a token connects one bot")
    until = _until(expires)
    secret = new_token(role)
    with open_store(db) as store:
        store.add_token(account, digest_of(secret), role, expires_at=until, bot=bot_name or "")
    valid = "valid until it is revoked" if until is None else f"valid until {_day(until)}"
    say(f"{account}: {secret}   shown once; {valid}")


@token.command("list", cls=RichCommand)
@format_option
@db_option
def list_(*, form: str, db: str | None) -> None:
    """List all tokens, oldest first: account, role, state, expiry, last use."""
    from arena.cli.output import emit
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        found = store.tokens()
    emit("token", [_row(each) for each in found], form, _COLUMNS, tuple(_COLUMNS))
    if not found:
        click.echo("no token (arena token new makes one)", err=True)


@token.command(cls=RichCommand)
@click.argument("account")
@click.option(
    "--token", "number", type=click.IntRange(1), metavar="N", help="Only the token with this number."
)
@db_option
def revoke(account: str, *, number: int | None, db: str | None) -> None:
    """Revoke the tokens of ACCOUNT: new requests fail at once, open pages within half a minute."""
    from arena.cli.output import say
    from arena.home import open_store

    with open_store(db) as store:
        known = {each.account for each in store.tokens()}
        if account not in known:
            raise NotFoundError(f"no account {account}{nearest(account, known)} (arena token list shows all)")
        ended = store.revoke_tokens(account, number)
    if number is not None and not ended:
        raise NotFoundError(f"{account} has no valid token {number} (arena token list shows all)")
    say(f"{account}: {len(ended)} revoked" if ended else f"{account}: all were revoked before")


def _until(text: str) -> float | None:
    """Return when a token expires, in UTC seconds; None for never.

    Raises:
        ConfigError: the text is not a time span.
    """
    if text == "never":
        return None
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ConfigError(f"--expires {text} is not a time span; write 12h, 30d or 8w, or never")
    return time.time() + int(found["number"]) * _SECONDS[found["unit"]]


def _row(record: TokenRecord) -> dict[str, object]:
    if record.revoked_at is not None:
        state = f"revoked {_day(record.revoked_at)}"
    else:
        state = "valid" if record.counts_at(time.time()) else "expired"
    return {
        "token": record.id,
        "account": record.account,
        "role": f"bot {record.bot}" if record.bot else record.role,
        "state": state,
        "until": "" if record.expires_at is None else _day(record.expires_at),
        "used_on": "" if record.used_on is None else _day(record.used_on * _SECONDS["d"]),
    }


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
