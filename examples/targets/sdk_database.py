"""The same agent with the SDK's tasks in a database: `python sdk_database.py DATA PORT`.

Tasks outlive the process now. The conversation does not: it is the executor's, and so are duplicates and the order of
turns. A task that was running at a kill is in the database as working, and nobody is at work on it.

Needs `a2a-sdk[http-server,sqlite]` and `uvicorn`.
"""

import sys
from pathlib import Path

from a2a.server.tasks import DatabaseTaskStore
from sdk_memory import serve
from sqlalchemy.ext.asyncio import create_async_engine

if __name__ == "__main__":
    data = Path(sys.argv[1])
    data.mkdir(parents=True, exist_ok=True)
    serve(DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{data}/tasks.db")), data, int(sys.argv[2]))
