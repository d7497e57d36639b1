"""Closer looks at one session, on the wire: its attachments, the versions of its state, whether its log is whole."""

from msgspec import Struct

from holdfast.gateway.wire.types import Document, Seq, Time


class AttachmentView(Struct, rename="camel"):
    """Bytes that an event of the session names."""

    digest: str
    name: str | None
    media_type: str | None
    size_bytes: int | None
    seq: Seq


class AttachmentList(Struct):
    """The attachments of a session, in the order of their events; `cursor` is the `before` of older ones, or null."""

    attachments: list[AttachmentView]
    cursor: Seq | None


class StateVersionView(Struct):
    """A version of a session's state: the seq of the patch that made it."""

    version: int
    seq: Seq
    timestamp: Time


class StateVersionList(Struct):
    """Versions, newest first; `cursor` is the `before` of older ones, or null."""

    versions: list[StateVersionView]
    cursor: int | None


class VersionedState(Struct):
    """The state as one patch left it: the document alone, without goals and sub-agents."""

    version: int
    seq: Seq
    timestamp: Time
    document: Document


class VerificationView(Struct, rename="camel"):
    """Whether a session's log and rows are what was written; `problem` says what is not, and where if that is known."""

    ok: bool
    events: int
    head_hash: str
    problem: str | None
    bad_seq: Seq | None
