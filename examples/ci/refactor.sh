#!/bin/sh
# Runs a plan where no person watches, and keeps its report.
#
#   refactor.sh PLAN [FLAGS of divisi run...]
#
# REPORT (default divisi-report) gets events.jsonl, report.md and report.json; STATE (default a temporary directory) keeps the
# run. The exit code is that of divisi run: 0 all landed, 1 landed in part, 2 nothing ran, 3 stopped, 4 the machine failed.
set -eu
[ $# -gt 0 ] || { echo 'usage: refactor.sh PLAN [FLAGS of divisi run...]' >&2; exit 2; }
plan=$1
shift
report=${REPORT:-divisi-report}
state=${STATE:-$(mktemp -d)}
mkdir -p "$report"
rm -f "$report/report.md" "$report/report.json"

# No terminal and no input: what only a person could decide is rejected, and nothing waits. After an hour the run stops in
# order (exit code 3), and its proven patches are published.
timeout --preserve-status --signal=TERM --kill-after=2m "${LIMIT:-1h}" \
  divisi --state-dir "$state" --output json run --plan "$plan" --base HEAD --trust-repo --on-doubt reject "$@" \
  </dev/null >"$report/events.jsonl" &
run=$!
# timeout has a process group of its own: a signal to this script, as of a cancelled job, has to be passed on.
trap 'signalled=yes; kill -TERM "$run" 2>/dev/null || true' TERM INT HUP
while
  signalled='' code=0
  wait "$run" || code=$?
  [ -n "$signalled" ] && [ "$code" -gt 128 ] # the signal ended this wait, and not the run
do :; done

id=$(awk -F '"run":"' 'NF > 1 { sub(/".*/, "", $2); print $2; exit }' "$report/events.jsonl")
if [ -n "$id" ] && [ -d "$state/runs/$id" ]; then # else nothing has begun, and the message above tells why
  if [ "$code" = 3 ] && grep -q '"state":"landed"' "$report/events.jsonl"; then
    divisi --state-dir "$state" publish --branch "$id" || echo "nothing was published: see above" >&2
  fi
  divisi --state-dir "$state" show "$id" --output markdown >"$report/report.md"
  divisi --state-dir "$state" show "$id" --output json >"$report/report.json"
fi
exit "$code"
