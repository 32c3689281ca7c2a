/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of mpi_f08 whose elements have gaps between them, as those of a(1,:). Where one count and
 * one datatype say what a call moves, a datatype describes them; in other calls with a request a
 * bounce buffer stands for them, which belongs to the request; memory that MPI keeps for itself
 * must have none.
 */
#include <pthread.h>

#include "mpifort/mpifort.h"

/* The last extent of an assumed-size array is -1. */
bool rz_mpifort_has_gaps(const CFI_cdesc_t *buffer)
{
    CFI_index_t distance = (CFI_index_t)buffer->elem_len;
    bool gaps = false;
    for (int i = 0; i < buffer->rank; i++) {
        const CFI_dim_t *dim = &buffer->dim[i];
        if (dim->extent == 0) {
            return false;
        }
        gaps = gaps || (dim->extent != 1 && dim->sm != distance);
        distance *= dim->extent;
    }
    return gaps;
}

/* An error code with a sentence of its own; MPI_ERR_BUFFER where there is none. */
static int gaps_code;
static pthread_once_t gaps_once = PTHREAD_ONCE_INIT;

static void make_gaps_code(void)
{
    if (PMPI_Add_error_code(MPI_ERR_BUFFER, &gaps_code) != MPI_SUCCESS) {
        gaps_code = MPI_ERR_BUFFER;
        return;
    }
    PMPI_Add_error_string(gaps_code,
                          "MPI_ERR_BUFFER: the buffer is a section of an array with gaps, "
                          "which this call does not take: pass a whole array, or a section "
                          "without gaps");
}

int rz_mpifort_gaps(void)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (!initialized) {
        return MPI_ERR_BUFFER;
    }
    pthread_once(&gaps_once, make_gaps_code);
    return rz_mpifort_report(gaps_code);
}

/* ---- A section as a datatype ---- */

/* What a datatype is made of: so many items of one predefined datatype, one behind the other. */
struct items {
    MPI_Datatype type;
    MPI_Count n, size; /* size: bytes of one */
};

/* MPI_Type_contiguous and MPI_Type_dup: what it is made of, and how many of it. false: another
 * datatype, which need not have its items in the order of memory. */
static bool items_inside(MPI_Datatype type, MPI_Datatype *inner, MPI_Count *n)
{
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int combiner, integer = 1;
    MPI_Count large = 1;
    if (PMPI_Type_get_envelope_c(type, &n_integers, &n_addresses, &n_counts, &n_types, &combiner) !=
            MPI_SUCCESS ||
        (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) ||
        PMPI_Type_get_contents_c(type, n_integers, n_addresses, n_counts, n_types, &integer, NULL,
                                 &large, inner) != MPI_SUCCESS) {
        return false;
    }
    *n = n_integers == 1 ? integer : large;
    return true;
}

static bool items_is_predefined(MPI_Datatype type)
{
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int combiner = MPI_COMBINER_NAMED;
    return PMPI_Type_get_envelope_c(type, &n_integers, &n_addresses, &n_counts, &n_types,
                                    &combiner) == MPI_SUCCESS &&
           (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
            combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER);
}

/* false: a datatype of another kind, or with bytes that are not of its items. */
static bool items_of(MPI_Datatype type, struct items *items)
{
    if (items_is_predefined(type)) {
        MPI_Count lb = 0, extent = 0;
        *items = (struct items){.type = type, .n = 1};
        return PMPI_Type_size_c(type, &items->size) == MPI_SUCCESS &&
               PMPI_Type_get_extent_c(type, &lb, &extent) == MPI_SUCCESS && lb == 0 &&
               extent == items->size && items->size > 0;
    }
    MPI_Datatype inner;
    MPI_Count n = 1;
    if (!items_inside(type, &inner, &n)) {
        return false;
    }
    bool good = items_of(inner, items);
    items->n *= n;
    if (!items_is_predefined(inner)) {
        PMPI_Type_free(&inner);
    }
    return good;
}

/* What a section is made of: at most one slab of each dimension, and a part of an element. */
enum { PIECES_MAX = CFI_MAX_RANK + 1 };
struct pieces {
    MPI_Count n, lengths[PIECES_MAX], places[PIECES_MAX];
    MPI_Datatype types[PIECES_MAX];
};

static int pieces_add(struct pieces *pieces, MPI_Count n, MPI_Count stride, MPI_Count place,
                      MPI_Datatype of)
{
    MPI_Count i = pieces->n;
    pieces->lengths[i] = 1;
    pieces->places[i] = place;
    int error = PMPI_Type_create_hvector_c(n, 1, stride, of, &pieces->types[i]);
    pieces->n += error == MPI_SUCCESS;
    return error;
}

/* The first n items of the section, in the order of its elements, each of which has per_element.
 * slabs[i] is all of the dimensions below i. */
