"""The proof in a template's own CI: written once, renewed, and never over somebody else's work."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.prove.prover import run

from holdfast.prove.onboard.changes import BEGIN

CHECK = "session-continuity-e2e"
FILES = {
    "gitea": f".gitea/workflows/{CHECK}.yml",
    "github": f".github/workflows/{CHECK}.yml",
    "gitlab": ".gitlab-ci.yml",
}


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A template's repository."""
    repository = tmp_path / "template-hermes"
    repository.mkdir()
    (repository / "Dockerfile").write_text("FROM scratch\n")
    return repository


def onboard(*words: str) -> tuple[int, str, str]:
    done = run("onboard", *words, environment={})
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(("forge", "shown"), [("gitea", ".gitea"), ("github", ".github"), ("gitlab", ".gitlab")])
def test_a_repository_gets_the_workflow_of_the_forge_that_it_uses(template: Path, forge: str, shown: str) -> None:
    (template / shown).mkdir()
    assert onboard(str(template))[0] == 0
    written = template / FILES[forge]
    job = jobs(written)[CHECK]
    lines = "\n".join(
        step.get("run", "") if isinstance(step, dict) else step for step in job.get("steps", job.get("script"))
    )
    assert 'docker build --tag "$TEMPLATE_IMAGE" --file Dockerfile .' in lines
    assert "prove --only name,file-only,file-caption,memory" in lines
    assert written.stat().st_mode & 0o777 == 0o644
    assert {name for name, path in FILES.items() if (template / path).exists()} == {forge}


def jobs(file: Path) -> dict[str, Any]:
    document = yaml.safe_load(file.read_text())
    found: dict[str, Any] = document.get("jobs", document)
    return found


def test_the_origin_tells_where_no_workflow_does(template: Path) -> None:
    (template / ".git").mkdir()
    (template / ".git" / "config").write_text('[remote "origin"]\n\turl = ssh://git@gitea.example/acme/hermes.git\n')
    assert json.loads(onboard(str(template), "--json")[1])["forge"] == "gitea"


def test_where_the_forge_cannot_be_told_it_must_be_named(template: Path) -> None:
    code, _, told = onboard(str(template))
    assert (code, "--forge gitea|github|gitlab" in told) == (2, True)
    for name in (".gitea", ".github"):
        (template / name).mkdir()
    code, _, told = onboard(str(template))
    assert (code, "gitea and github" in told) == (2, True)
    assert onboard(str(template), "--forge", "github")[0] == 0


def test_a_second_time_changes_nothing_and_a_newer_version_renews_it(template: Path) -> None:
    file = template / FILES["github"]
    assert "written" in onboard(str(template), "--forge", "github")[1]
    first = file.read_bytes()
    assert "unchanged" in onboard(str(template), "--forge", "github")[1]
    assert file.read_bytes() == first
    assert "written" in onboard(str(template), "--forge", "github", "--requirement", "holdfast==9.9")[1]
    assert b"holdfast==9.9" in file.read_bytes()


def test_a_dry_run_shows_the_change_and_makes_none(template: Path) -> None:
    code, shown, _ = onboard(str(template), "--forge", "gitea", "--dry-run")
    assert code == 0
    assert f"+++ b/{FILES['gitea']}" in shown
    assert "+  session-continuity-e2e:" in shown
    assert not (template / ".gitea").exists()


def test_what_was_edited_or_is_somebody_elses_is_refused(template: Path) -> None:
    file = template / FILES["github"]
    file.parent.mkdir(parents=True)
    file.write_text("name: ours\n")
    code, _, told = onboard(str(template))
    assert (code, "written by somebody else" in told, file.read_text()) == (2, True, "name: ours\n")
    assert onboard(str(template), "--force")[0] == 0
    edited = file.read_text().replace("timeout-minutes: 20", "timeout-minutes: 40")
    file.write_text(edited)
    code, _, told = onboard(str(template))
    assert (code, "was edited since" in told, file.read_text()) == (2, True, edited)


