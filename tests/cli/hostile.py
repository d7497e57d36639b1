"""Values that a command line may be given by mistake or by malice, by what the option says that it takes."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from holdfast.cli import main
from holdfast.cli.options import Amount

TEXTS = ["", "\udcff", "x" * 5_000, "\x1b[31m", "../..", "a b", "-", "{}"]
NUMBERS = ["-1", "x", "", "1e999", "nan", "9" * 30, "0"]
GATEWAYS = ["nonsense", "", "http://[::1", "ftp://x", "http://127.0.0.1:1", "http://127.0.0.1:99999", "http://\udcff"]
STORES = [
    "mysql://x",
    "",
    "sqlite:///",
    "sqlite:////dev/null/x",
    "sqlite:///\udcff/x",
    "postgresql://[",
    "postgresql://",
]


class Verb(NamedTuple):
    """A command by its words."""

    words: tuple[str, ...]
    command: click.Command


def verbs(group: click.Command = main, words: tuple[str, ...] = ()) -> Iterator[Verb]:
    """Every command there is."""
    if not isinstance(group, click.Group):
        yield Verb(words, group)
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from verbs(command, (*words, name))


def files(folder: Path, good: Path | None) -> list[Path]:
    """Files that are none, or not what is wanted; with one that is right, parts and mixtures of it."""
    folder.mkdir()
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "garbage").write_bytes(os.urandom(5_000))
    (folder / "text").write_text("not what you want\n")
    (folder / "circle").symlink_to(folder / "circle")
    names = ["empty", "folder", "garbage", "text", "circle", "missing", "text/below", "n" * 300, "n\udcff"]
    if good is not None:
        whole = good.read_bytes()
        (folder / "half").write_bytes(whole[: len(whole) // 2])
        (folder / "short").write_bytes(whole[:100])
        (folder / "spoiled").write_bytes(whole[:5_000] + os.urandom(5_000) + whole[10_000:])
        (folder / "cut").write_bytes(whole[:-1])
        (folder / "behind").write_bytes(bytes(len(whole)) + whole)
        names += ["half", "short", "spoiled", "cut", "behind"]
    return [*(folder / name for name in names), Path("/dev/null")]


def values(parameter: click.Parameter, paths: list[Path]) -> list[str]:
    """What to try for one parameter."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return []
    if isinstance(parameter.type, click.Path):
        return [str(path) for path in paths]
    if isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType, Amount)):
        return NUMBERS
    if parameter.name == "store":
        return STORES
    if parameter.name == "url":
        return GATEWAYS
    return TEXTS
