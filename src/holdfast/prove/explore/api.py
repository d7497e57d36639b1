"""Exploration for programs: the same run as `holdfast prove explore`, which prints nothing and returns its result.

result = explore(command="python my_agent.py --port {port}", histories=50, seed=1)
assert result.exit_code == 0
"""

import asyncio
import os
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from holdfast.core.errors import InvalidInput
from holdfast.prove import report
from holdfast.prove.explore.command import plan_of, run_once
from holdfast.prove.explore.options import ExploreOptions, seconds
from holdfast.prove.explore.view import ExploreView
from holdfast.prove.runtime.options import ProveArguments
from holdfast.prove.verdict import Exit

OWN = ("budget", "histories", "faults", "confirm", "side_by_side", "longest_pause", "replay")
OF_THE_CATALOGUE = ("probe_command", "next_command", "proofs", "skip", "turns")
"""What can be asked of the catalogue and means nothing to an exploration."""


@dataclass(frozen=True, slots=True)
class ExploreResult:
    """What came of an exploration; `summary` is what --json prints, `folder` is the evidence."""

    exit_code: Exit
    summary: dict[str, Any]
    folder: Path


def explore(**options: Any) -> ExploreResult:
    """Explore and wait for the result; the options have the names and the meaning of the command line's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(explore_async(**options))
    raise InvalidInput("explore() waits, and an event loop is running here", hint="use await explore_async(…)")


async def explore_async(**options: Any) -> ExploreResult:
    """Explore."""
    known = (*(name for name in ProveArguments.__annotations__ if name not in OF_THE_CATALOGUE), *OWN)
    if unknown := sorted(set(options) - set(known)):
        raise InvalidInput(f"there is no option {', '.join(unknown)}", hint=f"one of {', '.join(known)}")
    arguments = {name: value if isinstance(value, str | int | float) else str(value) for name, value in options.items()}
    asked = options_of(options, arguments)
    plan = plan_of(asked)
    await asyncio.to_thread(asked.prepare)
    evidence = asked.open_evidence("prove-explore")
    summary = await run_once(plan, asked, evidence, ExploreView(StringIO(), plan, quiet=True))
    report.write(evidence.folder)
    running = asyncio.current_task()
    if running is not None and running.cancelling():
        raise asyncio.CancelledError
    return ExploreResult(Exit(summary["exit_code"]), summary, evidence.folder)


def options_of(given: dict[str, Any], arguments: dict[str, Any]) -> ExploreOptions:
    """The options in what was given by name; what is missing, or None, is as usual."""
    asked = ExploreOptions.of((), given, arguments)
    own = {name: given[name] for name in OWN if given.get(name) is not None}
    own.setdefault("side_by_side", min(4, os.cpu_count() or 1))
    if "replay" in own:
        own["replay"] = Path(own["replay"])
    for name in ("budget", "longest_pause"):
        if name in own:
            own[name] = seconds(f"--{name.replace('_', '-')}", own[name])
    return replace(asked, **own)
