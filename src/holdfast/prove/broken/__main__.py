"""`python -m holdfast.prove.broken KIND --port N --data DIR` runs one kind on loopback."""

import argparse
import asyncio
from pathlib import Path

import uvicorn

from holdfast.core import TimeOrderedIds
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.broken.kinds import RUNTIMES
from holdfast.prove.broken.server import build


async def serve(kind: str, port: int, data: Path, *, upgraded: bool) -> None:
    """Serve until a signal comes."""
    made = RUNTIMES[kind]
    runtime = (made.next_version() if upgraded else made)(data, TimeOrderedIds())
    config = uvicorn.Config(
        build(runtime, f"http://127.0.0.1:{port}"),
        host="127.0.0.1",
        port=port,
        log_level="info",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    await uvicorn.Server(config).serve()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m holdfast.prove.broken", description="A runtime broken on purpose.")
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--next", action="store_true", help="its next version")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.kind, arguments.port, arguments.data, upgraded=arguments.next))


if __name__ == "__main__":
    main()
