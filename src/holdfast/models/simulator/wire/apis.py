"""The three APIs, each under the path where its clients look for it."""

from holdfast.models.simulator.wire import (
    chat_request,
    chat_response,
    messages_request,
    messages_response,
    openai_error,
    responses_request,
    responses_response,
)
from holdfast.models.simulator.wire.api import Api

CHAT = Api(
    name="chat",
    prefix="chatcmpl-",
    read=chat_request.read,
    document=chat_response.document,
    stream=chat_response.stream,
    error=openai_error.error,
    failed=chat_response.failed,
)
RESPONSES = Api(
    name="responses",
    prefix="resp_",
    read=responses_request.read,
    document=responses_response.document,
    stream=responses_response.stream,
    error=openai_error.error,
    failed=responses_response.failed,
)
MESSAGES = Api(
    name="messages",
    prefix="msg_",
    read=messages_request.read,
    document=messages_response.document,
    stream=messages_response.stream,
    error=messages_response.error,
    failed=messages_response.failed,
)
