"""Several runs with different seeds as one result: a claim is as good as it was in its worst run.

The folder of such a result has a folder for each run, and a summary of the same shape as theirs.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.prove.verdict import VERDICTS, Exit, Verdict

Document = dict[str, Any]
WORST_FIRST = (Verdict.DISPROVEN, Verdict.INCONCLUSIVE, Verdict.NOT_REACHED, Verdict.PROVEN)
EXITS_WORST_FIRST = (Exit.DISPROVEN, Exit.FAULT, Exit.INCONCLUSIVE, Exit.PROVEN)
MAX_SEEDS_NAMED = 8


def combine(summaries: Sequence[Document], *, seconds: float, folder: Path) -> Document:
    """One summary of all runs: the verdict is that of the worst, each proof shows its worst outcome."""
    first = summaries[0]
    code = next(code for code in EXITS_WORST_FIRST if any(summary["exit_code"] == code for summary in summaries))
    return {
        **first,
        "verdict": VERDICTS[code],
        "exit_code": int(code),
        "seconds": round(seconds, 3),
        "runs": [_run(summary) for summary in summaries],
        "prerequisites": _worst(summaries, "prerequisites"),
        "proofs": _worst(summaries, "proofs"),
        "left_out": _never_tried(summaries),
        "layers": next((summary["layers"] for summary in summaries if summary.get("layers")), []),
        "evidence": str(folder),
        "logs": [],
    }


def _run(summary: Document) -> Document:
    counted = Counter(proof["verdict"] for proof in summary["proofs"])
    return {
        "seed": summary["seed"],
        "verdict": summary["verdict"],
        "exit_code": summary["exit_code"],
        "seconds": summary["seconds"],
        "counts": ", ".join(f"{number} {verdict}" for verdict, number in counted.items()),
        "evidence": Path(summary["evidence"]).name,
    }


def _worst(summaries: Sequence[Document], part: str) -> list[Document]:
    seen: dict[str, list[tuple[int, Document]]] = {}
    for summary in summaries:
        for outcome in summary[part]:
            seen.setdefault(outcome["name"], []).append((summary["seed"], outcome))
    return [_worst_of(found, len(summaries)) for found in seen.values()]


def _never_tried(summaries: Sequence[Document]) -> dict[str, str]:
    """What every run left out, and why the first that says so did."""
    tried = {outcome["name"] for summary in summaries for outcome in summary["proofs"]}
    reasons: dict[str, str] = {}
    for summary in summaries:
        for name, reason in summary["left_out"].items():
            if name not in tried:
                reasons.setdefault(name, reason)
    return reasons


def _worst_of(found: Sequence[tuple[int, Document]], runs: int) -> Document:
    """The first of the worst outcomes, saying in how many runs, and with which seeds, it was so; and in how many it was
    left out."""
    worst = min((outcome for _, outcome in found), key=_badness)
    alike = [seed for seed, outcome in found if outcome["verdict"] == worst["verdict"]]
    often = f"in {len(alike)} of {len(found)} runs"
    if worst["verdict"] != Verdict.PROVEN:
        named = ", ".join(map(str, alike[:MAX_SEEDS_NAMED])) + (", …" if len(alike) > MAX_SEEDS_NAMED else "")
        often += f", with --seed {named}"
    often += f", left out in {runs - len(found)} of {runs}" if len(found) < runs else ""
    return {**worst, "reason": f"{worst['reason']} ({often})", "seconds": max(one["seconds"] for _, one in found)}


def _badness(outcome: Document) -> tuple[int, bool]:
    return WORST_FIRST.index(Verdict(outcome["verdict"])), not outcome["fault"]
