#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command lines as other launchers take them, and the end of each command on a full disk."""
import os
import re
import subprocess

import launch_rig as rig

SH = "/bin/sh"
COUNT = [SH, "-c", "echo $RZ_RANK"]
TRUE = "/bin/true"

# What stands before the program; how many ranks then run.
LINES = [
    (["-n2"], 2), (["-n=2"], 2), (["-np", "2"], 2), (["-np=2"], 2), (["--np", "2"], 2), (["--n", "2"], 2), (["-c", "2"], 2),
    (["--timeout", "60"], 1), (["--timeout", "1h30m"], 1), (["-timeout=60"], 1),
    (["-host", "localhost:2"], 2), (["-hosts", "localhost,localhost"], 2), (["-H", "localhost:3"], 3),
    (["-ppn", "2", "--nodes", "2", "-n", "4"], 4), (["--map-by", "ppr:1:node", "--nodes", "3", "-n", "3"], 3), (["-N", "2", "--nodes", "1", "-n", "3"], 3),
    (["--map-by", "socket", "-n", "2"], 2), (["--map-by", "slot:OVERSUBSCRIBE", "-n", "2", "--host", "localhost:1"], 2),
    (["--bind-to", "socket", "-n", "2"], 2), (["--bind-to", "none:overload-allowed"], 1), (["--rank-by", "slot"], 1),
    (["--with-ft", "ulfm", "-n", "2"], 2), (["--with-ft", "mpi"], 1), (["--with-ft", "no"], 1), (["-am", "ft-enable-mpi"], 1),
    (["--mca", "btl", "tcp,self", "-mca", "mpi_yield_when_idle", "1", "-n", "2"], 2), (["--prtemca", "x", "y", "--quiet"], 1),
    (["--mca", "rmaps_base_oversubscribe", "1", "-n", "2", "--host", "localhost:1"], 2),
    (["--allow-run-as-root", "--oversubscribe", "-quiet", "-genvall"], 1), (["-launcher", "ssh", "-iface", "lo"], 1),
    (["-disable-auto-cleanup", "--enable-recovery"], 1), (["--prefix", "/usr"], 1), (["-soft", "1:2", "-arch", "any"], 1),
    (["--map-by", ":OVERSUBSCRIBE", "-n", "2", "--host", "localhost:1"], 2), (["--display", "map", "--display-map"], 1),
    (["-pernode", "--nodes", "2", "-n", "2"], 2), (["--use-hwthread-cpus", "--nooversubscribe", "--recoverable"], 1),
    (["--disable-recovery", "-n", "2"], 2), (["--mca", "mpi_ft_enable", "1", "-n", "2"], 2), (["--mca", "mpi_ft_enable", "false"], 1),
    (["--mca", "mpi_ft_detector_period", "0.5", "-n", "2", "--nodes", "2"], 2),
    (["--mca", "mpi_ft_detector_period", "0.05", "--mca", "mpi_ft_detector_timeout", "3e-1", "-n", "2", "--nodes", "2"], 2),
    (["--output", "merge"], 1), (["-s"], 1), (["--preload-binary", "--preload-files", "a,b"], 1),
]

# These say something on standard error, and run all the same.
WORDS = [
    (["--mca", "no_such_parameter", "1", "--mca", "nor_this", "2"], r"parameter no_such_parameter of another MPI is not known here"),
    (["-v", "--mca", "btl", "tcp", "--bind-to", "numa"], r"without effect: --mca btl\n(.*\n)*.*without effect: --bind-to"),
    (["-v", "--ssh-args", "-4", "--interface", "lo"], r"without effect: --ssh-args\n(.*\n)*.*without effect: --interface"),
    (["-v", "-n", "3", "--nodes", "2"], r"3 ranks of /bin/true\n(.*\n)*rzrun: node 1 \(localhost\): 1 ranks"),
]

FULL = [["rzps"], ["rzps", "--json"], ["rzps", "--help"], ["rzdoctor", "features"], ["rzdoctor", "--man"], ["rzsim", "list"], ["rzsim", "--help"],
        ["rzsim", "ring", "--nodes", "8", "--kill", "1"], ["rzbench", "--help"], ["rzrun", "--help"], ["rzrun", "--version"], ["rzrun", "--man"]]