static int pieces_of(const CFI_cdesc_t *section, const struct items *items, MPI_Count n,
                     const MPI_Datatype *slabs, struct pieces *pieces)
{
    MPI_Count per_element = (MPI_Count)section->elem_len / items->size, place = 0;
    MPI_Count elements[CFI_MAX_RANK + 1] = {1};
    int error = MPI_SUCCESS;
    for (int i = 0; i < section->rank; i++) {
        elements[i + 1] = elements[i] * section->dim[i].extent;
    }
    for (int i = section->rank - 1; i >= 0 && error == MPI_SUCCESS; i--) {
        MPI_Count slab = elements[i] * per_element, whole = n / slab;
        if (whole > 0) {
            error = pieces_add(pieces, whole, section->dim[i].sm, place, slabs[i]);
            place += whole * section->dim[i].sm;
            n -= whole * slab;
        }
    }
    return error == MPI_SUCCESS && n > 0 ? pieces_add(pieces, n, items->size, place, items->type)
                                         : error;
}

/* A datatype of the first n items of the section, committed. */
static int section_type(const CFI_cdesc_t *section, const struct items *items, MPI_Count n,
                        MPI_Datatype *type)
{
    MPI_Datatype slabs[CFI_MAX_RANK];
    struct pieces pieces = {0};
    int made = 0;
    int error =
        PMPI_Type_contiguous_c((MPI_Count)section->elem_len / items->size, items->type, &slabs[0]);
    made += error == MPI_SUCCESS;
    for (int i = 1; i < section->rank && error == MPI_SUCCESS; i++) {
        const CFI_dim_t *dim = &section->dim[i - 1];
        error = PMPI_Type_create_hvector_c(dim->extent, 1, dim->sm, slabs[i - 1], &slabs[i]);
        made += error == MPI_SUCCESS;
    }
    error = error != MPI_SUCCESS ? error : pieces_of(section, items, n, slabs, &pieces);
    error = error != MPI_SUCCESS ? error
                                 : PMPI_Type_create_struct_c(pieces.n, pieces.lengths,
                                                             pieces.places, pieces.types, type);
    if (error == MPI_SUCCESS && (error = PMPI_Type_commit(type)) != MPI_SUCCESS) {
        PMPI_Type_free(type);
    }
    for (MPI_Count i = 0; i < pieces.n; i++) {
        PMPI_Type_free(&pieces.types[i]);
    }
    while (made > 0) {
        PMPI_Type_free(&slabs[--made]);
    }
    return error;
}

/* The section as the library takes it. */
static RZ_Section section_of(const CFI_cdesc_t *buffer)
{
    RZ_Section section = {.base = buffer->base_addr,
                          .element_bytes = (MPI_Count)buffer->elem_len,
                          .rank = buffer->rank};
    for (int i = 0; i < buffer->rank; i++) {
        section.extents[i] = buffer->dim[i].extent;
        section.strides[i] = buffer->dim[i].sm;
    }
    return section;
}

/* Any datatype. */
static int section_type_of(const CFI_cdesc_t *buffer, MPI_Count count, MPI_Datatype of,
                           MPI_Datatype *type)
{
    RZ_Section section = section_of(buffer);
    int error = RZ_Type_create_section(&section, count, of, type);
    return error != MPI_SUCCESS ? error : PMPI_Type_commit(type);
}

int rz_mpifort_section(const CFI_cdesc_t *buffer, MPI_Count count, MPI_Fint *datatype, bool *made)
{
    struct items items;
    MPI_Datatype type, given = PMPI_Type_fromint(*datatype);
    *made = false;
    if (count <= 0 || !rz_mpifort_has_gaps(buffer)) {
        return MPI_SUCCESS;
    }
    if (given == MPI_DATATYPE_NULL) { /* for the call to refuse */
        return MPI_SUCCESS;
    }
    MPI_Count elements = 1;
    for (int i = 0; i < buffer->rank; i++) {
        elements *= buffer->dim[i].extent;
    }
    bool whole = items_of(given, &items) && (MPI_Count)buffer->elem_len % items.size == 0;
    if (whole && items.n == 0) {
        return MPI_SUCCESS; /* nothing moves */
    }
    if (whole && count > elements * ((MPI_Count)buffer->elem_len / items.size) / items.n) {
        return rz_mpifort_report(MPI_ERR_COUNT);
    }
    int error = whole ? section_type(buffer, &items, count * items.n, &type)
                      : section_type_of(buffer, count, given, &type);
    *made = error == MPI_SUCCESS;
    if (*made) {
        *datatype = PMPI_Type_toint(type);
    }
    return error;
}

void rz_mpifort_section_end(bool made, MPI_Fint datatype)
{
    if (made) {
        MPI_Datatype type = PMPI_Type_fromint(datatype);
        PMPI_Type_free(&type); /* a call that is not complete keeps it */
    }
}

