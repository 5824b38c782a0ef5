"""`arena serve`."""

from __future__ import annotations

from urllib.parse import urlsplit

import click
from rich_click import RichCommand

from arena.cli.options import db_option
from arena.errors import ConfigError

_MOST_PORT = 65_535
_USUAL = "127.0.0.1:8642"


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
    help="https://NAME under which a proxy publishes the server; needed to listen beyond this machine.",
)
@click.option("--anonymous", is_flag=True, help="Show pages to everybody, without a token.")
@click.option("--read-only", is_flag=True, help="Refuse commands, the host's too.")
@click.option(
    "--delay",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="PLIES",
    help="Hold positions of running matches back: viewers can be opponents.",
)
@click.option(
    "--proxy-hops",
    type=click.IntRange(0, 10),
    default=0,
    show_default=True,
    metavar="N",
    help="Proxies in front whose X-Forwarded-For tells the address of a client.",
)
@click.option("--title", default="arena", show_default=True, help="Heading of the first page.")
@db_option
def serve(  # noqa: PLR0913 - one parameter an option
    bind: str,
    *,
    public_url: str | None,
    anonymous: bool,
    read_only: bool,
    delay: int,
    proxy_hops: int,
    title: str,
    db: str | None,
) -> None:
    """Show the store in a browser: events, live boards, tables, matches, each with a twin in JSON.

    Prints a link with the host's token, which is valid until the server ends. arena token new makes links for
    others. Ctrl-C ends the server; tournaments go on.
    """
    from arena_plugins.extras import require_modules

    require_modules("arena serve", "bot-arena[serve]", "starlette", "uvicorn")
    import msgspec

    from arena.cli.output import say
    from arena.home import has_store, open_store
    from arena.serve import server
    from arena.serve.settings import ServeSettings

    host, port = _place(bind)
    settings = ServeSettings(
        db=db,
        host=host,
        port=port,
        public_url=_checked_url(public_url),
        anonymous=anonymous,
        read_only=read_only,
        delay=delay,
        proxy_hops=proxy_hops,
        title=title,
    )
    # What is wrong with the store is said before anybody is invited to look at it. A server may be started
    # before the first event, so the usual store is made here; a name given by mistake makes none.
    is_first = db is None and not has_store()
    with open_store(db, read_only=not is_first, create=is_first) as store:
        name = store.place.name
    with server.listen(settings) as listener:
        settings = msgspec.structs.replace(settings, port=listener.getsockname()[1])
        server.serve(settings, listener, lambda link: say(f"Serving {name} at {link}"))


def _place(bind: str) -> tuple[str, int]:
    """Return host and port.

    Raises:
        ConfigError: it is none.
    """
    host, colon, port = bind.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > _MOST_PORT:
        raise ConfigError(f"--bind {bind} is no HOST:PORT; {_USUAL} is the usual one")
    return host, int(port)


def _checked_url(url: str | None) -> str:
    """Return the public address without a slash at its end.

    Raises:
        ConfigError: it is no https address of a server alone.
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
