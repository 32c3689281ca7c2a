#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Nodes for a peer's launcher, with networks of their own as `rzrun --adapter netns` makes them. Needs root, ip and unshare.
#   peer_nodes.sh N COMMAND...            makes nodes n1 to nN, which are joined by a bridge, and runs a command beside them
#   peer_nodes.sh --agent HOST COMMAND    runs a command on a node: what stands in for ssh (Open MPI: plm_rsh_agent)
# Everything is in namespaces that only the command's processes hold: nothing stays when it ends, however that is.
set -e
case $1 in
--agent)
  host=$2
  shift 2
  exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
  ;;
--inside)
  nodes=$2
  shift 2
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /dev/shm
  mkdir /run/netns
  hostname n0
  ip link set lo up
  ip link add bridge0 type bridge
  ip address add 10.79.0.254/24 dev bridge0
  ip link set bridge0 up
  echo "127.0.0.1 localhost
10.79.0.254 n0" > /run/hosts
  for i in $(seq "$nodes"); do
    ip netns add "n$i"
    ip link add "port$i" type veth peer name eth0 netns "n$i"
    ip link set "port$i" master bridge0 up
    ip -n "n$i" link set lo up
    ip -n "n$i" address add "10.79.0.$i/24" dev eth0
    ip -n "n$i" link set eth0 up
    echo "10.79.0.$i n$i" >> /run/hosts
  done
  mount --bind /run/hosts /etc/hosts
  exec "$@"
  ;;
*)
  exec unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc "$0" --inside "$@"
  ;;
esac
