#!/bin/sh
# Makes the repository of an example, in the example's folder: sh ../setup.sh DIR. The directory must not exist.
set -eu
if [ $# != 1 ] || [ ! -d repo ]; then
  echo "usage, in the folder of an example: sh ../setup.sh DIR" >&2
  exit 2
fi
if [ -e "$1" ]; then
  echo "$1 exists already: name another directory, here and in the commands that follow" >&2
  exit 2
fi
cp -R repo "$1"
cd "$1"
git init -q -b main
git add -A
git -c user.name=Example -c user.email=example@example.com commit -q -m 'Begin'
