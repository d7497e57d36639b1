"""What `holdfast doctor` says of the store, as evidence: it is no oracle, and whatever it says changes nothing."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.prove.evidence import Evidence
from holdfast.prove.targets.tool import CommandFailed, run

INSPECT, VALIDATE = "inspect", "validate"
SECONDS = 30.0


async def ask_doctor(
    legacy: Path, store: str, evidence: Evidence, *, modes: Sequence[str] = (INSPECT, VALIDATE), step: str = ""
) -> None:
    """Have the store compared with the legacy files of a folder, beside its gateway, by modes that only read.

    The evidence has its numbers and the codes of its issues. Its report, which names sessions of others, is not kept.
    """
    for mode in modes:
        words = [sys.executable, "-P", "-m", "holdfast", "doctor", "--session-sqlite", mode, "--all-agents", "--json"]
        log = evidence.folder / f"doctor-{mode}.log"
        environment = {"HOLDFAST_STORE": store, "HOLDFAST_URL": ""}  # no password among the arguments of a process
        try:
            await run([*words, "--data", str(legacy)], log, within=SECONDS, environment=environment)
            ended = "0"
        except CommandFailed as error:
            ended = error.message.partition(";")[0]
        evidence.event(step, f"doctor {mode}", "doctor", ended=ended, **_numbers(log))
        log.unlink(missing_ok=True)


def _numbers(log: Path) -> dict[str, Any]:
    """What a report counts; nothing if it is none."""
    try:
        report = json.loads(log.read_bytes())
        return {"totals": report["totals"], "issues": Counter(issue["code"] for issue in report["issues"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
