#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The functions that Rhizome offers beside the standard, MPIX_* and RZ_*, as the comments of the headers describe them.

    tools/abi/manual.py man DIRECTORY VERSION HEADER...    a page of section 3 for each function
    tools/abi/manual.py markdown HEADER...                 the reference, on standard output

A comment /** ... */ before a prototype: a first sentence, paragraphs, then @param NAME text and @return text. A HEADER is the name that
programs include (mpi-ext.h, rhizome/checkpoint.h), with the folder it is in: build/include:mpi-ext.h.
"""
import os
import re
import sys
import textwrap

# The pages of docs/ that say more; by the beginning of the function's name, the first that fits.
GUIDES = [("MPIX_Reinit", "reinit.md"), ("RZ_Reinit", "reinit.md"), ("RZ_Incarnation", "replace.md"), ("RZ_Comm_re", "replace.md"),
          ("RZ_Group_monitor", "group.md"), ("RZ_Tasks", "group.md"), ("RZ_Checkpoint", "checkpoints.md"), ("RZ_Restore", "checkpoints.md"),
          ("RZ_Rewind", "unmodified.md"), ("RZ_Type_create_section", "fortran.md"), ("RZ_Bounce", "fortran.md"),
          ("RZ_Progress", "checkpoints.md"), ("RZ_Alive", "detection.md"), ("MPIX_Win", "windows.md"), ("MPIX_File", "files.md"),
          ("MPIX_Comm", "failure-semantics.md")]
LIBRARIES = {"rhizome/tasks.h": "-lrhizome_tasks -lm"}  # beside what mpicc links


class Function:
    def __init__(self, name, prototype, comment, header):
        self.name, self.prototype, self.header = name, prototype, header
        self.paragraphs, self.parameters, self.result = [], [], ""
        for part in re.split(r"\n\s*\n|\n(?=@)", comment.strip()):
            text = " ".join(part.split())
            if text.startswith("@param "):
                _, parameter, what = text.split(" ", 2)
                self.parameters.append((parameter, what))
            elif text.startswith("@return "):
                self.result = text[len("@return "):]
            elif text:
                self.paragraphs.append(text)
        self.guide = next((page for start, page in GUIDES if name.startswith(start)), "README.md")

    def summary(self):
        """The first sentence, without its full stop; it ends at a full stop or at what a colon explains."""
        first = re.split(r"(?<=[a-z)])\. |\.$|: ", self.paragraphs[0])[0] if self.paragraphs else ""
        return first[:1].lower() + first[1:]


def functions_of(header):
    folder, name = header.split(":")
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    found = {}
    # A prototype with the comment that ends just before it, if there is one.
    for comment, prototype, function in re.findall(
            r"(?:/\*\*((?:(?!\*/).)*)\*/\n)?^((?:int|void) ((?:MPIX|RZ)_\w+)\([^;{]*\));", text, re.M | re.S):
        comment = re.sub(r"^ ?\*? ?", "", comment.strip(), flags=re.M)
        if function not in found:
            found[function] = Function(function, " ".join(prototype.split()), comment, name)
    return list(found.values())


# ---- section 3 ----

def escaped(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.M)


def man(function, others, version):
    out = [f".TH {function.name} 3 \"\" \"Rhizome {version}\" \"Rhizome\"", ".SH NAME", f"{function.name} \\- {escaped(function.summary())}",
           ".SH SYNOPSIS", ".nf", f".B #include <{'mpi-ext.h' if function.header == 'mpi-ext.h' else escaped(function.header)}>", ".PP"]
    lines = textwrap.wrap(function.prototype, 73, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    lines[-1] += ";"
    out += [*(f".B \"{escaped(line)}\"" for line in lines), ".fi"]
    link = LIBRARIES.get(function.header)
    if link:
        out += [".PP", f"Link with {escaped(link)}."]
    out.append(".SH DESCRIPTION")
    for i, paragraph in enumerate(function.paragraphs):
        out += ([".PP"] if i > 0 else []) + [escaped(paragraph)]
    if function.parameters:
        out.append(".SH ARGUMENTS")
        for name, what in function.parameters:
            out += [".TP", f".I {name}", escaped(what)]
    if function.result:
        out += [".SH RETURN VALUE", escaped(function.result[:1].upper() + function.result[1:])]
    near = [other.name for other in others if other.name != function.name and other.guide == function.guide][:12]
    out.append(".SH SEE ALSO")
    out += [f".BR {name} (3)," for name in near]
    out += [".BR rzrun (1)", ".PP", f"The guide: docs/{escaped(function.guide)} of the documentation."]
    return "\n".join(out) + "\n"


# ---- the reference ----

TITLES = {"mpi-ext.h": "Failures, repair, global restart, dynamic groups", "rhizome/checkpoint.h": "Checkpoints", "rhizome/tasks.h": "Bags of tasks",
          "rhizome/rewind.h": "Unmodified programs that are rewound", "rhizome/section.h": "Sections of arrays as buffers"}


def markdown(headers):
    out = ["# Functions", "", "What Rhizome offers beside MPI 5.0. The same text is in the headers, and in the manual pages: `man MPIX_Comm_agree`.", ""]
    for header in headers:
        functions = functions_of(header)
        name = header.split(":")[1]
        if not functions:
            continue
        out += [f"## {TITLES.get(name, name)}", "", f"`#include <{name}>`" + (f", link with `{LIBRARIES[name]}`" if name in LIBRARIES else ""), ""]
        for f in functions:
            out += [f"### {f.name}", "", "```c", f"{f.prototype};", "```", ""]
            for paragraph in f.paragraphs:
                out += [paragraph, ""]
            if f.parameters:
                out += ["| argument | |", "|---|---|", *(f"| `{n}` | {what.replace('|', chr(92) + '|')} |" for n, what in f.parameters), ""]
            if f.result:
                out += [f"**Returns** {f.result}", ""]
            out += [f"Guide: [{f.guide}]({f.guide})", ""]
    return "\n".join(out)


def main(words):
    if len(words) >= 4 and words[0] == "man":
        functions = [f for header in words[3:] for f in functions_of(header)]
        os.makedirs(words[1], exist_ok=True)
        for function in functions:
            with open(os.path.join(words[1], function.name + ".3"), "w", encoding="utf-8") as file:
                file.write(man(function, functions, words[2]))
    elif len(words) >= 2 and words[0] == "markdown":
        print(markdown(words[1:]))
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main(sys.argv[1:])
