"""Running `holdfast prove live` in this process, and reading what it left behind."""

import json
from pathlib import Path
from typing import Any

from tests.prove.prover import DEAD_PROXY, Proved, run


def prove_live(*arguments: str, artifacts: Path, environment: dict[str, str] | None = None) -> Proved:
    """Run the command to its end; its summary is on stdout."""
    words = ("prove", "live", "--artifacts", str(artifacts), "--json", "--quiet", *arguments)
    done = run(*words, environment={**DEAD_PROXY, "COLUMNS": "80", **(environment or {})})
    return Proved(done.exit_code, done.stdout, done.stderr)


def not_proven(summary: dict[str, Any]) -> dict[str, str]:
    """The steps that are not proven, and what they are."""
    steps = (*summary["prerequisites"], *summary["proofs"])
    return {step["name"]: step["verdict"] for step in steps if step["verdict"] != "proven"}


def evidence(artifacts: Path, name: str) -> Any:
    """A file of the newest run's evidence."""
    return json.loads((artifacts / "live" / "latest" / name).read_bytes())


def legacy_store(data: Path) -> Path:
    """A legacy session that is not hot in a data folder; its file."""
    folder = data / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    file = folder / "old.jsonl"
    file.write_text('{"type":"session","id":"old"}\n')
    return file
