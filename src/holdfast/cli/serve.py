"""`holdfast serve`: the gateway as a process."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.errors import says_errors
from holdfast.core import strict_json

if TYPE_CHECKING:
    from holdfast.gateway.serve import Started


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, envvar="HOLDFAST_HOST", help="Address to listen on.")
@click.option(
    "--port",
    default=9000,
    show_default=True,
    type=click.IntRange(0, 65535),
    envvar="HOLDFAST_PORT",
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--data",
    default=Path("holdfast-data"),
    show_default="./holdfast-data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_DATA",
    help="Folder for the store, the lock and the agent's workspace.",
)
@click.option(
    "--store", metavar="URL", envvar="HOLDFAST_STORE", help="Store to use.  [default: holdfast.db in the data folder]"
)
@click.option(
    "--model-url",
    metavar="URL",
    envvar=["HOLDFAST_MODEL_URL", "OPENAI_BASE_URL"],
    help="OpenAI-style endpoint that answers.  [default: the simulator in this process]",
)
@click.option(
    "--model", metavar="NAME", envvar=["HOLDFAST_MODEL", "OPENAI_MODEL"], help="Model to ask for at that endpoint."
)
@click.option("--json", "as_json", is_flag=True, help="Print where it runs as one line of JSON on stdout.")
@says_errors
def serve(
    host: str, port: int, data: Path, store: str | None, model_url: str | None, model: str | None, as_json: bool
) -> None:
    """Run the gateway, until SIGTERM or Ctrl-C.

    Sessions over REST and WebSocket, and an agent over A2A, on one port. Everything it acknowledges is on disk.
    Each option can be given in the environment as HOLDFAST_HOST, HOLDFAST_PORT and so on.

    \b
      POST /api/actions/ID     append an action; the session is made if need be
      GET  /api/sessions/ID    a session with its state and newest actions
      WS   /ws?session=ID      what happens, as it happens
      POST /a2a                the agent
      GET  /openapi.json       everything else
    """
    import logging

    from holdfast.gateway.agent import DEFAULT_MODEL, Model
    from holdfast.gateway.serve import Options
    from holdfast.gateway.serve import serve as run

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    run(Options(host, port, data, store, Model(model_url, model or DEFAULT_MODEL)), _json if as_json else _words)


def _json(started: "Started") -> None:
    click.echo(
        strict_json.dump(
            {
                "url": started.url,
                "store": started.store,
                "engine": started.engine,
                "version": started.version,
                "model": started.model,
                "pid": started.pid,
            }
        )
    )


def _words(started: "Started") -> None:
    for name, text in (
        ("url", started.url),
        ("store", f"{started.store} ({started.engine})"),
        ("model", started.model),
    ):
        click.echo(f"  {name:<6} {text}", err=True)
    click.echo(f"Holdfast {started.version} serves; Ctrl-C stops it.", err=True)
