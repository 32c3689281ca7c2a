/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks along datatypes, places in views, file domains and windows, against lists of bytes. Random
 * types of lists, nested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/io/domains.h"
#include "mpi/io/file_window.h"

enum { ROUNDS = 400, FILE_BYTES = 1 << 16 };

static uint64_t state;

static int draw(int bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)bound);
}

/* ---- Types whose data do not overlap, with the offsets of their bytes ---- */

struct listed {
    struct rz_datatype *type;
    int *at; /* [type->size] */
};

static struct listed basic(void)
{
    static const MPI_Datatype named[] = {MPI_BYTE, MPI_INT16_T, MPI_INT, MPI_DOUBLE};
    struct listed made = {.type = rz_datatype_of(named[draw(4)])};
    made.at = calloc((size_t)made.type->size, sizeof(int));
    for (int i = 0; i < made.type->size; i++) {
        made.at[i] = i;
    }
    return made;
}

/* Blocks of the part at growing places. */
static struct listed around(struct listed part)
{
    enum { BLOCKS = 4 };
    int n = 1 + draw(BLOCKS), lengths[BLOCKS], bytes = 0;
    int64_t places[BLOCKS], at = draw(8);
    struct listed made;
    for (int i = 0; i < n; i++) {
        lengths[i] = draw(4);
        places[i] = at;
        at += lengths[i] * part.type->extent + draw(3) * 4;
        bytes += lengths[i] * (int)part.type->size;
    }
    int error =
        rzm_type_create_hindexed(n, (struct rz_counts){.narrow = lengths},
                                 (struct rz_counts){.wide = places}, part.type, &made.type, false);
    assert_int_equal(error, MPI_SUCCESS);
    struct rz_datatype *resized;
    error = rzm_type_create_resized(made.type, 0, at + draw(5), &resized, false);
    assert_int_equal(error, MPI_SUCCESS);
    rz_datatype_release(made.type);
    made.type = resized;
    made.type->object.flags |= RZ_DATATYPE_COMMITTED;
    made.at = calloc((size_t)bytes + 1, sizeof(int));
    int next = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < lengths[i]; k++) {
            for (int b = 0; b < part.type->size; b++) {
                made.at[next++] = (int)(places[i] + k * part.type->extent) + part.at[b];
            }
        }
    }
    assert_int_equal(next, made.type->size);
    return made;
}

static void drop(struct listed *listed)
{
    if (!rz_datatype_is_permanent(listed->type)) {
        rz_datatype_release(listed->type);
    }
    free(listed->at);
}

static struct listed draw_type(void)
{
    struct listed made = basic();
    for (int depth = draw(12); depth > 0; depth--) {
        struct listed larger = around(made);
        if (larger.type->size == 0 || larger.type->extent > 2000) {
            drop(&larger);
            break;
        }
        drop(&made);
        made = larger;
    }
    return made;
}

static int64_t offset_at(const struct listed *listed, int64_t place)
{
    return place / listed->type->size * listed->type->extent +
           listed->at[place % listed->type->size];
}

/* ---- Walks ---- */

static void walk_visits_each_byte_once_in_order(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        struct listed listed = draw_type();
        struct rz_walk walk;
        rz_walk_begin(&walk, listed.type, 100);
        int64_t place = draw(3 * (int)listed.type->size);
        rz_walk_seek(&walk, place);
        for (int i = 0; i < 60; i++) {
            MPI_Count offset;
            MPI_Count most = 1 + draw(30), n = rz_walk_next(&walk, most, &offset);
            assert_true(n > 0 && n <= most);
            for (MPI_Count k = 0; k < n; k++) {
                assert_int_equal(offset + k, 100 + offset_at(&listed, place + k));
            }
            place += n;
            assert_int_equal(walk.position, place);
            /* as long as the row goes on */
            assert_true(n == most || offset + n != 100 + offset_at(&listed, place));
        }
        rz_walk_end(&walk);
        drop(&listed);
    }
}

