"""The simulator fails, waits and follows a script as it is told, and says so in its log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from tests.models.simulators import Simulated, simulated
from tests.support.web import LOCAL

from holdfast.models.simulator.app import SimulatorSettings, create_app
from holdfast.models.simulator.control import Fault, read_script

if TYPE_CHECKING:
    import anthropic
    import openai

TURN: Any = [{"role": "user", "content": "Count to 40."}]
APIS = ["chat", "responses", "messages"]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": TURN},
    "/v1/responses": {"model": "m", "input": TURN},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": TURN},
}
Ask = Callable[..., Any]


def broken() -> tuple[type[Exception], ...]:
    """What the clients, which only these tests import, say of a connection that broke."""
    import anthropic
    import openai

    ours = (httpx.RemoteProtocolError, httpx2.RemoteProtocolError)
    return (openai.APIConnectionError, anthropic.APIConnectionError, *ours)


@pytest.fixture(scope="module")
def running() -> Iterator[Simulated]:
    with simulated() as sim:
        yield sim


@pytest.fixture
def sim(running: Simulated) -> Simulated:
    running.post("/reset")
    return running


@pytest.fixture(scope="module")
def ask(running: Simulated) -> Iterator[Ask]:
    """Ask over one of the APIs, with the official client; the words of the answer."""
    import anthropic
    import openai

    with (
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as gpt,
        anthropic.Anthropic(base_url=running.url, api_key="any", max_retries=0) as claude,
    ):

        def words(api: str, *, stream: bool = False, **options: Any) -> str:
            if api == "messages":
                return _claude(claude.with_options(**options), stream)
            return (_chat if api == "chat" else _responses)(gpt.with_options(**options), stream)

        yield words


def _chat(gpt: openai.OpenAI, stream: bool) -> str:
    if not stream:
        return gpt.chat.completions.create(model="m", messages=TURN).choices[0].message.content or ""
    with gpt.chat.completions.stream(model="m", messages=TURN) as events:
        return events.get_final_completion().choices[0].message.content or ""


def _responses(gpt: openai.OpenAI, stream: bool) -> str:
    if not stream:
        return gpt.responses.create(model="m", input=TURN).output_text
    with gpt.responses.stream(model="m", input=TURN) as events:
        return events.get_final_response().output_text


def _claude(claude: anthropic.Anthropic, stream: bool) -> str:
    if not stream:
        message = claude.messages.create(model="m", max_tokens=9, messages=TURN)
    else:
        with claude.messages.stream(model="m", max_tokens=9, messages=TURN) as events:
            message = events.get_final_message()
    return str(message.content[0].to_dict()["text"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_request_can_ask_to_be_refused(sim: Simulated, ask: Ask, api: str, stream: bool) -> None:
    import anthropic
    import openai

    with pytest.raises((openai.RateLimitError, anthropic.RateLimitError)):
        ask(api, stream=stream, default_headers={"X-Sim-Fault": "429"})
    with pytest.raises((openai.InternalServerError, anthropic.InternalServerError)):
        ask(api, stream=stream, default_headers={"X-Sim-Fault": "500"})
    assert ask(api, stream=stream).endswith("39 40")
    assert [(entry["api"], entry["fault"], entry["rule"]) for entry in sim.log()] == [
        (api, "429", None),
        (api, "500", None),
        (api, None, "long"),
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_is_cut_is_no_answer(sim: Simulated, ask: Ask, api: str, stream: bool) -> None:
    with pytest.raises(broken()):
        ask(api, stream=stream, default_headers={"X-Sim-Fault": "cut"})
    assert (sim.last()["fault"], sim.last()["rule"]) == ("cut", "long")


def test_a_cut_stream_has_its_first_half(sim: Simulated) -> None:
    body = {"model": "m", "messages": TURN, "stream": True}
    came = b""
    with (
        pytest.raises(httpx2.RemoteProtocolError),
        httpx2.stream(
            "POST", sim.url + "/v1/chat/completions", json=body, headers={"X-Sim-Fault": "cut"}, **LOCAL
        ) as response,
    ):
        for piece in response.iter_bytes():
            came += piece
    assert b'"content":"20 "' in came
    assert b'"content":"30 "' not in came


def test_a_queue_of_faults_is_met_by_a_client_that_tries_again(sim: Simulated, ask: Ask) -> None:
    assert sim.post("/faults", [{"kind": "429", "times": 2, "retryAfter": 0}])["faults"][0]["times"] == 2
    assert ask("chat", max_retries=2).endswith("39 40")
    assert [entry["fault"] for entry in sim.log()] == ["429", "429", None]
    assert httpx2.get(sim.url + "/faults", **LOCAL).json() == {"faults": []}


def test_a_refusal_says_when_to_come_back(sim: Simulated) -> None:
    sim.post("/faults", {"kind": "429", "retryAfter": 7})
    response = httpx2.post(sim.url + "/v1/chat/completions", json={"model": "m", "messages": TURN}, **LOCAL)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert response.json()["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[", "not JSON"),
        (b'[{"kind":"boom"}]', "there is no fault 'boom'"),
        (b'[{"kind":"200"}]', "there is no fault '200'"),
        (b'[{"kind":"429","times":0}]', "once or more"),
        (b'[{"kind":"slow","seconds":1e9}]', "from 0 to 600"),
        (b'[{"kind":"429","time":1}]', "unknown field `time`"),
    ],
)
def test_a_fault_that_is_none_is_refused(sim: Simulated, body: bytes, said: str) -> None:
    response = httpx2.post(sim.url + "/faults", content=body, **LOCAL)
    assert response.status_code == 400
    assert said in response.json()["error"]["message"]


def test_a_header_that_names_no_fault_is_refused(sim: Simulated, ask: Ask) -> None:
    import openai

    with pytest.raises(openai.BadRequestError, match="there is no fault 'boom'"):
        ask("chat", default_headers={"X-Sim-Fault": "boom"})


def test_a_reset_forgets_everything(sim: Simulated, ask: Ask) -> None:
    ask("chat")
    sim.post("/faults", [{"kind": "429"}])
    sim.post("/reset")
    assert sim.log() == []
    assert ask("chat").endswith("39 40")


def test_a_client_that_leaves_a_slow_stream_troubles_nobody(sim: Simulated) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Count slowly to 20000."}], "stream": True}
    with httpx2.stream("POST", sim.url + "/v1/chat/completions", json=body, **LOCAL) as response:
        lines = response.iter_lines()
        first = [next(lines) for _ in range(6)]
    assert '"content":"2 "' in first[4]
    assert httpx2.get(sim.url + "/health", **LOCAL).status_code == 200


def test_options_set_what_the_first_requests_meet(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('"Hello."\n\n{"toolCalls":[{"name":"look","arguments":{"at":1}}],"content":"Let me see."}\n')
    body = {"model": "m", "messages": TURN}
    with simulated("--script", str(script), "--fault", "429:2", "--fault", "500", "--chunk-delay", "60") as sim:
        url = sim.url + "/v1/chat/completions"
        assert [httpx2.post(url, json=body, **LOCAL).status_code for _ in range(3)] == [429, 429, 500]
        assert httpx2.post(url, json=body, **LOCAL).json()["choices"][0]["message"]["content"] == "Hello."
        with httpx2.stream("POST", url, json=body | {"stream": True}, **LOCAL) as response:
            pieces = response.iter_text()
            assert '"role":"assistant"' in next(pieces)
            used_up = httpx2.post(url, json=body, **LOCAL)
            assert (used_up.status_code, used_up.json()["error"]["code"]) == (422, "script_used_up")
            assert [entry["rule"] for entry in sim.log()] == [None, None, None, "script", "script"]
            sim.process.terminate()
            rest = "".join(pieces)
        assert sim.process.wait(60) == 0
    assert "the simulator stopped" in rest
    assert "see." not in rest


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "body"), BODIES.items())
@pytest.mark.parametrize(
    "settings",
    [SimulatorSettings(latency=600), SimulatorSettings(faults=[Fault("slow", seconds=600)])],
    ids=["latency", "slow"],
)
async def test_an_answer_that_is_to_be_late_is(
    settings: SimulatorSettings, path: str, body: dict[str, Any], stream: bool
) -> None:
    stopping = asyncio.Event()
    transport = httpx2.ASGITransport(app=create_app(stopping, settings=settings))
    async with httpx2.AsyncClient(transport=transport, base_url="http://sim") as client:
        asked = asyncio.create_task(client.post(path, json=body | {"stream": stream}))
        while not (await client.get("/log")).json()["answered"]:
            await asyncio.sleep(0)
        assert not asked.done()
        stopping.set()
        assert "the simulator stopped" in (await asked).text


async def test_a_script_is_given_in_order_over_every_api() -> None:
    lines = read_script(
        b'["one", {"content": "two", "toolCalls": [{"name": "look", "arguments": {"at": 1}}]}, {"content": "three"}]'
    )
    transport = httpx2.ASGITransport(app=create_app(settings=SimulatorSettings(script=lines)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://sim") as client:
        first = (await client.post("/v1/responses", json={"model": "m", "input": "x"})).json()
        second = (await client.post("/v1/messages", json={"model": "m", "max_tokens": 1, "messages": TURN})).json()
        assert first["output"][0]["content"][0]["text"] == "one"
        call = {"type": "tool_use", "id": "call_2_1", "name": "look", "input": {"at": 1}}
        assert second["content"] == [{"type": "text", "text": "two"}, call]
        await client.post("/reset")
        again = (await client.post("/v1/responses", json={"model": "m", "input": "x"})).json()
        assert again["output"][0]["content"][0]["text"] == "one"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('"one"\n{', "line 2 of the script"),
        ("[7]", "an answer that is none"),
        ('[{"words":"x"}]', "unknown field `words`"),
    ],
)
def test_a_script_that_is_none_is_refused_at_the_start(tmp_path: Path, script: str, said: str) -> None:
    from click.testing import CliRunner

    from holdfast.cli.sim import sim as command

    file = tmp_path / "script.json"
    file.write_text(script)
    ended = CliRunner().invoke(command, ["--port", "0", "--script", str(file)])
    assert ended.exit_code == 1
    assert said in ended.output


@pytest.mark.parametrize("option", ["boom", "429:x", "429:0"])
def test_a_fault_option_that_is_none_is_refused_at_the_start(option: str) -> None:
    from click.testing import CliRunner

    from holdfast.cli.sim import sim as command

    ended = CliRunner().invoke(command, ["--port", "0", "--fault", option])
    assert ended.exit_code == 1
    assert ended.output.startswith("Error: ")


def test_the_log_is_json_of_plain_values(sim: Simulated, ask: Ask) -> None:
    ask("messages", stream=True)
    entry = sim.last()
    assert json.loads(json.dumps(entry)) == entry
    assert (entry["stream"], entry["api"], entry["messages"]) == (True, "messages", 1)
