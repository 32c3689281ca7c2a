/* SPDX-License-Identifier: BSD-3-Clause */
/* A process goes back to an image of its own: memory, files, what is excluded, and again. */
#include "../../image/apart.h"
#include "image/area.h"

#include <fcntl.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PAGE ((size_t)4096)

static int supported(void)
{
    char why[256];
    return rz_image_check(why, sizeof(why)) != RZ_ERR_UNSUPPORTED || !strstr(why, "this build");
}

/* Memory that no restore changes. */
static int *outside(void)
{
    void *at = map_apart(PAGE, MAP_SHARED, -1);
    assert_non_null(at);
    return at;
}

static int new_image(void)
{
    return rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC));
}

static enum rz_image_result save(int fd, uint64_t *bytes)
{
    char why[512] = "";
    enum rz_image_result result =
        rz_image_save(&(struct rz_image_place){.fd = fd}, bytes, why, sizeof(why));
    if (result != RZ_IMAGE_SAVED && result != RZ_IMAGE_RESTORED) {
        fail_msg("not saved: %s", why);
    }
    return result;
}

static void go_back(int fd, uint64_t bytes, int number)
{
    char why[512] = "";
    rz_image_restore(fd, bytes, &number, sizeof(number), why, sizeof(why));
    fail_msg("not restored: %s", why);
}

static void memory_is_what_it_was(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    size_t n = 3 << 20;
    volatile int local = 1;
    char *at = malloc(n), *small = strdup("before");
    memset(at, 7, n);
    uint64_t bytes = 0;
    if (save(fd, &bytes) == RZ_IMAGE_RESTORED) {
        size_t handed;
        const int *number = rz_image_handover(&handed);
        assert_int_equal(handed, sizeof(int));
        assert_int_equal(*number, *times);
        assert_true(bytes > n);
    }
    for (size_t i = 0; i < n; i += 512) {
        assert_int_equal(at[i], 7);
    }
    assert_string_equal(small, "before");
    assert_int_equal(local, 1);
    if (++*times < 20) {
        local = 2;
        memset(at, *times, n);
        strcpy(small, "after");
        char *more =
            mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(more, 1, 64 * PAGE);
        free(malloc(n << *times % 3));
        if (*times % 2) {
            free(at);
        }
        go_back(fd, bytes, *times);
    }
    free(at), free(small);
    close(fd);
}

/* Each second of `changed` pages: the kernel lists them in as many runs, some hundred at a time. */
static void pages_changed_in_many_places(void **state)
{
    (void)state;
    enum { PAGES = 8192 };
    static const size_t changed[] = {1, 511, 512, 513, 1000, 1300, 1366, 3000};
    for (size_t i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
        int *times = outside(), fd = new_image();
        char *at =
            mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(at, 1, PAGES * PAGE);
        uint64_t bytes;
        save(fd, &bytes);
        for (size_t page = 0; page < 2 * changed[i]; page += 2) {
            at[page * PAGE] = 2;
        }
        save(fd, &bytes);
        for (size_t page = 0; page < PAGES; page++) {
            assert_int_equal(at[page * PAGE], page % 2 == 0 && page < 2 * changed[i] ? 2 : 1);
        }
        if (++*times == 1) {
            memset(at, 3, PAGES * PAGE);
            go_back(fd, bytes, 0);
        }
        munmap(at, PAGES * PAGE);
        close(fd);
    }
}

/* The pages of the image in mapped memory have the checksums that the save says. */
static void check_hashes(const struct rz_image_place *place, uint64_t bytes)
{
    for (size_t page = 0; page < bytes / PAGE; page++) {
        struct rz_page_hash hash = rz_page_hash((char *)place->at + page * PAGE, PAGE);
        assert_memory_equal(&hash, &place->hashes[page], sizeof(hash));
    }
}

