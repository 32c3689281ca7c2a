#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a peer's launcher with a /dev/shm of its own, so that a job that is killed leaves nothing in the machine's: peer_apart.sh COMMAND...
# Needs root, or a kernel that lets every user make namespaces.
set -e
if [ "$1" = --inside ]; then
  shift
  mount -t tmpfs -o size=100% tmpfs /dev/shm
  exec "$@"
elif [ "$(id -u)" = 0 ]; then
  exec unshare --mount "$0" --inside "$@"
fi
exec unshare --map-root-user --mount "$0" --inside "$@"
