/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the kill matrix: a call each, in which a process fails (kill_matrix.c). */
#ifndef KILL_MATRIX_H
#define KILL_MATRIX_H

#include "check.h"

#include <mpi-ext.h>
#include <stdbool.h>
#include <stdint.h>

enum { BUFFER_MAX = 1 << 20 /* ints */, RANKS_MAX = 16 };

/* What all members know of the row that runs; the same at all of them but for rank. */
struct kill_scene {
    MPI_Comm comm;  /* of the survivors, never used before */
    MPI_Comm other; /* what the row's setup made of it; or null */
    int rank, size, victim, root;
    int count;    /* ints per member */
    unsigned how; /* chance: chooses among the variants of a row */
    int answer;   /* what all that return must have alike, if the row says UNIFORM */
};
extern struct kill_scene scene;
extern int out[BUFFER_MAX], in[BUFFER_MAX];

/* The errors that a survivor may get. MPI_SUCCESS and, where `revokes` of others may come in
 * between, MPI_ERR_REVOKED are always allowed. */
enum kill_flags {
    ROW_FAILS = 1,    /* MPI_ERR_PROC_FAILED, whichever process failed */
    ROW_PEER = 2,     /* that only where the failed one is peer() */
    ROW_RING = 4,     /* ... a neighbour in the ring of ranks */
    ROW_TO_0 = 8,     /* ... rank 0, or at rank 0 */
    ROW_UNIFORM = 16, /* all have the same error and answer */
    ROW_REPAIR = 32,  /* never MPI_ERR_REVOKED */
    /* All have the same error where mpi_error_uniform is */
    ROW_CREATES = 64, /* construct or coll */
    ROW_COLL = 128,   /* coll */
    /* Has places of its own to fail at. */
    ROW_SPAWNS = 256,
    ROW_MEETS = 512,
    ROW_JOINS = 1024,
    ROW_REPLACES = 2048,
    ROW_FILES = 4096
};

struct kill_row {
    const char *name;
    int (*run)(void);    /* the error of the call */
    void (*setup)(void); /* makes scene.other while all live; NULL: nothing is needed */
    unsigned flags;
};

extern const struct kill_row kill_point_rows[], kill_coll_rows[], kill_comm_rows[], kill_dyn_rows[],
    kill_file_rows[], kill_rma_rows[]; /* ending with name NULL */

/* What a process does that a row has spawned; its exit status. */
int kill_matrix_child(const char *what);

/* What a replacement process does, in a row with ROW_REPLACES, until that row is over. */
void kill_matrix_spawned_process(void);

/* Gives comm the mpi_error_uniform that this run is about. */
void make_uniform(MPI_Comm comm);

/* The other of a pair; MPI_PROC_NULL: there is none. */
int peer(void);

/* Ends a request by MPI_Wait or by testing, whichever chance has chosen. */
int ended(MPI_Request *request, MPI_Status *status);

/* Ends each of them after the communicator was revoked: each must end. */
void end_all(MPI_Request *requests, int n);

#endif
