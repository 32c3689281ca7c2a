/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two-phase access (Thakur, Gropp and Lusk 1999), the arithmetic: the part of the file that a
 * collective access reaches is divided into one domain for each aggregator, whose borders are
 * multiples of the file system's unit, and each domain into windows, one for each round. Pure.
 */
#ifndef RZ_MPI_DOMAINS_H
#define RZ_MPI_DOMAINS_H

#include "mpi/io/access.h"

struct rz_domains {
    MPI_Offset begin, end; /* of all data */
    MPI_Offset base;       /* begin, rounded down */
    int n;                 /* domains; the last ones may be empty */
    MPI_Count size;        /* of each */
    MPI_Count window;
    MPI_Count rounds;
};

/* begin < end; n >= 1; unit, window >= 1. */
void rz_domains_make(struct rz_domains *domains, MPI_Offset begin, MPI_Offset end, int n,
                     MPI_Count unit, MPI_Count window);

/* Where the domain begins, and the window of a round; both end where the next begins, or at the
 * end of the data. */
MPI_Offset rz_domain_begin(const struct rz_domains *domains, int domain);
MPI_Offset rz_domain_window(const struct rz_domains *domains, int domain, MPI_Count round);

/* What a process has in the window of a domain. */
struct rz_amount {
    int64_t pieces, bytes;
};

/* Counts what the access has in all windows: amounts[domain * rounds + round], all 0 before;
 * first[domain]: how many bytes of the access lie before the domain. */
void rz_domains_count(const struct rz_domains *domains, const struct rz_access *access,
                      struct rz_amount *amounts, MPI_Count *first);

#endif
