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
    const Elf64_Half *versions;  /* of each symbol; NULL: none */
    const Elf64_Verneed *needed; /* their names */
    const Elf64_Rela *table[2];  /* of functions that are called; of data */
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
        case DT_VERSYM:
            object->versions = at;
            break;
        case DT_VERNEED:
            object->needed = at;
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

/* The version that the object wants of a function of others; "": any. */
static const char *version_wanted(const struct loaded_object *object, uint64_t symbol)
{
    Elf64_Half version = object->versions ? object->versions[symbol] & 0x7fff : VER_NDX_LOCAL;
    const Elf64_Verneed *need = version > VER_NDX_GLOBAL ? object->needed : NULL;
    while (need) {
        const Elf64_Vernaux *one = (const void *)((const char *)need + need->vn_aux);
        for (unsigned i = 0; i < need->vn_cnt; i++) {
            if ((one->vna_other & 0x7fff) == version) {
                return object->names + one->vna_name;
            }
            one = (const void *)((const char *)one + one->vna_next);
        }
        need = need->vn_next ? (const void *)((const char *)need + need->vn_next) : NULL;
    }
    return "";
}

/* Whether a place in a table means libc's function. One that was not called yet leads into its
 * object. */
static bool means_libcs(const struct loaded_object *object, uint64_t at, uint64_t symbol,
                        const struct rz_redirect *one)
{
    uint64_t value = *(const volatile uint64_t *)at;
    if (value == (uint64_t)one->was) {
        return true;
    }
    if (value < object->start || value >= object->end ||
        object->symbols[symbol].st_shndx != SHN_UNDEF || !one->meant) {
        return false;
    }
    const char *wanted = one->version ? version_wanted(object, symbol) : "";
    return *wanted == '\0' || strcmp(wanted, one->version) == 0;
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
                       const struct rz_redirect *list)
{
    uint64_t symbol = ELF64_R_SYM(entry->r_info), at = object->base + entry->r_offset;
    const char *name = object->names + object->symbols[symbol].st_name;
    for (const struct rz_redirect *one = list; one->name; one++) {
        if (one->was && name[0] == one->name[0] && strcmp(name, one->name) == 0) {
            if (means_libcs(object, at, symbol, one)) {
                lead(object, at, one->to);
            }
            return;
        }
    }
}

static void lead_table(const struct loaded_object *object, int which,
                       const struct rz_redirect *list)
{
    const Elf64_Rela *entry = object->table[which];
    for (uint64_t i = 0; entry && i < object->bytes[which] / sizeof(*entry); i++) {
        uint64_t kind = ELF64_R_TYPE(entry[i].r_info);
        bool plain = kind == R_X86_64_64 && entry[i].r_addend == 0;
        if (kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT || plain) {
            lead_place(object, &entry[i], list);
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

static void lead_all(struct rz_redirect *list)
{
    for (struct rz_redirect *one = list; one->name; one++) {
        one->meant = is_meant(one);
    }
    dl_iterate_phdr(lead_object, list);
}

#else

static void lead_all(struct rz_redirect *list)
{
    (void)list;
}

#endif

void rz_redirect_lead(struct rz_redirects *redirects)
{
    uint64_t loaded = 0;
    dl_iterate_phdr(note_loaded, &loaded);
    if (redirects->loaded == 0) {
        find(redirects->calls);
    }
    if (redirects->loaded != loaded) {
        redirects->loaded = loaded;
        lead_all(redirects->calls);
    }
}
