/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the sort that need no other process: lists, owners, checkpoints. */
#include "proto/diagnose/diagnose.h"
#include "sort.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 1000, OWNERS_MAX = 9, WHY_BYTES = 8192 };

struct sort_options sort_options = {.count = N, .virtuals = 4, .dimensions = 2, .seed = 1};

static char folder[64] = "/tmp/sort-test-XXXXXX";
static char why[WHY_BYTES];

void sort_fatal(const char *format, ...)
{
    char line[WHY_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fail_msg("%s", line);
    abort();
}

void *sort_memory(void *old, uint64_t n, size_t size)
{
    void *memory = realloc(old, n > 0 ? n * size : 1);
    assert_non_null(memory);
    return memory;
}

void sort_leave_at(uint32_t step, enum sort_place place)
{
    (void)step, (void)place;
}

/* ---- Lists ---- */

static void lists_are_sorted_and_keep_their_elements(void **state)
{
    (void)state;
    for (int d = SORT_UNIFORM; d <= SORT_EQUAL; d++) {
        uint64_t n = 0;
        sort_options.distribution = (enum sort_distribution)d;
        for (uint32_t v = 0; v < sort_options.virtuals; v++) {
            struct sort_list list;
            struct sort_sum before = {0}, after = {0};
            sort_generate(v, &list);
            sort_generate_sum(v, &before);
            sort_list_sort(&list);
            assert_true(sort_list_is_sorted(&list));
            sort_list_sum(&list, &after);
            assert_memory_equal(&before, &after, sizeof(before));
            n += list.n;
            sort_list_free(&list);
        }
        assert_int_equal(n, N);
    }
    sort_options.distribution = SORT_UNIFORM;
}

static void a_split_leaves_equal_elements_below(void **state)
{
    uint32_t at[] = {1, 3, 3, 3, 7};
    const struct sort_list list = {at, 5};
    (void)state;
    assert_int_equal(sort_list_split(&list, 0), 0);
    assert_int_equal(sort_list_split(&list, 1), 1);
    assert_int_equal(sort_list_split(&list, 3), 4);
    assert_int_equal(sort_list_split(&list, UINT32_MAX), 5);
    assert_int_equal(sort_list_split(&(struct sort_list){NULL, 0}, 5), 0);
}

static void runs_are_merged(void **state)
{
    const uint32_t a[] = {1, 3, 9}, b[] = {2, 3, 4, 10}, all[] = {1, 2, 3, 3, 4, 9, 10};
    uint32_t to[7];
    (void)state;
    sort_merge(a, 3, b, 4, to);
    assert_memory_equal(to, all, sizeof(all));
    sort_merge(NULL, 0, all, 7, to);
    assert_memory_equal(to, all, sizeof(all));
}

/* The sum detects what a sort may do wrong with elements. */
static void sums_differ_where_elements_do(void **state)
{
    uint32_t at[] = {1, 2, 3, 4}, doubled[] = {1, 2, 2, 4}, shifted[] = {1, 2, 4, 3};
    struct sort_sum sums[3] = {{0}};
    (void)state;
    sort_list_sum(&(struct sort_list){at, 4}, &sums[0]);
    sort_list_sum(&(struct sort_list){doubled, 4}, &sums[1]);
    sort_list_sum(&(struct sort_list){shifted, 4}, &sums[2]);
    assert_memory_not_equal(&sums[0], &sums[1], sizeof(sums[0]));
    assert_memory_equal(&sums[0], &sums[2], sizeof(sums[0]));
}

/* The program's rule is the library's, for every view of some processes. */
static void owners_are_those_of_the_group(void **state)
{
    (void)state;
    for (int n = 1; n <= OWNERS_MAX; n++) {
        for (uint64_t view = 1; view < UINT64_C(1) << n; view++) {
            bool lives[OWNERS_MAX];
            uint32_t all = UINT32_C(1) << rz_diagnose_dimensions((uint32_t)n);
            for (int i = 0; i < n; i++) {
                lives[i] = view >> i & 1;
            }
            for (uint32_t v = 0; v < 2 * all; v++) {
                assert_int_equal(sort_owner(lives, n, v),
                                 rz_diagnose_owner(&view, (uint32_t)n, v % all));
            }
        }
    }
}

/* ---- Checkpoints ---- */

static struct sort_list made(uint32_t v)
{
    struct sort_list list;
    sort_generate(v, &list);
    sort_list_sort(&list);
    return list;
}

static void read_is(const struct sort_name *name, const struct sort_list *wanted)
{
    struct sort_list got;
    assert_int_equal(sort_store_read(name, &got, why, sizeof(why)), SORT_READ);
    assert_int_equal(got.n, wanted->n);
    assert_memory_equal(got.at, wanted->at, wanted->n * sizeof(*wanted->at));
    sort_list_free(&got);
}

static void what_was_written_is_read(void **state)
{
    const struct sort_name name = {2, 1, 7}, empty = {3, 1, 7}, none = {3, 2, 7};
    struct sort_list list = made(2), nothing = {NULL, 0}, got;
    (void)state;
    assert_true(sort_store_write(&name, &list));
    assert_true(sort_store_write(&empty, &nothing));
    read_is(&name, &list);
    assert_int_equal(sort_store_read(&empty, &got, why, sizeof(why)), SORT_READ);
    assert_int_equal(got.n, 0);
    sort_list_free(&got);
    assert_int_equal(sort_store_read(&none, &got, why, sizeof(why)), SORT_LOST);
    assert_non_null(strstr(why, "is lost"));
    sort_list_free(&list);
}

/* An excluded process writes its lists in a round that does not count. */
static void a_stale_writer_harms_no_process(void **state)
{
    const struct sort_name counts = {1, 1, 9}, stale = {1, 1, 8};
    struct sort_list list = made(1), other = made(0);
    (void)state;
    assert_true(sort_store_write(&counts, &list));
    assert_true(sort_store_write(&stale, &other));
    read_is(&counts, &list);
    sort_list_free(&list);
    sort_list_free(&other);
}

static void only_file(char *path, size_t bytes, const struct sort_name *name)
{
    snprintf(path, bytes, "%s/hyperquicksort-test/%u.%u.%llu", folder, name->v, name->generation,
             (unsigned long long)name->round);
}

static void every_flipped_bit_is_found(void **state)
{
    const struct sort_name name = {0, 1, 3};
    struct sort_list list = made(0), got;
    char path[256];
    struct stat facts;
    (void)state;
    assert_true(sort_store_write(&name, &list));
    only_file(path, sizeof(path), &name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &facts) == 0);
    for (off_t i = 0; i < facts.st_size; i++) {
        unsigned char byte, wrong;
        assert_int_equal(pread(fd, &byte, 1, i), 1);
        wrong = byte ^ (unsigned char)(1 << i % 8);
        assert_int_equal(pwrite(fd, &wrong, 1, i), 1);
        assert_int_equal(sort_store_read(&name, &got, why, sizeof(why)), SORT_DAMAGED);
        assert_non_null(strstr(why, "is damaged"));
        assert_int_equal(pwrite(fd, &byte, 1, i), 1);
    }
    read_is(&name, &list);
    assert_int_equal(ftruncate(fd, facts.st_size - 1), 0);
    assert_int_equal(sort_store_read(&name, &got, why, sizeof(why)), SORT_DAMAGED);
    close(fd);
    sort_list_free(&list);
}

