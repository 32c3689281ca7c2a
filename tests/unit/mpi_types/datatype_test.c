/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random datatypes against type maps written out in full: bounds, packing, unpacking of a part,
 * counting. A failure names its seed: run with that seed as the argument to see it alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "type_model.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 5000, MARGIN = 1 << 15 };

static uint64_t only; /* a seed from the command line; 0: all */
static uint64_t seed; /* of the type at hand; 0: all of them were good */

static void check_bounds(const struct rz_datatype *type, const struct model *model)
{
    assert_int_equal(type->size, model_size(model));
    assert_int_equal(type->elements, model->n);
    assert_int_equal(type->lb, model_lb(model));
    assert_int_equal(type->extent, model_extent(model));
    assert_int_equal(type->true_lb, model_true_lb(model));
    assert_int_equal(type->true_extent, model_true_extent(model));
}

/* Whether any number of elements is one row, as the type says of itself. */
static void check_contiguous(const struct rz_datatype *type, const struct model *model)
{
    MPI_Count next = model_true_lb(model);
    bool row = model_size(model) == 0 || model_extent(model) == model_size(model);
    for (int i = 0; i < model->n; i++) {
        row = row && model->entries[i].at == next;
        next += model->entries[i].bytes;
    }
    assert_int_equal(type->contiguous, row);
}

/* Copies the first `bytes` bytes of count elements, byte by byte along the type map. */
static void model_copy(const struct model *model, MPI_Count count, unsigned char *user,
                       unsigned char *packed, MPI_Count bytes, bool packing)
{
    for (MPI_Count c = 0; c < count; c++) {
        for (int i = 0; i < model->n; i++) {
            unsigned char *at = user + c * model_extent(model) + model->entries[i].at;
            for (int k = 0; k < model->entries[i].bytes && bytes > 0; k++, bytes--, packed++) {
                *(packing ? packed : at + k) = *(packing ? at + k : packed);
            }
        }
    }
}

static unsigned char memory[2 * MARGIN], expected[2 * MARGIN];

static void check_copies(struct rz_random *random, const struct rz_datatype *type,
                         const struct model *model)
{
    MPI_Count count = draw(random, 4), bytes = count * type->size;
    if (llabs(type->extent) * count + llabs(type->true_lb) + type->true_extent > MARGIN) {
        return;
    }
    unsigned char *packed = malloc((size_t)bytes + 1), *model_packed = malloc((size_t)bytes + 1);
    for (size_t i = 0; i < sizeof(memory); i++) {
        memory[i] = (unsigned char)(i * 7 + (i >> 8));
    }
    rz_datatype_pack(type, count, memory + MARGIN, packed);
    model_copy(model, count, memory + MARGIN, model_packed, bytes, true);
    assert_memory_equal(packed, model_packed, (size_t)bytes);
    /* Unpack a part, and nothing else may change. */
    for (MPI_Count i = 0; i < bytes; i++) {
        packed[i] ^= 0xff;
    }
    MPI_Count part = bytes > 0 ? draw(random, (int)bytes + 1) : 0;
    memcpy(expected, memory, sizeof(memory));
    rz_datatype_unpack(type, count, packed, part, memory + MARGIN);
    model_copy(model, count, expected + MARGIN, packed, part, false);
    assert_memory_equal(memory, expected, sizeof(memory));
    free(packed);
    free(model_packed);
}

static void check_elements(struct rz_random *random, struct rz_datatype *type,
                           const struct model *model)
{
    MPI_Status status;
    MPI_Count bytes = draw(random, 3 * (int)type->size + 1), got, want = 0, left = bytes;
    rz_status_set_empty(&status);
    rz_status_set_bytes(&status, bytes);
    while (left > 0 && model->n > 0) {
        int size = model->entries[want % model->n].bytes;
        if (size > left) {
            want = MPI_UNDEFINED;
            break;
        }
        left -= size;
        want++;
    }
    assert_int_equal(rzm_get_elements(&status, type, &got), MPI_SUCCESS);
    assert_int_equal(got, want);
}

/* The other way round: how many bytes the first elements are. */
static void check_set_elements(struct rz_random *random, struct rz_datatype *type,
                               const struct model *model)
{
    MPI_Status status;
    MPI_Count n = model->n > 0 ? draw(random, 3 * model->n) : 0, bytes = 0;
    for (MPI_Count i = 0; i < n; i++) {
        bytes += model->entries[i % model->n].bytes;
    }
    assert_int_equal(rzm_status_set_elements(&status, type, n), MPI_SUCCESS);
    assert_int_equal(rz_status_bytes(&status), bytes);
}

static void random_types_follow_their_type_maps(void **state)
{
    (void)state;
    uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : SEEDS;
    for (seed = first; seed <= last; seed++) {
        struct rz_random random = {seed};
        struct model model = {0};
        struct rz_datatype *type = type_draw(&random, 1 + draw(&random, 4), &model);
        check_bounds(type, &model);
        check_contiguous(type, &model);
        check_copies(&random, type, &model);
        check_elements(&random, type, &model);
        check_set_elements(&random, type, &model);
        model_free(&model);
        rz_datatype_release(type);
    }
    seed = 0;
}

