"""What `holdfast prove live` can be asked for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name, check_session_id, check_tenant
from holdfast.prove.live.broken.expected import KINDS
from holdfast.prove.live.log_scan import patterns
from holdfast.prove.options import ARTIFACTS, ProverOptions, absolute
from holdfast.prove.publication import NOTHING, Publication
from holdfast.prove.targets.url import check_url
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials, credentials

DEFAULT_URL = "http://127.0.0.1:9000"
TOKEN, URL, STORE = "HOLDFAST_TOKEN", "HOLDFAST_URL", "HOLDFAST_STORE"
BROKEN = "broken:"
AS_THEY_ARE = ("tenant", "alone", "recovery", "keep_artifacts", "isolated", "timeout", "quiet", "as_json", "as_ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions(ProverOptions):
    """Which gateway, the agent and the key of the proof, what may stand in the log, and what to leave behind.

    `isolated` starts a gateway of our own; `broken` is then the kind of defect that it has.
    """

    url: str = DEFAULT_URL
    agent: str = "main"
    session_key: str | None = None
    store: str | None = None
    legacy: Path | None = None
    tenant: str | None = None
    allow_log: tuple[str, ...] = ()
    alone: bool = False
    recovery: bool = False
    keep_artifacts: bool = False
    isolated: bool = False
    broken: str | None = None
    timeout: float = 60.0
    credentials: Credentials = NO_CREDENTIALS
    junit: Path | None = None
    publication: Publication = NOTHING
    quiet: bool = False
    as_ndjson: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any], arguments: Mapping[str, Any]) -> Self:
        """The options as the command line has them; InvalidInput if one is wrong."""
        junit, legacy, target = given.get("junit"), given.get("legacy"), given.get("target")
        # A gateway that is killed and imports must not be put on the store that somebody's settings name.
        settings = {} if given.get("isolated") else os.environ
        made = cls(
            url=given.get("url") or settings.get(URL) or DEFAULT_URL,
            agent=given.get("agent") or "main",
            session_key=given.get("session_key"),
            store=given.get("store") or settings.get(STORE),
            legacy=None if legacy is None else absolute(legacy, "--legacy"),
            allow_log=tuple(given.get("allow_log") or ()),
            broken=_kind(target),
            credentials=credentials(os.environ.get(TOKEN) or None),
            junit=None if junit is None else absolute(junit, "--junit"),
            publication=Publication.of(given),
            artifacts=absolute(given.get("artifacts") or ARTIFACTS, "--artifacts"),
            arguments=arguments,
            **{name: given[name] for name in AS_THEY_ARE if given.get(name) is not None},
        )
        if made.isolated and made.recovery:
            raise InvalidInput("--isolated kills its own gateway", hint="leave out --recovery")
        if made.isolated and given.get("url"):
            raise InvalidInput("--isolated starts a gateway of its own", hint="leave out --url, or --isolated")
        if target and not made.isolated:
            raise InvalidInput("--target is for a gateway that the proof starts", hint="add --isolated")
        made.check()
        return made

    def check(self) -> None:
        """InvalidInput if options contradict each other or name what cannot be."""
        check_url(self.url)
        patterns(self.allow_log)
        try:
            check_name(self.agent, "an agent's name")
        except InvalidInput as error:
            raise InvalidInput(error.message, hint="--agent is one that the gateway has: main, for example") from None
        if self.tenant:
            check_tenant(self.tenant)
        if self.session_key is not None:
            check_session_id(self.session_key)
            if not self.session_key.startswith(f"{self.prefix}:"):
                raise InvalidInput(
                    f"{self.session_key!r:.200} is not a key of the agent {self.agent!r}",
                    hint=f"its keys begin with {self.prefix}:",
                )
        if self.as_json and self.as_ndjson:
            raise InvalidInput("--json and --ndjson exclude each other", hint="--ndjson ends with the summary")

    @property
    def prefix(self) -> str:
        """How the keys of the agent begin."""
        return f"agent:{self.agent}"

    def key(self, stamp: str) -> str:
        """The session key of the proof; unless one was named, it has the time of the run in it."""
        return self.session_key or f"{self.prefix}:live-proof:{stamp}"

    def hide(self, value: Any) -> Any:
        """The value, however nested, without the token."""
        return self.credentials.mask(value)


def _kind(target: str | None) -> str | None:
    """The kind of a broken gateway; InvalidInput if there is none."""
    if target is None:
        return None
    kind = target.removeprefix(BROKEN)
    if not target.startswith(BROKEN) or kind not in KINDS:
        raise InvalidInput(f"there is no target {target!r:.80}", hint=", ".join(BROKEN + each for each in KINDS))
    return kind
