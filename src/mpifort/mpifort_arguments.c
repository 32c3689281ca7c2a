/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of Fortran: constants that are variables, strings, lengths of arrays. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "mpifort/mpifort.h"

/* ---- Constants that are known by their addresses ---- */

/*
 * The common blocks of mpif.h and the modules (tools/abi/abi_fortran_text.py). A program has blocks
 * of its own with these names; the linker makes one of both.
 */
#define BLOCK(name, n) __attribute__((visibility("default"), aligned(64))) MPI_Fint name[n]
BLOCK(rz_mpif_bottom_, 1);
BLOCK(rz_mpif_in_place_, 1);
BLOCK(rz_mpif_automatic_, 1);
BLOCK(rz_mpif_unweighted_, 1);
BLOCK(rz_mpif_empty_, 1);
BLOCK(rz_mpif_errcodes_, 1);
BLOCK(rz_mpif_status_, 8);
BLOCK(rz_mpif_statuses_, 8);
BLOCK(rz_mpif_status_f08_, 8);
BLOCK(rz_mpif_statuses_f08_, 8);
BLOCK(rz_mpif_argv_, 1);
BLOCK(rz_mpif_argvs_, 1);

static bool same(const void *argument, const MPI_Fint *block)
{
    return argument == (const void *)block;
}

void *rz_mpifort_address(void *buffer)
{
    return same(buffer, rz_mpif_bottom_)      ? MPI_BOTTOM
           : same(buffer, rz_mpif_in_place_)  ? MPI_IN_PLACE
           : same(buffer, rz_mpif_automatic_) ? MPI_BUFFER_AUTOMATIC
                                              : buffer;
}

MPI_Status *rz_mpifort_status(MPI_Status *status)
{
    bool ignored = same(status, rz_mpif_status_) || same(status, rz_mpif_status_f08_);
    return ignored ? MPI_STATUS_IGNORE : status;
}

MPI_Status *rz_mpifort_statuses(MPI_Status *statuses)
{
    bool ignored = same(statuses, rz_mpif_statuses_) || same(statuses, rz_mpif_statuses_f08_);
    return ignored ? MPI_STATUSES_IGNORE : statuses;
}

int *rz_mpifort_weights(int *weights)
{
    return same(weights, rz_mpif_unweighted_) ? MPI_UNWEIGHTED
           : same(weights, rz_mpif_empty_)    ? MPI_WEIGHTS_EMPTY
                                              : weights;
}

int *rz_mpifort_errcodes(int *errcodes)
{
    return same(errcodes, rz_mpif_errcodes_) ? MPI_ERRCODES_IGNORE : errcodes;
}

bool rz_mpifort_is_argv_null(const char *argv)
{
    return same(argv, rz_mpif_argv_);
}

bool rz_mpifort_is_argvs_null(const char *argvs)
{
    return same(argvs, rz_mpif_argvs_);
}

/* ---- Strings ---- */

char *rz_mpifort_string(const char *text, size_t length, bool both)
{
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    while (both && length > 0 && *text == ' ') {
        text++;
        length--;
    }
    char *c = malloc(length + 1);
    if (c) {
        memcpy(c, text, length);
        c[length] = '\0';
    }
    return c;
}

void rz_mpifort_pad(char *text, size_t length, const char *c)
{
    size_t n = strnlen(c, length);
    memcpy(text, c, n);
    memset(text + n, ' ', length - n);
}

static char **strings_of(const char *texts, size_t length, size_t first, size_t stride, size_t n)
{
    char **strings = calloc(n + 1, sizeof(*strings));
    for (size_t i = 0; strings && i < n; i++) {
        strings[i] = rz_mpifort_string(texts + (first + i * stride) * length, length, true);
        if (!strings[i]) {
            rz_mpifort_strings_free(strings);
            return NULL;
        }
    }
    return strings;
}

static bool is_blank(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    return length == 0;
}

char **rz_mpifort_strings(const char *texts, size_t length, size_t first, size_t stride)
{
    size_t n = 0;
    while (length > 0 && !is_blank(texts + (first + n * stride) * length, length)) {
        n++;
    }
    return strings_of(texts, length, first, stride, n);
}