static enum rz_image_result save_mapped(const struct rz_image_place *place, uint64_t *bytes)
{
    char why[512] = "";
    enum rz_image_result result = rz_image_save(place, bytes, why, sizeof(why));
    if (result == RZ_IMAGE_SAVED) {
        check_hashes(place, *bytes);
    } else if (result != RZ_IMAGE_RESTORED) {
        fail_msg("not saved: %s", why);
    }
    return result;
}

static void mapped_memory_gets_pages_and_checksums(void **state)
{
    (void)state;
    enum { MORE = 600 }; /* pages */
    int *times = outside(), fd = new_image();
    struct rz_image_place place = {.fd = fd, .bytes = (rz_image_bytes() + (4 << 20)) / PAGE * PAGE};
    assert_int_equal(ftruncate(fd, (off_t)place.bytes), 0);
    place.at = map_apart(place.bytes, MAP_SHARED, fd);
    place.hashes = map_apart(place.bytes / PAGE * sizeof(*place.hashes), MAP_SHARED, -1);
    assert_true(place.at && place.hashes);
    char *at = calloc(MORE, PAGE);
    uint64_t bytes = 0;
    save_mapped(&place, &bytes);
    for (size_t page = 0; page < MORE; page += 3) {
        at[page * PAGE] = 5;
    }
    save_mapped(&place, &bytes);
    for (size_t page = 0; page < MORE; page++) {
        assert_int_equal(at[page * PAGE], page % 3 == 0 ? 5 : 0);
    }
    if (++*times == 1) {
        memset(at, 6, MORE * PAGE);
        go_back(fd, bytes, 0);
    }
    place.bytes = 16 * PAGE;
    char why[512] = "";
    assert_int_equal(rz_image_save(&place, &bytes, why, sizeof(why)), RZ_IMAGE_NO_ROOM);
    assert_true(bytes > place.bytes);
    free(at);
    close(fd);
}

static void a_mapping_that_was_removed_is_there_again(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char *at = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(at + 5 * PAGE, "five");
    mprotect(at + 8 * PAGE, 8 * PAGE, PROT_NONE);
    uint64_t bytes;
    save(fd, &bytes);
    assert_string_equal(at + 5 * PAGE, "five");
    assert_int_equal(at[0], 0);
    if (++*times == 1) {
        munmap(at, 16 * PAGE);
        go_back(fd, bytes, 0);
    } else if (*times == 2) {
        mprotect(at, 16 * PAGE, PROT_READ | PROT_WRITE);
        memset(at, 9, 16 * PAGE);
        go_back(fd, bytes, 0);
    }
    munmap(at, 16 * PAGE);
    close(fd);
}

/* Guard pages that came after the image are in the way of what it has there. */
static void memory_is_guarded_after_the_image(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, 8 * PAGE);
    uint64_t bytes;
    save(fd, &bytes);
    assert_true(at[0] == 1 && at[3 * PAGE] == 1);
    if (++*times == 1) {
        madvise(at, 4 * PAGE, 102 /* MADV_GUARD_INSTALL */);
        go_back(fd, bytes, 0);
    }
    munmap(at, 8 * PAGE);
    close(fd);
}

static void excluded_memory_stays(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, 8 * PAGE);
    rz_image_exclude(at + 2 * PAGE, 3 * PAGE);
    rz_image_include(at + 3 * PAGE, PAGE);
    uint64_t bytes;
    save(fd, &bytes);
    if (++*times == 1) {
        memset(at, 2, 8 * PAGE);
        go_back(fd, bytes, 0);
    }
    for (size_t page = 0; page < 8; page++) {
        assert_int_equal(at[page * PAGE], page == 2 || page == 4 ? 2 : 1);
    }
    rz_image_include(at, 8 * PAGE);
    munmap(at, 8 * PAGE);
    close(fd);
}

