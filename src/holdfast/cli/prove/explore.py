"""`holdfast prove explore`: options in, verdict out. The work is in `holdfast.prove.explore`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.exit_codes import end_with
from holdfast.cli.prove.options import complete_profiles, result_options, target_options, wire_options

EPILOG = """\b
Exit codes
  0  no history violated anything
  1  a violation was found, and its history showed it again
  2  wrong options, or a fault between the proof and the target
  3  a violation was seen that did not repeat

\b
Examples
  holdfast prove explore
  holdfast prove explore --budget 10m --faults kill
  holdfast prove explore --command 'python agent.py --port {port}' --histories 200 --seed 1
  holdfast prove explore --template langgraph --budget 2m
  holdfast prove explore --replay .artifacts/prove-explore/latest/violation-1.json
"""


@click.command(name="explore", epilog=EPILOG)
@target_options
@click.option("--budget", default="60s", show_default=True, metavar="TIME", help="How long it may take: 60s, 10m, 1h.")
@click.option("--histories", type=click.IntRange(min=1), metavar="N", help="Explore so many, however long it takes.")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Draw the histories from this.  [default: random]"
)
@click.option(
    "--faults",
    type=click.Choice(["none", "stop", "kill", "pause", "all"]),
    default="all",
    show_default=True,
    help="What may happen to the target.",
)
@click.option(
    "--profile",
    multiple=True,
    metavar="NAMES",
    shell_complete=complete_profiles,
    help="What to do with it: continuity, files, memory, tools, streaming or all; may be given again.  "
    "[default: continuity for --url and --command, else all]",
)
@click.option(
    "--confirm",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Run a history that showed a violation so often again; half must show it again.",
)
@click.option(
    "--side-by-side",
    type=click.IntRange(1, 64),
    metavar="N",
    help="So many targets at once.  [default: the cores, 4 at most]",
)
@click.option(
    "--longest-pause",
    default="5s",
    show_default=True,
    metavar="TIME",
    help="How long a pause may last; to mean something, longer than any lease of the target.",
)
@click.option(
    "--replay",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run the history in this file, and no other.",
)
@wire_options
@result_options("prove-explore")
@click.pass_context
def prove_explore(context: click.Context, /, **given: Any) -> None:
    """Draw histories from a seed, perform them, and shrink the first that no honest runtime could have.

    A history tells, changes, asks, sends files, saves, appends, repeats, cancels, over several conversations, while the
    target is stopped, killed and paused. The verdict is made from what was sent and answered alone.
    """
    from holdfast.prove.explore.api import options_of
    from holdfast.prove.explore.command import explore

    end_with(lambda: explore(options_of(given, arguments=dict(context.params))))
