"""Who asks, on the wire."""

from msgspec import Struct


class CallerView(Struct, rename="camel"):
    """Who asks, and what it may do here; `authenticated` is false where everybody on this machine may do everything.

    `scopes` are all that it has, those included that others imply.
    """

    name: str
    tenant: str
    scopes: list[str]
    authenticated: bool
    version: str
    agents: list[str]
    can_chat: bool
    proofs_folder: bool
