/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applying one-sided operations. An accumulate on memory that the library made is atomic for each
 * element, by the processor's compare-and-swap; types of another size, and memory of the user,
 * which the processes of a node do not share, are read and written under the right to accumulate.
 */
#include "mpi/rma/rma_apply.h"

#include <stdalign.h>
#include <stdlib.h>

#define REPLACE ((unsigned)(uintptr_t)MPI_REPLACE)
#define NO_OP ((unsigned)(uintptr_t)MPI_NO_OP)

static rz_op_function_t *function_for(unsigned number, enum rz_number type)
{
    const struct rz_op *op = rz_op_predefined(number);
    return op && op->table ? (*op->table)[type] : NULL;
}

/* Whether it is the sum of integers. */
static bool is_addition(unsigned number, enum rz_number type)
{
    return number == (unsigned)(uintptr_t)MPI_SUM && type >= RZ_NUMBER_I8 && type <= RZ_NUMBER_U64;
}

static rz_op_function_t *function_of(const struct rz_rma_operation *operation)
{
    return function_for(operation->op, operation->number);
}

/* ---- By element ---- */

struct elements {
    unsigned op;
    bool adds;      /* one atomic addition */
    MPI_Count size; /* of one */
    rz_op_function_t *function;
    const char *data;
    char *result;
};

/* Loops over the elements of a row as type: reads, combines, and swaps until no other process came
 * in between. */
#define CHANGE_ROW(name, type)                                                                     \
    static void change_##name(struct elements *elements, _Atomic type *at, MPI_Count n)            \
    {                                                                                              \
        unsigned op = elements->op;                                                                \
        for (MPI_Count i = 0; i < n; i++, at++) {                                                  \
            type value = 0, old = atomic_load(at), next;                                           \
            if (elements->data) {                                                                  \
                memcpy(&value, elements->data, sizeof(value));                                     \
                elements->data += sizeof(value);                                                   \
            }                                                                                      \
            if (elements->adds) {                                                                  \
                old = atomic_fetch_add(at, value);                                                 \
            } else if (op == REPLACE) {                                                            \
                old = atomic_exchange(at, value);                                                  \
            } else if (op != NO_OP) {                                                              \
                do {                                                                               \
                    next = old;                                                                    \
                    elements->function(&value, &next, 1);                                          \
                } while (!atomic_compare_exchange_weak(at, &old, next));                           \
            }                                                                                      \
            if (elements->result) {                                                                \
                memcpy(elements->result, &old, sizeof(old));                                       \
                elements->result += sizeof(old);                                                   \
            }                                                                                      \
        }                                                                                          \
    }

CHANGE_ROW(1, uint8_t)
CHANGE_ROW(2, uint16_t)
CHANGE_ROW(4, uint32_t)
CHANGE_ROW(8, uint64_t)

static bool change_row(void *arg, uint64_t at, MPI_Count bytes)
{
    struct elements *elements = arg;
    void *row = (void *)(uintptr_t)at;
    switch (elements->size) {
    case 1:
        change_1(elements, row, bytes);
        return true;
    case 2:
        change_2(elements, row, bytes / 2);
        return true;
    case 4:
        change_4(elements, row, bytes / 4);
        return true;
    default:
        change_8(elements, row, bytes / 8);
        return true;
    }
}

#define ADD_ELEMENT(name, type)                                                                    \
    static void add_##name(const struct rz_rma_element *element, _Atomic type *at)                 \
    {                                                                                              \
        type value, old;                                                                           \
        memcpy(&value, element->data, sizeof(value));                                              \
        old = atomic_fetch_add(at, value);                                                         \
        if (element->result) {                                                                     \
            memcpy(element->result, &old, sizeof(old));                                            \
        }                                                                                          \
    }

ADD_ELEMENT(1, uint8_t)
ADD_ELEMENT(2, uint16_t)
ADD_ELEMENT(4, uint32_t)
ADD_ELEMENT(8, uint64_t)

static void add_element(const struct rz_rma_element *element, void *at)
{
    switch (element->size) {
    case 1:
        add_1(element, at);
        break;
    case 2:
        add_2(element, at);
        break;
    case 4:
        add_4(element, at);
        break;
    default:
        add_8(element, at);
    }
}

bool rz_rma_change_element(const struct rz_rma_element *element, void *at)
{
    if (element->data && is_addition(element->op, element->number)) {
        add_element(element, at);
        return true;
    }
    struct elements elements = {.op = element->op,
                                .size = element->size,
                                .data = element->op == NO_OP ? NULL : element->data,
                                .result = element->result};
    if (element->op != NO_OP && element->op != REPLACE) {
        elements.function = function_for(element->op, element->number);
    }
    bool defined = element->op == NO_OP
                       ? element->result != NULL
                       : element->data && (element->op == REPLACE || elements.function);
    return defined && change_row(&elements, (uintptr_t)at, element->size);
}

#define SWAP_ELEMENT(name, type)                                                                   \
    static void swap_##name(const void *next, const void *compare, void *result, _Atomic type *at) \
    {                                                                                              \
        type value, old;                                                                           \
        memcpy(&value, next, sizeof(value));                                                       \
        memcpy(&old, compare, sizeof(old));                                                        \
        atomic_compare_exchange_strong(at, &old, value);                                           \
        if (result) {                                                                              \
            memcpy(result, &old, sizeof(old));                                                     \
        }                                                                                          \
    }

