"""When each proof was at work, drawn to scale: a bar per step, and a mark wherever the target was stopped or killed."""

from collections.abc import Sequence

from holdfast.prove.report.markup import Markup, tag
from holdfast.prove.report.run_record import RunRecord, Step, moment, text

POWER = frozenset({"stop", "kill", "pause"})
CLOSE = 0.005
"""Steps that are nearer to each other than this part of the run are one bar."""


def lanes(recorded: RunRecord) -> dict[str, Markup]:
    """A lane for each proof that has events; empty where the run took no time."""
    seconds = recorded.summary.get("seconds")
    last = max((moment(event) for event in recorded.events), default=0.0)
    scale = max(float(seconds) if isinstance(seconds, int | float) else 0.0, last)
    if scale <= 0:
        return {}
    marks = dict.fromkeys(
        (f"{100 * moment(event) / scale:.1f}", text(event.get("event")))
        for event in recorded.events
        if text(event.get("event")) in POWER
    )
    powers = [tag("i", class_="power", style=f"left:{left}%", title=power) for left, power in marks]
    return {
        proof: tag("div", *(_bar(bar, scale) for bar in _bars(steps, scale)), *powers, class_="lane")
        for proof, steps in recorded.steps().items()
        if proof
    }


def _bars(steps: Sequence[Step], scale: float) -> list[list[Step]]:
    """The steps, those together that follow each other at once."""
    bars: list[list[Step]] = []
    reached = 0.0
    for step in sorted(steps, key=lambda step: step.at):
        if bars and step.at - reached < CLOSE * scale:
            bars[-1].append(step)
        else:
            bars.append([step])
        reached = max(reached, _end(step))
    return bars


def _bar(steps: Sequence[Step], scale: float) -> Markup:
    start, end = steps[0].at, max(_end(step) for step in steps)
    name = steps[0].name if len(steps) == 1 else f"{steps[0].name} … {steps[-1].name}"
    style = f"left:{100 * start / scale:.2f}%;width:{100 * (end - start) / scale:.2f}%"
    return tag("i", style=style, title=f"{name}: {start:.2f} s to {end:.2f} s")


def _end(step: Step) -> float:
    return max(moment(event) for event in step.events)
