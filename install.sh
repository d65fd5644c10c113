#!/bin/sh
# Installs divisi from a directory of its archives (as `make dist` leaves them) behind an address.
#   sh install.sh [--dir DIR] [BASE_URL]
# BASE_URL, or else DIVISI_BASE_URL, holds SHA256SUMS and divisi_OS_ARCH.tar.gz. DIR is ~/.local/bin unless it is named.
set -eu

fail() {
  printf 'install divisi: %s\n' "$1" >&2
  exit 1
}

usage() {
  printf 'usage: sh install.sh [--dir DIR] [BASE_URL]\n%s\n' \
    'BASE_URL (or DIVISI_BASE_URL) is where SHA256SUMS and the archives of divisi are, e.g. https://files.example.com/divisi'
}

# A shell that reads this from a download that is cut short runs nothing: the last line begins it all.
main() {
  base=${DIVISI_BASE_URL:-}
  dir=
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) usage; exit 0 ;;
      --dir) [ $# -ge 2 ] && [ -n "$2" ] || fail '--dir needs a directory'; dir=$2; shift 2 ;;
      --dir=?*) dir=${1#--dir=}; shift ;;
      -*) usage >&2; fail "unknown option $1" ;;
      *) base=$1; shift ;;
    esac
  done
  [ -n "$base" ] || { usage >&2; fail 'no address: name it as an argument, or in DIVISI_BASE_URL'; }
  base=${base%/}
  only=https
  case $base in
    https://* | file://*) ;;
    http://*)
      only=http,https
      printf 'install divisi: %s is not encrypted: who is on the way to it can put another program there, with its sum\n' "$base" >&2
      ;;
    *) fail "$base is no address: it begins with https://, http:// or file://" ;;
  esac
  if [ -z "$dir" ]; then
    [ -n "${HOME:-}" ] || fail 'HOME is not set: name a directory with --dir'
    dir=$HOME/.local/bin
  fi
  case $dir in
    /*) ;;
    *) dir=$PWD/$dir ;;
  esac
  dir=${dir%/}

  has() { command -v "$1" >/dev/null 2>&1; }

  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "there is no archive for $(uname -s), only for Linux and macOS: build it with Go (make build)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no archive for $(uname -m), only for x86_64 and arm64: build it with Go (make build)" ;;
  esac
  archive=divisi_${os}_$arch.tar.gz

  # fetch URL FILE
  if has curl; then
    # What an encrypted address redirects to is encrypted too.
    fetch() {
      curl -fsSL --retry 2 --connect-timeout 30 --speed-limit 1000 --speed-time 30 --proto-redir "=$only" -o "$2" -- "$1"
    }
  elif has wget; then
    fetch() { wget -q -T 30 -t 3 -O "$2" -- "$1"; }
  else
    fail 'neither curl nor wget is here: install one of them'
  fi
  if has sha256sum; then
    sum() { sha256sum <"$1"; }
  elif has shasum; then
    sum() { shasum -a 256 <"$1"; }
  elif has openssl; then
    sum() { openssl dgst -sha256 -r <"$1"; }
  else
    fail 'no program can check the sum of the download: install sha256sum, shasum or openssl'
  fi

  # After an error all is removed that this made, also directories: made is the topmost of them.
  work='' made=''
  clean() {
    [ -z "$work" ] || rm -rf "$work"
    [ -n "$made" ] || return 0
    at=$dir
    while rmdir "$at" 2>/dev/null && [ "$at" != "$made" ]; do
      at=${at%/*}
    done
  }
  trap clean EXIT
  trap 'exit 1' HUP INT TERM

  [ ! -d "$dir/divisi" ] || fail "$dir/divisi is a directory, and the program has its name: name another one with --dir"
  at=$dir
  while [ -n "$at" ] && [ ! -d "$at" ]; do
    made=$at at=${at%/*}
  done
  mkdir -p "$dir" 2>/dev/null || fail "cannot make $dir: name a directory that you can write with --dir"
  # The work happens beside its goal: one rename installs it.
  work=$(mktemp -d "$dir/.divisi.XXXXXX" 2>/dev/null) ||
    fail "cannot write to $dir: name a directory that you can write with --dir"

  fetch "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot read $base/SHA256SUMS: check the address"
  want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$want" ] || fail "$base/SHA256SUMS does not name $archive: check the address"
  fetch "$base/$archive" "$work/$archive" || fail "cannot download $base/$archive: try again"
  got=$(sum "$work/$archive")
  got=${got%% *}
  [ "$got" = "$want" ] || fail "$archive has the sum $got, and SHA256SUMS says $want: the download was cut short, or the file
is not the one that was published. Nothing was installed. Try again; if it stays so, tell the owner of $base"

  tar -xzf "$work/$archive" -C "$work" || fail "cannot unpack $archive: is tar with gzip here, and room in $dir?"
  "$work/divisi/divisi" --version >"$work/version" 2>&1 || fail "the program of $archive does not start on this machine: $(cat "$work/version")"
  chmod 755 "$work/divisi/divisi"
  mv -f "$work/divisi/divisi" "$dir/divisi" || fail "cannot write $dir/divisi: name a directory that you can write with --dir"
  made=

  printf 'installed %s/divisi: %s\n' "$dir" "$(cat "$work/version")"
  case :$PATH: in
    *":$dir:"*) ;;
    # shellcheck disable=SC2016 # the person's shell expands it
    *) printf 'not on your PATH yet: export PATH="%s:$PATH"\n' "$dir" ;;
  esac
  printf 'next: divisi demo      (needs git and Go)\n      divisi doctor    (in your repository)\n'
  printf 'completion: divisi completion --help\n'
}

main "$@"
