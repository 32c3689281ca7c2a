#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command with a share of a processor, as if the machine had more and slower ones:
#
#   slice.sh FOLDER PERCENT COMMAND [ARGUMENT]...
#
# FOLDER is a group of processes (cgroup, version 1 or 2) whose groups have a bound on processor time. The command gets a group of its own in it; the creator
# of FOLDER removes it. A share is given in periods of 20 ms.
set -eu

[ "$#" -ge 3 ] || {
    echo "usage: slice.sh FOLDER PERCENT COMMAND [ARGUMENT]..." >&2
    exit 2
}
slice=$1/$$ turn=20000
share=$((turn * $2 / 100))
shift 2
mkdir "$slice"
if [ -e "$slice/cpu.max" ]; then
    echo "$share $turn" >"$slice/cpu.max"
else
    echo "$turn" >"$slice/cpu.cfs_period_us"
    echo "$share" >"$slice/cpu.cfs_quota_us"
fi
echo $$ >"$slice/cgroup.procs"
exec "$@"
