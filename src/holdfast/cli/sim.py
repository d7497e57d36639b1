"""`holdfast sim`: the model simulator on a port."""

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from holdfast.cli.options import FiniteRange
from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.terminal.text import one_line

if TYPE_CHECKING:
    from holdfast.models.simulator.app import SimulatorSettings

SECONDS = FiniteRange(0, 600)
SECONDS_TO_FINISH = 1


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=18080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--latency", default=0.0, type=SECONDS, metavar="SECONDS", help="Wait this long before each answer.")
@click.option(
    "--chunk-delay", default=0.0, type=SECONDS, metavar="SECONDS", help="Wait this long after each word of a stream."
)
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Give these answers in order: a JSON list, or one per line.",
)
@click.option(
    "--fault",
    "fault_options",
    multiple=True,
    metavar="KIND[:TIMES]",
    help="Have the first requests fail: an HTTP status such as 429, cut or slow. Repeat it for more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as one line of JSON on stdout.")
def sim(
    host: str,
    port: int,
    latency: float,
    chunk_delay: float,
    script: Path | None,
    fault_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve the model simulator, until SIGTERM or Ctrl-C.

    It speaks the APIs of OpenAI and Anthropic, plain and streamed, with no model behind it: what it says follows
    from the prompt alone. Tell it "My name is Ada" and ask "What is my name?": it knows only if the runtime in
    between sent both. Give a runtime the base URL with any key and any model name.

    \b
      POST /v1/chat/completions         OpenAI's chat completions
      POST /v1/responses                OpenAI's responses
      POST /v1/messages                 Anthropic's messages, and /v1/messages/count_tokens
      POST /v1/files                    files that a prompt then names by id
      GET  /v1/models                   the one model
      GET  /log                         the last 1,000 requests, and which message each fact came from
      POST /faults                      have the next requests fail: [{"kind":"429","times":2,"retryAfter":1}]
      POST /reset                       everything as it was at the start
      GET  /health                      whether it runs

    A request with the header X-Sim-Fault (an HTTP status, cut or slow) fails in that way.
    """
    settings = _settings(latency, chunk_delay, script, fault_options)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)

    with _listen(host, port) as listener:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        if as_json:
            click.echo(strict_json.dump({"url": url, "base_url": f"{url}/v1"}))
        else:
            click.echo(f"The model simulator runs at {url} (base URL {url}/v1); Ctrl-C stops it.", err=True)
        _serve(listener, settings)


def _settings(
    latency: float, chunk_delay: float, script: Path | None, fault_options: tuple[str, ...]
) -> "SimulatorSettings":
    from holdfast.models.simulator import control
    from holdfast.models.simulator.app import SimulatorSettings

    try:
        return SimulatorSettings(
            latency=latency,
            chunk_delay=chunk_delay,
            script=control.read_script(script.read_bytes()) if script else None,
            faults=[control.fault_from_option(option) for option in fault_options],
        )
    except InvalidInput as error:
        raise click.ClickException(f"{error.message}; {error.hint}" if error.hint else error.message) from None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError, TypeError) as error:  # the last two are a host that is no name
        why = getattr(error, "strerror", error)
        raise click.ClickException(f"cannot listen on {one_line(host)} port {port}: {why}") from None


def _serve(listener: socket.socket, settings: "SimulatorSettings") -> None:
    import uvicorn

    from holdfast.http.web_server import WebServer
    from holdfast.models.simulator.app import create_app

    stopping = asyncio.Event()

    class Server(WebServer):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            stopping.set()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        create_app(stopping, settings=settings),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    logging.getLogger("uvicorn.error").addFilter(_unexpected)
    Server(config).run(sockets=[listener])


def _unexpected(record: logging.LogRecord) -> bool:
    # An answer that was to be cut is no error, though the server takes it for one.
    return "without completing response" not in record.getMessage()


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # uvicorn stops in its own time and then raises the signal again: it ends here, as a success.
    sys.exit(0)
