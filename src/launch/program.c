#include "launch/program.h"

#include "outcome/exit_codes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int judge(const char *path, const char **why)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        *why = errno == ENOENT ? "there is no such file" : strerror(errno);
        return RZ_EXIT_NOT_FOUND;
    }
    if (S_ISDIR(info.st_mode)) {
        *why = "it is a directory";
        return RZ_EXIT_NOT_EXECUTABLE;
    }
    if (access(path, X_OK) != 0) {
        *why = "it is not executable (chmod +x makes it so)";
        return RZ_EXIT_NOT_EXECUTABLE;
    }
    return 0;
}

int rz_program_find(const char *name, char *path, size_t path_max, const char **why)
{
    if (strchr(name, '/')) {
        char here[4096] = "";
        bool relative =
            name[0] != '/' && getcwd(here, sizeof here - 1); /* processes may start elsewhere */
        snprintf(path, path_max, "%s%s%s", here, relative ? "/" : "", name);
        return judge(path, why);
    }
    const char *list = getenv("PATH");
    *why = "it is in no directory of PATH (write ./ before a program of this directory)";
    for (const char *at = list ? list : "/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(path, path_max, "%.*s/%s", (int)n, at, name);
        const char *ignored;
        if (n > 0 && judge(path, &ignored) == 0)
            return 0;
        at += n + (at[n] == ':');
    }
    return RZ_EXIT_NOT_FOUND;
}

/* A 64-bit ELF file, mapped. */
struct image {
    const uint8_t *at;
    size_t bytes;
};

static const void *within(const struct image *image, uint64_t offset, uint64_t bytes)
{
    return offset <= image->bytes && bytes <= image->bytes - offset ? image->at + offset : NULL;
}

/* The file offset of a virtual address, by the loadable segments. */
static bool file_offset(const Elf64_Phdr *segments, unsigned n, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < n; i++)
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz) {
            *offset = segments[i].p_offset + (address - segments[i].p_vaddr);
            return true;
        }
    return false;
}

static bool foreign_name(const char *name)
{
    static const char *const foreign[] = {"libmpi.so", "libmpich.so", "libmpi_mpich", "libopen-rte",
                                          "libmpi_cxx"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strncmp(name, foreign[i], strlen(foreign[i])) == 0)
            return true;
    return false;
}

static bool look_through(const struct image *image, char *library, size_t library_max)
{
    const Elf64_Ehdr *header = within(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    const Elf64_Phdr *segments =
        within(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof *segments);
    const Elf64_Dyn *dynamic = NULL;
    size_t n_dynamic = 0;
    for (unsigned i = 0; segments && i < header->e_phnum; i++)
        if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = within(image, segments[i].p_offset, segments[i].p_filesz);
            n_dynamic = segments[i].p_filesz / sizeof *dynamic;
        }
    uint64_t strings = 0;
    for (size_t i = 0; dynamic && i < n_dynamic; i++)
        if (dynamic[i].d_tag == DT_STRTAB &&
            !file_offset(segments, header->e_phnum, dynamic[i].d_un.d_ptr, &strings))
            return false;
    for (size_t i = 0; dynamic && strings && i < n_dynamic; i++) {
        if (dynamic[i].d_tag != DT_NEEDED)
            continue;
        const char *name = within(image, strings + dynamic[i].d_un.d_val, 32);
        if (name && memchr(name, 0, 32) && foreign_name(name)) {
            snprintf(library, library_max, "%s", name);
            return true;
        }
    }
    return false;
}

bool rz_program_of_another_mpi(const char *path, char *library, size_t library_max)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool foreign = false;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
        struct image image = {.bytes = (size_t)info.st_size};
        void *at = mmap(NULL, image.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            image.at = at;
            foreign = look_through(&image, library, library_max);
            munmap(at, image.bytes);
        }
    }
    close(fd);
    return foreign;
}
