"""Where what is not delivered yet waits on this disk, and for which service; `holdfast hook` needs it in a hurry."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_URL = "http://localhost:9000"


def address(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The service's address and the token that the environment names."""
    token = environ.get("HOLDFAST_TOKEN", "").strip()
    return (environ.get("SESSION_SERVICE_URL") or DEFAULT_URL).rstrip("/"), token or None


def default_folder(environ: Mapping[str, str], url: str, token: str | None) -> Path | None:
    """One folder for each service and token: what was spooled for one tenant is never sent as another's.

    None if there is no home folder.
    """
    state = environ.get("XDG_STATE_HOME")
    if not state:
        try:
            state = str(Path.home() / ".local" / "state")
        except RuntimeError:
            return None
    mark = hashlib.sha256(f"{url}\0{token or ''}".encode()).hexdigest()[:16]
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None  # whoever connects says so
    return Path(state).absolute() / "holdfast" / "spool" / f"{host}-{mark}"
