#!/bin/sh
# make.sh PROGRAM makes run.tar.gz: a run that was killed when it was half done, and its repository, as PROGRAM leaves them. It
# needs Linux and root: it hides the names of the machine, of its accounts and directories, which the archive must not have.
#
# The archive was made with Divisi at d6e2d52d. It stays as it is while programs read format 4 of the log: the run of an older
# program must go on. For a new format the first program that writes it makes the archive anew. Its keys open nothing elsewhere.
set -eu
here=$(dirname "$(realpath "$0")")
if [ -z "${APART-}" ]; then
	exec env -i APART=1 PATH=/usr/bin:/bin unshare --mount --uts "$here/make.sh" "$(realpath "$1")"
fi
hostname machine
mount -t tmpfs tmpfs /srv
mkdir /srv/bin /srv/home /srv/hold
cp "$1" /srv/bin/divisi
cp -R "$here/repo" "$here/plan.yaml" /srv
echo 'dev:x:0:0::/srv/home:/bin/sh' >/srv/passwd
mount --bind /srv/passwd /etc/passwd
cd /srv
export HOME=/srv/home XDG_STATE_HOME=/srv/state GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
export PATH=/srv/bin:/usr/bin:/bin:/srv/hold # a command waits while its file is in the last directory
for f in after last left right door key tool; do echo old >repo/$f.txt; done
for f in a b c; do echo "shout $f" >repo/shout-$f.txt; done
chmod +x repo/tool.txt
git init -q -b main --template= repo
git -C repo add -A
git -C repo commit -q -m base

# wait_for PATTERN [N] waits until N lines of the run match.
wait_for() {
	for _ in $(seq 600); do
		[ "$(grep -cE "$1" out)" -lt "${2-1}" ] || return 0
		sleep 0.1
	done
	cat out
	echo "make.sh: no line matches $1" >&2
	exit 1
}
# open TASK prints the open decision about the patch of the task.
open() { divisi decide | grep -o "^$1@[0-9]*"; }

touch hold/meet hold/key
divisi run --plan plan.yaml --repo repo --on-doubt ask --wait >out 2>&1 &
run=$!
trap 'kill -9 $run' EXIT
wait_for '(left|right) is running' 2
rm hold/meet
wait_for 'short is held'
id=$(ls state/divisi/runs)
divisi decide "$id" "$(open short)" accept --alike
wait_for 'landed: short'
divisi gate "$id" first -- sh -c 'read -r line <after.txt && test -n "$line"'
wait_for 'with the added gate first'
wait_for 'door is accepted'
wait_for 'tool is held'
sleep 3 # all is quiet: the run waits for key, and for a decision about tool
kill -9 $run
trap - EXIT
wait $run || true
divisi show
rm -rf state/divisi/runs/*/slots state/divisi/runs/*/tmp
tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 repo state/divisi/runs | gzip -n9 >"$here/run.tar.gz"
