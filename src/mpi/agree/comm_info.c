/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_set_info and _get_info: the hints of communicators.
 */
#include "mpi/agree/comm_info.h"

#include "mpi/agree/agreement_context.h"
#include "mpi/agree/comm_revoke.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/comm/comm_hints.h"

#include <stdio.h>
#include <string.h>

/* The engine must not change after the first proposal. A later change of the hint has no effect,
 * and get_info shows the engine in use. */
static bool is_fixed(const struct rz_comm *comm, enum rz_hint key)
{
    return key == RZ_HINT_AGREE && rz_agreement_context_has_proposed(comm);
}

static const char *value_of(const struct rz_comm *comm, enum rz_hint key)
{
    return key == RZ_HINT_AGREE    ? rz_agreement_name(rz_comm_agreement(comm))
           : key == RZ_HINT_REVOKE ? rz_hint_value(key, 1 + rz_comm_revoke_way(comm))
                                   : rz_hint_value(key, rz_comm_hint(comm, key));
}

static void take_hint(struct rz_comm *comm, struct rz_info *info, enum rz_hint key)
{
    char value[16];
    int there = 0;
    if (is_fixed(comm, key) ||
        rzm_info_get(info, rz_hint_key(key), (int)sizeof(value) - 1, value, &there) !=
            MPI_SUCCESS ||
        !there) {
        return;
    }
    for (unsigned i = 0; rz_hint_value(key, i); i++) {
        if (strcmp(value, rz_hint_value(key, i)) == 0) {
            rz_comm_set_hint(comm, key, i);
        }
    }
}

void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info)
{
    for (int key = 0; info && key < RZ_HINT_COUNT; key++) {
        take_hint(comm, info, (enum rz_hint)key);
    }
    rz_comm_look_at_range(comm);
    rz_uniform_results_look(comm);
}

/* Unknown hints are ignored, as the standard requires. But a misspelt value of a key of this
 * library is refused: members that spell it right would use another engine or
 * algorithm. */
static int refuse_unknown(struct rz_info *info, enum rz_hint key)
{
    char value[16], text[128] = "";
    int there = 0;
    if (!info ||
        rzm_info_get(info, rz_hint_key(key), (int)sizeof(value) - 1, value, &there) !=
            MPI_SUCCESS ||
        !there) {
        return MPI_SUCCESS;
    }
    for (unsigned i = 0; rz_hint_value(key, i); i++) {
        const char *known = rz_hint_value(key, i);
        if (*known != '\0' && strcmp(value, known) == 0) {
            return MPI_SUCCESS;
        }
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ", " : "",
                 known);
    }
    return rzm_error(MPI_ERR_INFO_VALUE, "%s is '%s', not one of %s", rz_hint_key(key), value,
                     key == RZ_HINT_AGREE ? RZ_AGREEMENT_NAMES : text);
}

int rzm_comm_set_info(struct rz_comm *comm, struct rz_info *info)
{
    static const enum rz_hint own[] = {RZ_HINT_AGREE, RZ_HINT_REVOKE, RZ_HINT_REPRODUCIBLE};
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && error == MPI_SUCCESS; i++) {
        error = refuse_unknown(info, own[i]);
    }
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
    for (int key = 0; key < RZ_HINT_COUNT && error == MPI_SUCCESS; key++) {
        error =
            rzm_info_set(made, rz_hint_key((enum rz_hint)key), value_of(comm, (enum rz_hint)key));
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
