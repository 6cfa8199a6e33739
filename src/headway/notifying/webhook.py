"""A webhook: a JSON document sent by POST, as Slack and those who do as Slack does take it."""

from __future__ import annotations

import http.client
import ipaddress
import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from headway.model.errors import InputError
from headway.notifying.base import TIME_OUT_S, NotSentError, Target
from headway.notifying.message import Message
from headway.version import __version__

_TRY_AGAIN = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)


class Webhook(Target):
    """Who knows the address of a webhook may write there: nothing that is shown or logged has more than its host."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._host = _checked_host(url)

    @property
    def name(self) -> str:
        return f"the webhook at {self._host}"

    def send(self, message: Message) -> None:
        body = json.dumps(message.document() | {"text": slack_text(message)}).encode()
        headers = {"Content-Type": "application/json", "User-Agent": f"headway/{__version__}"}
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310 - checked above
        try:
            with _OPENER.open(request, timeout=TIME_OUT_S):
                pass
        except urllib.error.HTTPError as error:
            error.close()
            again = error.code >= 500 or error.code in _TRY_AGAIN
            if 300 <= error.code < 400:
                raise NotSentError(
                    f"it answered {error.code}, a redirect, which is not followed", again=False
                ) from None
            raise NotSentError(f"it answered {error.code}", again=again) from None
        except TimeoutError:
            raise NotSentError(f"it did not answer within {TIME_OUT_S:g} s") from None
        except urllib.error.URLError as error:
            reason = error.reason
            if isinstance(reason, TimeoutError):
                raise NotSentError(f"it did not answer within {TIME_OUT_S:g} s") from None
            # Only the words of the operating system: other texts may repeat the address.
            words = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
            raise NotSentError(f"no connection ({words})") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotSentError(f"no answer that is understood ({type(error).__name__})") from None


def slack_text(message: Message) -> str:
    """Return the text as Slack wants it: what tasks are called and print must not address people or make links.

    >>> slack_escaped("<!channel> a & b")
    '&lt;!channel&gt; a &amp; b'
    """
    failure = message.first_failure
    log = "\n".join(failure.log).replace("`", "'") if failure else ""
    text = slack_escaped(message.text)
    if not failure or not log:
        return text
    indented = slack_escaped("\n".join(f"    {line}" for line in failure.log))
    return text.replace(indented, f"```{slack_escaped(log)}```", 1)


def slack_escaped(text: str) -> str:
    """Return a text in which the three characters that Slack reads as marks are written as it wants them."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _checked_host(url: str) -> str:
    """Return the host of a webhook's address; an `InputError`, without the address, if it cannot be one."""
    example = "write for example https://hooks.example.org/services/…"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InputError("this is not the address of a webhook", todo=example) from None
    if not host or not url.isascii() or any(letter <= " " or letter == "\x7f" for letter in url):
        raise InputError("this is not the address of a webhook", todo=example)
    if parts.username is not None or parts.password is not None:
        raise InputError(f"the address of the webhook at {host} has a user or a password before the host", todo=example)
    if parts.scheme != "https" and not _is_here(host):
        todo = "write https://; http:// is for this machine only (127.0.0.1)"
        raise InputError(f"the webhook at {host} would get its messages unencrypted", todo=todo)
    return host


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another host must not get the message."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
