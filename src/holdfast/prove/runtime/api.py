"""The proof for programs: the same run as `holdfast prove`, which prints nothing and returns its result.

    result = prove("name", "crash", command="python my_agent.py --port {port}", seed=0)
    result = await prove_async(url="http://localhost:8000")

The evidence is in `result.folder`. A wrong option is InvalidInput before anything starts. A run that is cancelled, or
interrupted with Ctrl-C, leaves no target behind and raises what it was ended with.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from holdfast.core import SystemClock
from holdfast.core.errors import InvalidInput
from holdfast.prove import report
from holdfast.prove.evidence import Evidence, open_evidence
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue, select
from holdfast.prove.runtime.run import Plan, Result
from holdfast.prove.runtime.single_run import bounds, run_once, seed_of
from holdfast.prove.targets import Choice, Target, check, choose
from holdfast.prove.wire.envelopes import WireVersion

ARTIFACTS = ".artifacts"
TIMEOUT_SECONDS = 30.0


class Options(TypedDict, total=False):
    """What can be asked for, with the names and the meaning of the command line's options.

    `target` is a name such as `broken:memory-only`, or an object that fulfils `Target`. `proofs` are more proofs: files
    that have some, or proofs themselves.
    """

    target: str | Target
    url: str
    command: str
    port: int
    store: str
    workspace: Path | str
    restart_command: str
    probe_command: str
    proofs: Sequence[Proof | Path | str]
    seed: int
    wire: Literal["0.3", "1.0"]
    timeout: float
    artifacts: Path | str


def prove(*only: str, **options: Unpack[Options]) -> Result:
    """Run the proofs that are named, or all of them, and wait for the result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(prove_async(*only, **options))
    raise InvalidInput("prove() waits, and an event loop is running here", hint="use await prove_async(…)")


async def prove_async(*only: str, **options: Unpack[Options]) -> Result:
    """Run the proofs that are named, or all of them."""
    own = [given if isinstance(given, Proof) else Path(given) for given in options.get("proofs", ())]
    proofs = select(with_own(catalogue(), own), only)
    choice, given = _choice(options)
    check(choice)
    timeout = options.get("timeout", TIMEOUT_SECONDS)
    patience = bounds(timeout)
    evidence = _open_evidence(options)
    target = given or choose(choice, evidence.folder, timeout)
    plan = Plan(proofs, asked_for=frozenset(only), seed=seed_of(options.get("seed")), bounds=patience)
    arguments = {"only": ",".join(only) or None, **{name: _in_words(value) for name, value in options.items()}}
    version = WireVersion(options.get("wire", "1.0"))
    result, _ = await run_once(plan, target, version, evidence, on_step=lambda *_: None, arguments=arguments)
    report.write(evidence.folder)
    running = asyncio.current_task()
    if running is not None and running.cancelling():
        raise asyncio.CancelledError
    return result


def _open_evidence(options: Options) -> Evidence:
    return open_evidence(Path(options.get("artifacts", ARTIFACTS)).resolve(), "prove", SystemClock(), time.monotonic)


def _choice(options: Options) -> tuple[Choice, Target | None]:
    """The choice that was made, and the target if it was given as an object."""
    named = options.get("target")
    given = named if named is not None and not isinstance(named, str) else None
    workspace = options.get("workspace")
    choice = Choice(
        url=options.get("url"),
        command=options.get("command"),
        name=named if isinstance(named, str) else None,
        port=options.get("port"),
        store=options.get("store"),
        workspace=Path(workspace).resolve() if workspace is not None else None,
        restart_command=options.get("restart_command"),
        probe_command=options.get("probe_command"),
    )
    if given is not None and choice != Choice():
        raise InvalidInput("a target that is an object takes no options of other targets", hint="leave them out")
    return choice, given


def _in_words(value: Any) -> Any:
    """An option as it can be written into the evidence."""
    if isinstance(value, list | tuple):
        return [each.name if isinstance(each, Proof) else str(each) for each in value]
    return value if isinstance(value, str | int | float) else str(value)
