"""`holdfast prove live`: options in, verdict out. The work is in `holdfast.prove.live`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.exit_codes import end_with
from holdfast.cli.options import FiniteRange
from holdfast.cli.prove.options import result_options

EPILOG = """\b
Exit codes
  0  every step is proven
  1  something is disproven
  2  wrong options, a gateway that cannot be proven from here, or a fault between the proof and the gateway
  3  something could not be judged

\b
Examples
  holdfast prove live
  holdfast prove live --url http://127.0.0.1:9000 --agent main --json
  holdfast prove live --allow-log 'reconcile.*backup'
  holdfast prove live --isolated
  holdfast prove live --isolated --target broken:writes-jsonl
"""


@click.command(name="live", epilog=EPILOG)
@click.option(
    "--url",
    metavar="URL",
    help="The gateway that runs.  [env: HOLDFAST_URL; default: http://127.0.0.1:9000]",
)
@click.option("--agent", default="main", show_default=True, help="The agent of the gateway that the proof talks to.")
@click.option(
    "--session-key",
    metavar="KEY",
    help="The key of the proof's session, which nobody has used.  [default: agent:AGENT:live-proof:TIME]",
)
@click.option(
    "--store",
    metavar="URL",
    help="The gateway's database, if it has a password; with --isolated, one that nobody uses.  "
    "[env: HOLDFAST_STORE; default: what the gateway says]",
)
@click.option(
    "--legacy",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where legacy sessions lie.  [default: the gateway's data folder]",
)
@click.option("--tenant", envvar="HOLDFAST_TENANT", help="For whom, in a store with tenants.")
@click.option(
    "--allow-log",
    multiple=True,
    metavar="PATTERN",
    help="A line of the log that matches this is to be expected; may be given again.",
)
@click.option("--alone", is_flag=True, help="Nobody else uses the gateway: no other row may move.")
@click.option(
    "--recovery",
    is_flag=True,
    help="Interrupt a turn of the proof's own session, as a restart would, and see it gone on with.",
)
@click.option("--keep-artifacts", is_flag=True, help="Leave the proof's sessions where they are.")
@click.option("--isolated", is_flag=True, help="Start a gateway of its own, on legacy sessions that it must import.")
@click.option("--target", metavar="broken:KIND", help="With --isolated: a gateway that is broken on purpose.")
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest wait for an answer or a start.",
)
@result_options("live")
@click.pass_context
def prove_live(context: click.Context, /, **given: Any) -> None:
    """Prove that a running gateway keeps its sessions in its database, and nowhere else.

    A session of the proof's own goes through a turn, a patch, checkpoints and its deletion, while rows, files, open
    handles and the log are watched. Nothing is started, stopped, imported or migrated.
    """
    from holdfast.prove.live import command as work
    from holdfast.prove.live.options import LiveOptions

    end_with(lambda: work.prove_live(LiveOptions.of(given, arguments=dict(context.params))))
