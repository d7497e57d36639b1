"""`python -m apps.claude_cli`: in the program's own venv, which the first start makes."""

from apps import venv

if __name__ == "__main__":
    venv.enter("claude_cli")

    from apps.claude_cli.program import main

    main()
