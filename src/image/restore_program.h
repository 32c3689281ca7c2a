/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the restore program, which runs while the memory of all else is replaced. */
#ifndef RZ_IMAGE_RESTORE_PROGRAM_H
#define RZ_IMAGE_RESTORE_PROGRAM_H

#include "image/area.h"

_Noreturn void rz_restore_fail(const char *what, const char *which);
void rz_restore_kill_here(enum rz_kill_point point); /* as rz_kill_here, without libc */
void rz_restore_memory(void);
void rz_restore_files(void);
void rz_restore_files_end(void); /* nothing fails any more */
void rz_restore_owners(void);    /* locks name their owners by their new ids */
void rz_restore_program_main(void);

/* registers.c: the new thread continues at the registers; its id, or an error. */
int rz_image_clone(long flags, uint64_t stack, uint64_t tid_at, uint64_t fs,
                   const struct rz_image_registers *registers);

#endif
