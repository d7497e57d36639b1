"""Push notifications: news are posted in order, in the version that asked, and nobody waits for it."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.a2a.harness import SECONDS
from tests.support.certificates import certificate_for
from tests.support.scripted_server import Answer, ScriptedServer, webhook

from holdfast.a2a.files.files import Files
from holdfast.a2a.protocol.rpc import INVALID_PARAMS, TASK_NOT_FOUND, RpcError
from holdfast.a2a.protocol.wire import (
    Artifact,
    ArtifactUpdate,
    FilePart,
    Message,
    PushConfig,
    PushRequest,
    Role,
    StatusUpdate,
    TaskView,
    TextPart,
)
from holdfast.a2a.push.push import Push, TaskPushConfigs
from holdfast.a2a.push.push_sender import TRIES, PushSender
from holdfast.a2a.push.url_guard import AT_ONCE, MOST_OF_A_TENANT, RefusedUrl, UrlGuard, look_up
from holdfast.core import TaskState
from holdfast.core.errors import TooLarge
from holdfast.core.retry import Backoff
from holdfast.store import NewEvent, Store
from holdfast.store.tasks.push_configs import MAX_CONFIGS, StoredPushConfig

MOST = 20
QUICK = Backoff(0.001)
OPEN = ["127.0.0.1", "hook.test", "other.test"]


async def resolve(host: str, port: int) -> list[str]:
    return ["127.0.0.1"] if host.endswith(".test") else await look_up(host, port)


@pytest.fixture
def guard() -> UrlGuard:
    return UrlGuard(OPEN, resolve=resolve)


@pytest.fixture
async def push(store: Store, guard: UrlGuard) -> AsyncIterator[Push]:
    made = Push(store, guard, sender=PushSender(guard, backoff=QUICK))
    yield made
    await made.close()


@pytest.fixture
async def configs(store: Store, guard: UrlGuard) -> TaskPushConfigs:
    await begin(store, "t1")
    return TaskPushConfigs(store, guard)


async def begin(store: Store, task_id: str) -> None:
    await store.tasks.begin("s", task_id, "c", NewEvent("message", {"taskId": task_id}), owner="me")


def at(
    hook: ScriptedServer, path: str = "/hook", host: str = "127.0.0.1", version: str = "1.0", **more: str
) -> PushConfig:
    return PushConfig(f"http://{host}:{hook.port}{path}", version=version, **more)


def view(state: TaskState = TaskState.WORKING, task_id: str = "t1", *artifacts: Artifact) -> TaskView:
    return TaskView(task_id, "c", state, 1_700_000_000_000, artifacts=artifacts)


def status(state: TaskState = TaskState.WORKING, text: str | None = None, task_id: str = "t1") -> StatusUpdate:
    said = None if text is None else Message(Role.AGENT, "m", (TextPart(text),), "c", task_id)
    return StatusUpdate(task_id, "c", state, 1_700_000_000_000, said)


def texts(hook: ScriptedServer) -> list[str]:
    """The words of the statuses that came, in order."""
    said = [posted.body["statusUpdate"]["status"]["message"] for posted in hook.requests]
    return [message["parts"][0]["text"] for message in said]


async def idle(push: Push) -> None:
    """Wait until nothing waits to be posted any more."""
    async with asyncio.timeout(SECONDS):
        while push._boxes:
            await asyncio.sleep(0.005)


async def test_news_are_posted_in_the_version_that_asked(
    push: Push, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    await configs.set("t1", at(hook, "/new?x=1", config_id="new", token="t0k", scheme="Bearer", credentials="a b"))
    await configs.set("t1", at(hook, "/old", version="0.3", config_id="old"))
    artifact = Artifact((TextPart("hello"),), "a1")
    push.notify(view(), status())
    push.notify(view(TaskState.WORKING, "t1", artifact), ArtifactUpdate("t1", "c", artifact))
    push.notify(view(TaskState.COMPLETED, "t1", artifact), status(TaskState.COMPLETED))
    posted = await hook.came(6)
    new = [each for each in posted if each.target == "/new?x=1"]
    old = [each for each in posted if each.target == "/old"]
    assert [next(iter(each.body)) for each in new] == ["statusUpdate", "artifactUpdate", "statusUpdate"]
    assert new[2].body["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [each.body["kind"] for each in old] == ["task"] * 3
    assert [each.body["status"]["state"] for each in old] == ["working", "working", "completed"]
    assert ["artifacts" in each.body for each in old] == [False, True, True]
    head = new[0].headers
    assert (head["x-a2a-notification-token"], head["authorization"]) == ("t0k", "Bearer a b")
    assert (head["content-type"], head["host"]) == ("application/a2a+json", f"127.0.0.1:{hook.port}")
    assert old[0].headers["content-type"] == "application/json", "0.3 has no type of its own"
    assert not {"x-a2a-notification-token", "authorization"} & set(old[0].headers)


async def test_files_in_news_have_their_bytes(
    store: Store, guard: UrlGuard, configs: TaskPushConfigs, hook: ScriptedServer, tmp_path: Path
) -> None:
    files = Files(store, tmp_path)
    artifact = Artifact(await files.take([FilePart("aGVsbG8=", filename="a.txt")]), "a1")
    await configs.set("t1", at(hook, "/new", config_id="new"))
    await configs.set("t1", at(hook, "/old", version="0.3", config_id="old"))
    push = Push(store, guard, files=files)
    push.notify(view(TaskState.WORKING, "t1", artifact), ArtifactUpdate("t1", "c", artifact))
    await push.close(SECONDS)
    bodies = {posted.target: posted.body for posted in hook.requests}
    assert bodies["/new"]["artifactUpdate"]["artifact"]["parts"][0]["raw"] == "aGVsbG8="
    assert bodies["/old"]["artifacts"][0]["parts"][0]["file"]["bytes"] == "aGVsbG8="


async def test_each_place_gets_its_news_in_order(push: Push, configs: TaskPushConfigs, hook: ScriptedServer) -> None:
    await configs.set("t1", at(hook))
    hook.answers = [Answer(status=500), Answer(status=429), Answer(status=503)]
    expected = [f"n{n}" for n in range(30)]
    for text in expected:
        push.notify(view(), status(text=text))
        if text in {"n3", "n9"}:
            await hook.came(1)
    await hook.came(33)
    assert texts(hook) == ["n0"] * 3 + expected


async def test_a_place_that_fails_costs_its_own_news_only(
    push: Push, configs: TaskPushConfigs, hook: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook() as dead:
        dead.answers = [Answer(status=500)] * TRIES * 2
        await configs.set("t1", at(dead, config_id="dead", token="s3cret"))
        await configs.set("t1", at(hook, config_id="good"))
        for n in range(10):
            push.notify(view(), status(text=f"n{n}"))
        await idle(push)
        assert texts(hook) == [f"n{n}" for n in range(10)]
        assert texts(dead) == ["n0"] * TRIES + ["n9"] * TRIES, "after a failure only the newest is still tried"
        assert "500" in caplog.text
        assert "s3cret" not in caplog.text
        dead.requests.clear()
        push.notify(view(TaskState.COMPLETED), status(TaskState.COMPLETED, "end"))
        await idle(push)
        assert texts(dead) == ["end"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        Answer(status=307, headers={"Location": "/x"}),
        Answer(status=404),
    ],
    ids=["302 Found\\r\\nLocation: http://127.0.0.1:1/", "307 Go\\r\\nLocation: /x", "404 No"],
)
async def test_redirects_and_refusals_are_the_end(
    push: Push, configs: TaskPushConfigs, hook: ScriptedServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    await configs.set("t1", at(hook))
    hook.answers = [answer]
    push.notify(view(), status(text="one"))
    await idle(push)
    assert len(hook.requests) == 1
    assert str(answer.status) in caplog.text
    push.notify(view(), status(text="two"))
    await hook.came(2)


async def test_nobody_who_listens_is_a_warning(
    push: Push, configs: TaskPushConfigs, hook: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook() as closed:
        pass
    await configs.set("t1", at(closed))
    push.notify(view(), status())
    await idle(push)
    assert f"after {TRIES} tries" in caplog.text


async def test_a_place_that_never_answers_holds_up_nobody(
    store: Store, guard: UrlGuard, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    push = Push(store, guard, sender=PushSender(guard, backoff=QUICK), most_waiting=MOST)
    with webhook() as stuck:
        stuck.hold = threading.Event()
        await configs.set("t1", at(stuck, config_id="stuck"))
        await configs.set("t1", at(hook, config_id="good"))
        for n in range(MOST + 50):
            push.notify(view(), status(text=f"n{n}"))
        await hook.came(MOST)
        await push.close()
        assert not push._boxes
        stuck.hold.set()
        push.notify(view(), status(text="after the end"))
        assert not push._boxes
    assert texts(hook)[-1] == f"n{MOST + 49}", "what was dropped are the oldest"


async def test_the_stop_gives_a_grace(
    store: Store, guard: UrlGuard, configs: TaskPushConfigs, hook: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    await configs.set("t1", at(hook))
    push = Push(store, guard)
    for n in range(5):
        push.notify(view(), status(text=f"n{n}"))
    await push.close(SECONDS)
    assert texts(hook) == [f"n{n}" for n in range(5)]
    assert not caplog.records


async def test_an_address_is_checked_again_at_every_post(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    addresses = ["93.184.216.34"]

    async def rebinding(host: str, _port: int) -> list[str]:
        return list(addresses)

    guard = UrlGuard(resolve=rebinding)
    await TaskPushConfigs(store, guard).set("t1", at(hook, host="rebinding.test"))
    addresses[:] = ["127.0.0.1"]
    push = Push(store, guard, sender=PushSender(guard, backoff=QUICK))
    push.notify(view(), status())
    await idle(push)
    assert hook.requests == []
    assert "not public" in caplog.text


async def test_the_post_goes_to_the_address_that_was_checked(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    asked: list[str] = []

    async def once(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    guard = UrlGuard(OPEN, resolve=once)
    await TaskPushConfigs(store, guard).set("t1", at(hook, host="hook.test"))
    push = Push(store, guard)
    push.notify(view(), status())
    (posted,) = await hook.came(1)
    await idle(push)
    assert posted.headers["host"] == f"hook.test:{hook.port}"
    assert asked == ["hook.test", "hook.test"], "nobody but the guard looks up a name that only the guard knows"


async def test_a_certificate_must_be_the_hosts(
    store: Store, guard: UrlGuard, configs: TaskPushConfigs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server_tls, trusting = certificate_for("hook.test", tmp_path)
    with webhook(server_tls) as hook:
        push = Push(store, guard, sender=PushSender(guard, backoff=QUICK, tls=trusting))
        for host in ("hook.test", "other.test"):
            config = at(hook, "/" + host, host, config_id=host)
            await configs.set("t1", replace(config, url=config.url.replace("http:", "https:")))
        push.notify(view(), status())
        await idle(push)
        assert [posted.target for posted in hook.requests] == ["/hook.test"]
        assert hook.requests[0].headers["host"] == f"hook.test:{hook.port}"
        assert "certificate" in caplog.text.lower()
        hook.requests.clear()
        distrusting = Push(store, guard, sender=PushSender(guard, backoff=QUICK))
        distrusting.notify(view(), status())
        await idle(distrusting)
        assert hook.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"token": "a\r\nX: y"},
        {"token": ""},
        {"token": "ü"},
        {"scheme": "Bearer x"},
        {"scheme": "Bearer", "credentials": "x\ny"},
        {"scheme": "Bearer", "credentials": "x" * 5000},
    ],
)
async def test_what_is_no_header_is_refused(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer, wrong: dict[str, str]
) -> None:
    with pytest.raises(RpcError) as caught:
        await configs.set("t1", at(hook, **wrong))
    assert caught.value.code == INVALID_PARAMS
    assert await configs.list(PushRequest("t1")) == []


async def test_a_private_url_is_refused_when_it_is_set(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    strict = TaskPushConfigs(store, UrlGuard())
    with pytest.raises(RefusedUrl):
        await strict.set("t1", at(hook))
    with pytest.raises(RefusedUrl):
        await strict.check(at(hook))
    assert await configs.list(PushRequest("t1")) == []


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_name_without_an_address_is_looked_up_again_when_there_is_news(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer, version: str
) -> None:
    known: list[str] = []

    async def later(host: str, _port: int) -> list[str]:
        if not known:
            raise OSError("no such name")
        return known

    guard = UrlGuard(OPEN, resolve=later)
    await TaskPushConfigs(store, guard).set("t1", at(hook, host="hook.test", version=version))
    known.append("127.0.0.1")
    push = Push(store, guard, sender=PushSender(guard, backoff=QUICK))
    push.notify(view(), status())
    await hook.came(1)
    await idle(push)


async def test_an_address_is_refused_even_where_no_name_can_be_looked_up(
    store: Store, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    async def nobody(host: str, _port: int) -> list[str]:
        raise OSError("no name server")

    strict = TaskPushConfigs(store, UrlGuard(resolve=nobody))
    for host in ("127.0.0.1", "10.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "127.0.0.1."):
        with pytest.raises(RefusedUrl):
            await strict.set("t1", at(hook, host=host))
    assert await configs.list(PushRequest("t1")) == []


async def test_a_task_has_several_places(configs: TaskPushConfigs, hook: ScriptedServer, store: Store) -> None:
    with pytest.raises(RpcError) as caught:
        await configs.get(PushRequest("t1"))
    assert caught.value.code == TASK_NOT_FOUND
    first = await configs.set("t1", at(hook, "/b", config_id="b", version="0.3"))
    assert await configs.get(PushRequest("t1")) == first == at(hook, "/b", config_id="b", version="0.3")
    own = await configs.set("t1", at(hook, "/own"))
    assert own.config_id == "t1"
    assert await configs.get(PushRequest("t1")) == own
    again = await configs.set("t1", at(hook, "/again"))
    assert {config.config_id for config in await configs.list(PushRequest("t1"))} == {"b", "t1"}
    assert await configs.get(PushRequest("t1", "t1")) == again
    for n in range(8):
        await configs.set("t1", at(hook, config_id=f"n{n}"))
    with pytest.raises(TooLarge):
        await configs.set("t1", at(hook, config_id="one too many"))
    for _ in range(2):
        await configs.delete(PushRequest("t1", "b"))
    with pytest.raises(RpcError):
        await configs.get(PushRequest("t1", "b"))


async def test_what_was_deleted_gets_nothing_more(push: Push, configs: TaskPushConfigs, hook: ScriptedServer) -> None:
    hook.hold = threading.Event()
    await configs.set("t1", at(hook))
    for n in range(5):
        push.notify(view(), status(text=f"n{n}"))
    await hook.came(1)
    await configs.delete(PushRequest("t1"))
    hook.hold.set()
    await idle(push)
    assert texts(hook) == ["n0"]


async def test_a_task_without_places_costs_nothing(
    push: Push, configs: TaskPushConfigs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    push.notify(view(), status())
    await idle(push)
    assert not caplog.records


async def test_a_try_that_was_slept_through_is_none(
    store: Store, guard: UrlGuard, configs: TaskPushConfigs, hook: ScriptedServer
) -> None:
    """A process that stood still has not tried: that it woke up too late says nothing about the place."""
    push = Push(store, guard, sender=PushSender(guard, backoff=QUICK, asleep_seconds=-1.0))
    await configs.set("t1", at(hook))
    hook.answers = [Answer(status=500)] * (TRIES + 3)
    push.notify(view(), status(text="one"))
    await idle(push)
    await push.close()
    assert texts(hook) == ["one"] * (TRIES + 4)


@pytest.mark.parametrize("asks", ["in requests", "in posts"])
async def test_a_tenant_whose_names_hang_keeps_no_other_from_being_told(
    store: Store, hook: ScriptedServer, asks: str
) -> None:
    asked: list[str] = []

    async def hangs(host: str, _port: int) -> list[str]:
        asked.append(host)
        if host.startswith("hang"):
            await asyncio.Event().wait()
        return ["127.0.0.1"]

    guard = UrlGuard(OPEN, resolve=hangs)
    hostile, friendly = store.for_tenant("hostile"), store.for_tenant("friendly")
    await begin(friendly, "t1")
    await TaskPushConfigs(friendly, guard).set("t1", at(hook, host="hook.test"))
    hanging, pushes = Push(hostile, guard), Push(friendly, guard, sender=PushSender(guard, backoff=QUICK))
    requests = []
    if asks == "in requests":
        checks = TaskPushConfigs(hostile, guard)
        urls = [f"http://hang{n}.test/" for n in range(2 * AT_ONCE)]
        requests = [asyncio.create_task(checks.check(PushConfig(url))) for url in urls]
    else:
        for number in range(AT_ONCE):
            task_id = f"t{number // MAX_CONFIGS}"
            if number % MAX_CONFIGS == 0:
                await begin(hostile, task_id)
            url = f"http://hang{number}.test/"
            await hostile.push_configs.put(StoredPushConfig(task_id, f"c{number}", url))
        for number in range(AT_ONCE // MAX_CONFIGS + 1):
            hanging.notify(view(task_id=f"t{number}"), status(task_id=f"t{number}"))
    async with asyncio.timeout(SECONDS):
        while sum(host.startswith("hang") for host in asked) < MOST_OF_A_TENANT:
            await asyncio.sleep(0.01)
    pushes.notify(view(), status())
    await hook.came(1)
    for request in requests:
        request.cancel()
    await asyncio.gather(hanging.close(), pushes.close(), *requests, return_exceptions=True)
    for lookup in guard._lookups.values():
        lookup.work.cancel()
