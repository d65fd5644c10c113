#!/bin/sh
# Runs the codemod clock on a few of the files that its plan finds, in a scratch copy, and shows what it changes there.
#   sh .divisi/codemods/clock/try.sh [HOW MANY FILES, default 3]
# Exit codes: 0 it changed something, 1 it changed nothing or failed, 2 the plan is wrong.
set -eu
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

divisi run --plan .divisi/codemods/clock/plan.yaml --base HEAD --dry-run --output json >"$scratch/plan.json" 2>/dev/null || {
  divisi run --plan .divisi/codemods/clock/plan.yaml --base HEAD --dry-run >/dev/null || true # again, for the error in words
  exit 2
}
# Of the JSON the texts between "files":[ and ], one a line.
awk -v RS='"' 'on && /^]/ { on = 0 } on && $0 != "," { print } $0 == ":[" && last == "files" { on = 1 } { last = $0 }' \
  "$scratch/plan.json" >"$scratch/files"
echo "Files that the plan finds: $(wc -l <"$scratch/files" | tr -d ' '). The first ${1:-3} of them:"

test -s "$scratch/files" || { echo "Nothing is left for the codemod, or match in the plan is wrong." >&2; exit 1; }
head -n "${1:-3}" "$scratch/files" >"$scratch/sample"
set --
while IFS= read -r file; do
  for copy in before after; do
    mkdir -p "$scratch/$copy/$(dirname "$file")"
    git show "HEAD:$file" >"$scratch/$copy/$file"
  done
  set -- "$@" "$scratch/after/$file"
done <"$scratch/sample"

go run .divisi/codemods/clock/main.go -- "$@" || { echo "The codemod failed." >&2; exit 1; }

cd "$scratch"
git --no-pager diff --no-index before after || changed=yes
while IFS= read -r file; do
  cmp -s "before/$file" "after/$file" && echo "unchanged: $file"
done <sample || true
test -n "${changed:-}" || { echo "The codemod changed nothing in them: see what it looks for, and match in the plan." >&2; exit 1; }
