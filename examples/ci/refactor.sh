#!/bin/sh
# Runs a plan where no person watches, and keeps its report.
#
#   refactor.sh PLAN [FLAGS of divisi run...]
#
# REPORT (default divisi-report) gets events.jsonl, report.md and report.json; STATE (default a temporary directory) keeps the
# run. The exit code is that of divisi run: 0 all landed, 1 landed in part, 2 nothing ran, 3 stopped, 4 the machine failed.
set -eu
plan=$1
shift
report=${REPORT:-divisi-report}
state=${STATE:-$(mktemp -d)}
mkdir -p "$report"

code=0
# No terminal and no input: what only a person could decide is rejected, and nothing waits. After an hour the run stops in
# order (exit code 3), and its proven patches are published.
timeout --preserve-status --signal=TERM --kill-after=2m "${LIMIT:-1h}" \
  divisi --state-dir "$state" --output json run --plan "$plan" --base HEAD --trust-repo --on-doubt reject "$@" \
  </dev/null >"$report/events.jsonl" || code=$?

if [ -d "$state/runs" ]; then # else nothing has begun, and the message above tells why
  if [ "$code" = 3 ] && grep -q '"state":"landed"' "$report/events.jsonl"; then
    divisi --state-dir "$state" publish "$(ls "$state/runs" | tail -n 1)" || echo "nothing was published: see above" >&2
  fi
  divisi --state-dir "$state" show --output markdown >"$report/report.md"
  divisi --state-dir "$state" show --output json >"$report/report.json"
fi
exit "$code"
