"""The result of a run, told in the form that was asked for: to people, to programs, and to the CI system."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from holdfast.core import strict_json
from holdfast.prove import report
from holdfast.prove.evidence import pretty
from holdfast.prove.publication import Publication
from holdfast.prove.report import ci
from holdfast.prove.verdict import not_green
from holdfast.terminal.text import escaped


class ResultOptions(Protocol):
    """How a result is to be told."""

    @property
    def junit(self) -> Path | None:
        """Where the JUnit XML goes too."""
        ...

    @property
    def publication(self) -> Publication:
        """Where else it goes."""
        ...

    @property
    def as_json(self) -> bool:
        """Whether the summary is printed as JSON."""
        ...

    @property
    def as_ndjson(self) -> bool:
        """Whether events and summary are printed, a line each."""
        ...


def tell(options: ResultOptions, summary: dict[str, Any], folder: Path, show: Callable[[], None]) -> int:
    """Write the reports and tell the result, to people by `show`; returns the exit code."""
    code = int(summary["exit_code"])
    try:
        report.write(folder)
        if options.junit is not None:
            options.junit.write_bytes((folder / "junit.xml").read_bytes())
    except OSError as error:
        sys.stderr.write(f"error: the reports could not be made: {escaped(str(error))}\n")
        sys.stderr.write("hint: summary.json is there; see --junit and --artifacts\n")
        code = not_green(code)
    except Exception:
        # What was found stands, whatever becomes of the reports; but what is not reported is not green.
        traceback.print_exc()
        sys.stderr.write("error: the reports could not be made; summary.json is there\n")
        code = not_green(code)
    if options.as_json:
        sys.stdout.write(pretty(summary).decode())
    elif options.as_ndjson:
        print_line({"event": "summary", **summary})
    else:
        show()
    sys.stdout.flush()
    ci.tell(summary, sys.stderr)
    return code if options.publication.publish(summary, folder) else not_green(code)


def print_line(document: dict[str, Any]) -> None:
    """One line of --ndjson, at once."""
    sys.stdout.write(strict_json.encode(document).decode() + "\n")
    sys.stdout.flush()