static int tell_seed(void **state)
{
    (void)state;
    if (seed != 0) {
        print_error("replay: mpi_datatype_test %llu\n", (unsigned long long)seed);
    }
    return 0;
}

static void a_type_outlives_the_types_it_was_made_of(void **state)
{
    (void)state;
    struct rz_datatype *inner, *outer;
    int in[8] = {0, 1, 2, 3, 4, 5, 6, 7}, out[4];
    rzm_type_vector(2, 1, 2, rz_datatype_predefined(0x209), &inner, false);
    rzm_type_create_hvector(2, 1, 4 * sizeof(int), inner, &outer, false);
    rzm_type_free(inner);
    rz_datatype_pack(outer, 1, in, out);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], 4);
    assert_int_equal(out[3], 6);
    rz_datatype_retain(outer); /* as a pending request does */
    rzm_type_free(outer);
    rz_datatype_pack(outer, 1, in, out);
    assert_int_equal(out[3], 6);
    rz_datatype_release(outer);
}

static void sizes_beyond_63_bits_are_refused(void **state)
{
    (void)state;
    struct rz_datatype *big, *type = NULL;
    struct rz_datatype *integer = rz_datatype_predefined(0x209);
    assert_int_equal(rzm_type_contiguous(INT64_MAX / 8, integer, &big, false), MPI_SUCCESS);
    assert_int_equal(rzm_type_contiguous(3, big, &type, false), MPI_ERR_COUNT);
    assert_int_equal(rzm_type_create_hvector(3, 1, INT64_MAX / 2, integer, &type, false),
                     MPI_ERR_COUNT);
    assert_int_equal(rzm_type_vector(3, 1, INT64_MAX / 2, integer, &type, false), MPI_ERR_COUNT);
    assert_null(type);
    rzm_type_free(big);
}

static void every_predefined_type_has_the_abi_s_size_and_name(void **state)
{
    (void)state;
    int n = 0;
    for (unsigned handle = 0x200; handle < 0x300; handle++) {
        struct rz_datatype *type = rz_datatype_predefined(handle);
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        if (!type) {
            continue;
        }
        n++;
        assert_int_equal(type->object.predefined, handle);
        rzm_type_get_name(type, name, &length);
        assert_int_equal(strncmp(name, "MPI_", 4), 0);
        assert_int_equal(strlen(name), length);
        assert_true(type->extent >= type->size && type->size > 0);
        /* The Huffman code of the ABI: 0x240 to 0x27f and 0x2c0 to 0x2ff tell the size in bits 3
         * to 5. */
        if ((handle & 0x2c0) == 0x240 || (handle & 0x2c0) == 0x2c0) {
            assert_int_equal(type->size, 1 << ((handle >> 3) & 7));
        }
    }
    assert_int_equal(n, 70); /* abi_constants.csv, without null and alias */
}

static void names_are_kept(void **state)
{
    (void)state;
    struct rz_datatype *type;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    rzm_type_dup(rz_datatype_predefined(0x209), &type);
    rzm_type_get_name(type, name, &length);
    assert_int_equal(length, 0);
    rzm_type_set_name(type, "metres");
    rzm_type_get_name(type, name, &length);
    assert_string_equal(name, "metres");
    rzm_type_free(type);
}

static void packing_refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct rz_datatype *integer = rz_datatype_predefined(0x209);
    int in[4] = {1, 2, 3, 4}, out[4] = {0}, back[2];
    MPI_Count position = 4, size;
    assert_int_equal(rzm_pack(in, 3, integer, out, 16, &position, NULL), MPI_SUCCESS);
    assert_int_equal(position, 16);
    assert_int_equal(rzm_pack(in, 1, integer, out, 16, &position, NULL), MPI_ERR_TRUNCATE);
    position = 8;
    assert_int_equal(rzm_unpack(out, 16, &position, back, 2, integer, NULL), MPI_SUCCESS);
    assert_int_equal(back[0], 2);
    assert_int_equal(back[1], 3);
    assert_int_equal(rzm_unpack(out, 16, &position, back, 1, integer, NULL), MPI_ERR_TRUNCATE);
    assert_int_equal(rzm_pack_size(5, integer, NULL, &size), MPI_SUCCESS);
    assert_int_equal(size, 20);
}

int main(int argc, char **argv)
{
    only = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_types_follow_their_type_maps, tell_seed),
        cmocka_unit_test(a_type_outlives_the_types_it_was_made_of),
        cmocka_unit_test(sizes_beyond_63_bits_are_refused),
        cmocka_unit_test(every_predefined_type_has_the_abi_s_size_and_name),
        cmocka_unit_test(names_are_kept),
        cmocka_unit_test(packing_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