static void files_are_what_they_were(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char name[] = "/tmp/image_in_place_XXXXXX", line[64] = "";
    FILE *file = fdopen(mkstemp(name), "w+");
    fputs("first\n", file);
    fflush(file);
    uint64_t bytes;
    save(fd, &bytes);
    if (++*times < 3) {
        fputs("is cut back\n", file);
        fflush(file);
        if (*times == 1) {
            fclose(file);
        }
        go_back(fd, bytes, 0);
    }
    fputs("second\n", file);
    rewind(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "first\n");
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "second\n");
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
    unlink(name);
    close(fd);
}

/* Of a file that is not open the length is saved, if it is still that file; one that has another
 * inode later makes the image useless, and one that is gone does not. */
static void a_closed_file_is_cut(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char name[] = "/tmp/image_in_place_XXXXXX", other[64], gone[64], why[512] = "";
    struct stat st;
    uint64_t bytes;
    int file = mkstemp(name);
    snprintf(other, sizeof(other), "%s-other", name);
    snprintf(gone, sizeof(gone), "%s-gone", name);
    assert_int_equal(write(file, "before", 6), 6);
    assert_int_equal(fstat(file, &st), 0);
    close(file);
    assert_int_equal(link(name, gone), 0);
    const struct rz_image_closed closed[] = {{st.st_dev, st.st_ino, 0, name, false},
                                             {st.st_dev, st.st_ino + 1, 0, name, false},
                                             {st.st_dev, st.st_ino, 0, gone, false}};
    const struct rz_image_place place = {.fd = fd, .closed = closed, .n_closed = 3};
    enum rz_image_result result = rz_image_save(&place, &bytes, why, sizeof(why));
    assert_true(result == RZ_IMAGE_SAVED || result == RZ_IMAGE_RESTORED);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 6);
    if (++*times == 1) {
        FILE *more = fopen(name, "a");
        fputs("after", more);
        fclose(more);
        unlink(gone);
        go_back(fd, bytes, 0);
    }
    rename(name, other);
    close(open(name, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why)), RZ_ERR_UNSUPPORTED);
    assert_non_null(strstr(why, "is another file now"));
    unlink(name), unlink(other);
    close(fd);
}

/* x87's unit has flags of its own, which no instruction for vectors sets. */
static void flags_of_both_units_are_kept(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    volatile long double none = 0;
    volatile double tiny = 1e-300;
    uint64_t bytes;
    feclearexcept(FE_ALL_EXCEPT);
    none = 1 / none;
    tiny *= tiny;
    const int both = fetestexcept(FE_ALL_EXCEPT);
    assert_int_equal(both & (FE_DIVBYZERO | FE_UNDERFLOW), FE_DIVBYZERO | FE_UNDERFLOW);
    fesetround(FE_DOWNWARD);
    feenableexcept(FE_INVALID);
    save(fd, &bytes);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), both);
    assert_int_equal(fegetround(), FE_DOWNWARD);
    assert_int_equal(fegetexcept(), FE_INVALID);
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    feclearexcept(FE_ALL_EXCEPT);
    if (++*times < 3) {
        go_back(fd, bytes, 0);
    }
    close(fd);
}

/* Whether the kernel reads it; an access by the program ends it. */
static bool is_readable(const char *at)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    bool readable = write(ends[1], at, 1) == 1;
    close(ends[0]), close(ends[1]);
    return readable;
}

static char *map_removed(const char *text, size_t pages, int protection)
{
    char name[] = "/tmp/image_in_place_XXXXXX";
    int file = mkstemp(name);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    assert_true(at != MAP_FAILED);
    unlink(name);
    close(file);
    assert_int_equal(mprotect(at, pages * PAGE, protection), 0);
    return at;
}

