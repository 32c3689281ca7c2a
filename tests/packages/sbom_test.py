#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/sbom: the list of what packages are made of has the shape of SPDX 2.3, the versions of the build, and is the same each time."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("RZ_TEST_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../..")
sys.path.insert(0, f"{SOURCE}/tests")
from patience import HANG_S  # noqa: E402

KINDS = {"DESCRIBES", "DEPENDS_ON", "BUILD_DEPENDENCY_OF"}
BUILDINFO = """Format: 1.0
Source: rhizome
Build-Date: Sat, 28 Nov 2026 10:00:00 +0000
Installed-Build-Depends:
 libsodium23 (= 1.0.18-1+test),
 libsodium-dev (= 1.0.18-1+test),
 cmake (= 3.25.1-1)
Environment:
 LANG="C"
"""


class Sbom(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sbom-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def package(self, name, depends):
        root = f"{self.folder}/{name}"
        os.makedirs(f"{root}/DEBIAN")
        with open(f"{root}/DEBIAN/control", "w") as file:
            file.write(f"Package: {name}\nVersion: 0.1.0-1\nArchitecture: amd64\nMaintainer: A <a@localhost>\nDepends: {depends}\n"
                       "Description: of a test\n")
        subprocess.run(["dpkg-deb", "--build", root, f"{self.folder}/out/{name}_0.1.0-1_amd64.deb"], check=True, capture_output=True,
                       timeout=HANG_S)

    def sbom(self, status=0):
        done = subprocess.run([f"{SOURCE}/tools/sbom", f"{self.folder}/out"], capture_output=True, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status == 0:
            with open(done.stdout.strip(), "rb") as file:
                return file.read()
        return done.stderr

    def test_shape_versions_and_repetition(self):
        os.mkdir(f"{self.folder}/out")
        self.package("librhizome1", "libsodium23 (>= 1.0.14), libnone-of-this | other")
        self.package("rhizome-bin", "librhizome1 (= 0.1.0-1), libsodium23")
        with open(f"{self.folder}/out/rhizome_0.1.0-1_amd64.buildinfo", "w") as file:
            file.write(BUILDINFO)
        first = self.sbom()
        self.assertEqual(first, self.sbom())
        made = json.loads(first)
        self.assertEqual((made["spdxVersion"], made["dataLicense"], made["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertEqual(made["creationInfo"]["created"], "2026-11-28T10:00:00Z")
        self.assertRegex(made["documentNamespace"], r"^https://[^#]+$")
        ids = [package["SPDXID"] for package in made["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for package in made["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["name"] and package["downloadLocation"])
            for reference in package.get("externalRefs", []):
                self.assertRegex(reference["referenceLocator"], r"^pkg:deb/debian/[a-z0-9.+-]+@\S+\?arch=\w+$")
        for relation in made["relationships"]:
            self.assertIn(relation["relationshipType"], KINDS)
            self.assertIn(relation["spdxElementId"], ids + ["SPDXRef-DOCUMENT"])
            self.assertIn(relation["relatedSpdxElement"], ids)
        versions = {package["name"]: package.get("versionInfo") for package in made["packages"]}
        self.assertEqual((versions["libsodium23"], versions["cmake"], versions["librhizome1"]), ("1.0.18-1+test", "3.25.1-1", "0.1.0-1"))
        told = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in made["relationships"]}
        self.assertIn(("SPDXRef-rhizome-bin", "DEPENDS_ON", "SPDXRef-librhizome1"), told)
        self.assertIn(("SPDXRef-libsodium-dev", "BUILD_DEPENDENCY_OF", "SPDXRef-rhizome-bin"), told)
        self.assertTrue(all(re.fullmatch("[0-9a-f]{64}", p["checksums"][0]["checksumValue"]) for p in made["packages"] if "checksums" in p))

    def test_a_folder_without_packages_is_refused_in_words(self):
        os.mkdir(f"{self.folder}/out")
        self.assertIn("holds no .deb file", self.sbom(status=1))


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        sys.exit(77)
    unittest.main(verbosity=2)