class Options(rig.LaunchTest):
    def test_lines_of_other_launchers(self):
        for arguments, n in LINES:
            with self.subTest(arguments=arguments):
                result = self.runs(*arguments, *COUNT)
                self.assertEqual(sorted(result.out.split()), [str(rank) for rank in range(n)])
                self.assertEqual(result.err.count("\n"), 1 if "x" in arguments else 0, result.err)

    def test_the_same_is_the_same_as_the_option_above(self):
        """Where the help says "The same." of --continuous, the option above has no effect, as it has none."""
        lines = self.runs("--help").out.splitlines()
        (at,) = [i for i, line in enumerate(lines) if line.split()[:2] == ["-continuous,", "--continuous"]]
        self.assertIn("The same.", lines[at])
        above = next(line for line in reversed(lines[:at]) if line.startswith("  -"))
        self.assertIn("-disable-auto-cleanup", above)
        for option in "--continuous", "-disable-auto-cleanup":
            self.assertIn("without effect: -disable-auto-cleanup", self.runs("-v", option, TRUE).err)

    def test_choices_are_those_of_the_help(self):
        """Whoever gives a word that an option does not take is told each that the help names."""
        lines = re.findall(r"(?m)^  (?:-[\w-]+, )*(--[\w-]+) ([a-z]\S*\|\S+)$", re.sub(r"(?m)^(  \S.*\S)  +\S.*$", r"\1", self.runs("--help").out))
        self.assertGreater(len(lines), 8)
        for option, choices in [*lines, ("--signal-checkpoint", "USR1|USR2|HUP|INT|TERM")]:
            with self.subTest(option=option):
                err = self.runs("--checkpoint-dir", self.folder, option, "no-such-word", TRUE, status=rig.BAD_LINE).err
                for choice in choices.split("|"):
                    self.assertIn(choice, err)

    def test_what_is_said(self):
        for arguments, says in WORDS:
            with self.subTest(arguments=arguments):
                self.assertRegex(self.runs(*arguments, TRUE).err, says)
        err = self.runs(*WORDS[0][0], TRUE).err
        self.assertEqual(err.count("\n"), 1, err)

    def test_per_node(self):
        result = self.runs("-v", "-ppn", "2", "--nodes", "3", "-n", "5", TRUE)
        for line in ("node 0 (localhost): 2 ranks", "node 1 (localhost): 2 ranks", "node 2 (localhost): 1 ranks"):
            self.assertIn(line, result.err)

    def test_labels_and_variables(self):
        for option in (["-l"], ["--tag-output"], ["-prepend-rank"], ["--output", "tag"]):
            self.assertEqual(self.runs(*option, SH, "-c", "echo a").out, "[0] a\n")
        self.assertEqual(self.runs("-genv", "A", "one two", "-env", "B", "x=y", SH, "-c", 'echo "$A $B"').out, "one two x=y\n")

    def test_machine_files(self):
        file = self.file("hosts", "localhost slots=2\n")
        for option in ("-machinefile", "--machinefile", "-f", "-hostfile", "--hostfile"):
            self.assertEqual(len(self.runs(option, file, *COUNT).out.split()), 2)

    def test_a_program_of_this_directory(self):
        self.file("rz-here", "#!/bin/sh\necho here\n", 0o755)
        result = self.runs("rz-here", rzrun=os.path.abspath(rig.RZRUN), preexec_fn=lambda: os.chdir(self.folder))
        self.assertEqual(result.out, "here\n")

    def test_many_arguments(self):
        words = ["x" * 100000] * 10
        self.assertEqual(self.runs("-n", "2", "--nodes", "2", SH, "-c", "echo $#", "sh", *words).out, "10\n" * 2)

    def test_commands_on_a_full_disk(self):
        for command in FULL:
            with self.subTest(command=command), open("/dev/full", "w") as full:
                done = subprocess.run([f"{rig.BUILD}/bin/{command[0]}", *command[1:]], stdout=full, stderr=subprocess.PIPE, timeout=rig.HANG_S)
                if command[0] == "rzps" and done.returncode == 1:
                    continue  # no job, and nothing to write
                self.assertEqual(done.returncode, 9, done.stderr)
                self.assertIn(b"standard output cannot be written", done.stderr)

    def test_list_of_jobs_on_a_full_disk(self):
        process = self.start("/bin/sleep", "100")
        self.await_members(1, 1)
        with open("/dev/full", "w") as full:
            done = subprocess.run([f"{rig.BUILD}/bin/rzps"], stdout=full, stderr=subprocess.PIPE, timeout=rig.HANG_S)
        process.terminate()
        self.finish(process)
        self.assertEqual(done.returncode, 9, done.stderr)

    def test_library_where_the_loader_finds_none(self):
        """Programs linked elsewhere, without a path to our library; what the user says stands before what rzrun adds."""
        program = rig.program("launch_unpathed")
        lone = subprocess.run([program, "x"], capture_output=True, timeout=rig.HANG_S)
        self.assertEqual(lone.returncode, 127, "the loader finds a library by itself: this test says nothing")
        self.assertEqual(self.runs("-n", "2", program, "x").out.count("program 0, x"), 2)
        folder = f"LD_LIBRARY_PATH={self.folder}"
        self.assertEqual(self.runs("-x", folder, program, "x").out.count("program 0, x"), 1)
        self.assertEqual(self.runs("-x", folder, SH, "-c", "echo $LD_LIBRARY_PATH").out, f"{self.folder}\n")
        own = os.path.abspath(f"{rig.BUILD}/lib")
        self.assertEqual(self.runs("-n", "1", "-x", f"LD_LIBRARY_PATH={own}", program, "x").out.count("program 0, x"), 1)
        self.assertEqual(self.runs(SH, "-c", "echo ${LD_LIBRARY_PATH-unset}", environment={"LD_LIBRARY_PATH": "/x"}).out, "/x\n")


rig.main()
