/* From MPI_Init to MPI_Finalize, or MPI_Abort. */
#include "mpi/attribute.h"
#include "mpi/buffered.h"
#include "mpi/comm.h"
#include "mpi/engine.h"
#include "mpi/ft.h"
#include "mpi/message.h"
#include "mpi/p2p.h"
#include "mpi/paths.h"
#include "mpi/peer.h"
#include "mpi/request.h"
#include "mpi/sync.h"
#include "port/clock.h"
#include "proto/recover/recover.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After MPI_Abort the daemon ends all processes; one that it does not reach in time ends by itself.
 */
#define ABORT_MAX (2 * RZ_SECOND)

static pthread_t main_thread;
static int thread_level;

/* ---- MPI_Init ---- */

static int engine_open(void)
{
    rz_status_t status = rz_link_open(&rz_engine.link);
    if (status != RZ_OK) {
        return rzm_error(MPI_ERR_OTHER, "the runtime cannot be joined: %s", rz_status_text(status));
    }
    rz_engine.info = rz_link_info(rz_engine.link);
    rz_engine.board = rz_engine.info->board;
    uint32_t n = rz_engine.info->n_ranks;
    rz_engine.members = calloc(n, sizeof(*rz_engine.members));
    rz_engine.dead = calloc(n, sizeof(*rz_engine.dead));
    if (rz_engine.members == NULL || rz_engine.dead == NULL ||
        !rz_matcher_init(&rz_engine.matcher)) {
        return MPI_ERR_NO_MEM;
    }
    rz_ft_open();
    status = rz_paths_open();
    return status == RZ_OK ? MPI_SUCCESS
                           : rzm_error(MPI_ERR_OTHER, "shared memory cannot be opened: %s",
                                       rz_status_text(status));
}

int rzm_init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    int error = engine_open();
    error = error != MPI_SUCCESS ? error : rz_ft_reach_epoch();
    error = error != MPI_SUCCESS ? error : rz_comms_open();
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_engine_look_again();
    main_thread = pthread_self();
    thread_level = required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE;
    rz_engine_shared = thread_level == MPI_THREAD_MULTIPLE;
    rz_phase = RZ_PHASE_RUNNING;
    *provided = thread_level;
    return MPI_SUCCESS;
}

int rzm_query_thread(int *provided)
{
    *provided = thread_level;
    return MPI_SUCCESS;
}

int rzm_is_thread_main(int *flag)
{
    *flag = pthread_equal(main_thread, pthread_self()) != 0;
    return MPI_SUCCESS;
}

int rzm_get_processor_name(char *name, int *resultlen)
{
    char host[MPI_MAX_PROCESSOR_NAME / 2] = "localhost";
    gethostname(host, sizeof(host) - 1);
    /* Several nodes may be one machine; the number tells them apart. */
    bool emulated = rz_engine.info->n_nodes > 1 && rz_engine.board->flags & RZ_BOARD_ONE_HOST;
    int length =
        emulated ? snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s-node%u", host, rz_engine.info->node)
                 : snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", host);
    *resultlen = length;
    return MPI_SUCCESS;
}

/* ---- MPI_Finalize ---- */

/* Whether everything this process has sent is on its way without it. A receive nobody answers does
 * not hold it up. */
static bool all_sent(void *arg)
{
    (void)arg;
    for (const struct rz_request *request = rz_engine.active; request != NULL;
         request = request->next) {
        if (request->flags & (RZ_REQUEST_SEND | RZ_REQUEST_NETWORK)) {
            return false;
        }
    }
    return rz_sync_quiet();
}

/*
 * Nobody leaves while others may still need its help to send or to receive; the dead are not waited
 * for. MPIX_Reinit has used the daemons' barrier up: what was sent after it is on its way already,
 * and a barrier of messages could wait for one who was killed on its way out.
 */
static int finalize_barrier(void)
{
    uint64_t phase =
        atomic_load_explicit(&rz_engine.board->epoch_phase, memory_order_acquire) & 0xFF;
    return phase < RZ_PHASE_LEFT ? rz_ft_reach_end() : MPI_SUCCESS;
}

static void engine_close(void)
{
    rz_p2p_forget();
    rz_matched_close();
    rz_paths_close();
    rz_peers_forget();
    rz_requests_abandon();
    rz_requests_close();
    rz_comms_close();
    rz_groups_close();
    rz_buffered_close();
    rz_sync_close();
    rz_matcher_clear(&rz_engine.matcher);
    rz_link_close(rz_engine.link, true);
    free(rz_engine.members);
    free(rz_engine.dead);
}

int rzm_finalize(void)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS) {
        /* The standard's place for what programs want done at the end. */
        error = rz_attributes_delete(rz_comm_predefined(0x102));
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!rz_engine.info->alone) {
        struct rz_blocked blocked = {
            .call = "MPI_Finalize", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
        error = rz_engine_wait(&blocked, all_sent, NULL);
        error = error != MPI_SUCCESS ? error : finalize_barrier();
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    rz_phase = RZ_PHASE_AFTER;
    engine_close();
    return MPI_SUCCESS;
}

/* ---- MPI_Abort ---- */

int rzm_abort(struct rz_comm *comm, int errorcode)
{
    (void)comm; /* the whole job ends, as the standard allows */
    int code = errorcode & 0xFF;
    code = code != 0 ? code : EXIT_FAILURE;
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    if (!rz_engine.info->alone) {
        struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                          .abort = {.code = (uint32_t)code, .reason = "MPI_Abort"}};
        rz_link_send(rz_engine.link, &message, -1);
        rz_time deadline = rz_clock_now() + ABORT_MAX;
        while (atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire) == 0 &&
               rz_clock_now() < deadline) {
            usleep(1000);
        }
    }
    _exit(code);
}
