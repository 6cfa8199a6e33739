"""`Guard`: who may ask, from where, for what, and how much. Every request passes it before anything else happens."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from base64 import b64encode
from hashlib import sha256
from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.report.graph.svg import STYLE

NAMES = ("127.0.0.1", "localhost", "[::1]")  # under which a browser may know the server, with any port: see ssh -L
MOST_BODY_BYTES = MOST_HEADER_BYTES = 16_384
MOST_PATH_BYTES = 2000  # ours are short; Python refuses to read numbers of more than 4,300 digits
BODY_WITHIN_S = 10.0
CSRF_HEADER = "x-headway-csrf"
METRICS = "/metrics"
_GRAPH = b64encode(sha256(STYLE.encode()).digest()).decode()  # the one style that stands within a picture
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    f"style-src 'self' 'sha256-{_GRAPH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_NOT_INVITED = "Open the address that `headway serve` printed: it has a token in it. A new start makes a new token.\n"


class Keys(Struct, frozen=True):
    """The secrets of a server: `owner` may do everything, `reader` may look; `cookie` is the cookie's name."""

    owner: str
    shared: bool = False
    cookie: str = ""

    @classmethod
    def of(cls, token: str | None, *, shared: bool) -> Keys:
        """Keys with this token, or a new one. Another server on another port has a cookie of another name."""
        owner = token or secrets.token_urlsafe(32)
        return cls(owner, shared, f"headway-{_derived(owner, 'cookie')[:8]}")

    @property
    def reader(self) -> str:
        """The token of the link that only shows."""
        return _derived(self.owner, "reader")

    @property
    def csrf(self) -> str:
        """What a page of ours sends with each POST, and a page of others cannot know."""
        return _derived(self.owner, "csrf")

    def role(self, token: str) -> str:
        """`owner`, `reader`, or nothing."""
        if same(token, self.owner):
            return "owner"
        return "reader" if self.shared and same(token, self.reader) else ""


def _derived(owner: str, what: str) -> str:
    return hmac.new(owner.encode(), what.encode(), sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare in a time that does not tell how much is right."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request here, or pass it on with the role in `state`."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refused(scope, headers)
        if refusal is None:
            try:
                body = await _body(headers, receive)
            except (ValueError, TimeoutError):
                refusal = PlainTextResponse("This request is too large or too slow.\n", 413, {"connection": "close"})
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        await self._app(scope, _again(body, receive), send_guarded)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that may not pass; None if it may."""
        long = sum(len(name) + len(value) for name, value in headers.raw) + len(scope["raw_path"])
        if long + len(scope["query_string"]) > MOST_HEADER_BYTES or len(scope["raw_path"]) > MOST_PATH_BYTES:
            return PlainTextResponse("This request is too large.\n", 431)
        host = headers.get("host", "")
        if host.rpartition(":")[0] not in NAMES and host not in NAMES:  # a page of others under a name of its own
            return PlainTextResponse("This server is called 127.0.0.1 or localhost.\n", 421)
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return PlainTextResponse("This request comes from another page.\n", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("This server knows GET and POST.\n", 405, {"allow": "GET, HEAD, POST"})
        role, answer = self._who(scope, headers)
        if answer is not None:
            return answer
        if not role:
            return PlainTextResponse(_NOT_INVITED, 401)
        if scope["method"] == "POST" and (reason := self._may_not_change(role, headers)):
            return PlainTextResponse(reason, 403)
        scope.setdefault("state", {})["owner"] = role == "owner"
        return None

    def _may_not_change(self, role: str, headers: Headers) -> str:
        """Why a request may change nothing; empty if it may."""
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return "This request comes from another page.\n"
        if role != "owner":
            return "This link only shows; it changes nothing.\n"
        if not same(headers.get(CSRF_HEADER, ""), self._keys.csrf):
            return "This request does not come from a page of this server.\n"
        return ""

    def _who(self, scope: Scope, headers: Headers) -> tuple[str, Response | None]:
        """The role of the caller; or an answer: to an address that is none, or that puts its token into a cookie."""
        if not scope["query_string"].isascii():  # the router could not read it
            return "", PlainTextResponse("An address holds ASCII characters only; write others as %XX.\n", 400)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._keys.role(bearer.strip()), None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and scope["method"] != "POST":
            role = self._keys.role(tokens[0])
            if not role or scope["path"] == METRICS:
                return role, None
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            return role, self._welcome(tokens[0], _own_path(scope["path"]) + (f"?{rest}" if rest else ""), headers)
        return self._keys.role(self._token_in_cookie(headers)), None

    def _token_in_cookie(self, headers: Headers) -> str:
        """The token in the cookie that `_welcome` sets; empty if there is none.

        The parser of the standard library takes quadratic time for backslashes in quotes.
        """
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return next((unquote(value) for name, _, value in pairs if name == self._keys.cookie), "")

    def _welcome(self, token: str, path: str, headers: Headers) -> Response:
        """Put the token into a cookie and clean the address."""
        if headers.get("sec-fetch-site") == "cross-site":
            # After a click on a page of others the browser follows a redirect without the cookie.
            text = '<!DOCTYPE html><html lang="en"><title>Headway</title>'
            answer: Response = HTMLResponse(f'{text}<meta http-equiv="refresh" content="0;url=/"><a href="/">Open</a>')
        else:
            answer = RedirectResponse(path, 303)
        answer.set_cookie(self._keys.cookie, quote(token, safe=""), httponly=True, samesite="strict", path="/")
        return answer


def _own_path(path: str) -> str:
    """The path as one that cannot be taken for another server's (`//other/`)."""
    return "/" + path.lstrip("/\\")


async def _body(headers: Headers, receive: Receive) -> bytes:
    """Read the whole body, which is short and comes soon; raise a ValueError or TimeoutError otherwise."""
    if headers.get("content-length") is None and "chunked" not in headers.get("transfer-encoding", ""):
        return b""
    if int(headers.get("content-length", "0")) > MOST_BODY_BYTES:
        raise ValueError("too long")
    body = bytearray()
    async with asyncio.timeout(BODY_WITHIN_S):
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BODY_BYTES:
                raise ValueError("too long")
            if not message.get("more_body", False):
                return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Hand out the body that was read, then what else there is: that the caller has gone."""
    told = False

    async def tell() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return tell
