#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the installed files are made of: they name no folder of the machine that built them, and libraries and programs have the
protections of cmake/RhizomeHardening.cmake."""
import os
import platform
import re
import shutil
import subprocess

import install_rig as rig

SETTINGS = {}
with open(f"{rig.BUILD}/CMakeCache.txt") as cache:
    for line in cache:
        if match := re.match(r"(\w+):\w+=(.*)", line):
            SETTINGS[match[1]] = match[2]
OPTIMISED = SETTINGS.get("CMAKE_BUILD_TYPE") in ("Release", "RelWithDebInfo", "MinSizeRel")


class Binaries(rig.InstallTest):
    def files(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                path = f"{folder}/{name}"
                if not os.path.islink(path):
                    with open(path, "rb") as file:
                        yield path, file.read()

    def test_no_file_names_a_folder_of_the_build(self):
        if not OPTIMISED or SETTINGS.get("RZ_TAKES_PREFIX_MAP") != "1":
            self.skipTest("a build for debugging names its sources")
        places = {rig.BUILD, rig.SOURCE, os.path.realpath(rig.BUILD), os.path.realpath(rig.SOURCE)}
        # After "..": what ccache with CCACHE_BASEDIR has made of it.
        patterns = {place: re.compile(rb"(?<!\.\.)" + re.escape(place.encode())) for place in places}
        named = [f"{path}: {place}" for path, content in self.files() for place, pattern in patterns.items() if pattern.search(content)]
        self.assertEqual(named, [])

    def test_programs_and_libraries_are_protected(self):
        if SETTINGS.get("RZ_HARDENING") != "ON" or not shutil.which("readelf"):
            self.skipTest("built without RZ_HARDENING, or there is no readelf")
        checked = 0
        for path, content in self.files():
            if not content.startswith(b"\x7fELF") or content[16] not in (2, 3):  # a program, or a shared object
                continue
            shown = subprocess.run(["readelf", "-W", "-h", "-l", "-d", path], capture_output=True, text=True, timeout=rig.HANG_S).stdout
            with self.subTest(file=os.path.basename(path)):
                self.assertIn("DYN", re.search(r"Type: .*", shown)[0], "addresses that differ from run to run")
                self.assertIn("GNU_RELRO", shown)
                self.assertIn("BIND_NOW", shown)
                self.assertNotRegex(shown, r"GNU_STACK .* RWE")
            checked += 1
        self.assertGreater(checked, 5)
        library = next(path for path, _ in self.files() if re.search(r"libmpi_abi\.so\.\d+\.\d+$", path))
        symbols = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, timeout=rig.HANG_S).stdout
        self.assertIn("__stack_chk_fail", symbols)
        if OPTIMISED:
            self.assertRegex(symbols, r"__\w+_chk\b")

    def test_targets_of_jumps_are_marked(self):
        """-fcf-protection: by the instructions. The note that makes a system look at them is not there: SECURITY.md says why."""
        if SETTINGS.get("RZ_HARDENING") != "ON" or SETTINGS.get("RZ_TAKES_fcf_protection") != "1" or platform.machine() != "x86_64":
            self.skipTest("built without -fcf-protection")
        for name in "rzrun", "rzd", "rzps":
            path = next(path for path, _ in self.files() if path.endswith(f"/bin/{name}"))
            with open(path, "rb") as file:
                self.assertGreater(file.read().count(b"\xf3\x0f\x1e\xfa"), 50, f"{name} has hardly any endbr64")


if __name__ == "__main__":
    rig.main()
