"""both-wires: a conversation is remembered in either version of the protocol."""

import asyncio

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven
from holdfast.prove.wire.envelopes import WireVersion


async def steps(stage: Stage) -> None:
    """In each version and a context of its own: tell a name, then ask for it."""
    await asyncio.gather(*(_tell_and_ask(stage, version) for version in WireVersion))


def check(history: History, facts: Facts) -> Finding:
    """In both versions both turns are answered, and the second answer has the name in it."""
    for version in WireVersion:
        tell, ask = history.turn(f"tell over {version}"), history.turn(f"ask over {version}")
        if wrong := answered(tell) or recalls(ask, facts.name):
            return wrong
    return proven(f"over 0.3 and 1.0 the answer names {facts.name}")


async def _tell_and_ask(stage: Stage, version: WireVersion) -> None:
    context = stage.new_context()
    await stage.say(f"tell over {version}", context, f"Hi, my name is {stage.facts.name}.", version=version)
    await stage.say(f"ask over {version}", context, "What's my name?", version=version)


PROOF = Proof(
    "both-wires",
    "a conversation is remembered over A2A 0.3 and 1.0",
    steps,
    check,
    requires=frozenset({"both wires"}),
    remedy="The agent card offers two versions, and one of them does not lead to the same conversations. Serve both "
    "from one handler, or offer only one.",
    shown_in=("listen",),
)
