/* SPDX-License-Identifier: BSD-3-Clause */
/* File domains and windows. */
#include "mpi/io/domains.h"

void rz_domains_make(struct rz_domains *domains, MPI_Offset begin, MPI_Offset end, int n,
                     MPI_Count unit, MPI_Count window)
{
    rz_assert(begin < end && n >= 1 && unit >= 1 && window >= 1);
    MPI_Offset base = begin - begin % unit;
    MPI_Count size = (end - base - 1) / n + 1;
    size = ((size - 1) / unit + 1) * unit;
    window = window < size ? window : size;
    *domains = (struct rz_domains){.begin = begin,
                                   .end = end,
                                   .base = base,
                                   .n = n,
                                   .size = size,
                                   .window = window,
                                   .rounds = (size - 1) / window + 1};
}

static MPI_Offset inside(const struct rz_domains *domains, MPI_Offset offset)
{
    return offset < domains->begin ? domains->begin : offset > domains->end ? domains->end : offset;
}

MPI_Offset rz_domain_begin(const struct rz_domains *domains, int domain)
{
    return inside(domains, domains->base + domain * domains->size);
}

MPI_Offset rz_domain_window(const struct rz_domains *domains, int domain, MPI_Count round)
{
    return round >= domains->rounds
               ? rz_domain_begin(domains, domain + 1)
               : inside(domains, domains->base + domain * domains->size + round * domains->window);
}

void rz_domains_count(const struct rz_domains *domains, const struct rz_access *access,
                      struct rz_amount *amounts, MPI_Count *first)
{
    struct rz_walk walk;
    MPI_Count left = access->bytes, offset = 0, n = 0;
    int domain = -1;
    if (left > 0) {
        rz_view_walk(&access->view, access->place, &walk);
    }
    while (left > 0 || n > 0) {
        if (n == 0) {
            n = rz_walk_next(&walk, left, &offset);
            left -= n;
        }
        MPI_Count in_all = offset - domains->base;
        int at = (int)(in_all / domains->size);
        MPI_Count round = in_all % domains->size / domains->window;
        MPI_Offset border = rz_domain_window(domains, at, round + 1);
        MPI_Count part = n < border - offset ? n : border - offset;
        struct rz_amount *amount = &amounts[at * domains->rounds + round];
        while (domain < at) {
            first[++domain] = access->bytes - left - n;
        }
        amount->pieces++;
        amount->bytes += part;
        offset += part;
        n -= part;
    }
    while (domain < domains->n - 1) {
        first[++domain] = access->bytes;
    }
    if (access->bytes > 0) {
        rz_walk_end(&walk);
    }
}
