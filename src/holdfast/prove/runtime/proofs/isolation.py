"""isolation: what was said in one context is not known in another, however much alike their names are."""

import asyncio
from collections.abc import Mapping

from holdfast.prove.runtime.checks import always_back, answered, keeps_to_itself, proven_live
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History, TurnRecord
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven

ONE, OTHER, NOBODY = "one", "other", "nobody"
QUESTION = "What's my nickname?"
ALIKE = ("small letter", "capital letter", "long name 1", "long name 2")
"""Contexts whose names differ in the case of a letter, or in the last of many letters."""
LONG = 60


async def steps(stage: Stage) -> None:
    """Two contexts, interleaved: a name in each, then the question in each; the same in pairs that are nearly alike.

    The question also in a context in which nothing was told.
    """
    one, other, alike, long = (stage.new_context() for _ in range(4))
    names = (f"{alike}-a", f"{alike}-A", f"{long}-{'x' * LONG}-1", f"{long}-{'x' * LONG}-2")
    contexts = {ONE: one, OTHER: other, **dict(zip(ALIKE, names, strict=True))}
    told = _told(stage.facts)
    for who, context in contexts.items():
        await stage.say(f"tell {who}", context, f"Hi, my nickname is {told[who]}.")
    await asyncio.gather(*(stage.say(f"ask {who}", contexts[who], QUESTION) for who in contexts))
    await stage.say(f"ask {NOBODY}", stage.new_context(), QUESTION)


async def after(stage: Stage) -> None:
    """Ask in each; then tell each another name."""
    await _ask(stage, "ask after the stop")
    for who, name in _told_later(stage.facts).items():
        context = stage.history.turn(f"tell {who}").context_id
        await stage.say(f"tell {who} anew", context, f"From now on, my nickname is {name}.", within=stage.bounds.answer)


async def after_kill(stage: Stage) -> None:
    """Ask in each."""
    await _ask(stage, "ask after the kill")


def check(history: History, facts: Facts) -> Finding:
    """All questions are answered, and none has another context's name in it. Names that are alike may be refused."""
    for turn in (*history.turns("tell "), *history.turns("ask ")):
        if (not _of_alike(turn) or not turn.reply.error) and (wrong := answered(turn)):
            return wrong
    wrong = _leaked(history, "tell ", _told(facts)) or _leaked(history, "ask ", _told(facts)) or always_back(history)
    if wrong:
        return wrong
    if not history.starts():
        return proven_live("no answer has another's name in it")
    later = {**_told(facts), **_told_later(facts)}
    wrong = _leaked(history, "ask after the stop: ", _told(facts)) or _leaked(history, "ask after the kill: ", later)
    return wrong or proven("no answer has another's name in it, also after a stop and a kill")


async def _ask(stage: Stage, step: str) -> None:
    asked = {who: stage.history.turn(f"tell {who}").context_id for who in _told(stage.facts)}
    await asyncio.gather(
        *(
            stage.say(f"{step}: {who}", context, QUESTION, within=stage.bounds.answer)
            for who, context in {**asked, NOBODY: stage.new_context()}.items()
        )
    )


def _leaked(history: History, step: str, told: Mapping[str, str]) -> Finding | None:
    """The first answer that has a name in it which was told elsewhere."""
    for who in (*told, NOBODY):
        turns = [turn for turn in history.turns(step) if turn.step == f"{step}{who}"]
        secrets = [name for other, name in told.items() if other != who]
        wrong = [keeps_to_itself(turn, secret) for turn in turns for secret in secrets]
        if any(wrong):
            return next(filter(None, wrong))
    return None


def _of_alike(turn: TurnRecord) -> bool:
    return any(turn.step.endswith(who) or f"tell {who}" in turn.step for who in ALIKE)


def _told(facts: Facts) -> dict[str, str]:
    names = (facts.name, facts.other_name, *facts.cities, facts.fruit.capitalize())
    return dict(zip((ONE, OTHER, *ALIKE), names, strict=True))


def _told_later(facts: Facts) -> dict[str, str]:
    return {ONE: facts.color.capitalize(), OTHER: facts.code_word.capitalize()}


PROOF = Proof(
    "isolation",
    "what was said in one context is not known in another, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    live_claim="what was said in one context is not known in another",
    remedy="Something is shared that belongs to one conversation: a history, a prompt, a cache. Look everything up "
    "by contextId, all of it and as it is written.",
    shown_in=("Conversations.hear",),
)
