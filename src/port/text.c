/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the program's executable segments through dl_iterate_phdr, and reads the interrupted
 * instruction from a signal's context. */
#include "port/text.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <ucontext.h>

enum { SEGMENTS_MAX = 8 };

static struct {
    uintptr_t first, end;
} segments[SEGMENTS_MAX];
static unsigned n_segments;

/* The main program is listed first, and the search stops there. */
static int look_at_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (unsigned i = 0; i < info->dlpi_phnum && n_segments < SEGMENTS_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) {
            continue;
        }
        segments[n_segments].first = (uintptr_t)(info->dlpi_addr + header->p_vaddr);
        segments[n_segments].end = segments[n_segments].first + header->p_memsz;
        n_segments++;
    }
    return 1;
}

rz_status_t rz_text_look(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    if (n_segments == 0) {
        dl_iterate_phdr(look_at_program, NULL);
    }
    return n_segments > 0 ? RZ_OK : RZ_ERR_UNSUPPORTED;
#else
    return RZ_ERR_UNSUPPORTED;
#endif
}

bool rz_text_holds(uintptr_t address)
{
    for (unsigned i = 0; i < n_segments; i++) {
        if (address >= segments[i].first && address < segments[i].end) {
            return true;
        }
    }
    return false;
}

/* A program that takes a library function's address may have an entry for it in its own code that
 * only jumps to it: its symbol table shows this. */
bool rz_text_defines(const char *function)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *at = dlsym(RTLD_DEFAULT, function);
    if (!at || !rz_text_holds((uintptr_t)at)) {
        return false;
    }
    bool found = dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol;
    return !found || symbol->st_shndx != SHN_UNDEF;
}

uintptr_t rz_text_interrupted(const void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}
