"""What an agent card offers: which versions of A2A over JSON-RPC, at which address, whether it streams, and
whether it asks for approval.

It is read by the rules of both versions, and leniently: what a card does not say, it does not offer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.prove.wire.envelopes import WireVersion

JSON_RPC = "JSONRPC"
Card = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interface:
    """One address of an agent, with how it is spoken to there; `version` is None where that is not one of ours."""

    url: str
    binding: str
    version: WireVersion | None


def versions(card: Card) -> frozenset[WireVersion]:
    """The versions that the card offers and we speak."""
    return frozenset(found.version for found in _spoken(card) if found.version is not None)


def highest(card: Card) -> WireVersion:
    """The newest version that the card offers and we speak; 0.3 if it says nothing."""
    return max(versions(card), default=WireVersion.V0_3)


def address(card: Card, version: WireVersion) -> str | None:
    """Where the card says that this version is spoken, else where anything is that we speak."""
    spoken = list(_spoken(card))
    return next((found.url for found in spoken if found.version is version), spoken[0].url if spoken else None)


def other_bindings(card: Card) -> list[str]:
    """How the agent is spoken to, if it says so and it is in no way that we know."""
    named = list(_interfaces(card))
    return [] if any(found.binding == JSON_RPC for found in named) else sorted({found.binding for found in named})


def streams(card: Card) -> bool:
    """Whether the card says that the agent streams."""
    offered = card.get("capabilities")
    return isinstance(offered, dict) and offered.get("streaming") is True


def asks_for_approval(card: Card) -> bool:
    """Whether the card has a skill with the tag `approval`."""
    tags = [skill.get("tags") for skill in _objects(card.get("skills"))]
    return any(isinstance(some, list) and "approval" in some for some in tags)


def _spoken(card: Card) -> Iterator[Interface]:
    return (found for found in _interfaces(card) if found.binding == JSON_RPC)


def _interfaces(card: Card) -> Iterator[Interface]:
    """Those of a card of 1.0, then those of a card of 0.3; many a card is both."""
    for interface in _objects(card.get("supportedInterfaces")):
        if isinstance(url := interface.get("url"), str):
            binding = _binding(interface.get("protocolBinding"))
            yield Interface(url, binding, _version(interface.get("protocolVersion")))
    version = _version(card.get("protocolVersion"))
    if isinstance(top := card.get("url"), str):
        yield Interface(top, _binding(card.get("preferredTransport")), version)
    for interface in _objects(card.get("additionalInterfaces")):
        if isinstance(url := interface.get("url"), str):
            yield Interface(url, _word(interface.get("transport")), version)


def _binding(word: object) -> str:
    """How an address is spoken to; where nothing is said of that, as agents are by default."""
    return JSON_RPC if word is None else _word(word)


def _version(word: object) -> WireVersion | None:
    """The version of a word such as 0.3 or 0.3.0."""
    short = ".".join(word.split(".")[:2]) if isinstance(word, str) else ""
    return next((version for version in WireVersion if version.value == short), None)


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
