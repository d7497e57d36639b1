"""`holdfast completion`: what a shell needs to complete our words."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that teaches a shell to complete holdfast's words.

    \b
      bash   eval "$(holdfast completion bash)"     in ~/.bashrc
      zsh    eval "$(holdfast completion zsh)"      in ~/.zshrc
      fish   holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    from holdfast.cli import main

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
