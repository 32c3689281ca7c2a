/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: what is made of one is completed and freed in the same operation, because MPI has no
 * calls with objects of a session and of the world together. */
#include "random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION >= 4

enum { PLAYS_MOST = 4 };

static void open_session(MPI_Session *session)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_thread_support_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
    MPI_Info_free(&info);
}

/* `n` members of `slot`, from number `first` on. */
static MPI_Group make_group(MPI_Session session, const struct slot *slot, int first, int n)
{
    MPI_Group world, group;
    int *ranks = malloc((size_t)slot->n * sizeof(int));
    for (int i = 0; i < n; i++) {
        ranks[i] = slot->member[(i + first) % slot->n];
    }
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    free(ranks);
    return group;
}

static void make_tag(const struct player *player, char *tag)
{
    snprintf(tag, MPI_MAX_STRINGTAG_LEN, "%016" PRIx64 "-%d", player->seed, player->op);
}

/* The members of `slot`, some ranks further on. */
static MPI_Comm make_comm(const struct player *player, MPI_Session session, const struct slot *slot,
                          int turn)
{
    char tag[MPI_MAX_STRINGTAG_LEN];
    MPI_Group group = make_group(session, slot, turn, slot->n);
    MPI_Comm comm;
    make_tag(player, tag);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Two halves of `slot`, which know each other's members. */
static void play_halves(struct player *player, struct dice *dice, MPI_Session session,
                        const struct slot *slot)
{
    char tag[MPI_MAX_STRINGTAG_LEN];
    int half = (int)between(dice, 1, (uint32_t)slot->n - 1);
    int leader[2] = {(int)below(dice, (uint32_t)half),
                     (int)below(dice, (uint32_t)(slot->n - half))};
    bool here = slot->me >= half; /* the second half */
    MPI_Group group[2] = {make_group(session, slot, 0, half),
                          make_group(session, slot, half, slot->n - half)};
    struct slot both = *slot;
    make_tag(player, tag);
    MPI_Intercomm_create_from_groups(group[here], leader[here], group[!here], leader[!here], tag,
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both.comm);
    MPI_Group_free(&group[0]);
    MPI_Group_free(&group[1]);
    play_between(player, dice, &both, half);
    complete_all(player);
    MPI_Comm_free(&both.comm);
}

void play_session(struct player *player, struct dice *dice, struct slot *slot)
{
    static operation *const plays[] = {play_message, play_exchange,   play_bcast,  play_gather,
                                       play_scatter, play_allgather,  play_reduce, play_scan,
                                       play_barrier, play_persistent, play_window};
    enum { PLAYS = sizeof(plays) / sizeof(*plays) };
    struct player inner = *player;
    struct slot of_session = *slot;
    int turn = (int)below(dice, (uint32_t)slot->n), rank, size;
    MPI_Session session;
    inner.pending = NULL, inner.n_pending = inner.room = 0;
    of_session.dims = 0, of_session.graph = NULL;
    if (slot->me < 0) {
        return;
    }
    open_session(&session);
    if (slot->n > 1 && chance(dice, 50)) {
        play_halves(&inner, dice, session, slot);
    }
    of_session.comm = make_comm(player, session, slot, turn);
    of_session.me = (slot->me - turn + slot->n) % slot->n;
    MPI_Comm_rank(of_session.comm, &rank);
    MPI_Comm_size(of_session.comm, &size);
    if (rank != of_session.me || size != slot->n) {
        wrong(player->op, "rank %d of %d in a session for %d of %d", rank, size, of_session.me,
              slot->n);
    }
    /* Each of them once: then a tag with MPI_ANY_SOURCE is used once, too. */
    for (uint32_t i = below(dice, PLAYS), n = between(dice, 1, PLAYS_MOST); n > 0; n--) {
        plays[(i + n) % PLAYS](&inner, dice, &of_session);
    }
    complete_all(&inner);
    free(inner.pending);
    player->buffered = inner.buffered;
    MPI_Comm_free(&of_session.comm);
    MPI_Session_finalize(&session);
}

#else

void play_session(struct player *player, struct dice *dice, struct slot *slot)
{
    play_barrier(player, dice, slot);
}

#endif
