/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of arrays: copying along their rows, and datatypes of them. */
#include "mpi/type/section.h"

#include "mpi/type/datatype_layout.h"
#include "mpi/type/datatype_shape.h"
#include "mpi/type/number.h"

#include <stdlib.h>

/* The bytes of the row; false: it is no section. */
static bool section_bytes(const RZ_Section *section, MPI_Count *bytes)
{
    *bytes = section->element_bytes;
    if (section->rank < 1 || section->rank > RZ_SECTION_RANK_MAX || section->element_bytes < 1) {
        return false;
    }
    for (int i = 0; i < section->rank; i++) {
        if (section->extents[i] < 0 || __builtin_mul_overflow(*bytes, section->extents[i], bytes)) {
            return false;
        }
    }
    return true;
}

int rz_section_check(const RZ_Section *section, MPI_Count count, const struct rz_datatype *datatype)
{
    MPI_Count bytes, first, last;
    if (!section_bytes(section, &bytes)) {
        return rzm_error(MPI_ERR_ARG,
                         "section has a rank, an extent or a size that is not possible");
    }
    if (count == 0 || datatype->size == 0) {
        return MPI_SUCCESS;
    }
    if (!rz_shape_reach(datatype, count, &first, &last) || first < 0 || last >= bytes) {
        return rzm_error(MPI_ERR_COUNT,
                         "count and datatype reach outside of a section of %lld bytes",
                         (long long)bytes);
    }
    return MPI_SUCCESS;
}

/* ---- Runs: bytes that are one behind the other in the row and in memory ---- */

/* place: of the first byte, from the section's first element. False: no further runs. */
typedef bool section_run(void *arg, MPI_Count place, MPI_Count bytes);

/* Calls run for the bytes of the row from `at` on, in order; false: a call has returned it. */
static bool section_runs(const RZ_Section *section, MPI_Count at, MPI_Count bytes, section_run *run,
                         void *arg)
{
    MPI_Count size = section->element_bytes, element = at / size, inside = at % size, place = 0;
    MPI_Count index[RZ_SECTION_RANK_MAX];
    for (int i = 0; i < section->rank; i++) {
        index[i] = element % section->extents[i];
        element /= section->extents[i];
        place += index[i] * section->strides[i];
    }
    bool dense = section->strides[0] == size; /* the first dimension is one run */
    while (bytes > 0) {
        MPI_Count elements = dense ? section->extents[0] - index[0] : 1;
        MPI_Count n = elements * size - inside < bytes ? elements * size - inside : bytes;
        if (!run(arg, place + inside, n)) {
            return false;
        }
        bytes -= n;
        inside = 0;
        index[0] += elements;
        place += elements * section->strides[0];
        for (int i = 0; i + 1 < section->rank && index[i] == section->extents[i]; i++) {
            place += section->strides[i + 1] - index[i] * section->strides[i];
            index[i] = 0;
            index[i + 1]++;
        }
    }
    return true;
}

/* ---- Copying ---- */

struct copy {
    const RZ_Section *section;
    char *row, *next; /* next: where the next run is, in the row */
    enum rz_section_way way;
};

static bool copy_run(void *arg, MPI_Count place, MPI_Count bytes)
{
    struct copy *copy = arg;
    char *memory = (char *)copy->section->base + place;
    bool to_row = copy->way == RZ_SECTION_TO_ROW;
    memcpy(to_row ? copy->next : memory, to_row ? memory : copy->next, (size_t)bytes);
    copy->next += bytes;
    return true;
}

static bool copy_bytes(void *arg, uint64_t at, MPI_Count bytes)
{
    struct copy *copy = arg;
    copy->next = copy->row + at;
    return section_runs(copy->section, (MPI_Count)at, bytes, copy_run, copy);
}

void rz_section_copy(const RZ_Section *section, const struct rz_datatype *datatype, MPI_Count first,
                     MPI_Count n, char *row, enum rz_section_way way)
{
    struct rz_shape shape = rz_shape_of(datatype);
    struct copy copy = {.section = section, .row = row, .way = way};
    rz_shape_rows(&shape, n, (uint64_t)(first * datatype->extent), copy_bytes, &copy);
}

/* ---- A datatype ---- */

