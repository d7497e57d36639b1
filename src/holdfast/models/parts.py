"""Parts of a message's content, in the one form that we keep: that of OpenAI's chat completions.

A part is text, an image by its URL, or a file by its name and data; bytes travel in a data URL. What another API wants
instead is made from these when a prompt is sent.
"""

import base64
import binascii
from typing import Any, NamedTuple

from holdfast.core.errors import InvalidInput

Part = dict[str, Any]
Content = str | list[Part]

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


class DataUrl(NamedTuple):
    """What a data URL holds; the data is base64 text."""

    media_type: str
    base64: str

    @property
    def bytes(self) -> bytes:
        """The data itself; InvalidInput if it is no base64."""
        try:
            return base64.b64decode(self.base64, validate=True)
        except binascii.Error as error:
            raise InvalidInput("a part's data is not base64") from error


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def image_part(media_type: str, data: bytes) -> Part:
    return {"type": "image_url", "image_url": {"url": _data_url(media_type, data)}}


def file_part(name: str, media_type: str, data: bytes) -> Part:
    return {"type": "file", "file": {"filename": name, "file_data": _data_url(media_type, data)}}


def data_of(url: str) -> DataUrl | None:
    """What a data URL holds; None if it is another kind of URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return DataUrl(head.removeprefix("data:").removesuffix(";base64").partition(";")[0] or "text/plain", data)


def _data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"
