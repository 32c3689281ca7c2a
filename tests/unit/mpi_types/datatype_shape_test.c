/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of random datatypes: moving data along them, as bytes and back; every cut is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/type/datatype_shape.h"
#include "mpi/type/number.h"
#include "type_model.h"

enum { COUNT = 3 };

/* The shape that a reader of the bytes gets. */
static struct rz_shape sent(const struct rz_shape *shape)
{
    size_t bytes = rz_shape_bytes(shape);
    unsigned char *buffer = malloc(bytes);
    struct rz_wire_writer writer;
    struct rz_wire_reader reader;
    struct rz_shape got;
    rz_wire_writer_init(&writer, buffer, bytes);
    rz_shape_put(shape, &writer);
    assert_true(!writer.overflow && writer.at == writer.end);
    for (size_t cut = 0; cut < bytes; cut += 1 + cut / 8) {
        rz_wire_reader_init(&reader, buffer, cut);
        bool read = rz_shape_get(&got, &reader);
        assert_false(read);
        rz_shape_end(&got);
    }
    rz_wire_reader_init(&reader, buffer, bytes);
    assert_true(rz_shape_get(&got, &reader));
    assert_true(reader.at == reader.end);
    free(buffer);
    return got;
}

static void check_type(const struct rz_datatype *type)
{
    MPI_Count first, last, bytes = rz_datatype_bytes(type, COUNT);
    struct rz_shape own = rz_shape_of(type), got = sent(&own);
    if (!rz_shape_reach(type, COUNT, &first, &last)) {
        assert_int_equal(bytes, 0);
        rz_shape_end(&got);
        return;
    }
    size_t room = (size_t)(last - first + 1);
    char *memory = malloc(room), *again = calloc(1, room);
    char *packed = malloc((size_t)bytes), *expected = malloc((size_t)bytes);
    for (size_t i = 0; i < room; i++) {
        memory[i] = (char)(i * 7 + i / 251);
    }
    rz_datatype_pack(type, COUNT, memory - first, expected);
    rz_shape_pack(&got, COUNT, memory - first, packed);
    assert_memory_equal(packed, expected, (size_t)bytes);
    rz_shape_unpack(&got, COUNT, packed, again - first);
    memset(packed, 0, (size_t)bytes);
    rz_datatype_pack(type, COUNT, again - first, packed);
    assert_memory_equal(packed, expected, (size_t)bytes);
    free(memory);
    free(again);
    free(packed);
    free(expected);
    rz_shape_end(&got);
}

static void test_data_move_along_shapes_as_along_types(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct model model = {0};
        struct rz_random random = {seed};
        struct rz_datatype *type = type_draw(&random, 3, &model);
        check_type(type);
        if (!rz_datatype_is_permanent(type)) {
            rz_datatype_release(type);
        }
        model_free(&model);
    }
}

static void test_the_base_of_a_type_is_the_one_type_below(void **state)
{
    (void)state;
    struct rz_datatype *row, *grid, *mixed, *ints = rz_datatype_of(MPI_INT);
    MPI_Datatype types[2];
    assert_int_equal(rzm_type_contiguous(3, ints, &row, false), MPI_SUCCESS);
    assert_int_equal(rzm_type_vector(2, 1, 5, row, &grid, false), MPI_SUCCESS);
    types[0] = rz_datatype_handle(grid);
    types[1] = MPI_DOUBLE;
    static const int lengths[] = {1, 1};
    static const int64_t places[] = {0, 256};
    assert_int_equal(rzm_type_create_struct(2, (struct rz_counts){.narrow = lengths},
                                            (struct rz_counts){.wide = places}, types, &mixed,
                                            false),
                     MPI_SUCCESS);
    assert_ptr_equal(rz_datatype_base(ints), ints);
    assert_ptr_equal(rz_datatype_base(grid), ints);
    assert_null(rz_datatype_base(mixed));
    rz_datatype_release(row);
    rz_datatype_release(grid);
    rz_datatype_release(mixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_move_along_shapes_as_along_types),
        cmocka_unit_test(test_the_base_of_a_type_is_the_one_type_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