/* There is no memory behind the end of a file: neither in the image nor afterwards. */
static void removed_files_end_where_they_ended(void **state)
{
    (void)state;
    for (int hashes = 0; hashes < 2; hashes++) {
        int *times = outside(), fd = new_image();
        uint64_t bytes;
        char *at = map_removed("hello", 5, PROT_READ | PROT_WRITE);
        char *empty = map_removed("", 2, PROT_READ), *closed = map_removed("deep", 3, PROT_NONE);
        at[1] = 'E';
        RZ_AREA->method_wanted = hashes ? RZ_METHOD_HASHES : RZ_METHOD_UNKNOWN;
        save(fd, &bytes);
        assert_string_equal(at, "hEllo");
        assert_int_equal(at[PAGE - 1], 0);
        assert_false(is_readable(at + PAGE));
        assert_false(is_readable(at + 4 * PAGE));
        assert_false(is_readable(empty));
        assert_false(is_readable(closed));
        if (++*times < 4) {
            at[0] = 'x';
            if (*times == 2) {
                munmap(at, 5 * PAGE);
                mprotect(closed, 3 * PAGE, PROT_READ | PROT_WRITE);
                closed[0] = 'x';
            }
            if (*times < 3 || save(fd, &bytes) == RZ_IMAGE_SAVED) { /* as it is after a restore */
                go_back(fd, bytes, 0);
            }
            at[0] = 'h';
        }
        assert_int_equal(mprotect(closed, 3 * PAGE, PROT_READ), 0);
        assert_string_equal(closed, "deep");
        assert_false(is_readable(closed + PAGE));
        munmap(at, 5 * PAGE), munmap(empty, 2 * PAGE), munmap(closed, 3 * PAGE);
        close(fd);
    }
}

/* An empty file has no first page, which could have a build id. */
static void an_empty_file_may_be_mapped(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char name[] = "/tmp/image_in_place\nXXXXXX"; /* /proc writes the new line in its own way */
    uint64_t bytes;
    int file = mkstemp(name);
    char *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    save(fd, &bytes);
    assert_false(is_readable(at));
    if (++*times == 1) {
        go_back(fd, bytes, 0);
    }
    munmap(at, PAGE);
    unlink(name);
    close(fd);
}

/* The number of an inode is used again by many file systems. */
static void a_new_file_of_that_name_is_another(void **state)
{
    (void)state;
    int fd = new_image();
    char name[] = "/tmp/image_in_place_XXXXXX", why[512] = "";
    struct statx st;
    uint64_t bytes;
    int file = mkstemp(name);
    assert_int_equal(write(file, "before", 6), 6);
    save(fd, &bytes);
    unlink(name);
    close(file);
    file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(file, "another", 7), 7);
    assert_int_equal(statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &st), 0);
    if (st.stx_mask & STATX_BTIME) {
        assert_int_equal(rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why)),
                         RZ_ERR_UNSUPPORTED);
        assert_non_null(strstr(why, "is another file now"));
    }
    close(file);
    unlink(name);
    close(fd);
}

/* The file grows, and is cut: what is mapped is before its end. */
static void a_file_that_is_appended_to_may_be_mapped(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char name[] = "/tmp/image_in_place_XXXXXX", why[512] = "";
    uint64_t bytes;
    close(mkstemp(name));
    int file = open(name, O_RDWR | O_APPEND);
    assert_int_equal(write(file, "before", 6), 6);
    char *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    save(fd, &bytes);
    assert_string_equal(at, "before");
    if (++*times == 1) {
        assert_int_equal(write(file, "after", 5), 5);
        go_back(fd, bytes, 0);
    }
    assert_int_equal(fcntl(file, F_SETFL, 0), 0); /* then it is not only appended to */
    save(fd, &bytes);
    assert_int_equal(pwrite(file, "other", 5, 6), 5);
    assert_int_equal(rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why)), RZ_ERR_UNSUPPORTED);
    assert_non_null(strstr(why, "is another file than the image maps"));
    munmap(at, PAGE);
    close(file);
    unlink(name);
    close(fd);
}

