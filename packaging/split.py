#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts an installed tree into the places that a distribution has for it, and divides it among packages, as the file `contents` says.

    split.py TREE --check                                        every file has a package, and every package has files
    split.py TREE --layout debian --folder /usr/lib/... --to DIR    fills DIR/PACKAGE for each package
    split.py TREE --layout rpm --folder /usr/lib64/... --to DIR --lists DIR   fills DIR, and writes the list of files of each package

The tree itself goes to one folder, --folder, where it stands beside other MPIs and can be used as any installation. Outside of it are:
links to the commands (mpicc and its like as mpicc.rhizome), manual pages, completions and documents where the system looks for them,
and files by which pkg-config, CMake and environment modules find the folder.
"""
import argparse
import fnmatch
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = {  # parts of the tree that have a place of their own in a system
    "share/man/": "usr/share/man/",
    "share/doc/": "usr/share/doc/",
    "share/bash-completion/": "usr/share/bash-completion/",
}
ZSH = {"debian": "usr/share/zsh/vendor-completions/", "rpm": "usr/share/zsh/site-functions/"}
MODULES = {"debian": "usr/share/modules/modulefiles/", "rpm": "usr/share/modulefiles/"}
NOT_COMMANDS = ("rzd", "rzgateway")  # rzrun and rzd start them, from the folder in which they are themselves
RPM_NAMES = {"librhizome1": "rhizome-libs", "librhizome-dev": "rhizome-devel", "rhizome-bin": "rhizome"}


def contents():
    with open(f"{HERE}/contents", encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        if len(line) != 2:
            sys.exit(f"packaging/contents: a line is a pattern and a package, not {' '.join(line)!r}")
    return lines


def files_of(tree):
    """Each file and link below the tree, by its path from there."""
    found = []
    for folder, names, files in os.walk(tree):
        for name in files + [name for name in names if os.path.islink(os.path.join(folder, name))]:
            found.append(os.path.relpath(os.path.join(folder, name), tree))
    return sorted(found)


def divide(tree):
    """The package of each file; ends with a message if the list does not fit the tree."""
    lines, packages, orphans = contents(), {}, []
    for path in files_of(tree):
        package = next((package for pattern, package in lines if fnmatch.fnmatchcase(path, pattern)), None)
        if package is None:
            orphans.append(path)
        elif package != "-":
            packages[path] = package
    if orphans:
        sys.exit("packaging/contents has no line for: " + ", ".join(orphans))
    empty = {package for _, package in lines} - set(packages.values()) - {"-"}
    if empty:
        sys.exit("no file of the tree belongs to: " + ", ".join(sorted(empty)))
    return packages


class Layout:
    def __init__(self, tree, arguments):
        self.tree, self.layout, self.to = tree, arguments.layout, arguments.to
        self.folder = arguments.folder.strip("/")
        self.lists = arguments.lists
        self.written = {}  # path in the system -> package

    def target(self, package, path):
        self.written[path] = package
        full = os.path.join(self.to, "" if self.lists else package, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        return full

    def copy(self, package, path, place):
        shutil.copy2(f"{self.tree}/{path}", self.target(package, place), follow_symlinks=False)

    def link(self, package, place, path):
        """A link at `place` to the file `path` of the tree."""
        os.symlink(os.path.relpath(f"{self.folder}/{path}", os.path.dirname(place)), self.target(package, place))

    def write(self, package, place, text):
        with open(self.target(package, place), "w", encoding="utf-8") as file:
            file.write(text)

    def with_prefix(self, package, path, line):
        """A file of the tree that finds the prefix by its own place: reached by a link it would miss it, so it gets it in words."""
        with open(f"{self.tree}/{path}", encoding="utf-8") as file:
            text, n = re.subn(rf"(?m)^{line}.*$", f"{line}/{self.folder}", file.read())
        if n == 0 and path.endswith(".pc"):  # it only requires another package
            return self.copy(package, path, f"{self.folder}/{path}")
        if n != 1:
            sys.exit(f"{path}: there are {n} lines that begin with {line!r}, not one")
        self.write(package, f"{self.folder}/{path}", text)

    def command(self, package, path):
        name = os.path.basename(path)
        self.copy(package, path, f"{self.folder}/{path}")
        if name not in NOT_COMMANDS:
            self.link(package, f"usr/bin/{name}{'.rhizome' if name.startswith('mpi') else ''}", path)

    def page(self, package, path):
        """A manual page; those of mpicc and its like, and of the names of a program that another MPI has, too, end in .rhizome."""
        name, section = os.path.basename(path).rsplit(".", 1)
        if section != "1" or not name.startswith("mpi"):
            self.copy(package, path, f"usr/share/man/man{section}/{name}.{section}")
            return
        with open(f"{self.tree}/{path}", encoding="utf-8") as page:
            text = re.sub(r"\A\.so (man1/mpi\w*)\.1$", r".so \1.rhizome.1", page.read().rstrip("\n"))
        self.write(package, f"usr/share/man/man1/{name}.rhizome.1", text + "\n")

    def cmake(self, package, path):
        self.copy(package, path, f"{self.folder}/{path}")
        if re.search(r"config(-version)?\.cmake$", path):
            place = f"{os.path.dirname(self.folder)}/cmake/{path.removeprefix('lib/cmake/')}"
            self.write(package, place, f"include(/{self.folder}/{path})\n")

    def pkgconfig(self, package, path):
        self.with_prefix(package, path, "prefix=")
        if os.path.basename(path).startswith("rhizome"):  # mpi-c.pc belongs to the MPI that the system has chosen
            self.link(package, f"{os.path.dirname(self.folder)}/pkgconfig/{os.path.basename(path)}", path)

    def modulefile(self, package, path):
        self.with_prefix(package, path, "set prefix ")
        self.link(package, MODULES[self.layout] + path.removeprefix("share/rhizome/modulefiles/"), path)

    def put(self, package, path):
        system = next((part for part in SYSTEM if path.startswith(part)), None)
        if system == "share/man/":
            self.page(package, path)
        elif system:
            self.copy(package, path, SYSTEM[system] + path.removeprefix(system))
        elif path.startswith("share/zsh/"):
            self.copy(package, path, ZSH[self.layout] + os.path.basename(path))
        elif path.startswith("bin/"):
            self.command(package, path)
        elif path.startswith("lib/cmake/"):
            self.cmake(package, path)
        elif path.startswith("lib/pkgconfig/"):
            self.pkgconfig(package, path)
        elif path.startswith("share/rhizome/modulefiles/"):
            self.modulefile(package, path)
        else:
            self.copy(package, path, f"{self.folder}/{path}")

    def write_lists(self):
        """A list for each package, with the folders that only this package, or all together, need."""
        os.makedirs(self.lists, exist_ok=True)
        for package in sorted(set(self.written.values())):
            mine, folders = [path for path, owner in sorted(self.written.items()) if owner == package], set()
            for path in mine:
                while (path := os.path.dirname(path)).startswith(self.folder) or "/rhizome" in path:
                    folders.add(path)
            lines = [f"%dir /{path}" for path in sorted(folders)]
            lines += [f"/{path}{'*' if path.startswith('usr/share/man/') else ''}" for path in mine]  # rpmbuild compresses the pages
            with open(f"{self.lists}/{RPM_NAMES.get(package, package)}.files", "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--layout", choices=("debian", "rpm"))
    parser.add_argument("--folder")
    parser.add_argument("--to")
    parser.add_argument("--lists")
    arguments = parser.parse_args()
    packages = divide(arguments.tree)
    if arguments.check:
        return
    if not (arguments.layout and arguments.folder and arguments.to):
        parser.error("--layout, --folder and --to are needed, or --check")
    layout = Layout(arguments.tree, arguments)
    for path, package in packages.items():
        layout.put(package, path)
    if arguments.lists:
        layout.write_lists()


main()
