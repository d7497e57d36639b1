"""The proof: an outside view of an agent runtime, which it talks to, kills, restarts and judges.

A *proof* is one claim: steps that are taken against a *target* and a checker over the history they recorded.
Nothing in here knows how a runtime works inside; it imports core and the terminal only.

    from holdfast.prove import prove

    result = prove("name", "crash", command="python my_agent.py --port {port}")
    assert result.exit_code == 0

What is named here is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.prove.runtime.api import prove, prove_async
    from holdfast.prove.runtime.facts import Facts
    from holdfast.prove.runtime.history import History
    from holdfast.prove.runtime.layers import Layer
    from holdfast.prove.runtime.proof import Proof
    from holdfast.prove.runtime.runs.run import Outcome, Result
    from holdfast.prove.runtime.stage import Stage
    from holdfast.prove.targets import NotReady, ProbeFailed, Target
    from holdfast.prove.verdict import Exit, Finding, Verdict, disproven, inconclusive, proven

HOMES = {
    "runtime.api": ("prove", "prove_async"),
    "runtime.facts": ("Facts",),
    "runtime.history": ("History",),
    "runtime.layers": ("Layer",),
    "runtime.proof": ("Proof",),
    "runtime.runs.run": ("Outcome", "Result"),
    "runtime.stage": ("Stage",),
    "targets": ("NotReady", "ProbeFailed", "Target"),
    "verdict": ("Exit", "Finding", "Verdict", "disproven", "inconclusive", "proven"),
}

__all__ = [
    "Exit",
    "Facts",
    "Finding",
    "History",
    "Layer",
    "NotReady",
    "Outcome",
    "ProbeFailed",
    "Proof",
    "Result",
    "Stage",
    "Target",
    "Verdict",
    "disproven",
    "inconclusive",
    "prove",
    "prove_async",
    "proven",
]


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
