"""`holdfast prove`: options in, verdict out. The work is in `holdfast.prove`."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from holdfast.cli.exit_codes import end_with, names
from holdfast.cli.prove_store import prove_store

EPILOG = """\b
Exit codes
  0  everything that was checked is proven
  1  something is disproven
  2  wrong options, or a fault between the proof and the target
  3  something could not be judged

\b
Examples
  holdfast prove
  holdfast prove --only name,crash --seed 0
  holdfast prove --command 'python agent.py --port {port}' --workspace ./work
  holdfast prove --url http://localhost:9000 --restart-command 'docker restart agent'
  holdfast prove --target broken:ack-before-commit
  holdfast prove --repeat 20 --junit proof.xml --quiet
  holdfast prove --show
"""
NEWEST = ""


def complete_proofs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The proofs that can still be added to a list with commas."""
    from holdfast.prove.runtime.proofs import catalogue

    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    found = [name for name in catalogue() if name.startswith(last) and name not in taken]
    return [CompletionItem(before + comma + name) for name in found]


def complete_targets(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The targets that have a name."""
    from holdfast.prove.broken.expected import KINDS

    names = ["bundled", *(f"broken:{kind}" for kind in KINDS)]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.group(epilog=EPILOG, invoke_without_command=True)
@click.option("--url", metavar="URL", help="Prove a runtime that already runs; it is not killed.")
@click.option(
    "--command",
    metavar="LINE",
    help="Prove what this command starts. {port}, {data} (a fresh folder) and {peer} (an agent that it may ask) "
    "are filled in; PORT is set.",
)
@click.option(
    "--target",
    metavar="NAME",
    shell_complete=complete_targets,
    help="Prove a target by name: bundled (the default) or broken:KIND.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="The port the target listens on.  [default: a free one]"
)
@click.option("--store", metavar="URL", help="The store of the bundled target.  [default: a fresh SQLite file]")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="The folder where the tools of a --url or --command target work.",
)
@click.option(
    "--restart-command",
    metavar="LINE",
    help="What restarts a --url target, so that what needs a restart can be proven too; {how} is stop or kill.",
)
@click.option(
    "--probe-command",
    metavar="LINE",
    help="What prints, as JSON, what the store of a --url or --command target holds; {context} is the conversation.",
)
@click.option(
    "--proofs",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE.py",
    help="Add the proofs of this file to ours; may be given again.",
)
@click.option(
    "--only",
    metavar="NAMES",
    shell_complete=complete_proofs,
    help="Prove these only, separated by commas, and what they need.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Run so often, each time with the next seed; the worst run is the verdict.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw names and colours from this; 0 is the classic set.  [default: random]",
)
@click.option(
    "--wire",
    type=click.Choice(["0.3", "1.0"]),
    default="1.0",
    show_default=True,
    help="The A2A version to speak.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest wait for an answer or a start.",
)
@click.option(
    "--artifacts",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".artifacts"),
    show_default=True,
    metavar="DIR",
    help="Where evidence goes: DIR/prove/TIME, and DIR/prove/latest.",
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the JUnit XML here too.")
@click.option("--keep-running", is_flag=True, help="Leave the target running after the proof, until Ctrl-C.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no table: what is not proven, and the verdict.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else, on stdout.")
@click.option(
    "--ndjson", "as_ndjson", is_flag=True, help="Print every event as it happens, then the summary, a line each."
)
@click.option("--list", "as_list", is_flag=True, help="List the proofs and the broken targets; run nothing.")
@click.option(
    "--show",
    is_flag=False,
    flag_value=NEWEST,
    metavar="[FOLDER]",
    help="Make the report of a run (the newest) again, print its path and open it; run nothing.",
)
@click.pass_context
def prove(context: click.Context, /, *, only: str | None, as_list: bool, show: str | None, **given: Any) -> None:
    """Start, talk to, kill and restart an agent runtime, and say whether it remembers.

    Each proof is one claim about continuity, checked from outside over A2A. What was sent, what came back and
    when the target was killed is left behind as evidence.
    """
    if context.invoked_subcommand is not None:
        _refuse_own_options(context)
        return
    from holdfast.prove.runtime import command as work
    from holdfast.prove.runtime.options import RuntimeOptions
    from holdfast.prove.view.listing import show_listing
    from holdfast.prove.view.report_link import show_report

    def proof() -> int:
        if as_list:
            show_listing(given["as_json"], given["proofs"])
            return 0
        if show is not None:
            show_report(given["artifacts"].resolve(), show)
            return 0
        asked_for = names(only, what="proof", listing="holdfast prove --list")
        own = [path.resolve() for path in given["proofs"]]
        return work.prove(RuntimeOptions.of(asked_for, given | {"proofs": own}, arguments=dict(context.params)))

    end_with(proof)


def _refuse_own_options(context: click.Context) -> None:
    """An option that stands before `store` is one of the runtime's proof, and would be ignored."""
    for option in context.params:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{option.removeprefix('as_').replace('_', '-')} goes after `{context.invoked_subcommand}`"
            )


prove.add_command(prove_store)
