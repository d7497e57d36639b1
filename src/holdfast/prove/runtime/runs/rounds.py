"""The order of a run: which proofs share a restart, so that none of them makes another weaker.

What a proof says last before a restart is what the restart is most likely to lose; and a target may make it durable
with whatever it hears next, from anybody. So a proof that is `alone` has a restart to itself. Of those that share one,
each asks for what was said last in a context, a file or a memory of its own, and those that leave a turn running come
last, so that the turn still runs when the signal comes. One that is stopped and then killed tells
something new in between, and no other stop comes between that and the kill: it would save what the kill must not lose.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from holdfast.prove.runtime.proof import POWERS, Power, Proof


@dataclass(frozen=True, slots=True)
class Round:
    """What is done to the target once (or several `times` in a row), and for whom.

    The steps of those in `begin` are taken before it, and then of those in `cut`, each at once; `wait` are all that go
    on after it.
    """

    power: Power | None
    begin: tuple[Proof, ...]
    cut: tuple[Proof, ...] = ()
    wait: tuple[Proof, ...] = ()
    times: int = 1


def rounds(proofs: Iterable[Proof]) -> Iterator[Round]:
    """The rounds of a run, in order: first the one without a restart."""
    found = list(proofs)
    together = [proof for proof in found if not proof.alone]
    yield Round(None, tuple(proof for proof in together if proof.power in (None, "stop")))
    for power in POWERS:
        for proof in found:
            if proof.alone and proof.power == power:
                yield Round(power, (proof,), (), (proof,), proof.times)
        begin = [proof for proof in together if proof.power == power and power != "stop"]
        wait = tuple(proof for proof in together if power == proof.power or (power == "kill" and proof.after_kill))
        if wait:
            yield Round(
                power,
                tuple(proof for proof in begin if not proof.cut),
                tuple(proof for proof in begin if proof.cut),
                wait,
                max(proof.times for proof in wait),
            )
