#!/bin/sh
# Starts the fake model with a script of answers, and prints what a shell needs to use it:
#   eval "$(sh ../fake-model.sh model.yaml)"     kill $FAKE_MODEL ends it
set -eu
out=$(mktemp)
program=$(mktemp -d)/fake-model
(cd "$(dirname "$0")/.." && go build -o "$program" ./internal/testkit/geminitest/cmd)
"$program" "$1" >"$out" &
pid=$!
until [ "$(wc -l <"$out")" -ge 2 ]; do
  kill -0 $pid
  sleep 0.1
done
cat "$out"
rm -r "$out" "$(dirname "$program")"
echo "export FAKE_MODEL=$pid"
