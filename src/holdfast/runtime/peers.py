"""Other agents that this one may ask over A2A.

Only those whose URL begins with one that the operator allowed, a whole path at a time. Each conversation has a context
of its own with each peer, so the peer remembers what it was asked before in the same conversation, and only there.
"""

import hashlib
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import SplitResult, urlsplit

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.runtime import peer_wire
from holdfast.runtime.peer_wire import Question

MAX_HOPS = 4
PORTS = {"http": 80, "https": 443}


class PeerNotAllowed(HoldfastError):
    """The operator has not allowed this agent to ask that one."""

    code: ClassVar[str] = "peer_not_allowed"
    status: ClassVar[int] = 403
    hint = "allow it with `holdfast serve --allow-agent URL`"


@dataclass(frozen=True, slots=True)
class Peers:
    """The agents that may be asked: those whose URL begins with one of these; InvalidInput if one is no URL."""

    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for prefix in self.allowed:
            if _split(prefix) is None:
                hint = "for example http://127.0.0.1:9000/a2a"
                raise InvalidInput(f"{prefix!r:.200} is not the beginning of an agent's URL", hint=hint)

    def check(self, url: str) -> str:
        """The URL itself, or PeerNotAllowed."""
        asked = _split(url)
        if asked is None or not any(_covers(prefix, asked) for prefix in map(_split, self.allowed)):
            raise PeerNotAllowed(f"this agent may not ask the agent at {url!r:.200}")
        return url

    async def ask(self, url: str, question: Question) -> str:
        """A peer's answer in words; PeerFailed if there is none."""
        self.check(url)
        if question.hops >= MAX_HOPS:
            raise PeerNotAllowed(f"{question.hops} agents have asked each other already: this one does not go on")
        return await peer_wire.ask(url, question)


def context_with(store_id: str, tenant: str, session_id: str, url: str) -> str:
    """The context of a conversation with a peer: always the same for the same two."""
    return "peer-" + hashlib.sha256("\0".join((store_id, tenant, session_id, url)).encode()).hexdigest()[:32]


def _split(url: str) -> SplitResult | None:
    """A URL in its parts; None if it is none that we would go to, or could be read in two ways."""
    if not url.isascii() or any(char <= " " or char == "\\" for char in url):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is no number
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.password or parts.fragment:
        return None
    *folders, last = parts.path.split("/")[1:] or [""]
    return None if "%" in parts.path or {"", ".", ".."} & set(folders) or last in {".", ".."} else parts


def _covers(prefix: SplitResult | None, asked: SplitResult) -> bool:
    if prefix is None or _origin(prefix) != _origin(asked):
        return False
    return (asked.path + "/").startswith(prefix.path.rstrip("/") + "/")


def _origin(url: SplitResult) -> tuple[str, str | None, int]:
    return url.scheme, url.hostname, url.port or PORTS[url.scheme]
