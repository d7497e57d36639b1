"""One upload on its way to the disk: a multipart body, taken piece by piece.

The files are written in `.uploads/<id>` of the workspace; the last step renames that folder to `uploads/<id>`. What a
killed process left aside is removed a day later. Everything here blocks.
"""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from holdfast.a2a.files.file_names import disk_name, media_type_of
from holdfast.a2a.files.files import MAX_FILE, MAX_MESSAGE, MB
from holdfast.core import confined_files
from holdfast.core.errors import InvalidInput, StorageFull, TooLarge
from holdfast.store import MEDIA_TYPE

FIELD = b"files"
FOLDER = "uploads"
ASIDE = ".uploads"
MAX_FILES = 100
DAY_SECONDS = 86_400
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(slots=True)
class UploadedFile:
    """A file of an upload."""

    uri: str
    name: str
    media_type: str
    size: int = 0


class Intake:
    """Takes one request's body; InvalidInput if it is not a form with files."""

    def __init__(self, workspace: Path, upload_id: str, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise InvalidInput("an upload is a multipart/form-data body", hint="curl -F files=@notes.txt, for example")
        self._workspace = workspace
        self._id = upload_id
        self._landed: list[UploadedFile] = []
        self._file: int | None = None
        self._skipped = False
        self._header, self._value = b"", b""
        self._headers: dict[bytes, bytes] = {}
        self._total = 0
        self._ended = False
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._part_begins,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_ends,
                    "on_headers_finished": self._headers_finished,
                    "on_part_data": self._data,
                    "on_part_end": self._part_ends,
                    "on_end": self._all_ends,
                },
            )
        except FormParserError as error:
            raise InvalidInput(f"the body is not a form: {error}") from None

    def write(self, piece: bytes) -> None:
        """Take a piece of the body."""
        with _on_disk():
            try:
                self._parser.write(piece)
            except FormParserError as error:
                raise InvalidInput(f"the body is not a form: {error}") from None

    def finish(self) -> list[UploadedFile]:
        """Make the files appear; InvalidInput if the body broke off, or had none."""
        if not self._ended:
            raise InvalidInput("the body broke off before its end")
        if not self._landed:
            raise InvalidInput("there is no file in the upload", hint="its files are in the field `files`")
        with (
            _on_disk(),
            confined_files.folder(self._workspace, [ASIDE]) as aside,
            confined_files.folder(self._workspace, [FOLDER], make=True) as folder,
        ):
            with confined_files.folder(self._workspace, [ASIDE, self._id]) as own:
                os.fsync(own)
            os.rename(self._id, self._id, src_dir_fd=aside, dst_dir_fd=folder)
            os.fsync(folder)
            with confined_files.folder(self._workspace) as root:
                os.fsync(root)
        return self._landed

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        with contextlib.suppress(OSError), confined_files.folder(self._workspace, [ASIDE]) as aside:
            shutil.rmtree(self._id, ignore_errors=True, dir_fd=aside)

    def _part_begins(self) -> None:
        self._headers = {}

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_ends(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        is_file = b"filename" in options
        self._skipped = not is_file and options.get(b"name") != FIELD
        if self._skipped:
            return  # a plain field beside the files
        if not is_file or options.get(b"name") != FIELD:
            raise InvalidInput("the files of an upload are in the field `files`, each with a name")
        if len(self._landed) == MAX_FILES:
            raise TooLarge(f"more than {MAX_FILES} files in one upload", limit=MAX_FILES)
        self._begin(options[b"filename"].decode(errors="replace"))

    def _begin(self, came_as: str) -> None:
        if not self._landed:
            self._clear_old()
        name = disk_name(came_as)
        if name in {file.name for file in self._landed}:
            name = f"{len(self._landed) + 1}-{name}"
        said = self._headers.get(b"content-type", b"").decode("latin-1").strip()
        media_type = said if MEDIA_TYPE.match(said) else media_type_of(name)
        with confined_files.folder(self._workspace, [ASIDE, self._id], make=True) as folder:
            self._file = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
        self._landed.append(UploadedFile(f"workspace:/workspace/{FOLDER}/{self._id}/{name}", name, media_type))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._skipped:
            return
        assert self._file is not None
        file = self._landed[-1]
        file.size += end - start
        self._total += end - start
        if file.size > MAX_FILE:
            raise TooLarge(f"{file.name!r} has more than {MAX_FILE // MB} MiB", limit=MAX_FILE)
        if self._total > MAX_MESSAGE:
            raise TooLarge(f"an upload of more than {MAX_MESSAGE // MB} MiB", limit=MAX_MESSAGE)
        left = memoryview(data)[start:end]
        while left:
            left = left[os.write(self._file, left) :]

    def _part_ends(self) -> None:
        if self._file is not None:
            os.fsync(self._file)
            os.close(self._file)
            self._file = None

    def _all_ends(self) -> None:
        self._ended = True

    def _clear_old(self) -> None:
        """Remove what was put aside by processes that were killed."""
        with confined_files.folder(self._workspace, [ASIDE], make=True) as aside:
            for entry in os.scandir(aside):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < time.time() - DAY_SECONDS:
                        shutil.rmtree(entry.name, ignore_errors=True, dir_fd=aside)


@contextlib.contextmanager
def _on_disk() -> Iterator[None]:
    """What the system says against writing, as an error of ours."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull("there is no room in the workspace; nothing was kept") from error
        raise InvalidInput(f"the upload cannot be written: {error.strerror or error}") from error
