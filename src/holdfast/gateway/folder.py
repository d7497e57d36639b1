"""A gateway's data folder: where its store is unless another one was named."""

from pathlib import Path
from urllib.parse import quote

SQLITE = "sqlite:///"


def sqlite_url(data: Path) -> str:
    """The URL of the store in a data folder."""
    return SQLITE + quote(str(data / "holdfast.db"), errors="surrogateescape")


def conversation_folder(data: Path) -> Path:
    """Where a data folder has the agent's conversations if they are kept in files."""
    return data / "conversations"
