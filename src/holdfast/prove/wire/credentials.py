"""What a target wants of whoever asks: headers that go with every request, and that nobody is shown.

A value that was given here is masked wherever it turns up, also where the target says it itself; there as soon as it
comes, before anything is cut off that would leave half of it.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.core.redact import HIDDEN

NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OURS = frozenset({"accept", "a2a-version", "content-length", "content-type"})
SCHEME = re.compile(r"(?:basic|bearer|digest|token|apikey)\s+", re.IGNORECASE)
SHORTEST = 6
"""Characters: what is shorter is masked as a header only, because as a word it may be anything."""
EXAMPLE = "for example --header 'X-Api-Key: 12345'"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Headers by name."""

    headers: tuple[tuple[str, str], ...] = ()

    @property
    def sent(self) -> dict[str, str]:
        """What goes with a request."""
        return dict(self.headers)

    @property
    def shown(self) -> list[str]:
        """The same for a reader, who must put in the values."""
        return [f"{name}: {HIDDEN}" for name, _ in self.headers]

    def mask(self, value: Any) -> Any:
        """The value, however nested, without any of the values of these headers in it."""
        secrets = self._secrets()
        return _mask(value, secrets) if secrets else value

    def mask_body(self, body: bytes) -> bytes:
        """A body without the values, also where they are escaped or numbers; JSON stays JSON."""
        secrets = self._secrets()
        if not secrets:
            return body
        try:
            document = json.loads(body)
            masked = _mask(document, secrets)
            return body if masked == document else json.dumps(masked).encode()
        except (ValueError, RecursionError):
            for secret in secrets:
                body = body.replace(secret.encode(), HIDDEN.encode())
            return body

    def mask_file(self, path: Path) -> None:
        """Take the values out of a file that nobody writes to any more."""
        secrets = [secret.encode() for secret in self._secrets()]
        content = path.read_bytes() if secrets and path.exists() else b""
        if any(secret in content for secret in secrets):
            for secret in secrets:
                content = content.replace(secret, HIDDEN.encode())
            path.write_bytes(content)

    def _secrets(self) -> list[str]:
        """Every value and what is in it; longest first, so that no rest of one is left."""
        found = {secret for name, value in self.headers for secret in _within(name, value)}
        return sorted((secret for secret in found if len(secret) >= SHORTEST), key=len, reverse=True)


NO_CREDENTIALS = Credentials()


def credentials(token: str | None, headers: Iterable[str] = ()) -> Credentials:
    """A bearer token and headers as `Name: value`; InvalidInput if one is not like that, or says what another says."""
    found: dict[str, tuple[str, str]] = {}
    if token is not None:
        found["authorization"] = ("Authorization", f"Bearer {_checked(token, 'the token')}")
    for given in headers:
        name, colon, value = given.partition(":")
        if not colon or not NAME.fullmatch(name.strip()):
            raise InvalidInput("a --header has no name", hint=EXAMPLE)
        name, value = name.strip(), _checked(value, f"the header {name.strip()}")
        if name.lower() in OURS:
            raise InvalidInput(f"--header {name} is one that the proof sets itself", hint="leave it out")
        if name.lower() in found:
            raise InvalidInput(f"the header {name} is given twice", hint="--token is the header Authorization")
        found[name.lower()] = (name, value)
    return Credentials(tuple(found.values()))


def _within(name: str, value: str) -> Iterator[str]:
    """A header's value, also without the scheme before it, what Basic encodes, and the values of cookies."""
    bare = SCHEME.sub("", value, count=1)
    yield from (value, bare)
    if name.lower() == "cookie":
        yield from (cookie.partition("=")[2].strip() for cookie in value.split(";"))
    if value.lower().startswith("basic "):
        with suppress(ValueError):
            decoded = b64decode(bare).decode()
            yield from (decoded, decoded.partition(":")[2])


def _checked(value: str, what: str) -> str:
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable():
        raise InvalidInput(f"the value of {what} cannot be sent", hint=EXAMPLE)
    return value


def _mask(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_mask(name, secrets): _mask(each, secrets) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mask(each, secrets) for each in value]
    if isinstance(value, int | float) and any(secret in str(value) for secret in secrets):
        return HIDDEN
    return value
