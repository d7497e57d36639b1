"""What an agent is told: by arguments, else by the environment, else by default."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from holdfast.client.errors import SpoolUnavailable
from holdfast.client.places import DEFAULT_URL, default_folder
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import IdSource, check_session_id

DEFAULT_TIMEOUT = 5.0
DEFAULT_SPOOL_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Whom an agent reports to, for which session, and where it spools."""

    session_id: str
    known: bool
    """Whether the session was named, so that there may be something to go on with."""
    url: str
    token: str | None = field(repr=False)
    timeout: float
    folder: Path
    shared: bool
    """Whether the folder is one of the default ones, beside those for other services and tokens."""
    spool_bytes: int

    @classmethod
    def of(
        cls,
        environ: Mapping[str, str],
        ids: IdSource,
        *,
        session_id: str | None,
        url: str | None,
        token: str | None,
        timeout: float,
        spool: str | Path | None,
        spool_bytes: int,
    ) -> "Settings":
        """The settings; InvalidInput if one cannot be meant."""
        named = session_id or environ.get("SESSION_ID") or None
        address = _address(url or environ.get("SESSION_SERVICE_URL") or DEFAULT_URL)
        bearer = _bearer(token or environ.get("HOLDFAST_TOKEN") or None)
        given = spool or environ.get("HOLDFAST_SPOOL") or None
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            raise InvalidInput(f"a timeout is a number of seconds above 0, not {timeout!r:.80}")
        if isinstance(spool_bytes, bool) or not isinstance(spool_bytes, int) or spool_bytes <= 0:
            raise InvalidInput(f"the bound of the spool is a number of bytes above 0, not {spool_bytes!r:.80}")
        return cls(
            session_id=check_session_id(named) if named is not None else f"session-{ids()}",
            known=named is not None,
            url=address,
            token=bearer,
            timeout=float(timeout),
            folder=Path(given).absolute() if given else _default_folder(environ, address, bearer),
            shared=not given,
            spool_bytes=spool_bytes,
        )


def _address(url: str) -> str:
    try:
        found = urlsplit(url)
        host, _ = found.hostname, found.port
    except ValueError:
        host = None
    if not host or found.scheme not in {"http", "https"} or found.query or found.fragment:
        raise InvalidInput(f"{url!r:.200} is not a service's address", hint="for example http://localhost:9000")
    if "@" in found.netloc:
        raise InvalidInput("the service's address has a user or password in it", hint="use HOLDFAST_TOKEN")
    return url.rstrip("/")


def _bearer(token: str | None) -> str | None:
    found = token.strip() if token is not None else None
    if found is not None and not (found and found.isascii() and found.isprintable() and " " not in found):
        raise InvalidInput("the token is not one", hint="HOLDFAST_TOKEN is hf_… as `holdfast token create` printed it")
    return found


def _default_folder(environ: Mapping[str, str], url: str, token: str | None) -> Path:
    found = default_folder(environ, url, token)
    if found is None:
        raise SpoolUnavailable("there is no home folder to spool to")
    return found
