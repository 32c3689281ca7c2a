/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From MPI_Init to MPI_Finalize, and the same for sessions; MPI_Abort is in abort.c.
 *
 * The engine is opened once in a process, by the first of MPI_Init and MPI_Session_init, and closed
 * once. MPI_Finalize closes it in a process that never had a session. Which session is the last one
 * is not known in advance, so a process that had one leaves its job when it exits with no session
 * open.
 */
#include "mpi/init/init_finalize.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "mpi/agree/agreement_context.h"
#include "mpi/coll/algorithm.h"
#include "mpi/coll/cells.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/places.h"
#include "mpi/core/info.h"
#include "mpi/create/create_hooks.h"
#include "mpi/create/parent.h"
#include "mpi/engine/count_traffic.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/epoch_barrier.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/transport.h"
#include "mpi/engine/waiting.h"
#include "mpi/flat/flat.h"
#include "mpi/ft/restart.h"
#include "mpi/init/session_object.h"
#include "mpi/io/file_object.h"
#include "mpi/io/file_request.h"
#include "mpi/monitor/monitors.h"
#include "mpi/p2p/p2p.h"
#include "mpi/request/request.h"
#include "mpi/rewind/rewind_restore.h"
#include "mpi/rewind/rewind_snapshot.h"
#include "mpi/rma/window.h"
#include "mpi/type/attribute.h"
#include "port/kill_point.h"
#include "proto/recover/recover.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_t main_thread;
static int thread_level;

static struct {
    bool opened; /* the engine runs */
    bool left;   /* the engine ran, or could not run, and will not run again */
    bool had_session;
} library;

/* ---- The layers ---- */

/*
 * The hooks of the layers (engine/hooks.h), in the order in which the layers are told of an event.
 * When a process fails, communicators are marked and agreements are told before pending messages
 * end, since these end by the result. When an epoch ends, monitors end before the communicators of
 * their rounds, and requests before the communicators that they refer to.
 */
static const struct rz_hooks *const layers[] = {
    &rz_transport_hooks,
#if RZ_GROUP
    &rz_monitor_hooks,
#endif
    &rz_request_hooks,   &rz_file_request_hooks, &rz_file_hooks,     &rz_rma_hooks,
    &rz_comm_hooks,      &rz_places_hooks,       &rz_agree_hooks,    &rz_coll_hooks,
    &rz_cells_hooks,     &rz_create_hooks,       &rz_p2p_hooks,      &rz_ft_hooks,
    &rz_flat_hooks,      &rz_session_hooks,      &rz_snapshot_hooks,
};

/* ---- The standard streams of the program ---- */

#define USUAL_BUFFER_BYTES 4096 /* the size of the C library's buffer for a pipe */

/*
 * What the program was started without, or has closed, of the descriptors 0 to 2 is in use from now
 * on, so that no connection of the library gets such a number, into which the program would write.
 * Reading and writing there fail as before. Each is the lowest number that is free.
 */
static void fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            /* the other way round: EBADF, as before */
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/*
 * With RZ_STDOUT=line in the environment (rzrun --stdout): if stdout is a pipe with the default
 * buffer of the C library, it is written line by line from now on, so that what a process wrote
 * before its failure is not lost. A buffer that the program has set by setvbuf stays.
 */
