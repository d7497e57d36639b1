"""What a gateway's `/metrics` says, as numbers."""

import httpx2
from prometheus_client.parser import text_string_to_metric_families

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(answer: httpx2.Response) -> Figures:
    """Every sample, by its name and labels."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: Figures = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation, family.name
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"{sample} is there twice"
            found[key] = sample.value
    return found


def figure(figures: Figures, name: str, **labels: str) -> float:
    """One sample; only these labels are looked at, and must name one."""
    wanted = frozenset(labels.items())
    (value,) = (value for (each, has), value in figures.items() if each == name and wanted <= has)
    return value
