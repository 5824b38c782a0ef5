"""`arena serve`, `token` and `site`: web pages, from a server with access tokens or as a folder of files."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import click
from rich_click import RichCommand, RichGroup

from arena.cli.options import as_one, db_option, format_option
from arena.errors import ConfigError, NotFoundError
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from arena.serve.server_options import ServeSettings
    from arena_db.tokens import TokenRecord

_MOST_PORT = 65_535
_USUAL = "127.0.0.1:8642"


class _ServeOptions(NamedTuple):
    """The options of `arena serve`."""

    bind: str
    public_url: str | None
    anonymous: bool
    read_only: bool
    delay: int
    proxy_hops: int
    title: str

    def settings(self, db: str | None) -> ServeSettings:
        """Return the settings of the server.

        Raises:
            ConfigError: an address is invalid.
        """
        from arena.serve.server_options import ServeSettings

        host, port = _place(self.bind)
        return ServeSettings(
            db=db,
            host=host,
            port=port,
            public_url=_checked_url(self.public_url),
            anonymous=self.anonymous,
            read_only=self.read_only,
            delay=self.delay,
            proxy_hops=self.proxy_hops,
            title=self.title,
        )


@click.command(cls=RichCommand)
@click.option(
    "--bind",
    default=_USUAL,
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; port 0: a free one.",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="https://NAME under which a proxy publishes the server; needed to listen beyond loopback.",
)
@click.option("--anonymous", is_flag=True, help="Show pages to everybody, without a token.")
@click.option("--read-only", is_flag=True, help="Refuse all commands, the host's too.")
@click.option(
    "--delay",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="PLIES",
    help="Delay positions of running matches by PLIES plies, since viewers can be opponents.",
)
@click.option(
    "--proxy-hops",
    type=click.IntRange(0, 10),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of trusted proxies that set X-Forwarded-For.",
)
@click.option("--title", default="arena", show_default=True, help="Heading of the first page.")
@db_option
@as_one("options", _ServeOptions)
def serve(options: _ServeOptions, *, db: str | None) -> None:
    """Show the store in a browser: tournaments, live boards, tables, matches, each also available as JSON.

    Prints a link with the host's token, which is valid until the server ends. arena token new makes links for
    other people. Ctrl-C ends the server; tournaments continue.
    """
    from arena_plugins.extras import require_modules

    require_modules("arena serve", "bot-arena[serve]", "starlette", "uvicorn")
    import msgspec

    from arena.cli.output import say
    from arena.home import has_store, open_store
    from arena.serve import server

    settings = options.settings(db)
    # Report problems with the store before printing a link. A server may be started before the first
    # tournament, so the default store is created here; a path given with --db must exist, so that a mistyped
    # one creates nothing.
    is_first = db is None and not has_store()
    with open_store(db, read_only=not is_first, create=is_first) as store:
        name = store.place.name
    with server.listen(settings) as listener:
        settings = msgspec.structs.replace(settings, port=listener.getsockname()[1])
        server.serve(settings, listener, lambda link: say(f"Serving {name} at {link}"))


def _place(bind: str) -> tuple[str, int]:
    """Return host and port.

    Raises:
        ConfigError: the text is not HOST:PORT.
    """
    host, colon, port = bind.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > _MOST_PORT:
        raise ConfigError(f"--bind {bind} is not HOST:PORT, as in {_USUAL}")
    return host, int(port)


def _checked_url(url: str | None) -> str:
    """Return the public address without a trailing slash.

    Raises:
        ConfigError: the text is not an https address without a path.
    """
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme == "https" and bool(parts.hostname) and parts.path in {"", "/"}
        is_plain = not (parts.query or parts.fragment or parts.username) and (parts.port or 0) <= _MOST_PORT
    except ValueError:
        is_whole = is_plain = False
    if not (is_whole and is_plain):
        raise ConfigError(
            f"--public-url {url} must be like https://arena.example, without a path: tokens cross the "
            "network, so a proxy with TLS stands in front of the server"
        )
    return url.rstrip("/")


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
        store.tokens.add(account, digest_of(secret), role, expires_at=until, bot=bot_name or "")
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
        found = store.tokens.all()
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
        known = {each.account for each in store.tokens.all()}
        if account not in known:
            raise NotFoundError(f"no account {account}{nearest(account, known)} (arena token list shows all)")
        ended = store.tokens.revoke(account, number)
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


@click.command(cls=RichCommand)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--matches",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="The newest matches of each tournament that get a page; every forfeit gets one, too.",
)
@click.option("--tournament", metavar="NAME", help="Only this tournament and its matches.")
@click.option("--title", default="arena", show_default=True, help="Heading of the first page.")
@db_option
def site(out: Path, *, matches: int, tournament: str | None, title: str, db: str | None) -> None:
    """Write the store as a folder of web pages: tournaments, tables, bots and matches.

    The folder OUT can be opened from disk or published by any web server. A second run writes only the files
    that have changed. Archived tournaments are left out.
    """
    from arena.cli.output import say
    from arena.home import open_store
    from arena.results.addresses import find_tournament
    from arena.site import build

    with open_store(db, read_only=True) as store:
        if tournament is not None:
            tournament = find_tournament(store, tournament, unfinished=False).name
        done = build(store, out, num_matches=matches, tournament=tournament, title=title)
    size = f"{done.num_bytes / 1e6:.1f} MB"
    say(
        f"{out}: {done.num_pages:,} pages, {done.num_changed:,} changed, {size}; "
        f"open {out / 'index.html'} or publish the folder"
    )