static void settle_stdout(void)
{
    const char *how = getenv("RZ_STDOUT");
    size_t bytes = __fbufsize(stdout);
    if (!how || strcmp(how, "line") != 0 || __flbf(stdout) ||
        (bytes != 0 && bytes != USUAL_BUFFER_BYTES) || lseek(STDOUT_FILENO, 0, SEEK_CUR) >= 0) {
        return;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* ---- A debugger ---- */

/* How often the gate is looked at: a person waits for it. */
#define GATE_LOOK_NS 5000000

/* The variable of the MPIR document that a tool sets in each process once it is attached. */
__attribute__((visibility("default"))) extern volatile int MPIR_debug_gate;
volatile int MPIR_debug_gate;

/* A debugger that has started rzrun (launch/mpir.h) attaches to the ranks before they leave
 * MPI_Init. */
static void await_debug_gate(void)
{
    const struct timespec look = {.tv_nsec = GATE_LOOK_NS};
    /* A replacement is started while the tool goes on: none would open its gate. */
    if (!getenv("RZ_DEBUG_GATE") || rz_engine.info->self.incarnation > 1) {
        return;
    }
    while (!MPIR_debug_gate) {
        nanosleep(&look, NULL);
    }
}

/* ---- MPI_Init ---- */

/* A replacement of a process that failed by a planned fault does not repeat that fault. */
static int take_kill_plan(void)
{
    const char *text = getenv(RZ_KILL_AT);
    const struct rz_identity *me = &rz_engine.info->self;
    if (!text || me->incarnation > 1 || rz_engine_arm_kill(text)) {
        return MPI_SUCCESS;
    }
    return rzm_error(MPI_ERR_OTHER, RZ_KILL_AT " is '%s', not POINT[:NTH][@RANK]", text);
}

/* Reads how waiting calls wait (rzrun --wait). */
static int look_at_wait(void)
{
    const char *way = getenv(RZ_WAIT_ENVIRONMENT);
    bool sleepless = way && strcmp(way, "yield") == 0;
    rz_wait_rule_init(&rz_engine.waiting, sleepless);
    rz_engine.waiting.oversubscribed = true; /* until the ranks have been counted */
    return sleepless || !way || *way == '\0' || strcmp(way, "auto") == 0
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_OTHER, RZ_WAIT_ENVIRONMENT " is '%s', not auto or yield", way);
}

static int not_opened(const char *what, rz_status_t status)
{
    return rzm_error(status == RZ_ERR_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, "%s: %s", what,
                     rz_status_text(status));
}

/* Opens the layers from the lowest to the highest one; each gets the events of lower layers from
 * then on. */
static int engine_open(void)
{
    rz_hooks_set(layers, sizeof(layers) / sizeof(layers[0]));
    fill_streams();
    rz_engine.wake_at = RZ_TIME_NEVER;
    rz_info_keep_maxprocs();
    rz_status_t status = rz_restore_open_link(&rz_engine.link);
    if (status != RZ_OK) {
        return not_opened("the runtime cannot be joined", status);
    }
    rz_engine.info = rz_link_info(rz_engine.link);
    rz_engine.board = rz_engine.info->board;
    rz_engine.rewinds = rz_engine.board->flags & RZ_BOARD_REWIND;
    rz_traffic_settle();
    const struct rz_link_cohort_info *cohort = &rz_engine.info->cohort;
    rz_world_rank = (int)(cohort->processes ? cohort->index : rz_engine.info->self.rank);
    rz_no_memory_speaker(EXIT_FAILURE, "rhizome: rank %u", rz_engine.info->self.rank);
    int error = take_kill_plan();
    error = error != MPI_SUCCESS ? error : look_at_wait();
    if (error != MPI_SUCCESS) {
        return error;
    }
    settle_stdout();
    rz_kill_here(RZ_KILL_JOINED);
    rz_engine.self = rz_engine_number(rz_engine.info->self.rank, rz_engine.info->self.incarnation);
    if (!rz_liveness_open()) {
        return MPI_ERR_NO_MEM;
    }
    error = rz_hooks_open();
    error = error != MPI_SUCCESS ? error : rz_hooks_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    await_debug_gate();
    status = rz_transport_open();
    return status == RZ_OK ? MPI_SUCCESS : not_opened("shared memory cannot be opened", status);
}

/* Starts the engine, for MPI_Init or a session. */
static int library_begin(void)
{
    if (!library.opened) {
        rz_engine.process_id = getpid();
        int error = engine_open();
        if (error == MPI_SUCCESS && rz_engine.rewinds) {
            error = rz_ft_reinit_enter(); /* so a failure in MPI_Init is repaired, too */
        }
        error = error != MPI_SUCCESS ? error : rz_epoch_reach_start();
        error = error != MPI_SUCCESS ? error : rz_comms_open();
        if (error != MPI_SUCCESS) {
            library.left = true;
            return error;
        }
        library.opened = true;
        RZ_TRACE(INIT, 0, 0, 0);
        if (rz_engine.rewinds) {
            rz_ft_await_repair();
            rz_snapshots_enter();
        }
        rz_engine_look_again();
        error = rz_parent_meet();
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    if (rz_phase != RZ_PHASE_RUNNING) { /* threads with sessions read it without the lock */
        rz_phase = RZ_PHASE_RUNNING;
    }
    return MPI_SUCCESS;
}

int rzm_init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    int error = library_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    main_thread = pthread_self();
    thread_level = required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE;
    if (thread_level == MPI_THREAD_MULTIPLE) {
        rz_engine_share();
    }
    rz_world = RZ_PHASE_RUNNING;
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
    /* Several nodes may be one machine; the node's number then makes the names different. */
    uint32_t flags = rz_engine.board->flags & (RZ_BOARD_ONE_HOST | RZ_BOARD_OWN_NAMES);
    bool emulated = rz_engine.info->n_nodes > 1 && flags == RZ_BOARD_ONE_HOST;
    int length =
        emulated ? snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s-node%u", host, rz_engine.info->node)
                 : snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", host);
    *resultlen = length;
    return MPI_SUCCESS;
}

/* ---- MPI_Finalize ---- */

/*
 * After MPIX_Reinit a process ends without another barrier, and the processes of other nodes are
 * not told. Messages of agreements may still be on their way to it, which it did not wait for.
 */
static bool all_sent(void *session)
{
    if (rz_engine.reinit_entered && rz_epoch_phase_on_board() >= RZ_PHASE_LEFT) {
        rz_peers_end_broken();
    }
    return rz_hooks_is_sent() && rz_requests_sent(*(const uint64_t *)session);
}

/*
 * No process leaves while others may still need it to send or to receive; failed processes are not
 * waited for. MPIX_Reinit has used up the daemons' barrier; after it all messages are on their way
 * already, and a barrier of messages could wait for a process that was killed while it left.
 */
static int finalize_barrier(const char *call)
{
    uint64_t phase = rz_epoch_phase_on_board();
    rz_hooks_retire();
    int error = rz_hooks_part();
    bool counted = !rz_engine.info->cohort.processes; /* the daemons count the ranks */
    if (error == MPI_SUCCESS && counted && phase < RZ_PHASE_LEFT) {
        error = rz_epoch_reach_end(call);
    }
    rz_engine.reinit_open = rz_engine.reinit_open && !rz_engine.rewinds; /* none goes back now */
    return error;
}

/* In the order of the end of an epoch (epoch.h), followed by closing the transports. */
static void engine_close(void)
{
    rz_hooks_stop();
    rz_hooks_forget();
    rz_transport_close();
    rz_hooks_abandon();
    rz_hooks_discard();
    rz_hooks_close();
    rz_link_close(rz_engine.link, true);
    rz_liveness_close();
    rz_engine.info = NULL;
    rz_engine.board = NULL;
    rz_engine.counts_traffic = false;
    rz_world_rank = -1;
    library.opened = false;
    library.left = true;
}

int rz_init_all_sent(const char *call, uint64_t session)
{
    struct rz_blocked blocked = {.call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    return rz_engine.info->alone ? MPI_SUCCESS : rz_engine_wait(&blocked, all_sent, &session);
}

int rzm_finalize(void)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS) {
        /* Deletes the attributes of MPI_COMM_SELF first: the standard's place for what programs do
         * at the end. */
        struct rz_comm *self = rz_comm_predefined(0x102);
        error = rz_attributes_delete(&self->object, &self->attributes);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!library.had_session) {
        rz_hooks_last_call();
    }
    RZ_TRACE(FINALIZE, 0, 0, 0);
    error = rz_init_all_sent("MPI_Finalize", rz_sessions_open > 0 ? 0 : RZ_SESSION_ANY);
    if (error == MPI_SUCCESS && !library.had_session && !rz_engine.info->alone) {
        error = finalize_barrier("MPI_Finalize");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_world = RZ_PHASE_AFTER;
    if (!library.had_session) {
        rz_phase = RZ_PHASE_AFTER;
        engine_close();
    } else if (rz_sessions_open == 0) {
        rz_phase = RZ_PHASE_AFTER;
    }
    return MPI_SUCCESS;
}

/* ---- Sessions ---- */

/* At exit: a process that ends in order reports that. Otherwise the daemon sees a process that
 * ended too early. */
static void leave_at_exit(void)
{
    static const char call[] = "the end of the process";
    if (getpid() != rz_engine.process_id || !library.opened || rz_phase == RZ_PHASE_RUNNING) {
        return;
    }
    rz_engine_enter();
    int error = rz_init_all_sent(call, RZ_SESSION_ANY);
    if (error == MPI_SUCCESS && !rz_engine.info->alone) {
        error = finalize_barrier(call);
    }
    if (error == MPI_SUCCESS) {
        engine_close();
    }
    rz_engine_leave();
}

int rz_init_session_begins(void)
{
    if (library.left) {
        return rzm_error(
            MPI_ERR_OTHER,
            "this process has left its job in MPI_Finalize: open a session before that");
    }
    int error = library_begin();
    if (error == MPI_SUCCESS && !library.had_session) {
        if (atexit(leave_at_exit) != 0) {
            return MPI_ERR_NO_MEM;
        }
        library.had_session = true;
        rz_engine_share(); /* each session may be used by another thread */
    }
    return error;
}
