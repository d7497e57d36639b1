"""The outermost layers: something answers at the address, and its agent card says all that a client must know."""

from collections.abc import Mapping
from typing import Any

from holdfast.prove.runtime.layers.layer import Bench, LayerLook, LayerState
from holdfast.prove.runtime.runs.restarts import Switch
from holdfast.prove.wire.client import CARD_PATHS

ALWAYS = ("name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills")
INTERFACE = ("url", "protocolBinding", "protocolVersion")


async def reachable(bench: Bench) -> LayerState:
    """Any HTTP answer will do; a target of ours that is down is started first."""
    await Switch(bench.target).ensure_on([bench.stage])
    page = await bench.stage.fetch("reach", CARD_PATHS[0])
    return LayerState(True, f"HTTP {page.status}", bench.card())


async def card(bench: Bench) -> LayerState:
    """One of the places has a JSON object, and it lacks nothing."""
    seen = []
    for path in CARD_PATHS:
        page = await bench.stage.fetch(f"read {path}", path)
        if page.status == 200 and page.document is not None:
            lacking = missing(page.document)
            got = f"a card that lacks {', '.join(lacking)}" if lacking else "a complete card"
            return LayerState(not lacking, got, bench.wire.curl_to(path, "-sS"))
        seen.append(page)
    got = "; ".join(f"HTTP {page.status} {page.start_of_body!r}" for page in seen)
    return LayerState(False, got, bench.card())


def missing(document: Mapping[str, Any]) -> list[str]:
    """What the card must have and has not, by the rules of the version that it is written in."""
    interfaces = document.get("supportedInterfaces")
    if interfaces is None:
        return [name for name in (*ALWAYS, "url", "protocolVersion") if name not in document]
    lacking = [name for name in ALWAYS if name not in document]
    if not isinstance(interfaces, list) or not interfaces:
        return [*lacking, "an entry in supportedInterfaces"]
    for interface in interfaces:
        have = interface if isinstance(interface, dict) else {}
        lacking += [f"supportedInterfaces.{name}" for name in INTERFACE if name not in have]
    return list(dict.fromkeys(lacking))


LOOKS = (
    LayerLook("reachable", "an HTTP answer", reachable, Bench.card),
    LayerLook("card", "an agent card that is JSON and complete", card, Bench.card, needs=("reachable",)),
)
