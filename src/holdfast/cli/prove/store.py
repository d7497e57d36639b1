"""`holdfast prove store`: options in, verdict out. The work is in `holdfast.prove.store`."""

import sys
from pathlib import Path
from typing import Any

import click

from holdfast.cli.exit_codes import end_with, names
from holdfast.cli.options import FiniteRange
from holdfast.cli.prove.options import publication_options
from holdfast.core.errors import InvalidInput

EPILOG = """\b
Exit codes
  0  everything that was checked is proven
  1  something is disproven
  2  wrong options, or a fault between the proof and the store
  3  something could not be judged, or was asked for by name and is not offered

\b
Examples
  holdfast prove store --adapter examples/stores/holdfast_sqlite.py
  holdfast prove store --adapter my_package.proof:factory --only kept,retry --cycles 200
"""


@click.command(name="store", epilog=EPILOG)
@click.option("--adapter", metavar="MODULE:FACTORY", help="The store to prove: module:factory, or file.py[:factory].")
@click.option("--only", metavar="NAMES", help="Put the store under these clauses only, separated by commas.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw the moments of the kills from this.  [default: random]",
)
@click.option(
    "--cycles",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    metavar="N",
    help="How many kills, and rounds of each race.",
)
@click.option(
    "--events",
    type=click.IntRange(1000, 10_000_000),
    default=10_000,
    show_default=True,
    metavar="N",
    help="How long the long session is.",
)
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=180.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that one clause may take.",
)
@click.option(
    "--artifacts",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".artifacts"),
    show_default=True,
    help="Where evidence goes: DIR/prove-store/TIME, and DIR/prove-store/latest.",
)
@publication_options
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else, on stdout.")
@click.option("--list", "as_list", is_flag=True, help="List the clauses; run nothing.")
@click.pass_context
def prove_store(
    context: click.Context,
    /,
    *,
    adapter: str | None,
    only: str | None,
    seed: int | None,
    cycles: int,
    events: int,
    timeout: float,
    artifacts: Path,
    as_json: bool,
    as_list: bool,
    **given: Any,
) -> None:
    """Put anyone's session store under a contract: kills, races, retries, long sessions, tenants.

    The store is reached through an adapter, opened by several processes at once, and judged by what they were told
    and what is there afterwards. A clause that the store has no words for is "not offered", which is never green.
    """
    from holdfast.prove.publication import Publication
    from holdfast.prove.store import command as work
    from holdfast.prove.store.stage import Workload
    from holdfast.prove.store.summary import show_contract

    def proof() -> int:
        if as_list:
            show_contract(as_json, sys.stdout)
            return 0
        if adapter is None:
            raise InvalidInput("there is no store to prove", hint="name its adapter: --adapter module:factory")
        return work.prove_store(
            work.StoreOptions(
                adapter=adapter,
                only=names(only, what="clause", listing="holdfast prove store --list"),
                seed=seed,
                bounds=Workload(cycles, events, timeout),
                artifacts=artifacts.resolve(),
                as_json=as_json,
                publication=Publication.of(given),
                arguments=dict(context.params),
            )
        )

    end_with(proof)
