"""For pytest: the fixtures `holdfast_prove` and `holdfast_explore`, with which a runtime's tests put it to the proof.

    def test_it_remembers(holdfast_prove):
        holdfast_prove("name", "crash", command="python my_agent.py --port {port}")

    def test_nothing_is_lost(holdfast_explore):
        holdfast_explore(command="python my_agent.py --port {port}", histories=20)

Whatever is not proven fails the test with what was found. The plugin comes with Holdfast and loads nothing until it
is used.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from holdfast.prove.explore import ExploreResult
    from holdfast.prove.runtime.runs.run import Result


@pytest.fixture
def holdfast_prove(tmp_path: Path) -> "Callable[..., Result]":
    """`holdfast.prove.prove`, whose evidence goes into the test's folder; the test fails unless all is proven."""

    def proven(*only: str, **options: Any) -> "Result":
        __tracebackhide__ = True
        from holdfast.prove import prove

        result = prove(*only, **{"artifacts": tmp_path / "artifacts", **options})
        if result.exit_code != 0:
            pytest.fail(findings(result.folder), pytrace=False)
        return result

    return proven


@pytest.fixture
def holdfast_explore(tmp_path: Path) -> "Callable[..., ExploreResult]":
    """`holdfast.prove.explore.explore`, whose evidence goes into the test's folder; a violation fails the test."""

    def explored(**options: Any) -> "ExploreResult":
        __tracebackhide__ = True
        from holdfast.prove.explore import explore

        result = explore(**{"artifacts": tmp_path / "artifacts", **options})
        if result.exit_code != 0:
            pytest.fail(findings(result.folder), pytrace=False)
        return result

    return explored


def findings(folder: Path) -> str:
    """What a run did not prove and why, the layers that are broken, and where the evidence is."""
    from holdfast.prove.view import terminal
    from holdfast.terminal.text import escaped

    summary = json.loads((folder / "summary.json").read_bytes())
    told = [f"{summary['verdict']}: {summary['target']['name']}"]
    for found in (*summary["prerequisites"], *summary["proofs"]):
        if found["verdict"] != "proven":
            told.append(f"\n{found['name']} is {found['verdict']}: {escaped(found['reason'])}")
            told += terminal.grounds(found).splitlines()[2:]
    told += terminal.layers(summary["layers"]).splitlines()
    return "\n".join((*told, "", f"evidence: {folder}"))