static void places_and_offsets_of_views_agree(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        struct listed listed = draw_type();
        struct rz_view view;
        int error =
            rz_view_make(&view, 17, rz_datatype_of(MPI_BYTE), listed.type, rz_datarep_native, true);
        assert_int_equal(error, MPI_SUCCESS);
        for (int i = 0; i < 40; i++) {
            int64_t place = draw(4 * (int)listed.type->size), before = 0;
            int64_t offset = 17 + offset_at(&listed, place), any = draw(3000);
            assert_int_equal(rz_view_offset(&view, place), offset);
            assert_int_equal(rz_view_place(&view, offset), place);
            assert_int_equal(rz_view_place(&view, offset + 1), place + 1);
            while (17 + offset_at(&listed, before) < any) {
                before++;
            }
            assert_int_equal(rz_view_place(&view, any), before);
        }
        rz_view_release(&view);
        drop(&listed);
    }
}

/* The same data in tiles that may begin before the last one ends, or do not move ahead. */
static struct listed in_other_tiles(struct listed listed)
{
    struct rz_datatype *resized;
    int extent = draw(2 * (int)listed.type->extent + 20) - (int)listed.type->extent / 2;
    int error = rzm_type_create_resized(listed.type, 0, extent, &resized, false);
    assert_int_equal(error, MPI_SUCCESS);
    if (!rz_datatype_is_permanent(listed.type)) {
        rz_datatype_release(listed.type);
    }
    resized->object.flags |= RZ_DATATYPE_COMMITTED;
    listed.type = resized;
    return listed;
}

static void tiles_may_overlap(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        struct listed listed = in_other_tiles(draw_type());
        struct rz_view view;
        MPI_Offset begin, end;
        bool ahead = listed.type->extent > 0;
        int error = rz_view_make(&view, 9999, rz_datatype_of(MPI_BYTE), listed.type,
                                 rz_datarep_native, true);
        assert_int_equal(error, MPI_SUCCESS);
        for (int i = 0; i < 20; i++) {
            int64_t place = draw(3 * (int)listed.type->size), last = INT64_MIN,
                    any = 9000 + draw(3000);
            MPI_Count bytes = 1 + draw(2 * (int)listed.type->size), first = 0;
            bool grows = true;
            rz_view_span(&view, place, bytes, &begin, &end);
            for (MPI_Count k = 0; k < bytes; k++) {
                int64_t offset = 9999 + offset_at(&listed, place + k);
                assert_true(begin <= offset && offset < end);
                grows &= offset > last;
                last = offset;
            }
            assert_true(grows || !rz_view_grows(&view, place, bytes));
            while ((ahead || first < listed.type->size) && 9999 + offset_at(&listed, first) < any) {
                first++;
            }
            bool there = ahead || first < listed.type->size;
            assert_int_equal(rz_view_place(&view, any), there ? first : -1);
        }
        rz_view_release(&view);
        drop(&listed);
    }
}

/* ---- Domains ---- */

static void windows_divide_the_file(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 10 * ROUNDS; seed++) {
        state = seed;
        struct rz_domains domains;
        MPI_Offset begin = draw(1000), end = begin + 1 + draw(3000), next = begin;
        MPI_Count unit = 1 + draw(64), window = 1 + draw(300);
        int n = 1 + draw(6);
        rz_domains_make(&domains, begin, end, n, unit, window);
        for (int d = 0; d < n; d++) {
            MPI_Offset from = rz_domain_begin(&domains, d);
            assert_int_equal(from, next);
            assert_true(from == begin || from == end || from % unit == 0);
            for (MPI_Count r = 0; r < domains.rounds; r++) {
                assert_int_equal(rz_domain_window(&domains, d, r), next);
                next = rz_domain_window(&domains, d, r + 1);
                assert_true(next - rz_domain_window(&domains, d, r) <= window);
            }
        }
        assert_int_equal(next, end);
    }
}

