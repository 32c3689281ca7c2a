#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rzrun --preload: files are brought to other hosts, which are played on this machine (hosts_test.py): each has a folder for temporary
files of its own, and nothing is left in it, whatever is killed at which point.
tests/hosts/preload_test.py has real hosts."""
import os
import re
import shutil
import signal
import socket
import unittest

import launch_rig as rig

PROGRAM, LIBRARY = f"{rig.BUILD}/tests/preload/preload_test_program", f"{rig.BUILD}/tests/preload/libpreload_test_library.so"
HELPER = rig.program("daemon_test_helper")
AGENT = """#!/bin/sh
# HOST COMMAND, as ssh has it
export TMPDIR="$(dirname "$0")/tmp-$1"
case $1 in
gone*) rmdir "$TMPDIR" ;;
esac
exec setsid -w sh -c "$2"
"""
FOLDER = r"rhizome-preload-[^/ ]*-[0-9a-f]{16}"


class Bring(rig.LaunchTest):
    def setUp(self):
        super().setUp()
        self.agent = self.file("agent", AGENT, mode=0o755)
        self.here = f"{self.folder}/here"
        os.mkdir(self.here)

    def tearDown(self):
        super().tearDown()
        for name in os.listdir(self.folder):
            if name.startswith("tmp-"):
                self.assertEqual(os.listdir(f"{self.folder}/{name}"), [], name)

    def words(self, hosts, *more):
        for host in hosts.split(","):
            os.makedirs(f"{self.folder}/tmp-{host.split(':')[0]}", exist_ok=True)
        return ["--launcher", "ssh", "--launch-agent", self.agent, "--interface", "lo", "--host", hosts, *more]

    def put(self, name, text, mode=0o644):
        return self.file(f"here/{name}", text, mode)

    def test_a_program_with_its_library(self):
        """It finds its library although it knows no place of it: on the hosts both lie in one folder."""
        result = self.runs(*self.words("a,b"), "-n", "2", "--preload", PROGRAM)
        self.assertEqual(result.err, "")
        for line, host in zip(sorted(result.out.splitlines(), key=lambda line: line.split("tmp-")[1]), "ab"):
            self.assertRegex(line, rf"^answer 42 of {PROGRAM} in {self.folder}/tmp-{host}/{FOLDER} at {os.getcwd()}$")

    def test_the_same_by_other_names_of_the_option(self):
        for option in ("-s", "--preload-binary"):
            self.assertRegex(self.runs(*self.words("a"), option, PROGRAM).out, f"in {self.folder}/tmp-a/{FOLDER} at")

    def test_a_working_directory_that_is_not_there(self):
        result = self.runs(*self.words("a"), "--wdir", "/no/such/place", "--preload", PROGRAM)
        self.assertRegex(result.out, f"in ({self.folder}/tmp-a/{FOLDER}) at \\1$")

    def test_scripts_data_and_several_programs(self):
        data = self.put("data", "x" * 1_000_000 + "y")
        one = self.put("one", "#!/bin/sh\necho one $(wc -c <$RZ_PRELOAD_DIR/data) $(ls $RZ_PRELOAD_DIR)\n", 0o755)
        two = self.put("two", "#!/bin/sh\necho two $0\n", 0o755)
        result = self.runs(*self.words("a,b"), "--preload", "--preload-files", f"{data},{self.put('more', '')}", "-n", "1", one, ":", "-n", "1", two)
        self.assertRegex(result.out, "(?m)^one 1000001 data more one two$")
        self.assertRegex(result.out, rf"(?m)^two {self.folder}/tmp-b/{FOLDER}/two$")

    def test_data_alone(self):
        result = self.runs(*self.words("a"), "--preload-files", self.put("data", "of here"), "sh", "-c", "cat $RZ_PRELOAD_DIR/data")
        self.assertEqual(result.out, "of here")

    def test_this_machine_beside_other_hosts(self):
        words = self.words("localhost,elsewhere")
        words[words.index("ssh")] = "auto"
        result = self.runs(*words, "-n", "2", "--preload", PROGRAM)
        self.assertRegex(result.out, "(?m)^answer 42 of .* in none at ")
        self.assertRegex(result.out, f"(?m)^answer 42 of .* in {self.folder}/tmp-elsewhere/{FOLDER} at ")

    def test_on_this_machine_the_option_has_no_effect(self):
        result = self.runs("-v", "-n", "2", "--nodes", "2", "--preload", "--preload-files", "/no/such/file", PROGRAM)
        self.assertEqual(len(re.findall("(?m)^answer 42 of .* in none at ", result.out)), 2)
        self.assertIn("rzrun: without effect: --preload\n", result.err)

    def test_processes_that_are_spawned_and_replaced(self):
        """The program's own name starts the brought file, wherever it lies here."""
        script = self.put("program", f"#!/bin/sh\ncase $0 in */rhizome-preload-*) ;; *) exit 9;; esac\nexec {HELPER} \"$@\"\n", 0o755)
        spawned = self.runs(*self.words("a:2,b:2"), "--preload", "-n", "2", "-x", f"TEST_SPAWN={script} join enter leave bye",
                            script, "join", "enter", "spawn:1", "leave", "bye")
        self.assertEqual(spawned.err, "")
        first = self.put("first", f"#!/bin/sh\ncase $0 in */rhizome-preload-*) ;; *) exit 9;; esac\ntest $RZ_RANK = 1 || exec {HELPER} join enter failed:1 "
                         f"replace:1,2 leave bye\ntest $RZ_INCARNATION = 1 || exec {HELPER} join enter leave bye\nexec {HELPER} join enter kill\n", 0o755)
        self.runs(*self.words("a:2,b:2"), "--preload", "-n", "2", "--map-by", "node", first)

    def test_a_job_that_restarts(self):
        script = self.put("script", "#!/bin/sh\ncase $0 in */rhizome-preload-*) ;; *) exit 9;; esac\ntest $RZ_ATTEMPT = 2 || kill -9 $$\n", 0o755)
        result = self.runs(*self.words("a,b"), "--preload", "--on-failure", "restart", "-n", "2", script)
        self.assertIn("the job restarts (1)", result.err)

    def test_what_is_refused_before_anything_starts(self):
        os.mkdir(f"{self.here}/other")
        data, other = self.put("data", "1"), self.put("other/data", "2")
        for words, says in ((["--preload-files", f"{data},{other}"], f"--preload-files: {data} and {other} have the same name and different content"),
                            (["--preload-files", f"{self.here}/none"], "none: there is no such file"), (["--preload-files", self.here], "directory"),
                            (["--preload-files", ","], "names of files")):
            result = self.run_it(*self.words("gone1"), *words, "true")
            self.assertEqual(result.status, rig.BAD_LINE, result.err)
            self.assertIn(says, result.err)

    def test_a_host_that_cannot_take_them(self):
        result = self.run_it(*self.words("a,gone1"), "-n", "2", "--preload", PROGRAM)
        self.assertEqual((result.status, result.out), (rig.NO_START, ""), result.err)
        self.assertRegex(result.err, rf"^rzrun: --preload: host gone1: no folder can be made in {self.folder}/tmp-gone1: No such file or directory; "
                         "set TMPDIR there to a directory that can be used\n$")

    def test_a_host_where_others_could_exchange_them(self):
        """Another user could put his program in the place of the job's. Where the directory is sticky he cannot."""
        words = self.words("a,b")
        os.chmod(f"{self.folder}/tmp-b", 0o777)
        result = self.run_it(*words, "-n", "2", "--preload", PROGRAM)
        self.assertEqual((result.status, result.out), (rig.NO_START, ""), result.err)
        self.assertEqual(result.err, f"rzrun: --preload: host b: other users could exchange what lies in {self.folder}/tmp-b: everyone may write to "
                         f"{self.folder}/tmp-b and exchange what is in it (its mode is 0777): use a folder of your own, or `chmod o-w` it; or set "
                         "TMPDIR there to a directory that can be used\n")
        self.runs(*words, "-n", "2", "true")  # without files it is not needed
        os.chmod(f"{self.folder}/tmp-b", 0o1777)
        self.runs(*words, "-n", "2", "--preload", PROGRAM)

    def test_folders_that_others_have_renamed_stay(self):
        """A folder of this user that another one has given the name of a left over one: the next job does not remove it, neither while all may
        write to the directory nor when they no longer may."""
        words = self.words("a,b")
        for host, mode in ("a", 0o777), ("b", 0o700):
            os.chmod(f"{self.folder}/tmp-{host}", mode)
            named = f"{self.folder}/tmp-{host}/rhizome-preload-{socket.gethostname()}-0123456789abcdef"
            os.makedirs(f"{named}/work")
            os.chmod(named, 0o700)
        self.runs(*words, "-n", "2", "true")
        for host in "ab":
            named = f"{self.folder}/tmp-{host}/rhizome-preload-{socket.gethostname()}-0123456789abcdef"
            self.assertEqual(os.listdir(named), ["work"])
            shutil.rmtree(named)

    def test_a_program_of_another_machine(self):
        with open(PROGRAM, "rb") as file:
            program = bytearray(file.read())
        program[18] ^= 0xff
        path = self.put("foreign", "", 0o755)
        with open(path, "wb") as file:
            file.write(program)
        result = self.run_it(*self.words("a"), "--preload", path)
        self.assertEqual(result.status, rig.NO_START)
        self.assertRegex(result.err, r"^rzrun: --preload: host a: foreign is for another kind of machine \(ELF machine \d+, there \d+\); .*\n$")

    def test_kills_while_files_are_brought(self):
        data = self.put("data", "x" * 2_000_000)
        for point in ("files-folder", "files-part", "files-part:3", "files-whole", "files-whole:2"):
            with self.subTest(point=point):
                run = self.start(*self.words("a,b"), "-n", "2", "--preload", "--preload-files", data, PROGRAM, environment={"RZ_KILL_AT": f"{point}@1"})
                result = self.finish(run)
                self.assertEqual((result.status, result.out), (rig.NO_START, ""), result.err)
                self.assertRegex(result.err, r"the daemon of node 1 \(b\) ended before it was ready")

    def test_rzrun_is_killed_while_it_brings_files(self):
        data = self.put("data", "x" * 2_000_000)
        result = self.finish(self.start(*self.words("a,b"), "-n", "2", "--preload", "--preload-files", data, PROGRAM,
                                        environment={"RZ_KILL_AT": "launch-files:2"}))
        self.assertEqual(result.status, -signal.SIGKILL)

    def running(self):
        """A job of two hosts whose processes have said that they are up."""
        script = self.put("script", "#!/bin/sh\necho up; exec sleep 1000\n", 0o755)
        process = self.start(*self.words("a,b"), "-n", "2", "--preload", script)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"up\n")
        self.assertEqual([len(os.listdir(f"{self.folder}/tmp-{host}")) for host in "ab"], [1, 1])
        return process, [member for member in rig.marked(self.mark) if "rzd" in member.name]

    def test_kills_while_the_job_runs(self):
        for victim in ("rzd", "rzd-keeper", "rzrun", "sleep"):
            with self.subTest(victim=victim):
                process, _ = self.running()
                for member in rig.marked(self.mark):
                    if member.name == victim or (victim == "sleep" and member.name == "script"):
                        os.kill(member.pid, signal.SIGKILL)
                result = self.finish(process)
                self.assertNotEqual(result.status, 0, result.err)
                self.assertEqual(rig.lasting(lambda: [name for host in "ab" for name in os.listdir(f"{self.folder}/tmp-{host}")]), [])

    def test_what_was_left_over_goes_with_the_next_job(self):
        """Daemons are killed while their keepers are stopped, then these: none can clean up. The folder of a job that runs stays."""
        process, runtime = self.running()
        for number, name in ((signal.SIGSTOP, "rzd-keeper"), (signal.SIGKILL, "rzd"), (signal.SIGKILL, "rzd-keeper")):
            for member in runtime:
                if member.name == name:
                    os.kill(member.pid, number)
        self.finish(process)
        self.assertEqual([len(os.listdir(f"{self.folder}/tmp-{host}")) for host in "ab"], [1, 1])
        process, _ = self.running()
        self.runs(*self.words("a,b"), "-n", "2", "true")
        self.assertEqual([len(os.listdir(f"{self.folder}/tmp-{host}")) for host in "ab"], [1, 1])
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def test_a_host_that_takes_nothing_more(self):
        shutil.copy(PROGRAM, f"{self.here}/program")
        result = self.finish(self.start(*self.words("a,b"), "-n", "2", "--start-timeout", "2s", "--preload", f"{self.here}/program",
                                        environment={"RZ_KILL_AT": "files-part@1+stop"}))
        self.assertEqual(result.status, rig.NO_START, result.err)
        self.assertRegex(result.err, r"--preload: no host took any part of a file for 2 s \(--start-timeout\); 1 have not got all files, the first is b")


if __name__ == "__main__":
    unittest.main(verbosity=2)
