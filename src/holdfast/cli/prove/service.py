"""`holdfast prove service`: options in, verdict out. The work is in `holdfast.prove.service`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.exit_codes import end_with, names
from holdfast.cli.options import FiniteRange
from holdfast.cli.prove.options import result_options

EPILOG = """\b
Exit codes
  0  every step is proven
  1  something is disproven
  2  wrong options, or a part that could not be built or started
  3  something could not be judged

\b
Examples
  holdfast prove service
  holdfast prove service --kills random --seed 7
  holdfast prove service --only customer_comm,email_solver --json
  holdfast prove service --compose
  holdfast prove service --target broken:drops-actions
"""


@click.command(name="service", epilog=EPILOG)
@click.option("--compose", is_flag=True, help="Run the parts in containers, by deploy/compose.e2e.yml.")
@click.option(
    "--kills",
    type=click.Choice(["one-each", "random", "none"]),
    default="one-each",
    show_default=True,
    help="Who is killed in the middle: every program and the gateway once, or whom and when the seed says.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Draw work and kills from this.  [default: random]"
)
@click.option(
    "--cases",
    type=click.IntRange(2, 1000),
    default=6,
    show_default=True,
    metavar="N",
    help="How many things each program is given to do.",
)
@click.option("--only", metavar="NAMES", help="These programs only, separated by commas.")
@click.option(
    "--checkout",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="A checkout of Holdfast, with the programs in apps.  [default: this folder, or that of this command]",
)
@click.option("--target", metavar="broken:KIND", help="A gateway or a program that is broken on purpose.")
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=180.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest wait for a start, for an answer or for the work of a program.",
)
@result_options("service")
@click.pass_context
def prove_service(context: click.Context, /, *, only: str | None, **given: Any) -> None:
    """Prove a session service with three programs at work: customers, mails, and Claude Code.

    They report to a gateway of the proof's own while each of them, and the gateway, is killed in the middle. Then all
    that was asked for must be done, once, and told: in the world, in the sessions, in their files and in a browser.
    """
    from holdfast.prove.service import command as work
    from holdfast.prove.service.options import ServiceOptions

    def proof() -> int:
        chosen = names(only, what="program", listing="apps/README.md")
        return work.prove_service(ServiceOptions.of(chosen, given, arguments=dict(context.params)))

    end_with(proof)
