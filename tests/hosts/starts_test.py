#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starts on other hosts that fail, as a table: what is broken, and what rzrun must say of it. Each is one sentence that names the host,
the cause, and what helps; it ends with its status within its bound, and leaves nothing on any host. Some starts that must not fail are in
the table, too. CASES: all of them; `starts_test.py NAME...` runs some, `--part I N` the I-th of N parts.
Skipped (77) without root or sshd."""
import collections
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hosts_files as files  # noqa: E402
import jobs  # noqa: E402
from jobs import BAD_LINE, BUILD, HANG_S, NO_START, RZRUN  # noqa: E402

RZD, HOME = f"{BUILD}/bin/rzd", files.HOME
OWN = f"{HOME}/own"  # a folder that one host has of its own
MPI = f"{jobs.HPCCG} 8 8 8"
SCRIPT = f"{HOME}/script"  # what stands in the place of rzd, or of the agent

# name; what is said (a regular expression); options before the program; what breaks it on the broken host, h2: commands of a shell;
# rzd: a script in the place of h2's rzd; agent: a script in the place of ssh; shell: what root's login shell does first on h2;
# program: instead of hostname; status: the exit status.
Case = collections.namedtuple("Case", "name says options on_h2 rzd agent shell program status on_h0",
                              defaults=("", "", "", "", "", "hostname", NO_START, ""))
NO_CONFIG = "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
HAS_OWN = f"mount -t tmpfs none {OWN}"
FAST = "--start-timeout 3s"
IPV4 = f"--interface {files.address(0)[:-3]}0/24"
WORKS, NOT_FOUND, NOT_EXECUTABLE = 0, 127, 126
TMPDIR_HELP = "set TMPDIR there to a directory that can be used"
SSH_HELP, PREFIX_HELP = "try `ssh HOST true`", "is Rhizome installed there\\? --prefix says where"
CASES = [
    # Names and the way to a host
    Case("a host that does not exist", f"nosuch: ssh: Could not resolve hostname nosuch.*{SSH_HELP}", "--host h1,nosuch"),
    Case("no sshd there", f"h2: ssh: connect to host h2 port 22: Connection refused.*{SSH_HELP}", on_h2="iptables -A INPUT -p tcp --dport 22 "
         "-j REJECT --reject-with tcp-reset"),
    Case("a port without sshd", "h1: ssh: connect to host h1 port 23: Connection refused.*; h2: ", "--ssh-args -p23"),
    Case("a key that is refused", f"h2: .*Permission denied.*{SSH_HELP}", f"--ssh-args '{NO_CONFIG}'"),
    Case("a key with a passphrase", f"h2: .*Permission denied.*{SSH_HELP}", f"--ssh-args '{NO_CONFIG} -i {HOME}/locked'"),
    Case("a host key that is not known", f"h2: (Host key verification failed|No .* host key is known for h2).*{SSH_HELP}",
         "--ssh-args -oUserKnownHostsFile=/dev/null"),
    Case("a host key that has changed", f"h2: Host key verification failed.*{SSH_HELP}", f"--ssh-args -oUserKnownHostsFile={HOME}/changed"),
    Case("a firewall that drops all", f"h2: no answer|h2: ssh: connect to host h2 port 22: Connection timed out", FAST,
         "iptables -A INPUT -p tcp --dport 22 -j DROP"),
    Case("half of the hosts dead", "x3: no route there .*; x4: no route there .*", "--host h1,x3,h2,x4",
         agent='case $1 in x*) echo no route there >&2; exit 255;; esac; exec ssh -x -T -o BatchMode=yes "$@"'),
    Case("a name that resolves to loopback", "h1", "--host h1,here", on_h0="named here 127.0.1.1", program=MPI, status=WORKS),
    Case("a name of another host that resolves to loopback", "h2", "--host h1,h2", on_h0="named h2 127.0.1.1", program=MPI, status=WORKS),
    # The shell of a host
    Case("a login shell that greets", "h2", shell="echo Welcome; echo rhizome-report of no use; echo 1>&2 beware", status=WORKS),
    Case("a login shell that writes garbage", "h2", shell="head -c 5000 /dev/urandom; echo", status=WORKS),
    Case("a login shell that ends", "h2: goodbye \\(ssh ended with status 3\\).*", shell="echo goodbye; exit 3"),
    Case("/bin/false as login shell", "h2: no answer \\(ssh ended with status 1\\).*login shell", on_h2="passwd_with /bin/false"),
    Case("nologin as login shell", "h2: This account is currently not available.*status 1.*login shell", on_h2="passwd_with /usr/sbin/nologin"),
    Case("a login shell that hangs", "1 of 2 daemons have not reported.*h2: no answer", FAST, shell="sleep 1000"),
    # rzd there
    Case("no rzd anywhere", f"h1: .*(not found|No such file).*; h2: .*{PREFIX_HELP}", "--prefix /opt/none"),
    Case("no rzd there", f"h2: .*(not found|No such file).*{PREFIX_HELP}", on_h2=f"mount -t tmpfs none {BUILD}/bin"),
    Case("an rzd that is not executable", "h2: .*Permission denied.*status 126.*may not be run", on_h2=f"chmod 644 {SCRIPT}", rzd="exit 0"),
    Case("an rzd for another machine", "h2: .*status 126.*not for this kind of machine", on_h2="elf_of_another_machine"),
    Case("an rzd that is empty", "h2: .*\\(ssh ended with status 0\\); .*no daemon of Rhizome", on_h2="empty_rzd"),
    Case("an rzd of another version", "h2: rzd: rzrun is of version .*, rzd here of version .*install one version on all hosts",
         on_h2="other_version"),
    Case("an rzd that knows no --remote", "h2: usage: rzd --keeper.*status 2", rzd="echo 'usage: rzd --keeper' >&2; exit 2"),
    Case("an rzd that is killed", "h2: no answer \\(ssh ended with status 255\\); .*killed", rzd="kill -9 $$"),
    Case("an rzd that is killed after it has read", "h2: no answer \\(ssh ended with status 255\\); .*killed",
         rzd="head -c 64 >/dev/null; kill -9 $$"),
    Case("an rzd that says nothing", "1 of 2 daemons have not reported.*h2: no answer", FAST, rzd="exec sleep 1000"),
    Case("a host that stops in the middle", "1 of 2 daemons have not reported.*h2: no answer", FAST, rzd="kill -STOP $PPID; exec sleep 1000"),
    # Limits and disks there
    Case("too few descriptors there", "the daemon of node 1 \\(h2\\) ended before it was ready.*ulimit", shell="ulimit -n 6"),
    Case("too little memory there", "h2: .*out of memory", shell="ulimit -v 12000"),
    Case("a full /tmp there", "h2", on_h2="head -c 100M /dev/zero >/tmp/full 2>/dev/null; mount -o remount,size=4k /tmp; true", status=WORKS),
    Case("a /tmp there that cannot be written", "h2", on_h2="mount -o bind,ro /tmp /tmp", status=WORKS),
    Case("a full /dev/shm there", "h2", status=WORKS, on_h2="mount -t tmpfs -o size=4k none /dev/shm; "
         "head -c 4k /dev/zero >/dev/shm/full", program=MPI),
    Case("a /dev/shm there that cannot be written", "h2", status=WORKS, on_h2="mount -t tmpfs -o ro none /dev/shm", program=MPI),
    # Ports and interfaces
    Case("a firewall before rzrun", "h2: rzd: cannot reach rzrun at 10.78.0.254:.*is there a firewall\\?.*--port-range", f"{FAST} {IPV4}",
         "iptables -A OUTPUT -p tcp --syn -d 10.78.0.254 -j REJECT"),
    Case("no free port here", "no port of --port-range is free", "--port-range 45000-45001", on_h0="occupy 45000 45001"),
    Case("no free port there", "the daemon of node 1 \\(h2\\) ended before it was ready.*--port-range", "--port-range 45000-45001",
         "occupy 45000 45001"),
    Case("no such interface here", "no interface of this machine is the one of --interface", "--interface eth7"),
    Case("no such interface there", "h2: rzd: no interface here is the one of --interface", f"--interface {files.address(0)[:-3]}252/30"),
    # The program there
    Case("no program there", "rank 1 ended the job: cannot execute .*: No such file or directory \\(on host h2\\)",
         program=f"{OWN}/program", on_h2=HAS_OWN, status=NOT_FOUND),
    Case("a program there that is not executable", "rank 1 ended the job: cannot execute .*: Permission denied \\(on host h2\\)",
         program=f"{OWN}/program", on_h2=f"{HAS_OWN}; printf x >{OWN}/program",
         status=NOT_EXECUTABLE),
    Case("no working directory there", "rank 1 ended the job: cannot enter the working directory .*\\(on host h2\\)",
         f"--wdir {OWN}/below", HAS_OWN),
    # Files that are brought
    Case("files, and a full /tmp there", f"--preload: host h2: hostname \\(\\d+ bytes\\) cannot be written in /tmp: No space left on device; free some "
         f"space, or {TMPDIR_HELP}", "--preload", "mount -t tmpfs -o size=16k none /tmp; head -c 12k /dev/zero >/tmp/full"),
    Case("files, and a /tmp there that cannot be written", f"--preload: host h2: no folder can be made in /tmp: Read-only file system; {TMPDIR_HELP}",
         "--preload", "mount -o bind,ro /tmp /tmp"),
    Case("files, and a /tmp there where nothing may be executed", f"--preload: host h2: programs in /tmp may not be executed .*noexec.*; {TMPDIR_HELP}",
         "--preload", "mount -t tmpfs -o noexec none /tmp"),
    Case("files, and a TMPDIR there that does not exist", f"--preload: host h2: no folder can be made in /none: No such file or directory; {TMPDIR_HELP}",
         "--preload", shell="export TMPDIR=/none"),
    Case("files for another machine", "--preload: host h[12]: foreign is for another kind of machine .*use hosts of the kind for which it was compiled",
         "--preload", program=f"{HOME}/foreign"),
    Case("two files of one name", "--preload-files: .*bad and .*bad have the same name and different content.*rename one of them",
         f"--preload-files {HOME}/bad,{OWN}/bad", status=BAD_LINE),
    Case("a file that does not exist", "--preload-files: cannot read /none/file: there is no such file", "--preload-files /none/file", status=BAD_LINE),
    # The agent
    Case("an agent that does not exist", "h1: /none/agent cannot be started: No such file or directory", "--launch-agent /none/agent"),
    Case("an agent that is killed", "h1: no answer .*status 137", agent="kill -9 $$"),
    Case("an agent that starts nothing", "h1: no answer .*ended with status 0\\); .*", agent="exit 0"),
    # The line of rzrun
    Case("an empty file of hosts", "empty': the file names no host", f"--hostfile {HOME}/empty", status=BAD_LINE),
    Case("a bad line in a file of hosts", "bad': line 2: slots are", f"--hostfile {HOME}/bad", status=BAD_LINE),
]
BROKEN = {case.name: case for case in CASES}

TOOLS = f"""
passwd_with() {{ sed "s|^\\(root:.*:\\).*|\\1$1|" /etc/passwd >/tmp/passwd; cat /tmp/passwd >/run/passwd; rm /tmp/passwd
mount --bind /run/passwd /etc/passwd; }}
in_place_of_rzd() {{ mount --bind "$1" {RZD}; }}
empty_rzd() {{ : >/run/rzd; chmod 755 /run/rzd; in_place_of_rzd /run/rzd; }}
elf_of_another_machine() {{ {sys.executable} -c "
import os
b = bytearray(open('{RZD}', 'rb').read())
b[18:20] = b'\\xb7\\0' if b[18:20] != b'\\xb7\\0' else b'\\x3e\\0'
open('/run/rzd', 'wb').write(b)
os.chmod('/run/rzd', 0o755)"; in_place_of_rzd /run/rzd; }}
named() {{ (echo "$2 $1"; grep -v " $1$" /etc/hosts) >/run/names; mount --bind /run/names /etc/hosts; }}
other_version() {{ v=$({RZRUN} --version | grep -o '[0-9][0-9.]*[0-9]' | head -1); w=$(echo "$v" | tr 0-8 1-9)
sed "s/$v/$w/g" {RZD} >/run/rzd; chmod 755 /run/rzd; in_place_of_rzd /run/rzd; }}
occupy() {{ setsid {sys.executable} -c "
import socket, sys, time
kept = [socket.create_server(('', int(port))) for port in sys.argv[1:]]
open('/run/occupied', 'w')
time.sleep(1000)" "$@" </dev/null >/dev/null 2>&1 &
while [ ! -e /run/occupied ]; do sleep 0.05; done; }}
"""


def write(path, text, mode=0o644):
    files.write(path, text, mode)
    os.chmod(path, mode)


class Starts(jobs.JobsTest):
    N = 2
    names = list(BROKEN)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = f"{cls.rig.folder}/rig/home"
        cls.home = home
        os.makedirs(f"{home}/own/below")
        write(f"{home}/own/program", "#!/bin/sh\necho runs\n", 0o755)
        write(f"{home}/own/bad", "another one\n")
        with open("/bin/true", "rb") as file:
            program = bytearray(file.read())
        program[18] ^= 0xff
        with open(os.open(f"{home}/foreign", os.O_WRONLY | os.O_CREAT, 0o755), "wb") as file:
            file.write(program)
        write(f"{home}/bad", "h1\nh2 slots=many\n")
        write(f"{home}/empty", "# no host\n")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", f"{home}/locked"], check=True, timeout=HANG_S)
        with open(f"{cls.rig.folder}/rig/ssh/known_hosts") as known:
            keys = known.read().splitlines()
        write(f"{home}/changed", "\n".join([keys[1], " ".join([keys[2].split()[0], *keys[0].split()[1:]])]) + "\n")

    def prepare(self, case):
        commands = case.on_h2
        if case.rzd:
            write(f"{self.home}/script", f"#!/bin/sh\n{case.rzd}\n", 0o755)
            commands = f"in_place_of_rzd {SCRIPT}; {commands}"
        if case.agent:
            write(f"{self.home}/script", f"#!/bin/sh\n{case.agent}\n", 0o755)
        if case.shell:
            write(f"{self.home}/shell", f"#!/bin/sh\n{case.shell}\nexec /bin/sh \"$@\"\n", 0o755)
            commands = f"passwd_with {HOME}/shell; {commands}"
        if commands:
            done = self.rig.run(2, ["sh", "-c", f"{TOOLS}\n{commands}"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
            self.assertEqual(done.returncode, 0, done.stderr)
        if case.on_h0:
            self.rig.run(0, ["sh", "-c", f"{TOOLS}\n{case.on_h0}"], stdout=subprocess.DEVNULL, timeout=HANG_S, check=True)
        return [2] * bool(commands) + [0] * bool(case.on_h0)

    def run_case(self, case):
        words = shlex.split(case.options) + (["--launch-agent", SCRIPT] if case.agent else [])
        hosts = [] if re.search("--host", case.options) else ["--host", "h1,h2"]
        broken = self.prepare(case)
        try:
            done = self.rig.run(0, [RZRUN, *hosts, *words, "-n", "2", *case.program.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", timeout=HANG_S)
            self.assertEqual(done.returncode, case.status, done.stderr)
            if case.status != WORKS:
                self.assertRegex(done.stderr, f"(?m)^rzrun: .*({case.says})")
                self.assertLessEqual(len(done.stderr.splitlines()), 2, done.stderr)
            for k in range(3):
                def left(k=k):
                    return [line for line in self.rig.free_check(k) if re.search("rz|rhizome", line) and "/run/" not in line]
                self.assertTrue(jobs.await_true(lambda: not left()), left())
        finally:
            for k in broken:
                self.rig.power_off(k)
                self.rig.boot(k)

    def test_cases(self):
        for name in self.names:
            with self.subTest(name):
                if "iptables" in BROKEN[name].on_h2 and not files.has_firewall():
                    self.skipTest("no iptables")
                self.run_case(BROKEN[name])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        Starts.names = Starts.names[int(sys.argv[2])::int(sys.argv[3])]
    elif len(sys.argv) > 1:
        Starts.names = sys.argv[1:]
    del sys.argv[1:]
    jobs.main()
