# SPDX-License-Identifier: BSD-3-Clause
"""Source packages of Debian: apt with a configuration of its own, so that the machine's stays as it is."""
import glob
import os
import shutil
import subprocess

FETCH_S = 900  # a download that takes longer hangs


class NotFetched(Exception):
    """The package is not to be had here; the text says why."""


def said_last(text, lines=3):
    return " / ".join(text.strip().splitlines()[-lines:]) or "no word"


class Sources:
    def __init__(self, work):
        self.folder, self.apt = f"{work}/sources", f"{work}/apt"
        self.release, self.ready = "", False

    def mirror(self):
        """The address and the release of Debian that apt of this machine uses."""
        try:
            done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL) $(COMPONENT) $(SUITE) $(CODENAME)",
                                   "Created-By: Packages"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_S)
        except OSError:
            raise NotFetched("this system has no apt-get") from None
        for line in sorted(set(done.stdout.splitlines())):
            words = line.split()
            if words[1:4] == ["Debian", "Debian", "main"] and "-" not in words[-1]:
                return words[0], words[-1]
        raise NotFetched("apt of this machine knows no mirror of Debian: run apt-get update")

    def command(self, name, *words):
        """A command of apt with the configuration of its own."""
        options = {"Dir::Etc::sourcelist": f"{self.apt}/sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": f"{self.apt}/lists",
                   "Dir::Cache": f"{self.apt}/cache", "APT::Sandbox::User": "", "Acquire::Retries": "2"}
        return [name, *(word for key, value in options.items() for word in ("-o", f"{key}={value}")), *words]

    def run(self, words, folder):
        try:
            done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=FETCH_S, errors="replace")
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise NotFetched(str(failure)) from None
        if done.returncode != 0:
            raise NotFetched(said_last(done.stdout))
        return done.stdout

    def prepare(self):
        if self.ready:
            return
        site, self.release = self.mirror()
        for folder in ("lists/partial", "cache/archives/partial"):
            os.makedirs(f"{self.apt}/{folder}", exist_ok=True)
        with open(f"{self.apt}/sources.list", "w", encoding="utf-8") as out:
            out.write(f"deb-src {site} {self.release} main\n")
        self.run(self.command("apt-get", "update", "-qq"), self.apt)
        self.ready = True

    def get(self, package):
        """The folder of the unpacked sources, as Debian patches them, and their version. What is there already is not fetched again."""
        home = f"{self.folder}/{package}"
        if not glob.glob(f"{home}/*.dsc"):
            self.prepare()
            new = f"{home}.new"  # beside its place, where it is put whole
            shutil.rmtree(new, ignore_errors=True)
            os.makedirs(new)
            self.run(self.command("apt-get", "source", "-qq", "--download-only", package), new)
            self.run(["dpkg-source", "--no-check", "-x", os.path.basename(glob.glob(f"{new}/*.dsc")[0]), "unpacked"], new)
            shutil.rmtree(home, ignore_errors=True)
            os.rename(new, home)
        name = os.path.basename(glob.glob(f"{home}/*.dsc")[0])
        return f"{home}/unpacked", name.removesuffix(".dsc").partition("_")[2]
