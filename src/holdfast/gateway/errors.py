"""Refusals that only a gateway makes."""

from holdfast.core.errors import HoldfastError, InvalidInput


class NoRoute(HoldfastError):
    """Nothing is served at this path."""

    code = "no_route"
    status = 404
    hint = "GET / lists what is served; /docs and /openapi.json say how"


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
    """The address could be reached from other machines, and there is nothing to tell who may."""

    code = "public_bind"
    hint = "make a token first: holdfast token create NAME --scope operator; or use --host 127.0.0.1"


class CannotBind(HoldfastError):
    """The address cannot be listened on."""

    code = "cannot_listen"
    status = 503
    hint = "name an address of this machine: --host 127.0.0.1"


class Unauthorized(HoldfastError):
    """The request has no token, or one that is not valid."""

    code = "unauthorized"
    status = 401
    hint = "send Authorization: Bearer with a token from `holdfast token create`"


class Forbidden(HoldfastError):
    """The token is valid, but not for this; `needs` names the scope."""

    code = "forbidden"
    status = 403
    hint = "make a token with the scope that is needed: holdfast token create --scope"


class NoAudit(HoldfastError):
    """The action was refused, because it could not be written to the audit log first."""

    code = "no_audit"
    status = 503
    hint = "the store must be able to take writes"


class TooManyRequests(HoldfastError):
    """The caller asks more often than it may; `retry_after` says when it may again."""

    code = "too_many_requests"
    status = 429
    hint = "wait for the time in Retry-After; many actions fit into one batch"


class TooManyConnections(HoldfastError):
    """The gateway has as many connections as it takes."""

    code = "too_many_connections"
    status = 503
    hint = "close connections that are not needed, use one for many requests, or raise --max-connections"


class HeadTooLarge(HoldfastError):
    """The request's line and headers are more than the limit; the details say the limit."""

    code = "head_too_large"
    status = 431
    hint = "send fewer and shorter headers"


class TooSlow(HoldfastError):
    """The request did not come in time, and nothing was done for it."""

    code = "too_slow"
    status = 408
    hint = "send it again, without pauses"


class BadRequest(InvalidInput):
    """What came is not HTTP as everybody understands it, and nothing was done for it."""

    code = "bad_request"
    hint = "send HTTP/1.1 with one Host, and with either one Content-Length or Transfer-Encoding: chunked"


class NotReady(HoldfastError):
    """The store does not take writes, or cannot be read; `reason` is the code of the refusal."""

    code = "not_ready"
    status = 503


class NoLog(HoldfastError):
    """This gateway writes no log file."""

    code = "no_log"
    status = 404
    hint = "`holdfast serve` writes one, in the folder logs of its data folder"


class PreconditionFailed(HoldfastError):
    """What If-Match or If-None-Match says is not so; nothing was changed. `etag` is the tag of what is there."""

    code = "precondition_failed"
    status = 412
    hint = "read it again, and send the ETag of what you have read"
