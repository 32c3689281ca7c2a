/*
 * Hints of communicators. Most are assertions of the user about how the communicator is used: the
 * known ones are kept and shown, nothing depends on them. Those that matter: how far the error of a
 * failure reaches, and which calls tell it alike everywhere (mpi_error_range, mpi_error_uniform:
 * ULFM), by which engine the members agree (rz_agree;
 * docs/agreement-engines.md), and how a revocation gets to them (rz_revoke).
 */
#include "mpi/comm/comm.h"
#include "mpi/core/engine.h"
#include "mpi/ft/comm_uniform.h"
#include "mpi/ft/agreement_context.h"

#include <stdio.h>
#include <string.h>

#define VALUES_MAX 6
#define BITS 3 /* of comm->hints, for each key */

static const struct {
    const char *key, *values[VALUES_MAX]; /* the first is the default */
} known[] = {
    {"mpi_assert_no_any_tag", {"false", "true"}},
    {"mpi_assert_no_any_source", {"false", "true"}},
    {"mpi_assert_exact_length", {"false", "true"}},
    {"mpi_assert_allow_overtaking", {"false", "true"}},
    {"mpi_assert_strict_persistent_collective_ordering", {"false", "true"}},
    {"mpi_error_range", {"local", "group", "universe"}},
    {"mpi_error_uniform", {"local", "construct", "coll"}},
#if RZ_ENGINES
    {"rz_agree", {"", "era", "twophase", "gossip1", "gossip2", "gossip3"}},
#else
    {"rz_agree", {"", "era"}},
#endif
    {"rz_revoke", {"", "nodes", "flat"}},
};
enum {
    N_KNOWN = sizeof(known) / sizeof(known[0]),
    ERROR_RANGE = N_KNOWN - 4,
    ERROR_UNIFORM,
    AGREE,
    REVOKE
};

static unsigned hint(const struct rz_comm *comm, int key)
{
    return comm->hints >> (BITS * key) & ((1u << BITS) - 1);
}

static void set_hint(struct rz_comm *comm, int key, unsigned value)
{
    comm->hints &= ~(((1u << BITS) - 1) << (BITS * key));
    comm->hints |= value << (BITS * key);
}

enum rz_error_range rz_comm_error_range(const struct rz_comm *comm)
{
    return (enum rz_error_range)hint(comm, ERROR_RANGE);
}

enum rz_error_uniform rz_comm_error_uniform(const struct rz_comm *comm)
{
    const struct rz_comm *all = comm->inter != NULL ? comm->inter : comm;
    return (enum rz_error_uniform)hint(all, ERROR_UNIFORM);
}

enum rz_agreement_engine rz_comm_agreement(const struct rz_comm *comm)
{
    if (rz_agreement_context_has_proposed(comm)) {
        return (enum rz_agreement_engine)rz_agreement_context_engine(comm);
    }
    unsigned value = hint(comm, AGREE);
    int n = comm->group->size + (comm->remote != comm->group ? comm->remote->size : 0);
    return rz_agreement_for(value == 0 ? rz_agreement_of_job()
                                       : rz_agreement_find(known[AGREE].values[value]),
                            (uint32_t)n);
}

enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm)
{
    unsigned value = hint(comm, REVOKE);
    return value == 0 ? rz_revoke_of_job() : value == 1 ? RZ_REVOKE_NODES : RZ_REVOKE_FLAT;
}

/* The members must keep one engine. Whoever sets the hint of an engine later is told by get_info
 * that it makes no difference. */
static bool is_fixed(const struct rz_comm *comm, int key)
{
    return key == AGREE && rz_agreement_context_has_proposed(comm);
}

static const char *value_of(const struct rz_comm *comm, int key)
{
    return key == AGREE    ? rz_agreement_name(rz_comm_agreement(comm))
           : key == REVOKE ? known[REVOKE].values[1 + rz_comm_revoke_way(comm)]
                           : known[key].values[hint(comm, key)];
}

void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info)
{
    char value[16];
    int there;
    for (int key = 0; info != NULL && key < N_KNOWN; key++) {
        if (is_fixed(comm, key) ||
            rzm_info_get(info, known[key].key, (int)sizeof(value) - 1, value, &there) !=
                MPI_SUCCESS ||
            !there) {
            continue;
        }
        for (unsigned i = 0; i < VALUES_MAX && known[key].values[i] != NULL; i++) {
            if (strcmp(value, known[key].values[i]) == 0) {
                set_hint(comm, key, i);
            }
        }
    }
    rz_comm_look_at_range(comm);
    rz_uniform_results_look(comm);
}

/* Hints that are not understood are ignored, as the standard has it; but what was meant for this
 * library alone, and would be another engine at members that spell it right, is refused. */
static int refuse_unknown(struct rz_info *info, int key)
{
    char value[16], text[128] = "";
    int there = 0;
    if (info == NULL ||
        rzm_info_get(info, known[key].key, (int)sizeof(value) - 1, value, &there) != MPI_SUCCESS ||
        !there) {
        return MPI_SUCCESS;
    }
    for (int i = 1; i < VALUES_MAX && known[key].values[i] != NULL; i++) {
        if (strcmp(value, known[key].values[i]) == 0) {
            return MPI_SUCCESS;
        }
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 1 ? ", " : "",
                 known[key].values[i]);
    }
    return rzm_error(MPI_ERR_INFO_VALUE, "%s is '%s', not one of %s", known[key].key, value,
                     key == AGREE ? RZ_AGREEMENT_NAMES : text);
}

int rzm_comm_set_info(struct rz_comm *comm, struct rz_info *info)
{
    int error = refuse_unknown(info, AGREE);
    error = error != MPI_SUCCESS ? error : refuse_unknown(info, REVOKE);
    if (error == MPI_SUCCESS) {
        rz_comm_take_hints(comm, info);
    }
    return error;
}

int rzm_comm_get_info(struct rz_comm *comm, struct rz_info **info_used)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int key = 0; key < N_KNOWN && error == MPI_SUCCESS; key++) {
        error = rzm_info_set(made, known[key].key, value_of(comm, key));
    }
    if (error == MPI_SUCCESS) {
        error = rzm_info_set(made, "mpi_memory_alloc_kinds", RZ_MEMORY_KINDS);
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info_used = made;
    return MPI_SUCCESS;
}