char **rz_mpifort_strings_n(const char *texts, size_t length, size_t n)
{
    return strings_of(texts, length, 0, 1, n);
}

void rz_mpifort_strings_free(char **strings)
{
    for (char **at = strings; strings && *at; at++) {
        free(*at);
    }
    free(strings);
}

/* ---- Results ---- */

void rz_mpifort_from_one(MPI_Fint *indices, int n, int error)
{
    bool set = error == MPI_SUCCESS || error == MPI_ERR_IN_STATUS;
    for (int i = 0; set && i < n; i++) {
        indices[i]++;
    }
}

void rz_mpifort_set_index(MPI_Fint *index, int c_index)
{
    if (c_index != -1) {
        *index = c_index >= 0 ? c_index + 1 : c_index;
    }
}

void rz_mpifort_buffer_addr(void *argument, void *address, int error)
{
    if (error == MPI_SUCCESS) {
        *(void **)argument = address;
    }
}

/* ---- Lengths ---- */

int rz_mpifort_members(MPI_Comm comm)
{
    int n = 0;
    (void)PMPI_Comm_size(comm, &n);
    return n;
}

int rz_mpifort_rank(MPI_Comm comm)
{
    int rank = 0;
    (void)PMPI_Comm_rank(comm, &rank);
    return rank;
}

static bool is_inter(MPI_Comm comm)
{
    int inter = 0;
    return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter;
}

int rz_mpifort_peers(MPI_Comm comm)
{
    int n = 0;
    (void)(is_inter(comm) ? PMPI_Comm_remote_size(comm, &n) : PMPI_Comm_size(comm, &n));
    return n;
}

bool rz_mpifort_is_root(MPI_Comm comm, MPI_Fint root)
{
    return is_inter(comm) ? root == MPI_ROOT : root == rz_mpifort_rank(comm);
}

bool rz_mpifort_is_leaf(MPI_Comm comm, MPI_Fint root)
{
    return !is_inter(comm) || root >= 0;
}

int rz_mpifort_degree(MPI_Comm comm, enum rz_mpifort_side side)
{
    int topology = MPI_UNDEFINED, n = 0, in = 0, out = 0, weighted, rank;
    if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) {
        return 0;
    }
    if (topology == MPI_CART && PMPI_Cartdim_get(comm, &n) == MPI_SUCCESS) {
        return 2 * n;
    }
    if (topology == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
        PMPI_Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS) {
        return n;
    }
    if (topology == MPI_DIST_GRAPH) {
        (void)PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        return side == RZ_MPIFORT_SOURCES ? in : out;
    }
    return 0;
}

int rz_mpifort_report(int error)
{
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    if (initialized && !finalized) {
        PMPI_Comm_call_errhandler(MPI_COMM_SELF, error);
    }
    return error;
}

int rz_mpifort_no_memory(void)
{
    return rz_mpifort_report(MPI_ERR_NO_MEM);
}

/* ---- What the library is told ---- */

/* A library that was told before keeps what it knows: errors are its own affair. */
static void tell(void)
{
    static const char *const sizes[][2] = {{"mpi_logical_size", "4"},
                                           {"mpi_integer_size", "4"},
                                           {"mpi_real_size", "4"},
                                           {"mpi_double_precision_size", "8"}};
    MPI_Info info;
    MPI_Fint true_ = 1, false_ = 0, got[2];
    int is_set = 0;
    if (PMPI_Abi_get_fortran_booleans(sizeof(true_), &got[0], &got[1], &is_set) == MPI_SUCCESS &&
        !is_set) {
        (void)PMPI_Abi_set_fortran_booleans(sizeof(true_), &true_, &false_);
    }
    if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) {
        return;
    }
    if (info != MPI_INFO_NULL) {
        (void)PMPI_Info_free(&info);
        return;
    }
    if (PMPI_Info_create(&info) == MPI_SUCCESS) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            (void)PMPI_Info_set(info, sizes[i][0], sizes[i][1]);
        }
        (void)PMPI_Abi_set_fortran_info(info);
        (void)PMPI_Info_free(&info);
    }
}

void rz_mpifort_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, tell);
}
