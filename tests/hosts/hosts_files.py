# SPDX-License-Identifier: BSD-3-Clause
"""The files of the rig of hosts: keys and configurations of ssh, slurm and munge, and names. All hosts see them in RIG."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/..")
from patience import HANG_S  # noqa: E402

RIG = "/run/rig"  # in each host
HOME = f"{RIG}/home"  # of root, on all hosts the same folder, as on a cluster
SSH_CONFIG, SLURM_CONF = f"{RIG}/ssh/ssh_config", f"{RIG}/slurm/slurm.conf"
HOSTS_MAX = 250  # besides h0, within 10.78.0.0/24
SLURM_CPUS = 8  # of each host, as slurm sees it

SSHD_CONFIG = """\
AuthorizedKeysFile {rig}/ssh/user_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
PidFile /run/sshd.pid
MaxStartups 1000
MaxSessions 1000
Subsystem sftp internal-sftp
SetEnv "RZ_HOSTS={mark}"
"""

CLIENT_CONFIG = """\
Host *
    User root
    IdentityFile {rig}/ssh/user_key
    IdentitiesOnly yes
    UserKnownHostsFile {rig}/ssh/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode yes
"""

SLURM = """\
ClusterName=rig
SlurmctldHost=h0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=30
KillWait=5
SlurmdParameters=config_overrides
StateSaveLocation={rig}/slurm-state
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile={rig}/log/h0.slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile={rig}/log/%n.slurmd
NodeName=h[1-{last}] CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES MaxTime=INFINITE
"""


# A user's path may lack them.
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"


def name(k):
    return f"h{k}"


def address(k):
    """h0 has the number 254: a network's own number is 0."""
    return f"10.78.0.{k or 254}"


def address6(k):
    return f"fd78::{k or 254}"


def ahead_s(k):
    """How far the clocks since the boot (CLOCK_MONOTONIC) of a host are ahead of the machine's: as if the hosts had booted on other days."""
    return 200_000 * k if k else 500_000


def hardware_address(k):
    return f"02:78:00:00:00:{k or 254:02x}"


def write(path, text, mode=0o644):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)


def generate_key(path, comment):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path], check=True, stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=HANG_S)
    with open(f"{path}.pub") as file:
        return " ".join(file.read().split()[:2])


def make_ssh(folder, hosts, mark):
    os.mkdir(f"{folder}/ssh")
    generate_key(f"{folder}/ssh/user_key", "user")
    known = [f"{name(k)},{name(k)}-v6,{address(k)},{address6(k)} {generate_key(f'{folder}/ssh/{name(k)}_key', name(k))}\n" for k in hosts]
    write(f"{folder}/ssh/known_hosts", "".join(known))
    write(f"{folder}/ssh/sshd_config", SSHD_CONFIG.format(rig=RIG, mark=mark))
    write(f"{folder}/ssh/ssh_config", CLIENT_CONFIG.format(rig=RIG))


def make_slurm(folder, hosts):
    for inner in ("slurm", "slurm-state", "munge"):
        os.mkdir(f"{folder}/{inner}")
    write(f"{folder}/slurm/slurm.conf", SLURM.format(rig=RIG, last=max(hosts), cpus=SLURM_CPUS))
    with open(os.open(f"{folder}/munge.key", os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
        file.write(os.urandom(1024))


def make(folder, hosts, slurm, mark):
    """Fills the folder that the hosts see as RIG."""
    for inner in ("log", "etc", "home"):
        os.mkdir(f"{folder}/{inner}")
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    for k in hosts:
        lines += [f"{address(k)} {name(k)}", f"{address6(k)} {name(k)}-v6"]
    write(f"{folder}/etc/hosts", "\n".join(lines) + "\n")
    # Without PAM, sshd refuses a root whose password is locked, as it is on many machines.
    write(f"{folder}/etc/shadow", "root:*:19000:0:99999:7:::\nsshd:!:19000::::::\n", 0o600)
    with open("/etc/passwd") as file:  # not the home of the machine's user: its shell's settings and keys are no part of a test
        users = [line for line in file if not line.startswith("root:")]
    write(f"{folder}/etc/passwd", f"root:x:0:0:root:{HOME}:{'/bin/bash' if os.path.exists('/bin/bash') else '/bin/sh'}\n" + "".join(users))
    for k in hosts:
        write(f"{folder}/etc/hostname.{name(k)}", f"{name(k)}\n")
    make_ssh(folder, hosts, mark)
    if slurm:
        make_slurm(folder, hosts)


def has_firewall():
    """Whether hosts can have rules of iptables: the command, and a kernel that has them."""
    rule = "-w -t nat -A OUTPUT -p tcp -j REDIRECT --to-ports 1".split()
    return shutil.which("iptables") is not None and \
        subprocess.run(["unshare", "--net", "iptables", *rule], stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S).returncode == 0


def lacking(slurm=False):
    """Why this machine cannot have such hosts, in a few words; None: it can."""
    if os.geteuid() != 0:
        return "root"
    commands = ["ip", "sshd", "ssh", "ssh-keygen"] + (["munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo"] if slurm else [])
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        return f"{', '.join(missing)} (tools/setup --check installs what is missing)"
    words = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "ip", "link", "add", "type", "bridge"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S)
    except FileNotFoundError:
        return "unshare (package util-linux)"
    return None if done.returncode == 0 else "the right to make namespaces, mounts and bridges"