bool rz_mpifort_is_within(const CFI_cdesc_t *buffer, MPI_Fint datatype)
{
    MPI_Count bytes = 0;
    MPI_Datatype type = PMPI_Type_fromint(datatype);
    return !rz_mpifort_has_gaps(buffer) || type == MPI_DATATYPE_NULL ||
           PMPI_Type_size_c(type, &bytes) != MPI_SUCCESS || bytes <= (MPI_Count)buffer->elem_len;
}

/* ---- A section as a bounce buffer ---- */

static MPI_Count number_at(struct rz_mpifort_numbers numbers, MPI_Count i)
{
    return numbers.narrow ? numbers.narrow[i] : numbers.wide ? numbers.wide[i] : 0;
}

static bool are_there(struct rz_mpifort_numbers numbers)
{
    return numbers.narrow || numbers.wide;
}

static MPI_Count count_of(const struct rz_mpifort_blocks *blocks, MPI_Count i)
{
    return are_there(blocks->counts) ? number_at(blocks->counts, blocks->first + i) : blocks->count;
}

static MPI_Datatype type_of(const struct rz_mpifort_blocks *blocks, MPI_Count i)
{
    return PMPI_Type_fromint(blocks->types ? blocks->types[blocks->first + i] : blocks->type);
}

/* Whether the call will refuse them; or there is nothing to move. */
static bool blocks_are_nothing(const struct rz_mpifort_blocks *blocks)
{
    MPI_Count items = 0;
    for (MPI_Count i = 0; i < blocks->n; i++) {
        MPI_Count count = count_of(blocks, i);
        if (count < 0 || (count > 0 && type_of(blocks, i) == MPI_DATATYPE_NULL)) {
            return true;
        }
        items += count;
    }
    return items == 0;
}

/* The datatype of blocks with displacements: one item of it is all of them. */
static int blocks_type(const struct rz_mpifort_blocks *blocks, MPI_Datatype *type)
{
    size_t n = (size_t)blocks->n;
    MPI_Count *lengths = calloc(n, sizeof(*lengths)), *places = calloc(n, sizeof(*places));
    MPI_Datatype *types = calloc(n, sizeof(*types));
    MPI_Count used = 0, lb, extent = 1;
    int error = lengths && places && types ? MPI_SUCCESS : rz_mpifort_no_memory();
    for (MPI_Count i = 0; i < blocks->n && error == MPI_SUCCESS; i++) {
        if (count_of(blocks, i) == 0) {
            continue;
        }
        lengths[used] = count_of(blocks, i);
        types[used] = type_of(blocks, i);
        error = blocks->types ? MPI_SUCCESS : PMPI_Type_get_extent_c(types[used], &lb, &extent);
        places[used++] = number_at(blocks->displs, blocks->first + i) * extent;
    }
    error = error != MPI_SUCCESS ? error
                                 : PMPI_Type_create_struct_c(used, lengths, places, types, type);
    free(lengths);
    free(places);
    free(types);
    return error;
}

/* *n items of *type are what the call touches; *made: it is to be freed. */
static int blocks_items(const struct rz_mpifort_blocks *blocks, MPI_Count *n, MPI_Datatype *type,
                        bool *made)
{
    *n = 1;
    *made = true;
    if (are_there(blocks->displs)) {
        return blocks_type(blocks, type);
    }
    if (blocks->partitions) {
        *n = blocks->n;
        return PMPI_Type_contiguous_c(blocks->count, type_of(blocks, 0), type);
    }
    *n = 0;
    for (MPI_Count i = 0; i < blocks->n; i++) {
        *n += count_of(blocks, i);
    }
    *type = type_of(blocks, 0);
    *made = false;
    return MPI_SUCCESS;
}

void *rz_mpifort_bounce(struct rz_mpifort_bounces *bounces, const CFI_cdesc_t *buffer,
                        const struct rz_mpifort_blocks *blocks, int use)
{
    void *address = buffer->base_addr;
    if (bounces->error != MPI_SUCCESS || !rz_mpifort_has_gaps(buffer) ||
        blocks_are_nothing(blocks)) {
        return address;
    }
    RZ_Section section = section_of(buffer);
    MPI_Count n;
    MPI_Datatype type;
    bool made;
    bounces->error = blocks_items(blocks, &n, &type, &made);
    if (bounces->error != MPI_SUCCESS) {
        return address;
    }
    bounces->error =
        RZ_Bounce_create(&section, n, type, use | (blocks->partitions ? RZ_BOUNCE_PARTITIONS : 0),
                         &address, &bounces->bounce[bounces->n]);
    bounces->n += bounces->error == MPI_SUCCESS;
    if (made) {
        PMPI_Type_free(&type);
    }
    return address;
}

int rz_mpifort_bounces_end(struct rz_mpifort_bounces *bounces, const MPI_Fint *request, int error)
{
    for (int i = 0; i < bounces->n; i++) {
        if (error == MPI_SUCCESS) {
            error = RZ_Bounce_bind(&bounces->bounce[i], PMPI_Request_fromint(*request));
        } else {
            RZ_Bounce_free(&bounces->bounce[i]);
        }
    }
    return error;
}
