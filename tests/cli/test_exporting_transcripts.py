"""`sessions export --layout source`: imported sessions as the files that they came from, byte for byte."""

from pathlib import Path

import pytest
from tests.cli.command import answer, run
from tests.support.legacy_layout import conversation, write_index, write_session

LINE = '{"type": "custom", "id": "x", "data": 1.0e5}'
HEAD = '{"type":"session","id":"one"}\n'


def transcripts(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*.jsonl")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{line}\n" for line in conversation("one", "hi", "hello")),
        HEAD + LINE,  # the last line has no end
        HEAD + LINE + '\n{"type": "mess',  # torn
        HEAD + "\n" + LINE + "\n\n",  # empty lines
        HEAD + "  " + LINE + " \n" + "not JSON\n" + LINE + "\n" + LINE + "\n",
        (HEAD + LINE + "\n" + LINE + "\n").replace("\n", "\r\n"),
        (HEAD + LINE + "\n").replace("\n", "\r\n") + "torn\r",
        HEAD + '{"a": 1, "a": 2}\n{"n": NaN}\n{"u": "é😀"}\n',
        LINE,
        "",
    ],
)
def test_a_file_comes_back_byte_for_byte(tmp_path: Path, text: str) -> None:
    path = write_session(tmp_path / "in", "one", [])
    path.write_bytes(text.encode())
    write_index(tmp_path / "in", {"agent:main:chat": "one"})
    answer("sessions", "import", str(tmp_path / "in"), data=tmp_path / "data")
    done = answer("sessions", "export", "--layout", "source", "-o", str(tmp_path / "out"), data=tmp_path / "data")
    assert (done["sessions"], done["masked"], done["others"]) == (1, [], [])
    assert transcripts(tmp_path / "out") == transcripts(tmp_path / "in")


def test_what_was_torn_and_is_whole_now_comes_back_whole(tmp_path: Path) -> None:
    path = write_session(tmp_path / "in", "one", [HEAD.strip()], torn=LINE[:10])
    answer("sessions", "import", str(tmp_path / "in"), data=tmp_path / "data")
    path.write_text(HEAD + LINE + "\n")
    answer("sessions", "import", str(tmp_path / "in"), data=tmp_path / "data")
    answer("sessions", "export", "--layout", "source", "-o", str(tmp_path / "out"), data=tmp_path / "data")
    assert transcripts(tmp_path / "out") == transcripts(tmp_path / "in")


def test_what_happened_since_is_no_line_and_other_sessions_are_left_out(tmp_path: Path) -> None:
    write_session(tmp_path / "in", "one", conversation("one", "hi"))
    data, out = tmp_path / "data", tmp_path / "out"
    answer("sessions", "import", str(tmp_path / "in"), data=data)
    answer("sessions", "tag", "one", "mine", data=data)
    answer("sessions", "fork", "one", data=data)
    done = answer("sessions", "export", "one", "--layout", "source", "-o", str(out), data=data)
    assert done["sessions"] == 1
    assert transcripts(out) == transcripts(tmp_path / "in")
    assert run("sessions", "export", "one", "--layout", "source", "-o", str(out), data=data).exit_code == 2
    assert run("sessions", "export", "one", "--layout", "source", "-o", str(out), "--force", data=data).exit_code == 0
