# SPDX-License-Identifier: BSD-3-Clause
"""Every decoder of bytes that cross a process, or come from a user, has a fuzz target. `--self-test` shows that each rule can be
broken."""
import os
import re
import sys

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")

# Functions whose names say that they read what others wrote; declared in headers of src.
DECODER = re.compile(r"^\w[\w\s\*]*?\b(rz_\w+_(?:decode|parse|unseal)|rz_quantity_\w+|rz_\w+_add_host\w*|rz_\w+_options_read|"
                     r"rz_piece_read|rz_job_read|rz_frames_(?:read|next))\(", re.M)

# These are covered by a target through another function, or read no bytes of others. Each has its reason.
COVERED = {
    "rz_cli_parse": "rz_rzrun_options_read is its user",
    "rz_study_options_read": "options of rzsim: the same table and quantities as those of rzrun",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def headers():
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".h")]
    return sorted(found)


def targets():
    folder = os.path.join(ROOT, "tests/fuzz")
    return {name: read("tests/fuzz/" + name) for name in sorted(os.listdir(folder)) if name.endswith((".c", ".h", ".txt"))}


def protocols(protocol):
    block = re.search(r"enum rz_protocol_number \{(.*?)RZ_PROTOCOL_COUNT", protocol, re.S).group(1)
    return [name.lower() for name in re.findall(r"RZ_PROTOCOL_(\w+)", re.sub(r"/\*.*?\*/", "", block, flags=re.S))]


def families(texts):
    """Families of messages: the headers that write one down as a table."""
    return [match.group(1).lower() for text in texts for match in re.finditer(r"#define RZ_(\w+)_TABLE\(MESSAGE", text)]


def breaches(texts, protocol, files):
    everything = "\n".join(text for name, text in files.items() if name != "CMakeLists.txt")
    registered = files["CMakeLists.txt"]
    found = []
    foreach = re.search(r"foreach\(protocol ([^)]*)\)", registered)
    for core in protocols(protocol):
        if f"fuzz_protocol_{core} = " not in everything or not foreach or core not in foreach.group(1).split():
            found.append(f"the protocol {core} has no fuzz target: tests/fuzz/fuzz_proto_cores.c and CMakeLists.txt")
    for family in families(texts):
        if f"RZ_FUZZ_FAMILY({family}, {family.upper()})" not in everything:
            found.append(f"the family of messages `{family}` has no fuzz target: write tests/fuzz/fuzz_wire_{family}.c")
    for decoder in sorted({match.group(1) for text in texts for match in DECODER.finditer(text)}):
        family = re.fullmatch(r"rz_(\w+)_decode", decoder)
        if family and f"RZ_FUZZ_FAMILY({family.group(1)}," in everything:
            continue
        if decoder not in COVERED and not re.search(rf"\b{decoder}\(", everything):
            found.append(f"{decoder} has no fuzz target: tests/fuzz/README.md")
    for name in files:
        what = re.fullmatch(r"fuzz_(\w+)\.c", name)
        if what and "LLVMFuzzerTestOneInput" in files[name] and what.group(1) not in ("driver", "common"):
            listed = rf"\b(fuzz_{what.group(1)}\.c|rz_fuzz\({what.group(1)})\b|foreach\(what[^)]*\b{what.group(1)[4:] or '-'}\b"
            if not re.search(listed, registered):
                found.append(f"tests/fuzz/{name} is not in CMakeLists.txt")
    return found


def self_test(texts, protocol, files):
    """One more of everything is one breach more."""
    more = protocol.replace("    RZ_PROTOCOL_COUNT", "    RZ_PROTOCOL_NOVEL,\n    RZ_PROTOCOL_COUNT", 1)
    assert len(breaches(texts, more, files)) == 1
    assert len(breaches(texts + ["#define RZ_NOVEL_TABLE(MESSAGE, U32"], protocol, files)) == 1
    assert len(breaches(texts + ["bool rz_novel_parse(const char *text);"], protocol, files)) == 1
    assert len(breaches(texts + ["rz_status_t rz_novel_decode(struct x *x,"], protocol, files)) == 1
    assert len(breaches(texts, protocol, {**files, "fuzz_novel.c": "int LLVMFuzzerTestOneInput("})) == 1
    without = {name: text for name, text in files.items() if name not in ("fuzz_proto_cores.c", "fuzz_proto_models.c")}
    assert len(breaches(texts, protocol, without)) >= len(protocols(protocol))


def main():
    texts, protocol, files = [read(path) for path in headers()], read("include/rhizome/protocol.h"), targets()
    assert len(protocols(protocol)) >= 11 and len(families(texts)) >= 3, "the rules do not see what is there"
    found = breaches(texts, protocol, files)
    for line in found:
        print(line)
    if not found and "--self-test" in sys.argv:
        self_test(texts, protocol, files)
    return 1 if found else 0


sys.exit(main())