static void amounts_are_those_of_the_windows(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        struct listed listed = draw_type();
        struct rz_access access = {.place = draw(50), .bytes = 1 + draw(500)};
        struct rz_domains domains;
        MPI_Offset begin, end;
        int n = 1 + draw(4), error = rz_view_make(&access.view, 5, rz_datatype_of(MPI_BYTE),
                                                  listed.type, rz_datarep_native, true);
        assert_int_equal(error, MPI_SUCCESS);
        rz_access_span(&access, &begin, &end);
        rz_domains_make(&domains, begin - draw(5), end + draw(9), n, 1 + draw(20), 1 + draw(99));
        struct rz_amount *amounts = calloc((size_t)(n * domains.rounds), sizeof(*amounts));
        MPI_Count *first = calloc((size_t)n, sizeof(*first));
        rz_domains_count(&domains, &access, amounts, first);
        for (int d = 0; d < n; d++) {
            MPI_Count before = 0;
            for (MPI_Count i = 0; i < access.bytes; i++) {
                before += 5 + offset_at(&listed, access.place + i) < rz_domain_begin(&domains, d);
            }
            assert_int_equal(first[d], before);
            for (MPI_Count r = 0; r < domains.rounds; r++) {
                MPI_Count bytes = 0;
                for (MPI_Count i = 0; i < access.bytes; i++) {
                    MPI_Offset at = 5 + offset_at(&listed, access.place + i);
                    bytes += at >= rz_domain_window(&domains, d, r) &&
                             at < rz_domain_window(&domains, d, r + 1);
                }
                const struct rz_amount *amount = &amounts[d * domains.rounds + r];
                assert_int_equal(amount->bytes, bytes);
                assert_true(amount->pieces <= bytes && (amount->pieces > 0) == (bytes > 0));
            }
        }
        free(amounts);
        free(first);
        rz_view_release(&access.view);
        drop(&listed);
    }
}

/* ---- Windows, above a file system in memory ---- */

static char stored[FILE_BYTES];
static int64_t stored_bytes;

static int memory_write(rz_stored_t file, const void *from, size_t bytes, int64_t offset,
                        size_t *done)
{
    (void)file;
    memcpy(stored + offset, from, bytes);
    *done = bytes;
    return 0;
}

static int memory_read(rz_stored_t file, void *to, size_t bytes, int64_t offset, size_t *done)
{
    (void)file;
    int64_t rest = offset < stored_bytes ? stored_bytes - offset : 0;
    *done = (int64_t)bytes < rest ? bytes : (size_t)rest;
    memcpy(to, stored + offset, *done);
    return 0;
}

static void windows_touch_what_is_marked(void **unused)
{
    (void)unused;
    static const struct rz_file_system memory = {.write = memory_write, .read = memory_read};
    static char expected[FILE_BYTES], named[] = "a file";
    struct rz_file file = {.system = &memory, .name = named};
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        state = seed;
        struct rz_file_window window;
        MPI_Offset begin = draw(1000), end = begin + 200 + draw(1000), end_of_file = INT64_MAX;
        assert_true(rz_file_window_make(&window, &file, end - begin));
        rz_file_window_move(&window, begin, end);
        memset(stored, 1, sizeof(stored));
        memset(expected, 1, sizeof(expected));
        for (int i = draw(30); i >= 0; i--) {
            char data[150];
            struct rz_file_piece piece = {.bytes = 1 + draw(150)};
            piece.offset = begin + draw((int)(end - begin - piece.bytes + 1));
            memset(data, 2 + i, sizeof(data));
            rz_file_window_mark(&window, &piece, data);
            memcpy(expected + piece.offset, data, (size_t)piece.bytes);
        }
        assert_int_equal(rz_file_window_write(&window), MPI_SUCCESS);
        assert_memory_equal(stored, expected, sizeof(stored));
        stored_bytes = begin + draw((int)(end - begin));
        assert_int_equal(rz_file_window_read(&window, &end_of_file), MPI_SUCCESS);
        for (MPI_Offset at = begin; at < end; at++) {
            bool marked = window.marked[(at - begin) / 64] >> ((at - begin) % 64) & 1;
            if (marked) {
                assert_int_equal(at < end_of_file, at < stored_bytes);
                assert_true(at >= stored_bytes || window.bytes[at - begin] == stored[at]);
            }
        }
        assert_true(end_of_file >= stored_bytes);
        rz_file_window_free(&window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_visits_each_byte_once_in_order),
        cmocka_unit_test(places_and_offsets_of_views_agree),
        cmocka_unit_test(tiles_may_overlap),
        cmocka_unit_test(windows_divide_the_file),
        cmocka_unit_test(amounts_are_those_of_the_windows),
        cmocka_unit_test(windows_touch_what_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
