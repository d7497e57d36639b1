"""What a hook agent raises, beside the refusals of bad input that it shares with the rest of Holdfast."""

from holdfast.core.errors import HoldfastError


class SpoolFull(HoldfastError):
    """The spool has reached its bound, or the disk is full: the call was not accepted, and nothing else was lost."""

    code = "spool_full"
    status = 507
    hint = "see why the service takes nothing; what is in the spool is delivered once it does"


class SpoolUnavailable(HoldfastError):
    """There is no folder to spool to, so nothing could be kept."""

    code = "spool_unavailable"
    status = 503
    hint = "name a folder that can be written: HOLDFAST_SPOOL, or spool="


class NotDelivered(HoldfastError):
    """The time is up and the service has not acknowledged everything; `spooled` says how much waits in the spool."""

    code = "not_delivered"
    status = 504
    hint = "nothing is lost: it is delivered as soon as the service takes it, if need be by the next start"


class EntriesRefused(HoldfastError):
    """The service refused some of what was logged; it is in `file`, and `problem` is what the first was told."""

    code = "entries_refused"
    status = 409


class ServiceAway(HoldfastError):
    """The service did not answer, or not as a session service does."""

    code = "service_away"
    status = 503
    hint = "see whether it runs, and whether SESSION_SERVICE_URL is its address"


class ServiceRefused(HoldfastError):
    """The service answered with a refusal; `problem` is what it said."""

    code = "service_refused"
    status = 502


class AgentClosed(HoldfastError):
    """The agent was closed, or belongs to the process that this one was forked from."""

    code = "agent_closed"
    status = 409
    hint = "make a new HookAgent; after a fork, in the child"
