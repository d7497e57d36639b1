"""What `holdfast prove --again FOLDER [PROOF]` does: start the target of a run on a copy of the data that the run left.

The `curl` lines of the evidence answer then, at the address that they name, and the evidence stays as it is. Evidence
may come from elsewhere: a command that is only named in it is shown, and run only if somebody agrees; so is the bundled
runtime, which goes on with whatever the data has for it to do. After an *upgrade* the data is that of the next version,
and that one is started.
"""

import asyncio
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.redact import HIDDEN
from holdfast.prove.interrupt import wait_until_interrupted
from holdfast.prove.report.run_record import Document, dicts, outcomes, read, text
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.runs.data_copy import copy_data
from holdfast.prove.targets import Choice, Target, TargetNotReady, UpgradableTarget, check, choose, prepare
from holdfast.prove.targets.choice import OURS
from holdfast.prove.view.terminal import grounds
from holdfast.terminal.text import escaped

Confirm = Callable[[str], bool]


def again(options: RuntimeOptions, folder: Path, proof: str | None, confirm: Confirm) -> int:
    """Start the target, show the commands of one proof, or of all that are disproven, and wait for a signal.

    No error says what the credentials are, whoever said it before.
    """
    try:
        return _again(options, folder, proof, confirm)
    except HoldfastError as error:
        error.message, error.hint = options.hide([error.message, error.hint])
        error.args = (error.message,)
        raise


def _again(options: RuntimeOptions, folder: Path, proof: str | None, confirm: Confirm) -> int:
    folder = folder.resolve()
    summary = read(folder).summary
    shown = _commands(summary, proof)
    choice = _choice(options, summary, folder, confirm)
    prepare(choice, options.tell)
    with TemporaryDirectory(prefix="holdfast-again-") as place:
        target = choose(choice, Path(place), options.timeout, options.credentials)
        if _upgraded(summary) and isinstance(target, UpgradableTarget):
            target.upgrade()
        copy_data(folder / "data", Path(place) / "data")
        try:
            _start(target)
            sys.stdout.write(options.hide(shown))
            sys.stdout.flush()

            def tell() -> None:
                sys.stderr.write(f"the target runs at {target.url} (pid {target.pid}) on a copy; Ctrl-C ends it\n")
                sys.stderr.flush()

            wait_until_interrupted(target.ended(within=math.inf), tell)
        finally:
            target.abandon()
    return 0


def _start(target: Target) -> None:
    """Start the target; its log is gone with the copy, so no error points there."""
    try:
        asyncio.run(target.start())
    except TargetNotReady as error:
        hint = error.hint or ""
        if any(str(log) in hint for log in target.logs()):
            hint = "it has --timeout seconds to get ready; a new run of the proof keeps its log"
        raise TargetNotReady(error.message, hint=hint) from None


def _commands(summary: Document, proof: str | None) -> str:
    """What was found, and the commands that show it."""
    found = {text(outcome.get("name")): outcome for outcome in outcomes(summary)}
    if proof is not None and proof not in found:
        raise InvalidInput(f"there is no proof {proof} in this run", hint=f"one of {', '.join(found)}")
    chosen = [found[proof]] if proof else [each for each in found.values() if each.get("verdict") == "disproven"]
    broken = [layer for layer in dicts(summary.get("layers")) if layer.get("state") == "broken"]
    told = [grounds(each) for each in [*chosen, *([] if proof else broken)] if each.get("curl")]
    return "".join(told) or "no command was recorded for this\n"


def _choice(options: RuntimeOptions, summary: Document, folder: Path, confirm: Confirm) -> Choice:
    """The target that was proven, on the port that the commands name."""
    given, recorded = options.choice, _dict(summary, "arguments")
    _refuse_elsewhere(given, recorded, summary, folder)
    chosen = given
    if given.command is None and given.name is None and given.template is None:
        line, following = text(recorded.get("command")), text(recorded.get("next_command"))
        chosen = replace(
            given,
            name=text(recorded.get("target")) or None,
            command=line or None,
            template=text(recorded.get("template")) or None,
            next_command=given.next_command or following or None,
        )
        if _upgraded(summary):
            if following and given.next_command is None:
                _agree(following, confirm)
        elif line:
            _agree(line, confirm)
        elif chosen.template is not None:
            _agree_to_template(chosen.template, folder, confirm)
        elif chosen.name in OURS:
            _agree_to_bundled(folder, confirm)
    if _upgraded(summary) and not chosen.next_command and not text(chosen.name).startswith("broken:"):
        raise InvalidInput(
            "the data of this run was left by the next version of its target", hint="give that too, with --next-command"
        )
    runs = chosen.next_command if _upgraded(summary) else chosen.command
    if runs is not None and "{data}" not in runs:
        raise InvalidInput(
            "the command keeps its data elsewhere, and so it is not in the folder",
            hint="write {data} into --command, and prove it again",
        )
    chosen = replace(chosen, port=given.port or _port(summary))
    check(chosen)
    return chosen


def _refuse_elsewhere(given: Choice, recorded: dict[str, Any], summary: Document, folder: Path) -> None:
    """InvalidInput where the folder has no data that a target could be started on."""
    if "runs" in summary:
        raise InvalidInput(f"{folder} is about several runs", hint=f"name one of them: --again {folder / 'run-1'}")
    if given.url is not None or recorded.get("url"):
        raise InvalidInput("the target of a --url has its data elsewhere", hint="try the commands on it as it runs")
    if given.image is not None or recorded.get("image"):
        raise InvalidInput(
            "an image is not started again on what it left", hint=f"its data is in {folder / 'data'}; prove it again"
        )
    if recorded.get("store"):
        raise InvalidInput("the store of this run is not in its folder", hint="--again is for a run without --store")
    if not (folder / "data").is_dir():
        raise InvalidInput(f"there is no data in {folder}", hint="a run whose target was ours leaves it there")


def _agree(line: str, confirm: Confirm) -> None:
    """InvalidInput unless the command of the evidence is whole, and somebody wants it to be run here."""
    if HIDDEN in line:
        raise InvalidInput(
            f"something in the command of this run was masked: {line}", hint="give it again, with --command"
        )
    if not confirm(f"this runs the command that the evidence names:\n  {escaped(line)}\nrun it?"):
        raise InvalidInput("the command was not run", hint="give it yourself, with --command")


def _agree_to_bundled(folder: Path, confirm: Confirm) -> None:
    """InvalidInput unless somebody wants our runtime to go on with the data of the evidence."""
    if not confirm(
        f"this starts `holdfast serve` on a copy of {escaped(str(folder / 'data'))}, as it was left.\nstart it?"
    ):
        raise InvalidInput("the bundled runtime was not started", hint="say that you want it, with --target bundled")


def _agree_to_template(name: str, folder: Path, confirm: Confirm) -> None:
    """InvalidInput unless somebody wants the template that the evidence names to go on with its data."""
    if not confirm(
        f"this starts the template {escaped(name)} on a copy of {escaped(str(folder / 'data'))}, as it was left.\n"
        "start it?"
    ):
        raise InvalidInput(
            "the template was not started", hint=f"say that you want it, with --template {escaped(name)}"
        )


def _upgraded(summary: Document) -> bool:
    """Whether the run went on with the next version, which left the data as it is."""
    return _dict(summary, "target").get("upgraded") is True


def _port(summary: Document) -> int | None:
    try:
        return urlsplit(text(_dict(summary, "target").get("endpoint"))).port
    except ValueError:
        return None


def _dict(document: Document, name: str) -> dict[str, Any]:
    inner = document.get(name)
    return inner if isinstance(inner, dict) else {}
