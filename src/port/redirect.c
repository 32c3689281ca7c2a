/* SPDX-License-Identifier: BSD-3-Clause */
/* The relocations of loaded objects that name a function, as the loader has applied them. */
#include "port/redirect.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)

/* libc's own, whoever else has a function of that name. */
static void find(struct rz_redirect *list)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    for (; list->name; list++) {
        void *found = libc ? dlsym(libc, list->name) : NULL;
        memcpy(&list->was, &found, sizeof(found));
    }
    if (libc) {
        dlclose(libc);
    }
}

static int note_loaded(struct dl_phdr_info *object, size_t bytes, void *arg)
{
    (void)bytes;
    *(uint64_t *)arg = object->dlpi_adds;
    return 1; /* each object tells the same */
}

#if defined(__x86_64__)

struct loaded_object {
    uint64_t base, start, end; /* where it is */
    const char *names;
    const Elf64_Sym *symbols;
    const Elf64_Rela *table[2]; /* of functions that are called; of data */
    uint64_t bytes[2];
    uint64_t fixed, fixed_end; /* is made read-only after loading */
};

/* The loader adds the base to most pointers, but not in each object. */
static const void *pointer_in(uint64_t base, uint64_t value)
{
    return (const void *)(value < base ? base + value : value);
}

static void read_dynamic(struct loaded_object *object, const Elf64_Dyn *entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = pointer_in(object->base, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_STRTAB:
            object->names = at;
            break;
        case DT_SYMTAB:
            object->symbols = at;
            break;
        case DT_JMPREL:
            object->table[0] = at;
            break;
        case DT_PLTRELSZ:
            object->bytes[0] = entry->d_un.d_val;
            break;
        case DT_RELA:
            object->table[1] = at;
            break;
        case DT_RELASZ:
            object->bytes[1] = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

/* The function that the name means in the program, which is that of an object that has none. */
static bool is_meant(const struct rz_redirect *one)
{
    void *found = dlsym(RTLD_DEFAULT, one->name), *was;
    memcpy(&was, &one->was, sizeof(was));
    return found == was;
}

/* What a place in a table means. One that is called for the first time leads into its object. */
enum meaning { LIBCS, OTHERS, UNKNOWN };
static enum meaning meaning_of(const struct loaded_object *object, uint64_t at,
                               const Elf64_Sym *symbol, const struct rz_redirect *one)
{
    uint64_t value = *(const volatile uint64_t *)at;
    if (value == (uint64_t)one->was) {
        return LIBCS;
    }
    if (value < object->start || value >= object->end || symbol->st_shndx != SHN_UNDEF) {
        return OTHERS;
    }
    return one->old ? UNKNOWN : one->meant ? LIBCS : OTHERS;
}

static void lead(const struct loaded_object *object, uint64_t at, void (*to)(void))
{
    uint64_t page = at & ~(PAGE - 1);
    bool fixed = object->fixed <= page && page < object->fixed_end;
    if (fixed && mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) != 0) {
        return;
    }
    __atomic_store_n((uint64_t *)at, (uint64_t)to, __ATOMIC_RELEASE);
    if (fixed) {
        mprotect((void *)page, PAGE, PROT_READ);
    }
}

static void lead_place(const struct loaded_object *object, const Elf64_Rela *entry,
                       struct rz_redirects *redirects)
{
    const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];
    const char *name = object->names + symbol->st_name;
    uint64_t at = object->base + entry->r_offset;
    for (const struct rz_redirect *one = redirects->calls; one->name; one++) {
        if (!one->was || name[0] != one->name[0] || strcmp(name, one->name) != 0) {
            continue;
        }
        enum meaning meaning = meaning_of(object, at, symbol, one);
        if (meaning == LIBCS) {
            lead(object, at, one->to);
        }
        redirects->unbound |= meaning == UNKNOWN;
        return;
    }
}

static void lead_table(const struct loaded_object *object, int which,
                       struct rz_redirects *redirects)
{
    const Elf64_Rela *entry = object->table[which];
    for (uint64_t i = 0; entry && i < object->bytes[which] / sizeof(*entry); i++) {
        uint64_t kind = ELF64_R_TYPE(entry[i].r_info);
        bool plain = kind == R_X86_64_64 && entry[i].r_addend == 0;
        if (kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT || plain) {
            lead_place(object, &entry[i], redirects);
        }
    }
}

/* What libc and the loader call is not what the program calls; the kernel's object is no file. */
static bool is_system(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
           strncmp(name, "linux-vdso", 10) == 0;
}

static int lead_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct loaded_object object = {.base = info->dlpi_addr, .start = UINT64_MAX};
    (void)bytes;
    if (is_system(info->dlpi_name)) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        uint64_t at = object.base + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            object.start = at < object.start ? at : object.start;
            object.end = at + part->p_memsz > object.end ? at + part->p_memsz : object.end;
        } else if (part->p_type == PT_DYNAMIC) {
            read_dynamic(&object, (const void *)at);
        } else if (part->p_type == PT_GNU_RELRO) {
            object.fixed = at & ~(PAGE - 1);
            object.fixed_end = (at + part->p_memsz) & ~(PAGE - 1);
        }
    }
    for (int which = 0; object.names && object.symbols && which < 2; which++) {
        lead_table(&object, which, arg);
    }
    return 0;
}

static void lead_all(struct rz_redirects *redirects)
{
    for (struct rz_redirect *one = redirects->calls; one->name; one++) {
        one->meant = is_meant(one);
    }
    dl_iterate_phdr(lead_object, redirects);
}

#else

static void lead_all(struct rz_redirects *redirects)
{
    (void)redirects;
}

#endif

void rz_redirect_lead(struct rz_redirects *redirects)
{
    uint64_t loaded = 0;
    dl_iterate_phdr(note_loaded, &loaded);
    if (redirects->loaded == 0) {
        find(redirects->calls);
    }
    if (redirects->loaded != loaded || redirects->unbound) {
        redirects->loaded = loaded;
        redirects->unbound = false;
        lead_all(redirects);
    }
}
