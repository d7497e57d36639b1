"""other-body: a key that was used before with another body is refused, and the first body stands."""

from dataclasses import asdict, dataclass
from typing import Any

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SESSION = "keyed"


@dataclass(frozen=True, slots=True)
class _Facts:
    """The answers to other bodies under the key of the first, and what is there."""

    answers: list[dict[str, Any]]
    found: list[dict[str, Any]]


FIRST = {"id": "first", "amount": 1}
OTHERS = ({"id": "first", "amount": 2}, {"id": "first", "amount": 1.0}, {"id": "first"}, {"id": "other", "amount": 1})


async def steps(stage: StoreStage) -> _Facts:
    """Append under a key, then other bodies under it, from the same process and from another."""
    clients = await stage.clients(2)
    await clients[0].must("append", session=SESSION, payload=FIRST, key="k")
    answers = [
        await clients[number % 2].call("append", session=SESSION, payload=other, key="k")
        for number, other in enumerate(OTHERS)
    ]
    found = await clients[0].must("read", session=SESSION)
    return _Facts([asdict(answer) for answer in answers], found)


def check(facts: _Facts) -> Finding:
    """Every other body is refused, and only the first is there."""
    expected = "a refusal, and the first body alone in the log"
    if facts.found != [FIRST]:
        return disproven("the log holds another body than the first", expected=expected, got=str(facts.found))
    accepted = [str(OTHERS[n]) for n, answer in enumerate(facts.answers) if not (answer["refused"] or answer["error"])]
    if accepted:
        return disproven(
            f"{len(accepted)} of {len(OTHERS)} other bodies were acknowledged and dropped",
            expected=expected,
            got=f"acknowledged: {accepted[0]}",
        )
    error = next((answer["error"] for answer in facts.answers if answer["error"]), "")
    if error:
        return inconclusive(
            "another body failed, but nothing says that it was refused for its key",
            hint="let the adapter raise Refused where the store refuses",
            got=error,
        )
    return proven(f"{len(OTHERS)} other bodies under a used key were refused, and the first stands")


CLAUSE = Clause("other-body", "a key that was used with another body is refused", steps, check, frozenset({"keys"}))
