"""round-trip: what goes in comes out, whatever JSON it is."""

import json
from dataclasses import dataclass
from typing import Any

from holdfast.prove.store.clause import Clause, elsewhere
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SESSION = "values"


def _nested(depth: int) -> Any:
    return {"deeper": _nested(depth - 1)} if depth else "bottom"


HAZARDS: dict[str, Any] = {
    "plain text": "hello",
    "empty text": "",
    "empty key": {"": ""},
    "empty list and object": [[], {}],
    "nothing": None,
    "true is not 1": [True, 1, False, 0],
    "1.0 is not 1": [1.0, 1],
    "minus zero": -0.0,
    "small and large floats": [5e-324, 0.1, 1e-7, 1.7976931348623157e308],
    "2^53 + 1": 2**53 + 1,
    "2^63": [2**63 - 1, 2**63, -(2**63) - 1],
    "2^64": 2**64,
    "a number of 40 digits": 10**39 + 7,
    "other scripts": "日本語 עברית ελληνικά",
    "beyond 16 bits": "🦀 𝔘𝔫𝔦",
    "composed and not": ["é", "e\u0301"],
    "line separators": "a\u2028b\u2029c\r\nd\n",
    "a noncharacter": "\uffff\ufdd0",
    "control characters": "\u0001\u001f\u007f\u0085",
    "a NUL": "a\u0000b",
    "quotes and braces": '\'; DROP TABLE events; -- {"a": "\\\\"}',
    "a date": "2026-11-15T00:00:00Z",
    "what looks like an object": {"lc": 1, "type": "constructor", "id": ["builtins", "dict"], "kwargs": {}},
    "what looks like a reference": {"$ref": "#/a", "__type__": "set", "py/object": "os.system"},
    "30 levels": _nested(30),
    "200,000 characters": "long " * 40_000,
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What was refused, and what came out otherwise than it went in, as JSON text, cut short."""

    accepted: list[str]
    refused: dict[str, str]
    changed: dict[str, list[str]]
    trouble: str = ""


async def steps(stage: StoreStage) -> _Facts:
    """One process appends every hazard, another reads them."""
    stage.step("write the hazards")
    writer = await stage.client()
    refused = {}
    for name, value in HAZARDS.items():
        answer = await writer.call("append", session=SESSION, payload={"id": name, "value": value})
        if not answer.accepted:
            refused[name] = answer.trouble
    await writer.close()
    stage.step("read them")
    read = await (await stage.client()).call("read", session=SESSION)
    accepted = [name for name in HAZARDS if name not in refused]
    if not read.accepted:
        return _Facts(accepted, refused, {}, read.trouble)
    came = {payload.get("id"): payload for payload in read.value}
    changed = {
        name: [text({"id": name, "value": HAZARDS[name]})[:200], text(came.get(name))[:200]]
        for name in accepted
        if text(came.get(name)) != text({"id": name, "value": HAZARDS[name]})
    }
    return _Facts(accepted, refused, changed)


def text(value: Any) -> str:
    """A value as JSON text in which 1, 1.0 and true, and 0.0 and -0.0, differ; the order of keys does not count."""
    return json.dumps(value, sort_keys=True)


def check(facts: _Facts) -> Finding:
    """What was accepted came out the same; what a store will not keep it may refuse."""
    expected = "every value as it went in, or a refusal"
    if facts.trouble:
        return disproven("what was accepted cannot be read", expected=expected, got=facts.trouble)
    if facts.accepted and len(facts.changed) == len(facts.accepted):
        return elsewhere()
    if facts.changed:
        name, (sent, came) = next(iter(facts.changed.items()))
        return disproven(
            f"{len(facts.changed)} of {len(HAZARDS)} values changed: {', '.join(facts.changed)}",
            expected=sent,
            got=came if came != "null" else f"nothing ({name})",
        )
    if len(facts.accepted) * 2 < len(HAZARDS):
        return inconclusive(
            f"most values were refused: {', '.join(facts.refused)}",
            hint="see the clients' log",
            got=next(iter(facts.refused.values())),
        )
    refused = f"; refused: {', '.join(facts.refused)}" if facts.refused else ""
    return proven(f"{len(facts.accepted)} hazards came out as they went in{refused}")


CLAUSE = Clause("round-trip", "what goes in comes out, whatever JSON it is", steps, check)
