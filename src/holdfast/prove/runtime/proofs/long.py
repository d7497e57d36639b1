"""long: what was said in the first of many turns is known after the last."""

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """A name; many turns about nothing, more than a prompt has room for, with a fact told now and then; a question for
    the name and for each fact."""
    context, told = stage.new_context(), _told(stage.facts, stage.turns)
    await stage.say("turn 1", context, f"Hi, my name is {stage.facts.name}.")
    for number in range(2, stage.turns + 1):
        text = f"My {told[number][0]} is {told[number][1]}." if number in told else f"Say: line {number} of the log."
        turn = await stage.say(f"turn {number}", context, text)
        if not turn.reply.answered:
            return
    await stage.say("ask", context, "What's my name?")
    for number, (thing, _) in told.items():
        await stage.say(f"ask for turn {number}", context, f"What is my {thing}?")


def check(history: History, facts: Facts) -> Finding:
    """Every turn is answered, and the name and the facts are known in the end."""
    for turn in history.turns("turn "):
        if wrong := answered(turn):
            return wrong
    if wrong := recalls(history.turn("ask"), facts.name):
        return wrong
    often = len(history.turns("turn "))
    for number, (_, value) in _told(facts, often).items():
        if wrong := recalls(history.turn(f"ask for turn {number}"), value):
            return wrong
    return proven(f"{often} turns later the answer names {facts.name}, and what was told in between is known")


def _told(facts: Facts, turns: int) -> dict[int, tuple[str, str]]:
    """What is told at which turn: a quarter of the way, half of it, three quarters."""
    depths = (turns // 4, turns // 2, turns * 3 // 4)
    things = (("favorite jam", facts.fruit), ("favorite paint", facts.color), ("lucky word", facts.code_word))
    return {number: thing for number, thing in zip(depths, things, strict=True) if number > 1}


PROOF = Proof(
    "long",
    "what was said at any time in many turns is known after the last",
    steps,
    check,
    remedy="Something was cut off when the history had grown too long for a prompt. Keep what was said on disk, "
    "and when you compact, keep every fact that the user told, also those in the middle.",
    shown_in=("Conversations.hear",),
)
