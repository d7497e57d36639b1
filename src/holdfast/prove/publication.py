"""Where a run's result goes beside its evidence: a badge, and a gateway that keeps it for its dashboard."""

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from holdfast.core import HoldfastError
from holdfast.core.durable_files import write_whole
from holdfast.core.errors import InvalidInput
from holdfast.core.loopback import is_here
from holdfast.core.redact import redact
from holdfast.prove.options import absolute
from holdfast.prove.report.badge import badge
from holdfast.prove.targets.url import check_url
from holdfast.terminal.text import escaped

TOKEN = "HOLDFAST_TOKEN"
ROUTE = "/api/proofs"
SECONDS = 30.0
READABLE = 0o644
TAKEN = frozenset({200, 201})


class NotPublished(HoldfastError):
    """The result could not be given away; what was found stands."""

    code = "not_published"
    status = 503


def check_plain(path: Path) -> None:
    """InvalidInput if something other than a plain file is there: a badge takes the place of what it is written over,
    and a device or a pipe would be gone."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--badge {path} cannot be written: {error}", hint="name another file") from error
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"--badge {path} is no plain file", hint="name a file that is not there yet")


@dataclass(frozen=True, slots=True)
class Publication:
    """What to write and whom to tell; by default nothing and nobody."""

    badge: Path | None = None
    post: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """What the command line asks for; InvalidInput if it cannot be."""
        path, url = given.get("badge"), given.get("post")
        if url:
            check_url(url)
        place = None if path is None else absolute(path, "--badge")
        if place is not None:
            check_plain(place)
        return cls(place, url or None)

    def publish(self, summary: dict[str, Any], folder: Path) -> bool:
        """Write the badge and post the summary that lies in the folder; whether both went well, else it is said."""
        done = True
        for ask in (self._write_badge, self._send):
            try:
                ask(summary, folder)
            except HoldfastError as error:
                sys.stderr.write(f"error: {escaped(redact(error.message))}\n")
                if error.hint:
                    sys.stderr.write(f"hint: {escaped(redact(error.hint))}\n")
                done = False
        return done

    def _write_badge(self, summary: dict[str, Any], _folder: Path) -> None:
        if self.badge is not None:
            check_plain(self.badge)
            write_whole(self.badge, badge(summary))
            self.badge.chmod(READABLE)

    def _send(self, _summary: dict[str, Any], folder: Path) -> None:
        if self.post is None:
            return
        import httpx2

        token = os.environ.get(TOKEN)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        url = self.post.rstrip("/") + ROUTE
        try:
            with httpx2.Client(trust_env=not is_here(url), follow_redirects=False, timeout=SECONDS) as client:
                answer = client.post(url, content=(folder / "summary.json").read_bytes(), headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise NotPublished(f"the run could not be posted to {self.post}: {error}", hint="see --post") from error
        if answer.status_code not in TAKEN:
            said = answer.text[:300]
            raise NotPublished(
                f"the run was not taken by {self.post}: {answer.status_code} {said}",
                hint=f"{TOKEN} must be a token with the scope proofs",
            )


NOTHING = Publication()