/* What is older than two agreed generations goes, of one's own lists. */
static void old_generations_are_removed(void **state)
{
    const bool mine[4] = {[1] = true};
    struct sort_list list = {NULL, 0}, got;
    (void)state;
    for (uint32_t v = 0; v < 2; v++) {
        for (uint32_t generation = 1; generation <= 3; generation++) {
            assert_true(sort_store_write(&(struct sort_name){v, generation, 20}, &list));
        }
    }
    sort_store_forget(3, mine);
    for (uint32_t v = 0; v < 2; v++) {
        for (uint32_t generation = 1; generation <= 3; generation++) {
            bool gone = v == 1 && generation == 1;
            enum sort_read found =
                sort_store_read(&(struct sort_name){v, generation, 20}, &got, why, sizeof(why));
            assert_int_equal(found, gone ? SORT_LOST : SORT_READ);
            sort_list_free(&got);
        }
    }
}

static int open_store(void **state)
{
    (void)state;
    setenv("RZ_JOB_ID", "test", 1);
    sort_options.folder = mkdtemp(folder);
    sort_store_open();
    return !sort_options.folder;
}

/* Nothing is left, so that the folder can go. */
static int close_store(void **state)
{
    (void)state;
    sort_store_close(true);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted_and_keep_their_elements),
        cmocka_unit_test(a_split_leaves_equal_elements_below),
        cmocka_unit_test(runs_are_merged),
        cmocka_unit_test(sums_differ_where_elements_do),
        cmocka_unit_test(owners_are_those_of_the_group),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_stale_writer_harms_no_process),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(old_generations_are_removed),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
