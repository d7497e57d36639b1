"""The wire follows the agent card: which versions it offers, and where."""

from typing import Any

import pytest

from holdfast.prove.runtime.facts import CLASSIC
from holdfast.prove.runtime.history import FetchedPage, History
from holdfast.prove.runtime.prerequisites import check_card
from holdfast.prove.verdict import Verdict
from holdfast.prove.wire import card as agent_card
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.envelopes import WireVersion


def interface(version: str, path: str = "/a2a", binding: str = "JSONRPC") -> dict[str, str]:
    return {"url": f"http://h:1{path}", "protocolBinding": binding, "protocolVersion": version}


OLD = {"url": "http://h:1/old", "protocolVersion": "0.3.0"}


@pytest.mark.parametrize(
    ("card", "offered", "spoken"),
    [
        ({}, set(), "0.3"),
        ({"url": "http://h:1/"}, set(), "0.3"),
        (OLD, {"0.3"}, "0.3"),
        ({**OLD, "protocolVersion": "0.2.6"}, set(), "0.3"),
        ({**OLD, "preferredTransport": "GRPC"}, set(), "0.3"),
        ({**OLD, "preferredTransport": None}, {"0.3"}, "0.3"),
        ({"supportedInterfaces": [{"url": "http://h:1/", "protocolVersion": "1.0"}]}, {"1.0"}, "1.0"),
        (
            {
                **OLD,
                "preferredTransport": "GRPC",
                "additionalInterfaces": [{"url": "http://h:1/", "transport": "JSONRPC"}],
            },
            {"0.3"},
            "0.3",
        ),
        ({"supportedInterfaces": [interface("1.0")]}, {"1.0"}, "1.0"),
        ({"supportedInterfaces": [interface("0.3"), interface("1.0")]}, {"0.3", "1.0"}, "1.0"),
        ({**OLD, "supportedInterfaces": [interface("1.0.2")]}, {"0.3", "1.0"}, "1.0"),
        ({"supportedInterfaces": [interface("0.3"), interface("1.0", binding="GRPC")]}, {"0.3"}, "0.3"),
        ({"supportedInterfaces": [interface("2.0"), interface("0.3")]}, {"0.3"}, "0.3"),
        ({"supportedInterfaces": "both", "protocolVersion": 1.0}, set(), "0.3"),
    ],
)
async def test_the_highest_version_that_the_card_offers_is_spoken(
    card: dict[str, Any], offered: set[str], spoken: str
) -> None:
    assert {version.value for version in agent_card.versions(card)} == offered
    async with Wire("http://h:1") as wire:
        assert wire.version is WireVersion.V0_3
        wire.follow_card(card)
        assert wire.version.value == spoken


async def test_a_version_that_was_asked_for_is_spoken_whatever_the_card_offers() -> None:
    async with Wire("http://h:1", WireVersion.V0_3) as wire:
        wire.follow_card({"supportedInterfaces": [interface("1.0", "/new")]})
        assert (wire.version, wire.endpoint) == (WireVersion.V0_3, "http://h:1/new")


async def test_each_version_is_spoken_at_its_own_address() -> None:
    async with Wire("http://h:1") as wire:
        wire.follow_card({**OLD, "supportedInterfaces": [interface("1.0", "/new")]})
        assert [wire.endpoint_of(version) for version in WireVersion] == ["http://h:1/old", "http://h:1/new"]


@pytest.mark.parametrize(
    ("card", "verdict"),
    [
        ({}, Verdict.PROVEN),
        ({"supportedInterfaces": [interface("1.0", binding="GRPC"), interface("1.0")]}, Verdict.PROVEN),
        ({"supportedInterfaces": [interface("1.0", binding="HTTP+JSON")]}, Verdict.INCONCLUSIVE),
        ({**OLD, "preferredTransport": "GRPC"}, Verdict.INCONCLUSIVE),
    ],
)
def test_a_runtime_that_offers_nothing_that_we_speak_is_a_fault_and_no_disproof(
    card: dict[str, Any], verdict: Verdict
) -> None:
    found = check_card(History(FetchedPage("read", "u", 200, "", card)), CLASSIC)
    assert found.verdict is verdict
    assert found.fault is (verdict is Verdict.INCONCLUSIVE)