/* The list of blocks of the new datatype. */
struct blocks {
    const RZ_Section *section;
    const struct rz_basic *basic; /* of the run */
    size_t n, size;
    int64_t *lengths, *displacements;
    MPI_Datatype *types;
    int error;
};

static bool blocks_grow(struct blocks *blocks)
{
    size_t size = blocks->size > 0 ? 2 * blocks->size : 64;
    int64_t *lengths = realloc(blocks->lengths, size * sizeof(*lengths));
    blocks->lengths = lengths ? lengths : blocks->lengths;
    int64_t *displacements = realloc(blocks->displacements, size * sizeof(*displacements));
    blocks->displacements = displacements ? displacements : blocks->displacements;
    MPI_Datatype *types = realloc(blocks->types, size * sizeof(*types));
    blocks->types = types ? types : blocks->types;
    if (!lengths || !displacements || !types) {
        return false;
    }
    blocks->size = size;
    return true;
}

static bool blocks_refuse(struct blocks *blocks, int error)
{
    blocks->error = error;
    return false;
}

static bool blocks_run(void *arg, MPI_Count place, MPI_Count bytes)
{
    struct blocks *blocks = arg;
    MPI_Count size = blocks->basic->bytes;
    MPI_Datatype type = rz_datatype_handle(rz_datatype_of_basic(blocks->basic));
    if (bytes % size != 0) {
        return blocks_refuse(blocks,
                             rzm_error(MPI_ERR_TYPE,
                                       "an item of %s would lie across two elements of the section",
                                       rz_datatype_name(rz_datatype_of_basic(blocks->basic))));
    }
    size_t last = blocks->n - 1;
    if (blocks->n > 0 && blocks->types[last] == type &&
        blocks->displacements[last] + blocks->lengths[last] * size == place) {
        blocks->lengths[last] += bytes / size;
        return true;
    }
    if (blocks->n == blocks->size && !blocks_grow(blocks)) {
        return blocks_refuse(blocks, MPI_ERR_NO_MEM);
    }
    blocks->lengths[blocks->n] = bytes / size;
    blocks->displacements[blocks->n] = place;
    blocks->types[blocks->n++] = type;
    return true;
}

static bool blocks_add(struct blocks *blocks, MPI_Count at, MPI_Count bytes,
                       const struct rz_basic *basic)
{
    blocks->basic = basic;
    return section_runs(blocks->section, at, bytes, blocks_run, blocks);
}

/* Adds what one element of the layout at `at` of the row is. */
static bool blocks_of(struct blocks *blocks, const struct rz_layout *layout, MPI_Count at)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        for (MPI_Count k = 0; k < piece->repeat; k++) {
            MPI_Count from = at + piece->offset + k * piece->stride;
            if (piece->child ? !blocks_of(blocks, piece->child, from)
                             : !blocks_add(blocks, from, piece->bytes, piece->basic)) {
                return false;
            }
        }
    }
    return true;
}

/* All items at once where they are one row of one basic datatype. */
static bool blocks_of_all(struct blocks *blocks, MPI_Count count,
                          const struct rz_datatype *datatype)
{
    const struct rz_layout *layout = datatype->layout;
    if (count > 0 && datatype->contiguous && layout->n == 1 && !layout->pieces[0].child) {
        return blocks_add(blocks, datatype->true_lb, count * datatype->size,
                          layout->pieces[0].basic);
    }
    for (MPI_Count i = 0; i < count; i++) {
        if (!blocks_of(blocks, layout, i * datatype->extent)) {
            return false;
        }
    }
    return true;
}

int rzm_type_create_section(const RZ_Section *section, MPI_Count count,
                            struct rz_datatype *datatype, struct rz_datatype **newtype)
{
    struct blocks blocks = {.section = section};
    int error = rz_section_check(section, count, datatype);
    if (error == MPI_SUCCESS && datatype->size > 0 && !blocks_of_all(&blocks, count, datatype)) {
        error = blocks.error;
    }
    if (error == MPI_SUCCESS) {
        error = rzm_type_create_struct(
            (MPI_Count)blocks.n, (struct rz_counts){.wide = blocks.lengths},
            (struct rz_counts){.wide = blocks.displacements}, blocks.types, newtype, true);
    }
    free(blocks.lengths);
    free(blocks.displacements);
    free(blocks.types);
    return error;
}
