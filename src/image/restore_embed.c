/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of the restore program, as data of this library. */
#include "image/area.h"

_Static_assert(RZ_IMAGE_PROGRAM_AT == 0x280040000000, "as restore_program.ld has it");
_Static_assert(RZ_IMAGE_PROGRAM_MAX == 0x100000, "as restore_program.ld has it");

__asm__(".section .rodata\n"
        ".globl rz_restore_program, rz_restore_program_end\n"
        ".hidden rz_restore_program, rz_restore_program_end\n"
        ".balign 16\n"
        "rz_restore_program:\n"
        "    .incbin \"" RZ_RESTORE_PROGRAM "\"\n"
        "rz_restore_program_end:\n"
        ".text\n");
