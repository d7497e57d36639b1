"""The alert rules and the dashboard in deploy/ name what `/metrics` really has, and every alert has its help."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.figures import Figures, parsed
from tests.gateway.process import running
from tests.support.web import web_client

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana-dashboard.json"
OPERATIONS = ROOT / "docs" / "operations.md"
WORDS = {
    *("and", "by", "changes", "count", "histogram_quantile", "increase", "label_values", "max", "on"),
    *("predict_linear", "rate", "sum", "time", "topk"),
}
PROMETHEUS_OWN = {"up"}
GIVEN_BY_PROMETHEUS = {"instance", "job"}
OPTIONS = ("--retention-max-age", "90d", "--backup-every", "1d")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def figures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Figures]:
    """What a gateway measures that was asked a little of everything."""
    data = tmp_path_factory.mktemp("watched")
    store = () if request.param == "sqlite" else ("--store", request.getfixturevalue("postgres").new_database())
    with (
        running(data, *OPTIONS, *store) as gateway,
        web_client(base_url=gateway.url) as client,
    ):
        client.post("/api/actions/s", json={"type": "note"})
        client.get("/nothing")
        yield parsed(client.get("/metrics"))


def rules() -> list[dict[str, Any]]:
    yaml: Any = import_module("yaml")
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    return list(group["rules"])


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> dict[str, str]:
    """Every expression of both files, by where it is."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in panels():
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            found[variable["name"]] = variable["query"]
    return found


def test_every_expression_names_only_metrics_and_labels_that_exist(figures: Figures) -> None:
    labels: dict[str, set[str]] = {}
    for name, has in figures:
        labels.setdefault(name, set()).update(label for label, _ in has)
    engine = next(dict(has)["engine"] for name, has in figures if name == "holdfast_info")
    elsewhere = {
        "sqlite": {"holdfast_feed_held_seconds"},
        "postgresql": {"holdfast_db_free_bytes", "holdfast_wal_bytes", "holdfast_short_of_room"},
    }[engine]
    for where, expression in expressions().items():
        plain = re.sub(r'"[^"]*"', '""', expression)
        bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|(?:by|on) \([^)]*\)|\b\d[\w.]*", " ", plain)
        if bare.startswith("label_values"):
            bare = bare.partition(",")[0]
        names = set(re.findall(r"[a-zA-Z_:][\w:]*", bare)) - WORDS - PROMETHEUS_OWN
        assert names - elsewhere <= set(labels), where
        for name, matchers in re.findall(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}", plain):
            for label in re.findall(r"(\w+)\s*=", matchers):
                assert name in (PROMETHEUS_OWN | elsewhere) or label in labels[name] | GIVEN_BY_PROMETHEUS, where
        for grouped in re.findall(r"(?:by|on) \(([^)]*)\)", expression):
            known = set().union(*(labels.get(name, set()) for name in names)) | GIVEN_BY_PROMETHEUS
            assert {label.strip() for label in grouped.split(",")} <= known, where


def test_the_routes_that_an_alert_watches_exist(figures: Figures) -> None:
    routes = {value for _, has in figures for label, value in has if label == "route"}
    watched = {route for expression in expressions().values() for route in re.findall(r'route="([^"]+)"', expression)}
    assert watched
    assert watched <= routes


def test_every_metric_is_on_the_page(figures: Figures) -> None:
    page = OPERATIONS.read_text()
    for name in {re.sub(r"_(bucket|count|sum|created)$", "", name) for name, _ in figures}:
        assert name.startswith("process_") or f"`{name}`" in page, name


def test_every_alert_says_what_is_wrong_and_where_the_help_is() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "troubleshooting.md").read_text(), re.M)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 10
    for rule in rules():
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}, rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        page, anchor = rule["annotations"]["runbook"].split("#")
        assert (page, anchor in anchors) == ("docs/troubleshooting.md", True), rule["alert"]
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_the_dashboard_has_its_panels_in_their_places() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        places = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not places & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= places
    for panel in panels():
        assert panel["targets"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
