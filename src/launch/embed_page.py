#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a C header from the page of --report-html: embed_page.py report.html report_template.h"""
import sys

MARK = "@RHIZOME_DATA@"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if text.count(MARK) != 1 or not text.isascii():
        sys.exit(f"{sys.argv[1]}: it must be ASCII, with {MARK} once")
    numbers = ",".join(str(byte) for byte in text.encode() + b"\0")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'/* Made from report.html by embed_page.py. */\n#define RZ_REPORT_TEMPLATE_MARK "{MARK}"\n'
                   f"static const char rz_report_template[] = {{{numbers}}};\n")


main()
