"""The blocking twin: the same agent for programs without a loop, from any thread, and at the end of the program."""

import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.client.looking import actions, numbers, spools
from tests.gateway.process import Running

from holdfast.client import AgentClosed, HookAgent, HookAgentBlocking

NOWHERE = "http://127.0.0.1:1"


def test_both_twins_have_the_same_methods() -> None:
    def shape(kind: type) -> dict[str, str]:
        found = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        methods = {name: value for name, value in found.items() if callable(value)}
        return {name: str(inspect.signature(value)) for name, value in methods.items()}

    assert shape(HookAgent) == shape(HookAgentBlocking)
    assert inspect.signature(HookAgent.__init__) == inspect.signature(HookAgentBlocking.__init__)
    asked = "test_connection create_session log_action log_response update_state add_goal update_goal spawn_agent"
    assert {*asked.split(), "complete_agent", "resume", "flush", "close"} <= shape(HookAgent).keys()


def test_several_threads_report_each_in_its_own_order(gateway: Running) -> None:
    with HookAgentBlocking("threads", url=gateway.url) as agent:

        def work(number: int) -> None:
            for n in range(200):
                agent.log_action("step", {"thread": number, "n": n})
                if n % 50 == 0:
                    agent.flush()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        agent.flush()
        found = actions(gateway.url, "threads")
    for number in range(6):
        assert [a["details"]["n"] for a in found if a["details"]["thread"] == number] == list(range(200))


def test_a_program_that_just_ends_has_said_everything(gateway: Running, spool: Path) -> None:
    code = """if True:
        import sys
        from holdfast.client import HookAgentBlocking
        agent = HookAgentBlocking("just-ends", url=sys.argv[1])
        for n in range(300):
            agent.log_action("step", {"n": n})
    """
    subprocess.run([sys.executable, "-c", code, gateway.url], check=True, timeout=30)
    assert numbers(gateway.url, "just-ends") == list(range(300))
    assert spools(spool) == []


def test_a_program_that_ends_while_the_service_is_away_ends(gateway: Running) -> None:
    code = """if True:
        import sys
        from holdfast.client import HookAgentBlocking
        agent = HookAgentBlocking("ends", url=sys.argv[1], timeout=600)
        agent.log_action("step", {"n": 0})
    """
    done = subprocess.run([sys.executable, "-c", code, NOWHERE], check=True, timeout=30, capture_output=True, text=True)
    assert "1 entries wait" in done.stderr
    with HookAgentBlocking("ends", url=gateway.url):
        assert numbers(gateway.url, "ends") == [0]


def test_a_closed_agent_says_so() -> None:
    agent = HookAgentBlocking("closed", url=NOWHERE)
    agent.close()
    for call in (lambda: agent.log_action("a"), agent.flush, agent.resume, agent.test_connection):
        with pytest.raises(AgentClosed):
            call()
    with pytest.raises(AgentClosed), agent:
        pass


def test_a_call_that_comes_while_the_agent_is_closed_is_refused_and_not_forgotten(spool: Path) -> None:
    agent = HookAgentBlocking("too-late", url=NOWHERE)
    late = agent._running()  # as a call in another thread has it, that was about to hand its entry over
    agent.close()
    with pytest.raises(AgentClosed):
        late.accept(b"x\n")
    assert spools(spool) == []


def test_a_call_in_the_middle_of_a_close_is_kept_or_refused_and_never_lost(gateway: Running, spool: Path) -> None:
    for life in range(20):
        agent = HookAgentBlocking(f"closing-{life}", url=gateway.url)
        kept = 0
        go = threading.Event()

        def report(agent: HookAgentBlocking = agent, go: threading.Event = go) -> None:
            nonlocal kept
            try:
                while True:
                    agent.log_action("step", {"n": kept})
                    kept += 1
                    if kept == 20:
                        go.set()
            except AgentClosed:
                pass

        thread = threading.Thread(target=report)
        thread.start()
        go.wait()
        agent.close()
        thread.join()
        with HookAgentBlocking(f"closing-{life}", url=gateway.url) as next_one:
            next_one.flush()
        assert numbers(gateway.url, f"closing-{life}") == list(range(kept))
    assert spools(spool) == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("parent", url=gateway.url) as agent:
        agent.log_action("step", {"n": 0})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                agent.log_action("step", {"n": 1})
            except AgentClosed:
                agent.close()
                with HookAgentBlocking("child", url=gateway.url) as own:
                    own.log_action("step", {"n": 2})
                    own.flush()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        agent.log_action("step", {"n": 3})
        agent.flush()
    assert numbers(gateway.url, "parent") == [0, 3]
    assert numbers(gateway.url, "child") == [2]
    assert spools(spool) == []
