"""Whether an answer finishes its task: a decision from what was said and what the checks gave, without a model.

An answer is sent back if it announces work that it did not do, says nothing, or leaves a change that fails its check.
That is bounded, and a model that says the same again is not asked once more. Nobody is sent back for not having written
anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SENTENCES = re.compile(r"(?<=[.!?…:])\s+|\n+")
ANNOUNCED = re.compile(
    r"\A\W*(?:(?:ok|okay|now|next|first|then|great|alright|sure|so)\b[,:!.]?\s+)*"
    r"(?:let me|let[’']s|i[’']ll|i will|i[’']m going to|i am going to)\s+"
    r"(?:(?:now|then|first|next|also|quickly|just|go ahead and)\s+)*"
    r"(?:add|begin|check|continue|create|edit|examine|execute|explore|find|fix|implement|inspect|install|list|look|modify|"
    r"open|proceed|read|run|search|start|test|update|verify|write)\b",
    re.IGNORECASE,
)
CONDITIONAL = re.compile(
    r"\?|\b(?:if|unless|when|whenever|once you|after you|next time|from now on|later|let me know)\b", re.IGNORECASE
)

FINISH = "finish"
CONTINUE = "continue"
STOP = "stop"

NO_PROGRESS = "no_progress"
CONTINUATIONS_USED_UP = "continuations_used_up"


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What is known of an answer when it is judged."""

    content: str
    checked: bool
    """Whether answers are judged at all."""
    changed: bool
    """Whether this turn changed a file."""
    evidence: Sequence[dict[str, Any]]
    continuations_left: int
    fixes_left: int
    repeated: bool
    """Whether the model said the same when it was sent back before."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Finish, continue or stop, at which stage and why; with the words for the model if it goes on."""

    outcome: str
    stage: str
    code: str
    summary: str
    request: str | None = None


def judge(facts: AnswerFacts) -> Judgement:
    """Whether an answer finishes its task."""
    failures = [found for found in facts.evidence if not found["passed"]]
    if not facts.checked:
        return Judgement(FINISH, "policy", "completion_check_off", "the first answer is taken")
    if failures and facts.changed:
        return _failed_check(facts, failures)
    verified = bool(facts.evidence) and not failures
    if not facts.content.strip() and not (verified and facts.changed):
        return _unfinished(facts, "empty_answer", "the answer is empty", "Your answer was empty. Answer the request.")
    if announces_work(facts.content):
        request = "You announced this and did not do it. Do it now with your tools, or say what the result is."
        return _unfinished(facts, "work_announced", "the answer announces work that was not done", request)
    if verified:
        return Judgement(FINISH, "verification", "verified", "what was changed passed its checks")
    return Judgement(FINISH, "answer", "answered", "the model has answered")


def announces_work(content: str) -> bool:
    """Whether an answer ends by saying what its author is about to do, as if that were still to come."""
    last = next((part for part in reversed(SENTENCES.split(content.strip())) if part.strip()), "")
    return bool(ANNOUNCED.match(last)) and not CONDITIONAL.search(last)


def _failed_check(facts: AnswerFacts, failures: Sequence[dict[str, Any]]) -> Judgement:
    found = "; ".join(f"`{failure['command']}` failed: {failure['output']}" for failure in failures)
    if facts.continuations_left > 0 and facts.fixes_left > 0:
        request = f"What you changed does not pass its checks. {found}. Fix it with your tools, then answer."
        return Judgement(CONTINUE, "verification", "verification_failed", "a change failed its check", request)
    return Judgement(STOP, "verification", "fixes_used_up", "a change still fails its check")


def _unfinished(facts: AnswerFacts, code: str, summary: str, request: str) -> Judgement:
    if facts.repeated:
        return Judgement(STOP, "answer", NO_PROGRESS, f"{summary}, and the model said the same before")
    if facts.continuations_left <= 0:
        return Judgement(STOP, "answer", CONTINUATIONS_USED_UP, f"{summary}, and it was sent back often enough")
    return Judgement(CONTINUE, "answer", code, summary, request)
