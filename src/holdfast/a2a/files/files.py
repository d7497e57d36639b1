"""Files that come with messages: taken in by their bytes, kept with the conversation, and shown again.

The bytes are put into the store when the message comes, also those of a file in the workspace: what happens to that
file later does not change what was said. A message is taken whole or not at all: every part is looked at before any
bytes are kept. Web addresses are left as they are; nobody here fetches them.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from holdfast.a2a.files.file_names import ANY_BYTES, display_name, media_type_of
from holdfast.a2a.files.references import is_remote, names_in_workspace
from holdfast.a2a.handler import Attachment
from holdfast.a2a.protocol.rpc import RpcError, invalid_params
from holdfast.a2a.protocol.wire import Artifact, ArtifactUpdate, FilePart, Message, News, Part, StatusUpdate, TaskView
from holdfast.core import HoldfastError
from holdfast.core.confined_files import read_file, size_of
from holdfast.core.errors import InvalidInput
from holdfast.store import Store, check_media_type

MB = 1024 * 1024
MAX_FILE = 25 * MB
MAX_MESSAGE = 50 * MB
AT_ONCE = 4
"""Messages whose files are in memory at one moment; others wait."""


class Files:
    """The files of one tenant's messages; `workspace` is the folder that references are about."""

    def __init__(self, store: Store, workspace: Path, slots: asyncio.Semaphore | None = None) -> None:
        self.workspace = workspace
        self._store = store
        self._slots = slots or asyncio.Semaphore(AT_ONCE)

    def within(self, store: Store) -> "Files":
        """The same, kept through another view of the store."""
        return Files(store, self.workspace, self._slots)

    async def take(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Parts from outside with their files kept: digest and size instead of bytes; RpcError for what is no file."""
        if not any(_is_ours(part) for part in parts):
            return tuple(parts)
        async with self._slots:
            sources = await asyncio.to_thread(self._look, parts)
            return tuple([await self._taken(part, read) for part, read in zip(parts, sources, strict=True)])

    async def show(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The parts as clients are shown them: a file that came with its bytes has them again."""
        return tuple([await self._shown(part) for part in parts])

    def attachments(self, parts: Sequence[Part]) -> tuple[Attachment, ...]:
        """The files among the parts that were taken in."""
        return tuple(
            Attachment(_name(part), part.media_type or ANY_BYTES, part.size or 0, part.digest, self._fetch(part.digest))
            for part in parts
            if isinstance(part, FilePart) and part.digest is not None
        )

    async def attach(self, session_id: str, parts: Sequence[Part], key: str) -> None:
        """Name the files in the session, which keeps them for as long as it is there; again with `key`, once."""
        for number, part in enumerate(parts):
            if isinstance(part, FilePart) and part.digest is not None:
                await self._store.attachments.attach(
                    session_id,
                    part.digest,
                    name=_name(part),
                    media_type=part.media_type or ANY_BYTES,
                    # A file in the workspace may have changed when its message comes again: that is another file.
                    idempotency_key=f"{key}:{number}:{part.digest}",
                )

    def _look(self, parts: Sequence[Part]) -> list[Callable[[], bytes] | None]:
        """How to get each part's bytes, where it has any; RpcError for the first that cannot be had. Blocks."""
        sources: list[Callable[[], bytes] | None] = []
        total = 0
        for number, part in enumerate(parts):
            if not _is_ours(part):
                sources.append(None)
                continue
            try:
                size, read = self._source(part)
                total += size
                _check_size(size, MAX_FILE, "a file")
                _check_size(total, MAX_MESSAGE, "the files of a message")
                if part.media_type:
                    check_media_type(part.media_type)
            except HoldfastError as error:
                raise _refused(number, error) from None
            sources.append(read)
        return sources

    def _source(self, part: FilePart) -> tuple[int, Callable[[], bytes]]:
        if part.raw is not None:
            _check_size(len(part.raw) * 3 // 4 - 2, MAX_FILE, "a file")
            data = _decoded(part.raw)
            return len(data), lambda: data
        if part.url is None:  # a digest that came from outside says nothing: it could be that of another's file
            raise InvalidInput("a file has either bytes or a place where it is")
        names = names_in_workspace(part.url)
        return size_of(self.workspace, names), lambda: read_file(self.workspace, names, MAX_FILE)

    async def _taken(self, part: Part, read: Callable[[], bytes] | None) -> Part:
        if read is None or not isinstance(part, FilePart):
            return part
        try:
            kept = await self._store.attachments.put(await asyncio.to_thread(read))
        except HoldfastError as error:
            if error.status >= 500:
                raise
            raise invalid_params(error.message) from None
        came_as = part.filename or (names_in_workspace(part.url)[-1] if part.url is not None else None)
        name = display_name(came_as, part.media_type)
        media_type = part.media_type or media_type_of(name)
        return replace(part, raw=None, filename=name, media_type=media_type, digest=kept.digest, size=kept.size_bytes)

    async def _shown(self, part: Part) -> Part:
        if not isinstance(part, FilePart) or part.digest is None or part.url is not None or part.raw is not None:
            return part
        data = await self._read(part.digest)
        return replace(part, raw=await asyncio.to_thread(lambda: base64.b64encode(data).decode()))

    def _fetch(self, digest: str) -> Callable[[], Awaitable[bytes]]:
        return lambda: self._read(digest)

    async def _read(self, digest: str) -> bytes:
        return b"".join([piece async for piece in self._store.attachments.read(digest)])


async def item_with_files(files: Files, item: News) -> News:
    """An item of news with its files."""
    match item:
        case Message():
            return await message_with_files(files, item)
        case TaskView():
            return await task_with_files(files, item)
        case StatusUpdate():
            return replace(item, message=item.message and await message_with_files(files, item.message))
        case ArtifactUpdate():
            return replace(item, artifact=await _artifact(files, item.artifact))


async def message_with_files(files: Files, message: Message) -> Message:
    """A message with its files."""
    return replace(message, parts=await files.show(message.parts))


async def task_with_files(files: Files, task: TaskView) -> TaskView:
    """A task with the files of its artifacts and messages."""
    return replace(
        task,
        message=task.message and await message_with_files(files, task.message),
        artifacts=tuple([await _artifact(files, artifact) for artifact in task.artifacts]),
        history=tuple([await message_with_files(files, message) for message in task.history]),
    )


async def _artifact(files: Files, artifact: Artifact) -> Artifact:
    return replace(artifact, parts=await files.show(artifact.parts))


def _is_ours(part: Part) -> TypeGuard[FilePart]:
    """Whether the part is a file whose bytes are to be kept."""
    return isinstance(part, FilePart) and (part.url is None or not is_remote(part.url))


def _name(part: FilePart) -> str:
    return display_name(part.filename, part.media_type)


def _decoded(raw: str) -> bytes:
    try:
        data = binascii.a2b_base64(raw.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        data = None
    if data is None or len(raw) != -(-len(data) // 3) * 4:
        raise InvalidInput("the bytes of a file are not base64")
    return data


def _check_size(size: int, most: int, what: str) -> None:
    if size > most:
        raise InvalidInput(f"{what} can have {most // MB} MiB at most")


def _refused(number: int, error: HoldfastError) -> RpcError:
    return invalid_params(f"{error.message} - at `$.message.parts[{number}]`")
