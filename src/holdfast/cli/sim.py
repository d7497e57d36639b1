"""`holdfast sim`: the model simulator on a port."""

import asyncio
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

import click

from holdfast.core import strict_json

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
@click.option("--json", "as_json", is_flag=True, help="Print the address as one line of JSON on stdout.")
def sim(host: str, port: int, as_json: bool) -> None:
    """Serve the model simulator, until SIGTERM or Ctrl-C.

    It answers OpenAI chat completions, plain and streamed, with no model behind it: what it says follows from
    the prompt alone. Tell it "My name is Ada" and ask "What is my name?": it knows only if the runtime in
    between sent both. Give a runtime the base URL with any key and any model name.

    \b
      POST /v1/chat/completions   the answers
      GET  /v1/models             the one model
      GET  /log                   the last 1,000 answers, and which message each fact came from
      GET  /health                whether it runs
    """
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)

    with _listen(host, port) as listener:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        if as_json:
            click.echo(strict_json.dump({"url": url, "base_url": f"{url}/v1"}))
        else:
            click.echo(f"The model simulator runs at {url} (base URL {url}/v1); Ctrl-C stops it.", err=True)
        _serve(listener)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host} port {port}: {error.strerror}") from None


def _serve(listener: socket.socket) -> None:
    import uvicorn

    from holdfast.models.simulator.app import create_app

    stopping = asyncio.Event()

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            stopping.set()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        create_app(stopping),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    Server(config).run(sockets=[listener])


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # uvicorn stops in its own time and then raises the signal again: it ends here, as a success.
    sys.exit(0)
