/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for a program in directories, and reads its ELF headers for the libraries that it
 * requests. */
#include "launch/program.h"

#include "launch/bytes.h"
#include "outcome/exit_codes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int assess(const char *path, const char **why)
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

/* A path of DIRECTORY/NAME that begins with a slash, because processes start in other directories
 * and on other machines. What begins with one already stays; a relative directory is one of rzrun's
 * own. */
static void program_path(const char *directory, const char *name, char *path, size_t path_max)
{
    char here[4096] = "";
    bool absolute = name[0] == '/', below = !absolute && *directory;
    bool relative = !absolute && directory[0] != '/' && getcwd(here, sizeof(here) - 1);
    snprintf(path, path_max, "%s%s%s%s%s", here, relative ? "/" : "", below ? directory : "",
             below ? "/" : "", name);
}

/* In the directory where the processes start, as mpiexec of other MPIs; where it is not there, in
 * that of rzrun, so that a line continues to work to which --wdir is added. */
static int find_here(const char *name, const char *directory, char *path, size_t path_max,
                     const char **why)
{
    program_path(directory, name, path, path_max);
    int error = assess(path, why);
    if (error != RZ_EXIT_NOT_FOUND || !*directory || name[0] == '/') {
        return error;
    }
    program_path("", name, path, path_max);
    error = assess(path, why);
    if (error == RZ_EXIT_NOT_FOUND) {
        *why = "there is no such file, neither in the directory of --wdir nor in this one";
    }
    return error;
}

static bool find_in(const char *list, const char *name, char *path, size_t path_max)
{
    char entry[4096];
    const char *ignored;
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(entry, sizeof(entry), "%.*s", (int)n, at);
        program_path(entry, name, path, path_max);
        if (n > 0 && assess(path, &ignored) == 0) {
            return true;
        }
        at += n + (at[n] == ':');
    }
    return false;
}

int rz_program_find(const char *name, const char *first, const char *directory, char *path,
                    size_t path_max, const char **why)
{
    const char *list = getenv("PATH"), *ignored;
    if (strchr(name, '/')) {
        return find_here(name, directory, path, path_max, why);
    }
    if (*name && ((first && find_in(first, name, path, path_max)) ||
                  find_in(list ? list : "/usr/bin:/bin", name, path, path_max) ||
                  find_here(name, directory, path, path_max, &ignored) == 0)) {
        return 0;
    }
    *why = "it is in no directory of PATH, nor in this one";
    return RZ_EXIT_NOT_FOUND;
}

/* Bound for the loader to list what a program needs. */
#define LOADER_BOUND_S 10
/* Bound of what it lists. */
#define LISTED_MAX ((size_t)1 << 20)

/* A mapped 64-bit ELF file. */
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
    for (unsigned i = 0; i < n; i++) {
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz) {
            *offset = segments[i].p_offset + (address - segments[i].p_vaddr);
            return true;
        }
    }
    return false;
}

/* libmpi.so.12 is the library of MPICH and its relatives, libmpi.so.40 that of Open MPI; libsma is
 * Sandia OpenSHMEM, which speaks PMI-1. */
static enum rz_program_mpi mpi_of(const char *library)
{
    static const struct {
        const char *beginning;
        enum rz_program_mpi mpi;
    } known[] = {{"libmpich", RZ_PROGRAM_PMI1},     {"libmpi_mpich", RZ_PROGRAM_PMI1},
                 {"libmpi.so.12", RZ_PROGRAM_PMI1}, {"libmpifort.so.12", RZ_PROGRAM_PMI1},
                 {"libfmpich", RZ_PROGRAM_PMI1},    {"libsma.so", RZ_PROGRAM_PMI1},
                 {"libmpi.so", RZ_PROGRAM_PMIX},    {"libmpi_cxx", RZ_PROGRAM_PMIX},
                 {"libmpi_mpifh", RZ_PROGRAM_PMIX}, {"libmpi_usempi", RZ_PROGRAM_PMIX},
                 {"libmpi_java", RZ_PROGRAM_PMIX},  {"liboshmem", RZ_PROGRAM_PMIX},
                 {"libopen-rte", RZ_PROGRAM_PMIX},  {"libprrte", RZ_PROGRAM_PMIX},
                 {"libpmix.so", RZ_PROGRAM_PMIX}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strncmp(library, known[i].beginning, strlen(known[i].beginning)) == 0) {
            return known[i].mpi;
        }
    }
    return RZ_PROGRAM_PLAIN;
}

