/* SPDX-License-Identifier: BSD-3-Clause */
/* The build id of a program or library: a note in its ELF file. */
#include "image/area.h"

#include "image/raw_call.h"

#include <elf.h>

/* The note NT_GNU_BUILD_ID in [at, at + bytes). */
static uint32_t in_notes(const uint8_t *at, size_t bytes, uint8_t id[20])
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const void *)at;
        uint64_t name = (note->n_namesz + UINT64_C(3)) & ~UINT64_C(3);
        uint64_t value = (note->n_descsz + UINT64_C(3)) & ~UINT64_C(3);
        uint64_t all = sizeof(*note) + name + value;
        if (all > bytes) {
            return 0;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            rz_raw_same((const char *)at + sizeof(*note), "GNU")) {
            uint32_t n = note->n_descsz < 20 ? note->n_descsz : 20;
            rz_raw_copy(id, at + sizeof(*note) + name, n);
            return n;
        }
        at += all, bytes -= all;
    }
    return 0;
}

/* at: the beginning of the file, of which `bytes` bytes are there. Returns the id's bytes; 0: it
 * has none there. */
uint32_t rz_image_build_id(const void *at, size_t bytes, uint8_t id[20])
{
    const Elf64_Ehdr *head = at;
    if (bytes < sizeof(*head) || !rz_raw_begins((const char *)at, ELFMAG) ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(Elf64_Phdr) ||
        head->e_phoff % 8 != 0 || head->e_phoff > bytes ||
        head->e_phnum > (bytes - head->e_phoff) / sizeof(Elf64_Phdr)) {
        return 0;
    }
    const Elf64_Phdr *part = (const void *)((const uint8_t *)at + head->e_phoff);
    for (uint32_t i = 0, n = 0; i < head->e_phnum; i++) {
        if (part[i].p_type == PT_NOTE && part[i].p_offset % 4 == 0 && part[i].p_offset <= bytes &&
            part[i].p_filesz <= bytes - part[i].p_offset &&
            (n = in_notes((const uint8_t *)at + part[i].p_offset, part[i].p_filesz, id)) > 0) {
            return n;
        }
    }
    return 0;
}

uint32_t rz_image_build_id_of(const char *path, uint8_t id[20])
{
    uint64_t page[RZ_IMAGE_PAGE / 8];
    long n = rz_image_read_file(path, (char *)page, sizeof(page));
    return n > 0 ? rz_image_build_id(page, (size_t)n, id) : 0;
}
