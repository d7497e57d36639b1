"""The proof for programs: the same run as `holdfast prove`, which prints nothing and returns its result.

    result = prove("name", "crash", command="python my_agent.py --port {port}", seed=0)
    result = await prove_async(url="http://localhost:8000")

The evidence is in `result.folder`. A wrong option is InvalidInput before anything starts. A run that is cancelled, or
interrupted with Ctrl-C, leaves no target behind and raises what it was ended with.
"""

import asyncio
from typing import Any, Unpack

from holdfast.core.errors import InvalidInput
from holdfast.prove import report
from holdfast.prove.runtime.options import ProveArguments, RuntimeOptions
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.runs.run import Result
from holdfast.prove.runtime.runs.single_run import plan_of, run_once


def prove(*only: str, **options: Unpack[ProveArguments]) -> Result:
    """Run the proofs that are named, or all of them, and wait for the result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(prove_async(*only, **options))
    raise InvalidInput("prove() waits, and an event loop is running here", hint="use await prove_async(…)")


async def prove_async(*only: str, **options: Unpack[ProveArguments]) -> Result:
    """Run the proofs that are named, or all of them."""
    unknown = sorted(set(options) - set(ProveArguments.__annotations__))
    if unknown:
        raise InvalidInput(
            f"there is no option {', '.join(unknown)}", hint=f"one of {', '.join(ProveArguments.__annotations__)}"
        )
    arguments = {"only": ",".join(only) or None, **{name: _in_words(value) for name, value in options.items()}}
    asked = RuntimeOptions.of(only, options, arguments)
    selected = asked.selected()
    asked.check()
    await asyncio.to_thread(asked.prepare)
    evidence = asked.open_evidence("prove")
    target = asked.target_in(evidence.folder)
    plan = plan_of(asked, selected, asked.draw_seed())
    result, _ = await run_once(plan, target, asked, evidence, on_step=lambda *_: None)
    report.write(evidence.folder)
    running = asyncio.current_task()
    if running is not None and running.cancelling():
        raise asyncio.CancelledError
    return result


def _in_words(value: Any) -> Any:
    """An option as it can be written into the evidence."""
    if isinstance(value, list | tuple):
        return [each.name if isinstance(each, Proof) else str(each) for each in value]
    return value if isinstance(value, str | int | float) else str(value)
