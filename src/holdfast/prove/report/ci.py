"""What a CI system is told: a summary on the page of the step, and a note for each proof that is not proven.

GitHub, Gitea and Forgejo read both; where neither variable is set nothing is written.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from holdfast.prove.report.markdown import markdown
from holdfast.prove.report.run_record import Document, outcomes, text

SYSTEMS = ("GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS")
MAX_NOTE = 2_000


def tell(summary: Document, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
    """Write the step's summary where there is a place for it, and the notes where somebody reads them."""
    if page := environment.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(markdown(summary) + "\n")
        except OSError as error:
            stream.write(f"the step summary could not be written: {error}\n")
    if any(environment.get(system) == "true" for system in SYSTEMS):
        stream.writelines(annotations(summary))


def annotations(summary: Document) -> list[str]:
    """A line for each outcome that is not proven; at least one for a run that is not."""
    lines = [_line(outcome) for outcome in outcomes(summary) if outcome.get("verdict") in {"disproven", "inconclusive"}]
    lines += [
        _line(outcome)
        for outcome in outcomes(summary)
        if outcome.get("verdict") == "not reached" and outcome.get("fault")
    ]
    if not lines and summary.get("exit_code") != 0:
        lines = [_line({"name": "run", "verdict": text(summary.get("verdict")), "reason": "nothing was proven"})]
    return lines


def _line(outcome: Document) -> str:
    told = [text(outcome.get("reason"))]
    told += [
        f"{key}: {text(outcome.get(key))}" for key in ("expected", "got", "hint", "remedy", "see") if outcome.get(key)
    ]
    title = (
        _escaped(f"{text(outcome.get('name'))}: {text(outcome.get('verdict'))}").replace(":", "%3A").replace(",", "%2C")
    )
    return f"::error title={title}::{_escaped(chr(10).join(told)[:MAX_NOTE])}\n"


def _escaped(said: str) -> str:
    return said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
