"""The same agent with the SDK's tasks in a database: `python sdk_database.py DATA PORT`.

Tasks outlive the process now. The conversation does not: it is the executor's, and so are duplicates and the order of
turns. A task that was running at a kill is in the database as working, and nobody is at work on it.

Needs `a2a-sdk[http-server,sqlite]` and `uvicorn`.
"""

import sys
from pathlib import Path

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import DatabaseTaskStore
from sdk_memory import Agent, Executor, card, listen
from sqlalchemy.ext.asyncio import create_async_engine

if __name__ == "__main__":
    data, port = Path(sys.argv[1]), int(sys.argv[2])
    data.mkdir(parents=True, exist_ok=True)
    tasks = DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{data}/tasks.db"))
    own = card(f"http://127.0.0.1:{port}")
    listen(DefaultRequestHandler(Executor(Agent(data / "workspace")), tasks, own), own, port)
