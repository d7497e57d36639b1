"""`holdfast prove`: options in, verdict out. The work is in `holdfast.prove`."""

from pathlib import Path

import click
from click.core import ParameterSource

from holdfast.cli.prove_store import prove_store
from holdfast.cli.verdicts import end_with, names

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
  holdfast prove --url http://localhost:9000
  holdfast prove --target broken:ack-before-commit
"""


@click.group(epilog=EPILOG, invoke_without_command=True)
@click.option("--url", metavar="URL", help="Prove a runtime that already runs; it is never killed.")
@click.option(
    "--command",
    metavar="LINE",
    help="Prove what this command starts. {port} and {data} (a fresh folder) are filled in; PORT is set.",
)
@click.option("--target", metavar="NAME", help="Prove a target by name: bundled (the default) or broken:KIND.")
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="The port the target listens on.  [default: a free one]"
)
@click.option("--store", metavar="URL", help="The store of the bundled target.  [default: a fresh SQLite file]")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The folder where the tools of a --url or --command target work.",
)
@click.option("--only", metavar="NAMES", help="Prove these only, separated by commas, and what they need.")
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
    help="Where evidence goes: DIR/prove/TIME, and DIR/prove/latest.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else, on stdout.")
@click.option("--list", "as_list", is_flag=True, help="List the proofs and the broken targets; run nothing.")
@click.pass_context
def prove(
    context: click.Context,
    *,
    url: str | None,
    command: str | None,
    target: str | None,
    port: int | None,
    store: str | None,
    workspace: Path | None,
    only: str | None,
    seed: int | None,
    wire: str,
    timeout: float,
    artifacts: Path,
    as_json: bool,
    as_list: bool,
) -> None:
    """Start, talk to, kill and restart an agent runtime, and say whether it remembers.

    Each proof is one claim about continuity, checked from outside over A2A. What was sent, what came back and
    when the target was killed is left behind as evidence.
    """
    if context.invoked_subcommand is not None:
        _refuse_own_options(context)
        return
    from holdfast.prove import command as work
    from holdfast.prove.envelopes import WireVersion
    from holdfast.prove.listing import show_listing
    from holdfast.prove.targets import Choice

    if as_list:
        show_listing(as_json)
        return

    def proof() -> int:
        return work.prove(
            work.Options(
                target=Choice(url, command, target, port, store, workspace.resolve() if workspace else None),
                only=names(only, what="proof", listing="holdfast prove --list"),
                seed=seed,
                wire=WireVersion(wire),
                timeout=timeout,
                artifacts=artifacts.resolve(),
                as_json=as_json,
                arguments=dict(context.params),
            )
        )

    end_with(proof)


def _refuse_own_options(context: click.Context) -> None:
    """An option that stands before `store` is one of the runtime's proof, and would be ignored."""
    for option in context.params:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option.removeprefix('as_')} goes after `{context.invoked_subcommand}`")


prove.add_command(prove_store)
