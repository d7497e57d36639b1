"""The example of a program of one's own: killed again and again, each order has one receipt, told once."""

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.process import running
from tests.support.processes import python

PROGRAM = Path(__file__).parents[2] / "examples" / "programs" / "receipts.py"
ORDERS = 40
KILLS = 4


def get(url: str) -> Any:
    return json.loads(httpx2.get(url).raise_for_status().content)


@pytest.mark.long(seconds=10)
def test_a_program_that_is_killed_again_and_again_does_and_tells_everything_once(tmp_path: Path) -> None:
    orders, receipts = tmp_path / "orders", tmp_path / "receipts"
    orders.mkdir()
    receipts.mkdir()
    names = [f"order-{number}" for number in range(ORDERS)]
    for name in names:
        (orders / name).write_text(f"{name}\n")
    chance = random.Random(5)
    with running(tmp_path / "data") as gateway:
        known = {"SESSION_ID": "shop", "SESSION_SERVICE_URL": gateway.url, "HOLDFAST_SPOOL": str(tmp_path / "spool")}
        start = f"import os, runpy; os.environ.update({known!r}); runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
        words = ("-c", start, str(orders), str(receipts))
        for _ in range(KILLS):
            with python(*words) as program:
                until = chance.randrange(ORDERS)
                while len(list(receipts.glob("order-*"))) <= until and program.poll() is None:
                    time.sleep(0.001)
                program.kill()
        with python(*words) as program:
            assert program.wait(60) == 0
        assert sorted(path.name for path in receipts.iterdir() if not path.name.startswith(".")) == sorted(names)
        actions = get(f"{gateway.url}/api/actions/shop?limit=500")["actions"]
        assert Counter(action["details"]["order"] for action in actions) == Counter(names)
        state = get(f"{gateway.url}/api/state/shop")
        assert state["phase"] == "ready"
        assert Counter(goal["status"] for goal in state["goals"]) == {"completed": ORDERS}
