"""The official clients of OpenAI and Anthropic talk to a simulator in a process of its own.

The clients are imported by the tests that use them: every worker would import them, and they cost more than all else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.models.simulators import Simulated, simulated

if TYPE_CHECKING:
    import anthropic
    import openai
    from openai.types.responses import ResponseInputParam

TOLD = "Hi, my name is Zq7kfa."
ASKED = "What's my name?"
KNOWN = "Your name is Zq7kfa."
TEXT = base64.b64encode(b"Dear all, the code word is heron.").decode()
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["file_path", "text"],
}
APPEND = "Please append the line a to the file x."


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulated]:
    with simulated() as running:
        yield running


@pytest.fixture(scope="module")
def gpt(sim: Simulated) -> Iterator[openai.OpenAI]:
    import openai

    with openai.OpenAI(base_url=f"{sim.url}/v1", api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def claude(sim: Simulated) -> Iterator[anthropic.Anthropic]:
    import anthropic

    with anthropic.Anthropic(base_url=sim.url, api_key="any", max_retries=0) as client:
        yield client


class TestChat:
    def test_a_conversation(self, gpt: openai.OpenAI, sim: Simulated) -> None:
        completion = gpt.chat.completions.create(
            model="m",
            messages=[
                {"role": "user", "content": TOLD},
                {"role": "assistant", "content": "Hello."},
                {"role": "user", "content": ASKED},
            ],
        )
        assert completion.choices[0].message.content == KNOWN
        assert completion.usage
        assert completion.usage.total_tokens > 0
        (source,) = sim.last()["sources"]
        assert (sim.last()["api"], source["index"], source["role"]) == ("chat", 0, "user")

    def test_a_stream(self, gpt: openai.OpenAI) -> None:
        with gpt.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Count to 50."}]) as stream:
            pieces = [event.delta for event in stream if event.type == "content.delta" and event.delta]
        assert len(pieces) == 50
        assert "".join(pieces).split() == [str(number) for number in range(1, 51)]
        assert stream.get_final_completion().choices[0].finish_reason == "stop"

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_tool(self, gpt: openai.OpenAI, streamed: bool) -> None:
        from openai.types.chat import ChatCompletionMessageFunctionToolCall

        tools: Any = [{"type": "function", "function": {"name": "append_file", "parameters": SCHEMA}}]
        messages: Any = [{"role": "user", "content": APPEND}]
        if streamed:
            with gpt.chat.completions.stream(model="m", messages=messages, tools=tools) as stream:
                choice: Any = stream.get_final_completion().choices[0]
        else:
            choice = gpt.chat.completions.create(model="m", messages=messages, tools=tools).choices[0]
        (call,) = choice.message.tool_calls or []
        assert isinstance(call, ChatCompletionMessageFunctionToolCall)
        assert choice.finish_reason == "tool_calls"
        assert json.loads(call.function.arguments) == {"file_path": "x", "text": "a"}
        messages += [
            {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]},
            {"role": "tool", "tool_call_id": call.id, "content": "appended"},
        ]
        done = gpt.chat.completions.create(model="m", messages=messages, tools=tools)
        assert done.choices[0].message.content == "Done: appended"

    def test_a_file_is_known_by_its_id(self, gpt: openai.OpenAI) -> None:
        uploaded = gpt.files.create(file=("notes.txt", b"the code word is heron", "text/plain"), purpose="user_data")
        assert (uploaded.filename, uploaded.bytes) == ("notes.txt", 22)
        completion = gpt.chat.completions.create(
            model="m",
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is the code word in notes.txt?"},
                        {"type": "file", "file": {"file_id": uploaded.id}},
                    ],
                }
            ],
        )
        said = completion.choices[0].message.content
        assert said
        assert said.startswith("I received 1 attachment: notes.txt (text/plain, 22 bytes)")
        assert said.endswith("The code word in notes.txt is heron.")
        assert gpt.files.retrieve(uploaded.id).filename == "notes.txt"

    def test_a_file_that_nobody_uploaded_is_refused(self, gpt: openai.OpenAI) -> None:
        import openai

        part: Any = {"type": "file", "file": {"file_id": "file-none"}}
        with pytest.raises(openai.NotFoundError, match="there is no file 'file-none'"):
            gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": [part]}])


class TestResponses:
    def test_words(self, gpt: openai.OpenAI, sim: Simulated) -> None:
        response = gpt.responses.create(model="m", input=TOLD, instructions="Be brief.")
        assert response.output_text == "Nice to meet you, Zq7kfa."
        assert response.status == "completed"
        assert response.usage
        assert response.usage.output_tokens == 7
        assert sim.last()["api"] == "responses"

    def test_a_conversation_with_earlier_output(self, gpt: openai.OpenAI) -> None:
        first = gpt.responses.create(model="m", input=TOLD)
        items: ResponseInputParam = [{"role": "user", "content": TOLD}]
        items += [item.to_dict() for item in first.output]  # type: ignore[misc]
        items.append({"role": "user", "content": [{"type": "input_text", "text": ASKED}]})
        assert gpt.responses.create(model="m", input=items).output_text == KNOWN

    def test_a_stream(self, gpt: openai.OpenAI) -> None:
        with gpt.responses.stream(model="m", input="Tell me a long story of 40 words.") as stream:
            events = list(stream)
            final = stream.get_final_response()
        assert len(final.output_text.split()) == 40
        kinds = [event.type for event in events]
        assert kinds[:4] == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
        ]
        assert kinds[4:-4] == ["response.output_text.delta"] * 40
        assert kinds[-4:] == [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
        assert [event.sequence_number for event in events] == list(range(len(events)))

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_function(self, gpt: openai.OpenAI, streamed: bool) -> None:
        from openai.types.responses import ResponseFunctionToolCall

        tools: Any = [{"type": "function", "name": "append_file", "parameters": SCHEMA, "strict": False}]
        items: Any = [{"role": "user", "content": APPEND}]
        if streamed:
            with gpt.responses.stream(model="m", input=items, tools=tools) as stream:
                kinds = [event.type for event in stream if event.type.startswith("response.function_call")]
                made: list[Any] = list(stream.get_final_response().output)
            assert kinds == ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
        else:
            made = list(gpt.responses.create(model="m", input=items, tools=tools).output)
        (call,) = made
        assert isinstance(call, ResponseFunctionToolCall)
        assert json.loads(call.arguments) == {"file_path": "x", "text": "a"}
        items += [
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
            {"type": "function_call_output", "call_id": call.call_id, "output": "appended"},
        ]
        assert gpt.responses.create(model="m", input=items, tools=tools).output_text == "Done: appended"

    def test_an_image_and_a_file(self, gpt: openai.OpenAI) -> None:
        response = gpt.responses.create(
            model="m",
            input=[
                {
                    "role": "user",
                    "content": [
                        {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"},
                        {"type": "input_file", "filename": "a.txt", "file_data": f"data:text/plain;base64,{TEXT}"},
                    ],
                }
            ],
        )
        assert response.output_text == (
            'I received 2 attachments: image (image/png, 8 bytes), a.txt (text/plain, 33 bytes), which begins "Dear '
            'all, the code word is heron.".'
        )

    def test_what_needs_an_earlier_response_is_refused(self, gpt: openai.OpenAI) -> None:
        import openai

        with pytest.raises(openai.BadRequestError, match="previous_response_id is not supported"):
            gpt.responses.create(model="m", input=ASKED, previous_response_id="resp_1")


class TestMessages:
    def test_a_conversation(self, claude: anthropic.Anthropic, sim: Simulated) -> None:
        message = claude.messages.create(
            model="m",
            max_tokens=100,
            system=[{"type": "text", "text": "Be brief."}],
            messages=[
                {"role": "user", "content": TOLD},
                {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
                {"role": "user", "content": ASKED},
            ],
        )
        (block,) = message.content
        assert block.type == "text"
        assert (block.text, message.stop_reason) == (KNOWN, "end_turn")
        assert message.usage.output_tokens == 5
        (source,) = sim.last()["sources"]
        assert (sim.last()["api"], source["index"]) == ("messages", 1)

    def test_a_stream(self, claude: anthropic.Anthropic) -> None:
        with claude.messages.stream(
            model="m", max_tokens=100, system="Be brief.", messages=[{"role": "user", "content": "Count to 30."}]
        ) as stream:
            pieces = list(stream.text_stream)
        assert len(pieces) == 30
        final = stream.get_final_message()
        assert (final.stop_reason, stream.get_final_text()) == ("end_turn", "".join(pieces))
        assert final.usage.output_tokens > 1

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_tool(self, claude: anthropic.Anthropic, streamed: bool) -> None:
        tools: Any = [{"name": "append_file", "input_schema": SCHEMA}]
        messages: Any = [{"role": "user", "content": APPEND}]
        if streamed:
            with claude.messages.stream(model="m", max_tokens=9, messages=messages, tools=tools) as stream:
                asked: Any = stream.get_final_message()
        else:
            asked = claude.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
        (call,) = asked.content
        assert call.type == "tool_use"
        assert (call.input, asked.stop_reason) == ({"file_path": "x", "text": "a"}, "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "appended"}]}
        reminder = {"type": "text", "text": "<system-reminder>Be kind.</system-reminder>"}
        messages += [
            {"role": "assistant", "content": [block.to_dict() for block in asked.content]},
            {"role": "user", "content": [result, reminder]},
        ]
        done = claude.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
        assert done.content[0].to_dict()["text"] == "Done: appended"

    def test_an_image_and_a_document(self, claude: anthropic.Anthropic) -> None:
        message = claude.beta.messages.create(
            model="m",
            max_tokens=9,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                        {
                            "type": "document",
                            "title": "a.txt",
                            "source": {"type": "text", "media_type": "text/plain", "data": "the code word is heron"},
                        },
                        {"type": "text", "text": "What is the code word in the file?"},
                    ],
                }
            ],
        )
        assert message.content[0].to_dict()["text"] == (
            "I received 2 attachments: image (image/png, 8 bytes), a.txt (text/plain, 22 bytes), which begins "
            '"the code word is heron". The code word in the file is heron.'
        )

    def test_tokens_are_counted(self, claude: anthropic.Anthropic) -> None:
        counted = claude.messages.count_tokens(model="m", messages=[{"role": "user", "content": "12345"}])
        assert counted.input_tokens == 2

    def test_a_bad_request_is_refused_in_its_own_shape(self, claude: anthropic.Anthropic) -> None:
        import anthropic

        messages: Any = [{"role": "robot", "content": "x"}]
        with pytest.raises(anthropic.BadRequestError) as refused:
            claude.messages.create(model="m", max_tokens=9, messages=messages)
        said = "Invalid enum value 'robot' - at `$.messages[0].role`"
        error = {"type": "invalid_request_error", "message": said}
        assert refused.value.body == {"type": "error", "error": error, "request_id": None}


def test_both_list_the_model(gpt: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    assert [model.id for model in gpt.models.list()] == ["sim-1"]
    assert [model.id for model in claude.models.list()] == ["sim-1"]
    assert gpt.models.retrieve("org/any").id == "org/any"
    assert claude.models.retrieve("any").display_name == "any"
