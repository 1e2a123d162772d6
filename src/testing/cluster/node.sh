#!/bin/bash
# A node of the test cluster: a PID, mount, network, UTS and IPC namespace with a containerd, a
# kubelet and a kube-proxy of its own, like a machine. Killing its PID 1 ends all of it at once.
#
#   node.sh enter NAME FOLDER NETNS CGROUP   joins the cgroups, then turns into the node
#   node.sh init NAME FOLDER                 the node's PID 1
set -u
verb=$1 name=$2 folder=$3

if [ "$verb" = enter ]; then
  for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
    procs=$hierarchy/$5/system/cgroup.procs
    [ ! -e "$procs" ] || echo $$ >"$procs"
  done
  # By nsenter, for "ip netns exec" would hide /sys/fs/cgroup.
  exec nsenter --net="/run/netns/$4" unshare --mount --pid --uts --ipc --fork --mount-proc \
    --propagation slave --kill-child=KILL bash "$0" init "$name" "$folder"
fi

# The kubelet wants shared mounts; they are slaves of the host's, so nothing leaks out.
mount --make-rshared /
mount --bind "$folder/run" /run && mkdir -p /run/netns /run/lock
mount --bind "$folder/lib" /var/lib && mount --bind "$folder/log" /var/log
mkdir -p /var/log/pods /var/log/containers /var/lib/cni
for file in "$folder"/sysctl/*; do
  setting=${file##*/}
  mount --bind "$file" "/proc/sys/${setting//.//}"
done
hostname "$name"
cd /

# Starts a program again whenever it ends, unless it has been switched off.
keep() {
  local args
  mapfile -t args <"$folder/$1.args"
  while :; do
    if [ ! -e "/run/$1.off" ]; then
      "${args[@]}" >>"/var/log/$1.log" 2>&1 &
      echo $! >"/run/$1.pid"
      wait $!
      echo "node.sh: $1 ended with $?" >>"/var/log/$1.log"
      rm -f "/run/$1.pid"
    fi
    sleep 0.3
  done
}

keep containerd &
until ctr version >/dev/null 2>&1; do sleep 0.05; done
keep kubelet &
keep kube-proxy &
wait