static void open_files_are_told(void **state)
{
    (void)state;
    int fd = new_image(), files = 0;
    char name[] = "/tmp/image_in_place_XXXXXX", empty[] = "/tmp/image_in_place_XXXXXX";
    struct rz_image_open open;
    struct stat st;
    uint64_t bytes;
    int file = mkstemp(name), other = mkstemp(empty);
    assert_int_equal(write(file, "before", 6), 6);
    assert_int_equal(fstat(file, &st), 0);
    save(fd, &bytes);
    for (uint32_t i = 0; rz_image_next_open(&i, &open); files++) {
        assert_int_equal(open.inode == st.st_ino, open.fd == file);
        assert_int_equal(open.device, st.st_dev);
        assert_int_equal(open.bytes, open.fd == file ? 6 : 0);
    }
    assert_int_equal(files, 2);
    close(file), close(other);
    unlink(name), unlink(empty);
    close(fd);
}

/* The descriptor for write protection, if the kernel has it; -1. */
static int protector(void)
{
    for (int fd = 3; fd < 1 << 17; fd++) {
        char link[64], name[64] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, name, sizeof(name) - 1) > 0 &&
            strcmp(name, "anon_inode:[userfaultfd]") == 0) {
            return fd;
        }
    }
    return -1;
}

/* A program that closes all descriptors has a file of its own under that number. */
static void a_file_under_the_number_of_a_lost_descriptor_is_saved(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    char name[] = "/tmp/image_in_place_XXXXXX";
    uint64_t bytes;
    save(fd, &bytes);
    int lost = protector(), file = mkstemp(name);
    if (lost >= 0) {
        assert_int_equal(dup2(file, lost), lost);
        close(file);
        file = lost;
    }
    assert_int_equal(write(file, "word", 4), 4);
    save(fd, &bytes);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 4);
    if (++*times == 1) {
        lseek(file, 1, SEEK_SET);
        go_back(fd, bytes, 0);
    }
    close(file);
    unlink(name);
    close(fd);
}

/* One that a caller has excluded under that number stays excluded. */
static void an_excluded_descriptor_under_that_number_stays(void **state)
{
    (void)state;
    int *times = outside(), fd = new_image();
    uint64_t bytes;
    save(fd, &bytes);
    int lost = protector(), ours = memfd_create("ours", MFD_CLOEXEC);
    if (lost >= 0) {
        assert_int_equal(dup2(ours, lost), lost);
        close(ours);
        ours = lost;
    }
    rz_image_exclude_descriptor(ours);
    save(fd, &bytes);
    if (++*times == 1) {
        assert_int_equal(write(ours, "word", 4), 4);
        go_back(fd, bytes, 0);
    }
    assert_int_equal(lseek(ours, 0, SEEK_CUR), 4);
    rz_image_include_descriptor(ours);
    close(ours);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_what_it_was),
        cmocka_unit_test(pages_changed_in_many_places),
        cmocka_unit_test(mapped_memory_gets_pages_and_checksums),
        cmocka_unit_test(a_mapping_that_was_removed_is_there_again),
        cmocka_unit_test(memory_is_guarded_after_the_image),
        cmocka_unit_test(excluded_memory_stays),
        cmocka_unit_test(files_are_what_they_were),
        cmocka_unit_test(a_closed_file_is_cut),
        cmocka_unit_test(flags_of_both_units_are_kept),
        cmocka_unit_test(an_empty_file_may_be_mapped),
        cmocka_unit_test(a_new_file_of_that_name_is_another),
        cmocka_unit_test(a_file_that_is_appended_to_may_be_mapped),
        cmocka_unit_test(open_files_are_told),
        cmocka_unit_test(a_file_under_the_number_of_a_lost_descriptor_is_saved),
        cmocka_unit_test(an_excluded_descriptor_under_that_number_stays),
        cmocka_unit_test(removed_files_end_where_they_ended), /* changes the method for good */
    };
    if (!supported()) {
        return 0;
    }
    for (int fd = 3; fd < 256; fd++) { /* of the launcher */
        rz_image_exclude_descriptor(fd);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