def test_other_jobs_of_a_gitlab_file_stay_as_they_are(template: Path) -> None:
    file = template / ".gitlab-ci.yml"
    file.write_text("unit:\n  script: [make test]\n")
    assert onboard(str(template))[0] == 0
    file.write_text(file.read_text() + "\nlast:\n  script: [make lint]\n")
    assert onboard(str(template), "--requirement", "holdfast==9.9")[0] == 0
    assert set(jobs(file)) == {"unit", CHECK, "last"}
    assert file.read_text().count(BEGIN) == 1


@pytest.mark.parametrize(
    ("stages", "stage"),
    [
        ("stages: [build, deploy]\n", "build"),
        ("stages:\n  # in order\n  - 'prepare'\n  - roll-out # by hand\n", "prepare"),
        ("stages:\n\n- build\n- test\n", None),
        ("stages: # in order\n  - 'roll out'\n  - \"build\"\n", "roll out"),
        ("stages: [\n  build, # the image\n  deploy,\n]\n", "build"),
        ("stages:\n" + " \n" * 20_000 + "- build\n", "build"),
        ("", None),
    ],
)
def test_the_job_is_in_a_stage_that_the_gitlab_file_has(template: Path, stages: str, stage: str | None) -> None:
    file = template / ".gitlab-ci.yml"
    file.write_text(f"{stages}unit:\n  stage: {stage or 'test'}\n  script: [make test]\n")
    assert onboard(str(template))[0] == 0
    assert jobs(file)[CHECK].get("stage") == stage
    assert "unchanged" in onboard(str(template))[1]


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_somebody_elses_job_of_that_name_is_never_shadowed(template: Path, more: tuple[str, ...]) -> None:
    file = template / ".gitlab-ci.yml"
    file.write_text(f"{CHECK}:\n  script: [make canary]\n")
    code, _, told = onboard(str(template), *more)
    assert (code, "was not written here" in told) == (2, True)
    assert file.read_text() == f"{CHECK}:\n  script: [make canary]\n"


def test_many_repositories_each_have_their_line(template: Path) -> None:
    other = template.parent / "template-langgraph"
    other.mkdir()
    listed = template.parent / "repos.txt"
    listed.write_text("# the first two\ntemplate-hermes\n\ntemplate-langgraph\nis-not-there\n")
    code, shown, _ = onboard("--cascade", str(listed), "--forge", "gitea")
    assert code == 2
    assert (template / FILES["gitea"]).exists()
    assert "template-langgraph: refused:" in shown
    assert "is-not-there: refused:" in shown
    assert shown.endswith("1 done, 2 refused\n")


def test_the_setting_that_makes_the_check_required(template: Path) -> None:
    shown = onboard(str(template), "--forge", "gitea", "--required")[1]
    setting = json.loads(shown.partition("\n")[2])
    assert setting["status_check_contexts"] == [f"{CHECK} / {CHECK} (pull_request)"]
    assert not (template / ".gitea").exists()


def test_a_link_out_of_the_repository_is_not_followed(template: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (template / ".github").symlink_to(tmp_path / "elsewhere")
    code, _, told = onboard(str(template))
    assert (code, "leads out of the repository" in told) == (2, True)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("options", [("--dockerfile", "x; rm -rf /"), ("--requirement", "holdfast$(id)")])
def test_nothing_is_smuggled_into_the_shell_lines(template: Path, options: tuple[str, str]) -> None:
    assert onboard(str(template), "--forge", "github", *options)[0] == 2
    assert not (template / ".github").exists()


def test_the_canaries_as_a_test_file(template: Path) -> None:
    assert onboard(str(template), "--pytest")[0] == 0
    file = template / "tests" / "test_session_continuity.py"
    assert "def test_session_continuity(holdfast_prove" in file.read_text()
    compile(file.read_text(), str(file), "exec")
    assert "unchanged" in onboard(str(template), "--pytest")[1]


def test_one_repository_or_many_must_be_named(template: Path) -> None:
    assert onboard()[0] == 2
