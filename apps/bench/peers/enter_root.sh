#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command inside the root folder of another system:
#
#   enter_root.sh ROOT FOLDER COMMAND [ARGUMENT]...
#
# FOLDER is /mnt there, and the command's working folder. All mounts belong to a namespace of the command's own (unshare), so that they end
# with its last process however that ends; /tmp and /dev/shm are its own, too, so that it leaves no files behind. Needs root.
set -eu

[ "$#" -ge 3 ] || {
    echo "usage: enter_root.sh ROOT FOLDER COMMAND [ARGUMENT]..." >&2
    exit 2
}
exec unshare --mount --propagation private sh -eu -c '
root=$1 folder=$2
shift 2
mount --bind "$folder" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
unset TMPDIR
exec chroot "$root" sh -c "cd /mnt && exec \"\$@\"" enter "$@"' enter "$@"
