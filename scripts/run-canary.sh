#!/usr/bin/env bash
# TEMPLATE_IMAGE=acme/agent:1 scripts/run-canary.sh: the four canaries that gate a release, against a container image.
#
# Exit code 0: proven. 1: disproven, so do not release. 2: nothing can be said (no engine, no image, a fault in between).
# The evidence is in .artifacts/prove/latest: the report, the runtime's logs, and what it kept in /data. More words go to
# `holdfast prove`: scripts/run-canary.sh --seed 0
set -uo pipefail

if [ -z "${TEMPLATE_IMAGE:-}" ]; then
  echo "run-canary: set TEMPLATE_IMAGE to the image under proof" >&2
  exit 2
fi

if command -v holdfast >/dev/null; then
  holdfast=holdfast
else
  cd "$(dirname "$0")/.." && make --silent .venv/.stamps/run >&2 || exit 2
  holdfast=.venv/bin/holdfast
fi

"$holdfast" prove --only name,file-only,file-caption,memory "$@"
code=$?
[ "$code" = 3 ] && code=2
exit "$code"
