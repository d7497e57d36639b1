"""`holdfast serve`: the gateway as a process."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.errors import says_errors
from holdfast.cli.options import SIZE, FiniteRange
from holdfast.cli.serve_upkeep import logs_of, timers_of, upkeep_options
from holdfast.core import strict_json

if TYPE_CHECKING:
    from holdfast.gateway.operations.session_files import SessionFiles
    from holdfast.gateway.serve import Options, StartReport

RARELY = 10_000
"""New objects after which the collector looks: what a request leaves is freed without it."""


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
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    envvar="HOLDFAST_DASHBOARD_PORT",
    help="A second port for all that the first serves, for the dashboard; 0 takes a free one.  [default: none]",
)
@click.option(
    "--prices",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="HOLDFAST_PRICES",
    help="A TOML file that says what models cost, for the overview; it is read again when it changes.",
)
@click.option(
    "--proofs",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_PROOFS",
    help="A folder with the evidence of proofs, like .artifacts, that operators may see in the dashboard.",
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_FILES",
    help="A new or empty folder in which all sessions are kept as files, for programs that read files.",
)
@click.option(
    "--data",
    default=Path("holdfast-data"),
    show_default="./holdfast-data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_DATA",
    help="Folder for the store, the lock and the log.",
)
@click.option(
    "--store", metavar="URL", envvar="HOLDFAST_STORE", help="Store to use.  [default: holdfast.db in the data folder]"
)
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_WORKSPACE",
    help="Where the agent's tools work.  [default: workspace in the data folder]",
)
@click.option(
    "--legacy",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="HOLDFAST_LEGACY",
    help="Folder with agents/<agent>/sessions of an older version, imported at the start.  [default: the data folder]",
)
@click.option(
    "--model-url",
    metavar="URL",
    envvar=["HOLDFAST_MODEL_URL", "OPENAI_BASE_URL"],
    help="Endpoint that answers.  [default: the simulator in this process]",
)
@click.option(
    "--model-api",
    default="openai",
    show_default=True,
    type=click.Choice(["openai", "anthropic"]),
    envvar="HOLDFAST_MODEL_API",
    help="What that endpoint speaks: chat completions, or Messages.",
)
@click.option(
    "--model", metavar="NAME", envvar=["HOLDFAST_MODEL", "OPENAI_MODEL"], help="Model to ask for at that endpoint."
)
@click.option(
    "--auth",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "none", "token"]),
    envvar="HOLDFAST_AUTH",
    help="Ask for tokens; auto: once there is one, and always on an address that others can reach.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="HOLDFAST_TOKEN_FILE",
    help="A file with an operator's token, beside those in the store.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    envvar="HOLDFAST_ALLOW_HOST",
    help="A name by which clients reach the gateway; can be given several times.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    envvar="HOLDFAST_ALLOW_ORIGIN",
    help="A site whose pages may use the gateway, like https://app.example; can be given several times.",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="HOLDFAST_PUBLIC_URL",
    help="Where clients reach the gateway, as the agent card says.  [default: the address that they used]",
)
@click.option(
    "--a2a-card",
    default="1.0",
    show_default=True,
    type=click.Choice(["1.0", "0.3", "both"]),
    envvar="HOLDFAST_A2A_CARD",
    help="Version of A2A that the agent card is written in; both versions are always spoken.",
)
@click.option(
    "--allow-push",
    "push_hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    envvar="HOLDFAST_ALLOW_PUSH",
    help="A host that news of tasks may be posted to though its address is not public; can be given several times.",
)
@click.option(
    "--allow-agent",
    "peers",
    multiple=True,
    metavar="URL",
    envvar="HOLDFAST_ALLOW_AGENT",
    help="The beginning of the URLs of other agents that ours may ask; can be given several times.",
)
@click.option(
    "--agent-tools",
    multiple=True,
    type=click.Choice(["bash"]),
    envvar="HOLDFAST_AGENT_TOOLS",
    help="A tool that the agent does not have otherwise: callers can then have commands run as this user.",
)
@click.option(
    "--agent-storage",
    default="store",
    show_default=True,
    type=click.Choice(["store", "file"]),
    envvar="HOLDFAST_AGENT_STORAGE",
    help="Where the agent keeps its conversations: in the store, or also as files in the data folder.",
)
@click.option(
    "--compact-at",
    type=click.IntRange(500),
    metavar="TOKENS",
    envvar="HOLDFAST_COMPACT_AT",
    help="Size of a prompt from which its older messages are summed up.  [default: 100000]",
)
@click.option(
    "--max-connections",
    default=2_000,
    show_default=True,
    type=click.IntRange(1),
    envvar="HOLDFAST_MAX_CONNECTIONS",
    help="Connections at one time, live feeds included.",
)
@click.option(
    "--max-state",
    default=1024 * 1024,
    show_default="1 MiB",
    type=SIZE,
    envvar="HOLDFAST_MAX_STATE",
    help="How large a patch may make a session's state: 4MB, …",
)
@click.option(
    "--max-unsent",
    default="128MB",
    show_default=True,
    type=SIZE,
    envvar="HOLDFAST_MAX_UNSENT",
    help="Output that clients have yet to take, of all together; who takes least is cut beyond it.",
)
@click.option(
    "--rate-limit",
    metavar="NUMBER",
    type=FiniteRange(0),
    envvar="HOLDFAST_RATE_LIMIT",
    help="Requests a second of one caller; 0 for any number.  [default: 500 with tokens, 0 without]",
)
@click.option(
    "--drain",
    default=0,
    show_default=True,
    metavar="SECONDS",
    type=click.IntRange(0, 3_600),
    envvar="HOLDFAST_DRAIN",
    help="On SIGTERM, be not ready but answer for so long before stopping, for a balancer to notice.",
)
@upkeep_options
@click.option("--json", "as_json", is_flag=True, help="Print where it runs as one line of JSON on stdout.")
@says_errors
def serve(as_json: bool, **given: Any) -> None:
    """Run the gateway, until SIGTERM or Ctrl-C.

    Sessions over REST and WebSocket, and an agent over A2A, on one port. Everything it acknowledges is on disk.
    Each option can be given in the environment as HOLDFAST_HOST, HOLDFAST_PORT and so on.

    \b
      POST /api/actions/ID     append an action; the session is made if need be
      GET  /api/sessions/ID    a session with its state and newest actions
      WS   /ws?session=ID      what happens, as it happens
      POST /a2a                the agent, over A2A
      POST /api/chat/KEY       the agent, without A2A
      GET  /docs               everything else, to read
      GET  /                   the dashboard, in a browser
    """
    if as_json and given["log_stdout"]:
        raise click.UsageError("--json and --log-stdout both want stdout: choose one")
    import gc

    gc.disable()  # nothing of what a start makes is garbage, and looking for it is a seventh of the start
    from holdfast.gateway.operations.logs import warn_people
    from holdfast.gateway.serve import serve as run

    def announce(started: "StartReport") -> None:
        gc.freeze()
        gc.set_threshold(RARELY)
        gc.enable()
        (_json if as_json else _words)(started)

    warn_people()
    run(_options(given), announce)


def _options(given: dict[str, Any]) -> "Options":
    """What was given on the command line and in the environment, each area's own."""
    from holdfast.gateway.access.admission import Admission, TokenPolicy
    from holdfast.gateway.agent import DEFAULT_MODELS, Model
    from holdfast.gateway.connections.limits import ConnectionLimits
    from holdfast.gateway.serve import Options

    files = given["files"]
    return Options(
        given["host"],
        given["port"],
        given["data"],
        given["store"],
        Model(given["model_url"], given["model"] or DEFAULT_MODELS[given["model_api"]], given["model_api"]),
        admission=Admission(TokenPolicy(given["auth"]), given["token_file"], given["hosts"], given["origins"]),
        limits=ConnectionLimits(
            max_state=given["max_state"],
            max_connections=given["max_connections"],
            max_unsent=given["max_unsent"],
            rate=given["rate_limit"],
        ),
        logs=logs_of(given),
        timers=timers_of(given),
        url=given["url"],
        card=given["a2a_card"],
        push_hosts=given["push_hosts"],
        peers=given["peers"],
        agent_tools=given["agent_tools"],
        compact_at=given["compact_at"],
        agent_storage=given["agent_storage"],
        agent_folder=given["workspace"],
        legacy=given["legacy"],
        drain_seconds=given["drain"],
        prices=given["prices"],
        proofs=given["proofs"],
        dashboard_port=given["dashboard_port"],
        files=None if files is None else _files(files),
    )


def _files(folder: Path) -> "SessionFiles":
    """The folder of --files, and the program that keeps it."""
    from holdfast.gateway.operations.session_files import SessionFiles
    from holdfast.store.transfer import FolderMirror

    return SessionFiles(folder, (sys.executable, "-m", "holdfast.cli.session_files"), FolderMirror(folder).prepare)


def _json(started: "StartReport") -> None:
    click.echo(
        strict_json.dump(
            {
                "url": started.url,
                "store": started.store,
                "engine": started.engine,
                "version": started.version,
                "model": started.model,
                "pid": started.pid,
                "asksForToken": started.asks_for_token,
                "dashboard": started.dashboard,
            }
        )
    )


def _words(started: "StartReport") -> None:
    for name, text in (
        ("url", started.url),
        *((("page", started.dashboard),) if started.dashboard != started.url else ()),
        ("store", f"{started.store} ({started.engine})"),
        ("model", started.model),
        ("auth", "asks for a token" if started.asks_for_token else "open to everybody on this machine"),
    ):
        click.echo(f"  {name:<6} {text}", err=True)
    click.echo(f"Holdfast {started.version} serves; Ctrl-C stops it.", err=True)
