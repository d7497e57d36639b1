"""How ambiguous and how complex a task is, from its words alone: numbers from 0 to 1, and the signals behind them."""

import re
from dataclasses import dataclass

SENTENCE_END = re.compile(r"[.!?]+(?=\s|\Z)|\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
LIST_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)
VAGUE = re.compile(
    r"\b(?:something|somehow|stuff|things|whatever|maybe|perhaps|etc|better|nicer|properly|appropriate|some kind|"
    r"or so|various|improve|clean up|figure out|not sure|i think|as needed)\b",
    re.IGNORECASE,
)
CONCRETE = re.compile(r"[\w-]+/[\w./-]+|\b[\w-]+\.[a-z]\w{0,5}\b|`[^`]+`|\"[^\"]+\"|“[^”]+”|\b\w+_\w+\b|\d")
CHOICE = re.compile(r"\b(?:either|which (?:one|of)|should (?:we|i|it))\b|\?", re.IGNORECASE)
LARGE = re.compile(
    r"\b(?:refactor|migrate|redesign|rewrite|re-?architect|architecture|end[- ]to[- ]end|across|entire|whole|"
    r"pipeline|framework|integrat\w+|throughout)\b",
    re.IGNORECASE,
)
STEP = re.compile(r"\b(?:then|after that|finally|also|as well as|additionally|first|second|next)\b", re.IGNORECASE)
CHECK = re.compile(r"\A\W*(?:please )?(?:verify|check|confirm|validate|make sure|run the tests)\b", re.IGNORECASE)
CHANGE = re.compile(r"\b(?:write|create|add|change|edit|fix|remove|rename|implement|update|make a)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TaskScores:
    """What a task's words say of it."""

    ambiguity: float
    complexity: float
    checks: bool
    """Whether it asks to look and not to change."""
    sentences: int
    signals: tuple[str, ...]


def score(task: str) -> TaskScores:
    """The scores of a task; always the same for the same words."""
    sentences = len([part for part in SENTENCE_END.split(task) if part and part.strip()])
    words = len(task.split())
    counts = {
        "vague words": len(VAGUE.findall(task)),
        "open choices": len(CHOICE.findall(task)),
        "concrete things": len(CONCRETE.findall(task)),
        "steps": len(STEP.findall(task)) + len(LIST_ITEM.findall(task)),
        "words of large work": len(LARGE.findall(task)),
    }
    ambiguity = 0.2 * counts["vague words"] + 0.15 * counts["open choices"] - 0.1 * min(counts["concrete things"], 4)
    if not counts["concrete things"] and words > 3:
        ambiguity += 0.2
    complexity = (
        0.12 * counts["steps"]
        + 0.2 * counts["words of large work"]
        + 0.06 * max(0, sentences - 1)
        + 0.1 * (words // 60)
        + 0.05 * max(0, counts["concrete things"] - 1)
    )
    checks = bool(CHECK.match(task)) and not CHANGE.search(task)
    signals = tuple(f"{name}: {count}" for name, count in counts.items() if count)
    return TaskScores(_bounded(ambiguity), _bounded(complexity), checks, sentences, signals)


def _bounded(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 2)
