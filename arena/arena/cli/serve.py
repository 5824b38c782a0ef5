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
    help="Delay positions of running matches by so many plies, since viewers can be opponents.",
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
    """Show the store in a browser: events, live boards, tables, matches, each also available as JSON.

    Prints a link with the host's token, which is valid until the server ends. arena token new makes links for
    other people. Ctrl-C ends the server; tournaments continue.
    """
    from arena_plugins.extras import require_modules

    require_modules("arena serve", "bot-arena[serve]", "starlette", "uvicorn")
    import msgspec

    from arena.cli.output import say
    from arena.home import has_store, open_store
    from arena.serve import server
    from arena.serve.server_options import ServeSettings

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
    # Report problems with the store before printing a link. A server may be started before the first event,
    # so the default store is created here; a path given with --db must exist, so that a mistyped one creates
    # nothing.
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
        ConfigError: it is not an https address without a path.
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
