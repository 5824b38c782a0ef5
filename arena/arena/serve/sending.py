"""Complete answers: tagged, compressed if the client accepts it, and omitted if the client has them."""

from __future__ import annotations

import gzip
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope, Send

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing inline and nothing from other sites: a hostile name that is not escaped by mistake can neither run
a script nor send data to another site."""
SECURITY: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every answer."""
HEALTH: Final = "/healthz"
"""Path of the health check, which must be answered when other requests are refused because of a flood."""
_LEAST_ZIPPED: Final = 600
"""Bytes below which compression does not reduce the number of packets."""
_ZIPPED: Final = ("text/", "application/json", "application/problem+json", "image/svg+xml")
_LEVEL: Final = 6
"""Compression level, which is the default of zlib."""
REVALIDATE: Final = "private, no-cache"
"""`Cache-Control` of answers that a browser may keep, but must revalidate before each use."""


class Whole:
    """An answer whose bytes are all known; it may be sent any number of times."""

    def __init__(
        self,
        content: bytes,
        media_type: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        cache: str = REVALIDATE,
    ) -> None:
        """Create an answer.

        Args:
            content: the uncompressed bytes.
            media_type: such as `text/html; charset=utf-8`.
            status: HTTP status.
            headers: more headers, by lower-case name.
            cache: value of `Cache-Control`.
        """
        self._content: bytes | None = content
        self.media_type = media_type
        self.status = status
        self.headers = dict(headers or {})
        self.cache = cache
        self.is_moving = False
        """Whether the answer is valid only for a moment and is not cached, such as a page that a stream
        continues."""

    @property
    def content(self) -> bytes:
        """The uncompressed bytes."""
        if self._content is None:
            assert self.zipped is not None  # noqa: S101 - see `pack`
            return gzip.decompress(self.zipped)
        return self._content

    @property
    def packed_size(self) -> int:
        """Number of bytes in memory after `pack`."""
        return len(self.content if self.zipped is None else self.zipped)

    def pack(self) -> Whole:
        """Drop the bytes if compressed ones exist, which nearly all clients accept; return the answer."""
        if self.prepare().zipped is not None:
            self._content = None
        return self

    @cached_property
    def etag(self) -> str:
        """ETag of the content; a weak one, because compressed and plain bytes share it."""
        return f'W/"{sha256(self.content).hexdigest()[:24]}"'

    @cached_property
    def zipped(self) -> bytes | None:
        """The compressed content; None if compression does not pay."""
        if len(self.content) < _LEAST_ZIPPED or not self.media_type.startswith(_ZIPPED):
            return None
        # Without the time, so that equal content has equal bytes.
        return gzip.compress(self.content, _LEVEL, mtime=0)

    def prepare(self) -> Whole:
        """Compute the tag and the compressed bytes, which may block; return the answer."""
        _ = self.etag, self.zipped
        return self

    async def send_to(self, scope: Scope, headers: Mapping[str, str], send: Send) -> None:
        """Send the answer to a request, or 304 if the client has it.

        Args:
            scope: ASGI scope of the request.
            headers: headers of the request, by lower-case name.
            send: ASGI send function of the request.
        """
        # Caches must not hand a page for one viewer, or a compressed one, to another client.
        found = {**self.headers, "cache-control": self.cache, "vary": "accept, accept-encoding, cookie"}
        is_tagged = self.status == 200 and scope["method"] in {"GET", "HEAD"}  # noqa: PLR2004 - HTTP
        if is_tagged:
            found["etag"] = self.etag
            if _has_tag(headers.get("if-none-match", ""), self.etag):
                await _send(send, 304, found, b"")
                return
        content, zipped = self.content, self.zipped if _takes_gzip(headers) else None
        if zipped is not None:
            content = zipped
            found["content-encoding"] = "gzip"
        found |= {"content-type": self.media_type, "content-length": str(len(content))}
        await _send(send, self.status, found, b"" if scope["method"] == "HEAD" else content)


async def _send(send: Send, status: int, headers: Mapping[str, str], content: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": raw_headers(headers)})
    await send({"type": "http.response.body", "body": content})


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers in ASGI form, without characters other than printable ASCII, above all line breaks."""
    return [
        (name.lower().encode("ascii"), "".join(c for c in value if " " <= c <= "~").encode("ascii"))
        for name, value in headers.items()
    ]


def _has_tag(given: str, tag: str) -> bool:
    tags = {each.strip().removeprefix("W/") for each in given.split(",")}
    return "*" in tags or tag.removeprefix("W/") in tags


def _takes_gzip(headers: Mapping[str, str]) -> bool:
    for each in headers.get("accept-encoding", "").split(","):
        name, _, weight = each.strip().partition(";")
        if name.strip().lower() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