/* The libraries that an image requests; texts point into it, or are NULL. */
struct requested {
    const char *interpreter, *foreign, *path; /* path: DT_RPATH or DT_RUNPATH */
    bool abi;                                 /* it requests RZ_PROGRAM_LIBRARY */
    bool others; /* it requests libraries that may request those of an MPI themselves */
};

/* Whether a library is of the system, and requests none of an MPI. */
static bool is_basic(const char *library)
{
    static const char *const basic[] = {
        "libc.so",     "libm.so",      "libdl.so",     "librt.so",       "libpthread.so",
        "libgcc_s.so", "libstdc++.so", "ld-linux",     "libgfortran.so", "libquadmath.so",
        "libgomp.so",  "libtinfo.so",  "libselinux.so"};
    for (size_t i = 0; i < sizeof(basic) / sizeof(*basic); i++) {
        if (strncmp(library, basic[i], strlen(basic[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* A text in the image, if it ends within the image; else NULL. */
static const char *text_at(const struct image *image, uint64_t offset)
{
    const char *text = within(image, offset, 1);
    return text && memchr(text, 0, image->bytes - offset) ? text : NULL;
}

static void take_entry(const struct image *image, const Elf64_Dyn *entry, uint64_t strings,
                       struct requested *requested)
{
    const char *text = text_at(image, strings + entry->d_un.d_val);
    if (!text) {
        return;
    }
    if (entry->d_tag == DT_RPATH || entry->d_tag == DT_RUNPATH) {
        requested->path = text;
    }
    if (entry->d_tag == DT_NEEDED && !requested->foreign && mpi_of(text)) {
        requested->foreign = text;
    }
    requested->abi |= entry->d_tag == DT_NEEDED && strcmp(text, RZ_PROGRAM_LIBRARY) == 0;
    requested->others |= entry->d_tag == DT_NEEDED && !is_basic(text);
}

static bool look_through(const struct image *image, struct requested *requested)
{
    const Elf64_Ehdr *header = within(image, 0, sizeof(*header));
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
        return false;
    }
    const Elf64_Phdr *segments =
        within(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(*segments));
    const Elf64_Dyn *dynamic = NULL;
    size_t n_dynamic = 0;
    for (unsigned i = 0; segments && i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = within(image, segments[i].p_offset, segments[i].p_filesz);
            n_dynamic = segments[i].p_filesz / sizeof(*dynamic);
        } else if (segments[i].p_type == PT_INTERP) {
            requested->interpreter = text_at(image, segments[i].p_offset);
        }
    }
    uint64_t strings = 0;
    for (size_t i = 0; dynamic && i < n_dynamic; i++) {
        if (dynamic[i].d_tag == DT_STRTAB &&
            !file_offset(segments, header->e_phnum, dynamic[i].d_un.d_ptr, &strings)) {
            return false;
        }
    }
    for (size_t i = 0; dynamic && strings && i < n_dynamic; i++) {
        take_entry(image, &dynamic[i], strings, requested);
    }
    return true;
}

/* Maps the file; bytes 0: it cannot be mapped. */
static struct image image_open(const char *path)
{
    struct stat info;
    struct image image = {.bytes = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return image;
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            image = (struct image){.at = at, .bytes = (size_t)info.st_size};
        }
    }
    close(fd);
    return image;
}

static void image_close(struct image *image)
{
    if (image->bytes > 0) {
        munmap((void *)image->at, image->bytes);
    }
}

/* Whether the library is in one of the directories of a path; directories relative to the program
 * ($ORIGIN) are left to the loader. */
static bool lies_in_path(const char *path)
{
    char file[4096];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, RZ_PROGRAM_LIBRARY);
        if (n > 0 && access(file, R_OK) == 0) {
            return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

/* Lets the loader list what it finds for the program, without running it: the text, which the
 * caller frees, and the loader's exit as waitpid gives it. NULL: it cannot be run. */
static char *list_libraries(const char *interpreter, const char *path, const char *library_path,
                            int *status)
{
    struct rz_bytes listed = {0};
    char part[4096];
    int out[2];
    *status = 0;
    if (pipe2(out, O_CLOEXEC) != 0) {
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        if (library_path) {
            setenv("LD_LIBRARY_PATH", library_path, 1);
        }
        alarm(LOADER_BOUND_S);
        execl(interpreter, interpreter, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (ssize_t got; listed.n < LISTED_MAX && ((got = read(out[0], part, sizeof(part))) > 0 ||
                                                (got < 0 && errno == EINTR));) {
        rz_bytes_append(&listed, part, got > 0 ? (size_t)got : 0);
    }
    rz_bytes_append(&listed, "", 1);
    close(out[0]);
    if (pid > 0) {
        waitpid(pid, status, 0);
    }
    return (char *)listed.at;
}

static bool loader_misses(const char *interpreter, const char *path, const char *library_path)
{
    int status;
    char *listed = list_libraries(interpreter, path, library_path, &status);
    bool misses = listed && status != 0 && strstr(listed, RZ_PROGRAM_LIBRARY);
    free(listed);
    return misses;
}

bool rz_program_lacks_library(const char *path, const char *library_path)
{
    struct image image = image_open(path);
    struct requested requested = {0};
    bool lacks = look_through(&image, &requested) && requested.abi && requested.interpreter &&
                 !lies_in_path(requested.path) &&
                 loader_misses(requested.interpreter, path, library_path);
    image_close(&image);
    return lacks;
}

/* The folder of the loader itself, freed by the caller; NULL: unknown. */
static char *folder_of_loader(const char *interpreter)
{
    char *real = realpath(interpreter, NULL);
    if (real) {
        *strrchr(real, '/') = 0;
    }
    return real;
}

void rz_program_libraries(const char *path, const char *library_path,
                          rz_program_library_fn on_library, void *arg)
{
    static const char arrow[] = " => ";
    struct image image = image_open(path);
    struct requested requested = {0};
    int status;
    if (look_through(&image, &requested) && requested.interpreter) {
        char *folder = folder_of_loader(requested.interpreter), *save;
        char *listed = list_libraries(requested.interpreter, path, library_path, &status);
        char *line = listed ? strtok_r(listed, "\n", &save) : NULL;
        for (; line; line = strtok_r(NULL, "\n", &save)) {
            /* A line is `NAME => PATH (ADDRESS)`; others name no library that was searched. */
            char *name = line + strspn(line, " \t"), *found = strstr(name, arrow);
            char *end = found ? strrchr(found, '(') : NULL;
            if (end && end[-1] == ' ') {
                *found = end[-1] = 0;
                on_library(arg, name, found + sizeof(arrow) - 1, folder);
            }
        }
        free(listed);
        free(folder);
    }
    image_close(&image);
}

enum rz_program_mpi rz_program_library_mpi(const char *library)
{
    return strcmp(library, RZ_PROGRAM_LIBRARY) == 0 ? RZ_PROGRAM_OWN : mpi_of(library);
}

/* Takes the first library of another MPI among those that the loader lists, unless ours is there.
 */
struct found_mpi {
    enum rz_program_mpi mpi;
    char *library;
    size_t library_max;
};

static bool take_found(struct found_mpi *found, const char *name)
{
    enum rz_program_mpi mpi = rz_program_library_mpi(name);
    bool first = found->mpi == RZ_PROGRAM_PLAIN && mpi != RZ_PROGRAM_PLAIN;
    if (first || mpi == RZ_PROGRAM_OWN) {
        found->mpi = mpi;
        snprintf(found->library, found->library_max, "%s", name);
    }
    return mpi == RZ_PROGRAM_OWN;
}

/* Through libraries that the program requests: their names stand in the list whether or not they
 * were found. */
static void look_behind(const char *path, const char *library_path, const char *interpreter,
                        struct found_mpi *found)
{
    int status;
    char *save, *listed = list_libraries(interpreter, path, library_path, &status);
    char *line = listed ? strtok_r(listed, "\n", &save) : NULL;
    for (bool own = false; line && !own; line = strtok_r(NULL, "\n", &save)) {
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t")] = 0;
        own = take_found(found, name);
    }
    free(listed);
}

enum rz_program_mpi rz_program_mpi(const char *path, const char *library_path, char *library,
                                   size_t library_max)
{
    struct image image = image_open(path);
    struct requested requested = {0};
    struct found_mpi found = {.library = library, .library_max = library_max};
    bool good = look_through(&image, &requested);
    if (good && (requested.abi || requested.foreign)) {
        take_found(&found, requested.abi ? RZ_PROGRAM_LIBRARY : requested.foreign);
    } else if (good && requested.others && requested.interpreter) {
        look_behind(path, library_path, requested.interpreter, &found);
    }
    image_close(&image);
    return found.mpi;
}

enum rz_program_mpi rz_program_words_mpi(char *const *words, const char *library_path,
                                         char *library, size_t library_max)
{
    enum rz_program_mpi mpi = RZ_PROGRAM_PLAIN;
    const char *ignored;
    for (unsigned i = 0; words[i] && mpi == RZ_PROGRAM_PLAIN; i++) {
        if (i == 0 || (strchr(words[i], '/') && assess(words[i], &ignored) == 0)) {
            mpi = rz_program_mpi(words[i], library_path, library, library_max);
        }
    }
    return mpi;
}
