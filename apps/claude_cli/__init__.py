"""The command line of Claude Code, which does tasks in a workspace under the rules of a `.claude/` folder."""
