"""Whom a gateway lets in, decided once, when it starts.

On a loopback address with no token ever made, everybody on this machine. As soon as there is a token, or an operator's
token file, or when that is asked for, whoever has one. An address that others can reach is never served without. A
gateway at work does not change its mind: revoking the last token shuts it, and does not open it.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.gateway.access.authority import Authority, Everybody, TokenHolders
from holdfast.gateway.errors import PublicBind
from holdfast.store import Store

SHORTEST = 32
NO_TOKEN = "{} can be reached from other machines, and there is no token yet"


class TokenPolicy(Enum):
    """When a token is asked for."""

    AUTO = "auto"
    NONE = "none"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class Admission:
    """What the options say of it; `hosts` are names by which clients reach the gateway, beside the loopback ones,
    `origins` sites whose pages may use it, beside its own."""

    token_policy: TokenPolicy = TokenPolicy.AUTO
    token_file: Path | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def refuse_open(self, host: str, *, new: bool = False) -> None:
        """PublicBind if an address that others can reach would be served to all; a `new` store has no token yet."""
        if self.token_policy is TokenPolicy.NONE:
            raise PublicBind(f"{host} can be reached from other machines, and no token is asked for")
        if new and self.token_file is None:
            raise PublicBind(NO_TOKEN.format(host))

    async def authority(self, store: Store, local: str, public_host: str | None) -> Authority:
        """Who may ask; `local` is the token of this machine's own commands, `public_host` an address that others can
        reach, if it is one."""
        own = {} if self.token_file is None else {"token file": read_token(self.token_file)}
        if public_host is not None and not own and not await store.tokens.any():
            raise PublicBind(NO_TOKEN.format(public_host))
        asks = self.token_policy is TokenPolicy.TOKEN or public_host is not None
        if self.token_policy is TokenPolicy.AUTO:
            asks = asks or bool(own) or await store.tokens.any()
        return TokenHolders(store, {**own, "local": local}) if asks else Everybody(store.tenant)


def read_token(path: Path) -> str:
    """The token in a file, or InvalidInput."""
    try:
        text = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read a token from {path}: {error}") from None
    if len(text) < SHORTEST or not text.isprintable() or " " in text:
        raise InvalidInput(
            f"{path} does not hold a token of at least {SHORTEST} characters",
            hint="make one: openssl rand -base64 32",
        )
    return text
