"""Refusals that only a gateway makes."""

from holdfast.core.errors import HoldfastError, InvalidInput


class WrongHost(HoldfastError):
    """The request names a host that we are not: a web page may have led a browser here by a name of its own."""

    code = "wrong_host"
    status = 421
    hint = "use the address that the gateway printed when it started"


class ForeignOrigin(HoldfastError):
    """A web page of another site sent the request."""

    code = "foreign_origin"
    status = 403
    hint = "open the page from the gateway's own address, or send no Origin header"


class NoRoute(HoldfastError):
    """Nothing is served at this path."""

    code = "no_route"
    status = 404
    hint = "GET /openapi.json lists what is served"


class WrongMethod(HoldfastError):
    """The path is served, but not with this method; `allowed` names those that are."""

    code = "method_not_allowed"
    status = 405


class Unexpected(HoldfastError):
    """A defect of ours; what happened is in the log and not in the answer."""

    code = "internal"
    status = 500
    hint = "the gateway's log says what happened; a write may or may not have been made"


class PublicBind(InvalidInput):
    """The address could be reached from other machines, and there is nothing yet to tell who may."""

    code = "public_bind"
    hint = "use --host 127.0.0.1, and a tunnel or a proxy with authentication in front of it"


class CannotListen(HoldfastError):
    """The address cannot be listened on."""

    code = "cannot_listen"
    status = 503
    hint = "stop what listens there, or use another --port"
