#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command inside the root folder of another system:
#
#   enter_root.sh [--shared] ROOT FOLDER COMMAND [ARGUMENT]...
#
# FOLDER is /mnt there, and the command's working folder. All mounts belong to a namespace of the command's own (unshare), so that they end
# with its last process however that ends; /tmp and /dev/shm are its own, too, so that it leaves no files behind. Needs root.
# --shared: /tmp and /dev/shm are those of this system, for processes of one job that enter one by one.
set -eu

RZ_ENTER_SHARED=""
[ "${1:-}" != --shared ] || {
    RZ_ENTER_SHARED=yes
    shift
}
export RZ_ENTER_SHARED
[ "$#" -ge 3 ] || {
    echo "usage: enter_root.sh [--shared] ROOT FOLDER COMMAND [ARGUMENT]..." >&2
    exit 2
}
exec unshare --mount --propagation private sh -eu -c '
root=$1 folder=$2
shift 2
mount --bind "$folder" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
if [ -n "$RZ_ENTER_SHARED" ]; then
    mount --bind /tmp "$root/tmp"
else
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
fi
unset TMPDIR
exec chroot "$root" sh -c "cd /mnt && exec \"\$@\"" enter "$@"' enter "$@"
