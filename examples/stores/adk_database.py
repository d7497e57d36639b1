"""Google ADK's DatabaseSessionService on SQLite: the adapter of `adk_sqlite.py` over the other service."""

from importlib.metadata import version
from pathlib import Path

from adk_sqlite import Adk
from google.adk.sessions import DatabaseSessionService
from sqlalchemy.exc import IntegrityError


class AdkDatabase(Adk):
    """SQLAlchemy's errors instead of sqlite3's; the engine is let go at the end."""

    subject = f"google-adk {version('google-adk')}, DatabaseSessionService on SQLite"
    duplicate = (IntegrityError,)

    async def open(self) -> None:
        await self._service.prepare_tables()

    async def close(self) -> None:
        await self._service.close()


def factory(folder: Path) -> AdkDatabase:
    """The sessions in a file of the folder."""
    path = folder / "adk.db"
    return AdkDatabase(path, DatabaseSessionService(f"sqlite+aiosqlite:///{path.resolve()}"))