SWAP_ELEMENT(1, uint8_t)
SWAP_ELEMENT(2, uint16_t)
SWAP_ELEMENT(4, uint32_t)
SWAP_ELEMENT(8, uint64_t)

void rz_rma_swap_element(MPI_Count size, const void *next, const void *compare, void *result,
                         void *at)
{
    switch (size) {
    case 1:
        swap_1(next, compare, result, at);
        break;
    case 2:
        swap_2(next, compare, result, at);
        break;
    case 4:
        swap_4(next, compare, result, at);
        break;
    default:
        swap_8(next, compare, result, at);
    }
}

/* arg: the size of an element. */
static bool row_is_aligned(void *arg, uint64_t at, MPI_Count bytes)
{
    uint64_t size = *(const uint64_t *)arg;
    return at % size == 0 && (uint64_t)bytes % size == 0;
}

bool rz_rma_is_atomic(const struct rz_win *win, const struct rz_rma_operation *operation,
                      uint64_t at)
{
    uint64_t size = (uint64_t)operation->basic.size;
    if (!win->atomic || !operation->basic.contiguous ||
        operation->basic.extent != (MPI_Count)size ||
        (size != 1 && size != 2 && size != 4 && size != 8)) {
        return false;
    }
    return rz_shape_rows(&operation->shape, operation->count, at, row_is_aligned, &size);
}

/* ---- By reading and writing ---- */

static bool read_memory(void *arg, const struct rz_rma_operation *operation, char *packed)
{
    rz_shape_pack(&operation->shape, operation->count, arg, packed);
    return true;
}

static bool write_memory(void *arg, const struct rz_rma_operation *operation, const char *packed)
{
    rz_shape_unpack(&operation->shape, operation->count, packed, arg);
    return true;
}

/* old = data op old. Both are packed; operands are laid out as the type is, at aligned addresses.
 * False: no memory. */
static bool combine(const struct rz_rma_operation *operation, char *old)
{
    const struct rz_shape *basic = &operation->basic;
    MPI_Count bytes = rz_rma_bytes(operation), n = basic->size > 0 ? bytes / basic->size : 0;
    size_t room = ((size_t)(n * basic->extent) + 15) / 16 * 16;
    if (operation->op == NO_OP || n == 0) {
        return true;
    }
    if (operation->op == REPLACE) {
        memcpy(old, operation->data, (size_t)bytes);
        return true;
    }
    alignas(16) char small[256];
    char *operands = 2 * room <= sizeof(small) ? small : aligned_alloc(16, 2 * room);
    if (!operands) {
        return false;
    }
    memset(operands, 0, 2 * room); /* gaps of pairs */
    rz_shape_unpack(basic, n, operation->data, operands);
    rz_shape_unpack(basic, n, old, operands + room);
    function_of(operation)(operands, operands + room, n);
    rz_shape_pack(basic, n, operands + room, old);
    if (operands != small) {
        free(operands);
    }
    return true;
}

static int change_by(const struct rz_rma_memory *memory, const struct rz_rma_operation *operation,
                     char *old)
{
    size_t bytes = (size_t)rz_rma_bytes(operation);
    if (!memory->read(memory->arg, operation, old)) {
        return MPI_ERR_RMA_RANGE;
    }
    if (operation->result) {
        memcpy(operation->result, old, bytes);
    }
    bool writes = operation->op != NO_OP;
    if (operation->what == RZ_RMA_SWAP) {
        writes = memcmp(old, operation->data + bytes, bytes) == 0;
        memcpy(old, operation->data, bytes);
    } else if (!combine(operation, old)) {
        return MPI_ERR_NO_MEM;
    }
    return writes && !memory->write(memory->arg, operation, old) ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
}

int rz_rma_accumulate_by(const struct rz_rma_memory *memory,
                         const struct rz_rma_operation *operation)
{
    char small[256];
    size_t bytes = (size_t)rz_rma_bytes(operation);
    char *old = bytes <= sizeof(small) ? small : malloc(bytes);
    if (!old) {
        return MPI_ERR_NO_MEM;
    }
    int error = change_by(memory, operation, old);
    if (old != small) {
        free(old);
    }
    return error;
}

/* ---- Both ---- */

int rz_rma_apply(const struct rz_win *win, const struct rz_rma_operation *operation, uint64_t at)
{
    void *origin = (void *)(uintptr_t)at;
    if (operation->what == RZ_RMA_PUT) {
        rz_shape_unpack(&operation->shape, operation->count, operation->data, origin);
        return MPI_SUCCESS;
    }
    if (operation->what == RZ_RMA_GET) {
        rz_shape_pack(&operation->shape, operation->count, origin, operation->result);
        return MPI_SUCCESS;
    }
    if (!rz_rma_is_atomic(win, operation, at)) {
        struct rz_rma_memory memory = {read_memory, write_memory, origin};
        return rz_rma_accumulate_by(&memory, operation);
    }
    if (operation->what == RZ_RMA_SWAP) {
        MPI_Count size = operation->basic.size;
        rz_rma_swap_element(size, operation->data, operation->data + size, operation->result,
                            (char *)origin + operation->shape.true_lb);
        return MPI_SUCCESS;
    }
    struct elements elements = {.op = operation->op,
                                .adds = is_addition(operation->op, operation->number),
                                .size = operation->basic.size,
                                .function = function_of(operation),
                                .data = operation->op == NO_OP ? NULL : operation->data,
                                .result = operation->result};
    rz_shape_rows(&operation->shape, operation->count, at, change_row, &elements);
    return MPI_SUCCESS;
}
