/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_T control variables: the settings of the environment and of the launcher. All are read when
 * the process joins its job; only the engine of agreements, the algorithms of collective operations
 * and the place of a planned failure can be written later. The key of the job (RZ_JOB_KEY) is a
 * secret and not among them.
 */
#include "mpi/tool/tool.h"

#include "mpi/engine/waiting.h"
#include "mpi/agree/agreement.h"
#include "mpi/agree/comm_revoke.h"
#include "mpi/coll/algorithm.h"
#include "net/shm/shm.h"
#include "net/ucx/ucx.h"
#include "port/doorbell.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 256 };

enum cvar_type { CVAR_TEXT, CVAR_SWITCH, CVAR_NUMBER };

/* RZ_SHM_COPY_AUTO and those after it. An item's value is its index, so it counts from that one. */
static const char *const copy_items[] = {"auto", "ring", "direct"};
static struct MPI_ABI_T_enum copy_ways = {"way of copying", copy_items,
                                          RZ_SHM_COPY_DIRECT - RZ_SHM_COPY_AUTO + 1};

static uint64_t lease(void)
{
    return rz_engine.board ? rz_engine.board->lease_ns : 0;
}

static uint64_t heartbeat(void)
{
    return rz_engine.board ? rz_engine.board->hb_period_ns : 0;
}

static uint64_t fault_tolerance(void)
{
    return rz_engine_fault_tolerant();
}

static uint64_t spin(void)
{
    const struct rz_wait_rule *rule = &rz_engine.waiting;
    return rule->oversubscribed || rule->shared ? 0 : rz_wait_spin_ns(rule);
}

struct cvar {
    const char *name;
    enum cvar_type type;
    enum rz_tool_category category;
    int verbosity;
    uint64_t (*number)(void); /* of a variable that is a number */
    const char *text;
};

static const struct cvar cvar_table[] = {
    {RZ_NET_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment: tcp (default) or ucx: what carries messages between nodes"},
    {"RZ_TCP_STREAMS", CVAR_TEXT, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment: the number of TCP connections that carry long messages to another process, 1 "
     "(default) to 8"},
    {"RZ_SHM_CMA", CVAR_SWITCH, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment: how long messages between processes of a node are copied: 0 through the ring, "
     "1 directly from the sender's memory, otherwise whichever works"},
    {"RZ_UCX_MODULE", CVAR_TEXT, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_USER_DETAIL, NULL,
     "Environment: the file of the transport between nodes, if not the one beside the library"},
    {"RZ_INITIAL_ERRHANDLER", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_USER_DETAIL, NULL,
     "Environment, set by rzrun --initial-errhandler: mpi_errors_are_fatal, mpi_errors_abort or "
     "mpi_errors_return"},
    {RZ_AGREEMENT_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment, set by rzrun --agree, at all processes alike: what communicators agree by: era, "
     "twophase, gossip1, gossip2 or gossip3; for one communicator the info key rz_agree chooses "
     "it. "
     "May "
     "be written, alike, for communicators that have not agreed on anything yet"},
    {RZ_AGREEMENT_TREE_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment, at all processes alike: the tree of agreement by era: binary, star or bin "
     "(within "
     "nodes); rzrun sets star where ranks outnumber processors, else it is bin"},
    {RZ_REVOKE_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment: how a revocation gets to the others: nodes (through the daemons of the nodes; "
     "the default) or flat (among the members); for one communicator the info key rz_revoke "
     "chooses it"},
    {RZ_COLL_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_MESSAGES, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment, at all processes alike: which algorithms collective operations use: "
     "OPERATION=ALGORITHM[@BYTES[:RANKS]], separated by commas, or @FILE. May be written, alike, "
     "for operations that begin later; processes that join later must write it, too, and a "
     "roll-back returns to the rules with which MPIX_Reinit was entered"},
    {RZ_WAIT_ENVIRONMENT, CVAR_TEXT, RZ_TOOL_MESSAGES, MPI_T_VERBOSITY_TUNER_BASIC, NULL,
     "Environment, set by rzrun --wait: how a waiting call waits: auto (looks, gives the processor "
     "away, then sleeps) or yield (never sleeps)"},
    {"RZ_JOB_ID", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_MPIDEV_BASIC, NULL,
     "Environment, set by the launcher: the number of the job"},
    {"RZ_RANK", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_MPIDEV_BASIC, NULL,
     "Environment, set by the launcher: the rank of this process in the job"},
    {"RZ_INCARNATION", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_MPIDEV_BASIC, NULL,
     "Environment, set by the launcher: how many processes have had this rank, this one included"},
    {"RZ_LINK_FD", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_MPIDEV_BASIC, NULL,
     "Environment, set by the launcher: the descriptor of the link to the daemon"},
    {"RZ_LINK_SOCKET", CVAR_TEXT, RZ_TOOL_JOB, MPI_T_VERBOSITY_MPIDEV_BASIC, NULL,
     "Environment, set by the launcher: where the daemon listens for a process that has lost that "
     "descriptor"},
    {"rz_lease_ns", CVAR_NUMBER, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_USER_DETAIL, lease,
     "Launcher: how long this process may run after its daemon's last sign of life, in ns"},
    {"rz_heartbeat_ns", CVAR_NUMBER, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_USER_DETAIL, heartbeat,
     "Launcher: the period of the daemons' heartbeats, in ns"},
    {"rz_fault_tolerance", CVAR_NUMBER, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_USER_BASIC,
     fault_tolerance, "Launcher: 1; 0 with --no-ft, where the first failure ends the job"},
    {"rz_spin_ns", CVAR_NUMBER, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_TUNER_DETAIL, spin,
     "How long a waiting call looks for messages before it sleeps, in ns: several wake-ups of this "
     "machine, as measured so far; 0 where processes outnumber processors, or were found to share "
     "one"},
    {RZ_DOORBELL_TEST_DELAY, CVAR_TEXT, RZ_TOOL_TRANSPORT, MPI_T_VERBOSITY_MPIDEV_DETAIL, NULL,
     "Environment: microseconds that each wake-up of this process takes longer, for tests"},
    {RZ_KILL_AT, CVAR_TEXT, RZ_TOOL_FAILURES, MPI_T_VERBOSITY_MPIDEV_DETAIL, NULL,
     "Environment: POINT[:NTH][@RANK] of the library where this process, or that rank, is killed, "
     "for tests; may be written, empty: nowhere"},
};
#define N_OWN ((int)(sizeof(cvar_table) / sizeof(cvar_table[0])))

static bool is_named(int index, const char *name)
{
    return index < N_OWN && strcmp(cvar_table[index].name, name) == 0;
}

/* MPI_T_SCOPE_READONLY: it cannot be written. */
static int scope_of(int index)
{
    return is_named(index, RZ_KILL_AT)                 ? MPI_T_SCOPE_LOCAL
           : is_named(index, RZ_AGREEMENT_ENVIRONMENT) ? MPI_T_SCOPE_ALL_EQ
           : is_named(index, RZ_COLL_ENVIRONMENT)      ? MPI_T_SCOPE_ALL_EQ
                                                       : MPI_T_SCOPE_READONLY;
}

/* After the library's own variables follow those of UCX that must or should be set. */
static struct cvar cvar_at(int index)
{
    if (index < N_OWN) {
        return cvar_table[index];
    }
    return (struct cvar){rz_ucx_environment[index - N_OWN].name,
                         CVAR_TEXT,
                         RZ_TOOL_TRANSPORT,
                         MPI_T_VERBOSITY_MPIDEV_DETAIL,
                         NULL,
                         "Environment of UCX, for RZ_NET=ucx; set by the launcher"};
}

int rz_tool_cvars(void)
{
    int n = N_OWN;
    while (rz_ucx_environment[n - N_OWN].name) {
        n++;
    }
    return n;
}

enum rz_tool_category rz_tool_cvar_category(int index)
{
    return cvar_at(index).category;
}

/* ---- Inquiries ---- */

int rzm_t_cvar_get_num(int *num_cvar)
{
    RZ_TOOL_BEGIN();
    if (!num_cvar) {
        return MPI_T_ERR_INVALID;
    }
    *num_cvar = rz_tool_cvars();
    return MPI_SUCCESS;
}

int rzm_t_cvar_get_index(const char *name, int *cvar_index)
{
    RZ_TOOL_BEGIN();
    if (!name || !cvar_index) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < rz_tool_cvars(); i++) {
        if (strcmp(cvar_at(i).name, name) == 0) {
            *cvar_index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int rzm_t_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                        int *bind, int *scope)
{
    RZ_TOOL_BEGIN();
    if (cvar_index < 0 || cvar_index >= rz_tool_cvars()) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    static const MPI_Datatype types[] = {
        [CVAR_TEXT] = MPI_CHAR, [CVAR_SWITCH] = MPI_INT, [CVAR_NUMBER] = MPI_UNSIGNED_LONG_LONG};
    struct cvar cvar = cvar_at(cvar_index);
    rz_tool_give_text(cvar.name, name, name_len);
    rz_tool_give_text(cvar.text, desc, desc_len);
    rz_tool_give_int(cvar.verbosity, verbosity);
    rz_tool_give_int(MPI_T_BIND_NO_OBJECT, bind);
    rz_tool_give_int(scope_of(cvar_index), scope);
    if (datatype) {
        *datatype = types[cvar.type];
    }
    if (enumtype) {
        *enumtype = cvar.type == CVAR_SWITCH ? &copy_ways : MPI_T_ENUM_NULL;
    }
    return MPI_SUCCESS;
}

/* ---- Handles: no variable is bound to an object, so a handle is a number in memory ---- */

struct MPI_ABI_T_cvar_handle {
    int index;
    struct MPI_ABI_T_cvar_handle *next;
};

static struct MPI_ABI_T_cvar_handle *handles; /* list of all that were not freed */

/* Finds the handle in the list; a pointer that is not in the list is not read. */
static struct MPI_ABI_T_cvar_handle **find_cvar(MPI_T_cvar_handle handle)
{
    struct MPI_ABI_T_cvar_handle **at = &handles;
    while (*at && *at != handle) {
        at = &(*at)->next;
    }
    return at;
}

int rzm_t_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    RZ_TOOL_BEGIN();
    (void)obj_handle;
    if (cvar_index < 0 || cvar_index >= rz_tool_cvars()) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (!handle || !count) {
        return MPI_T_ERR_INVALID;
    }
    struct MPI_ABI_T_cvar_handle *made = malloc(sizeof(*made));
    if (!made) {
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    *made = (struct MPI_ABI_T_cvar_handle){.index = cvar_index, .next = handles};
    handles = made;
    *handle = made;
    *count = cvar_at(cvar_index).type == CVAR_TEXT ? TEXT_MAX : 1;
    return MPI_SUCCESS;
}

int rzm_t_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_cvar_handle **at = handle ? find_cvar(*handle) : NULL;
    if (!at || !*at) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    *at = (*at)->next;
    free(*handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

static int copy_way(const char *text)
{
    if (strcmp(text, "0") == 0) {
        return RZ_SHM_COPY_RING;
    }
    return strcmp(text, "1") == 0 ? RZ_SHM_COPY_DIRECT : RZ_SHM_COPY_AUTO;
}

int rzm_t_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    RZ_TOOL_BEGIN();
    if (!*find_cvar(handle)) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    if (!buf) {
        return MPI_T_ERR_INVALID;
    }
    struct cvar cvar = cvar_at(handle->index);
    if (cvar.type == CVAR_NUMBER) {
        *(unsigned long long *)buf = cvar.number();
        return MPI_SUCCESS;
    }
    const char *text =
        is_named(handle->index, RZ_COLL_ENVIRONMENT) ? rz_coll_rules() : getenv(cvar.name);
    text = text ? text : "";
    if (cvar.type == CVAR_SWITCH) {
        *(int *)buf = copy_way(text) - RZ_SHM_COPY_AUTO;
    } else {
        snprintf(buf, TEXT_MAX, "%s", text);
    }
    return MPI_SUCCESS;
}

static int write_kill(const char *text)
{
    if (!rz_engine.info || !rz_engine_arm_kill(text)) {
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    }
    return setenv(RZ_KILL_AT, text, 1) == 0 ? MPI_SUCCESS : MPI_T_ERR_CVAR_SET_NOT_NOW;
}

static int write_agreement(const char *text)
{
    if (rz_agreement_find(text) == RZ_AGREEMENT_ENGINES) {
        return MPI_T_ERR_INVALID;
    }
    return setenv(RZ_AGREEMENT_ENVIRONMENT, text, 1) == 0 ? MPI_SUCCESS
                                                          : MPI_T_ERR_CVAR_SET_NOT_NOW;
}

static int write_coll(const char *text)
{
    return rz_coll_set_rules(text) == MPI_SUCCESS ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int rzm_t_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    RZ_TOOL_BEGIN();
    if (!*find_cvar(handle)) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    if (!buf) {
        return MPI_T_ERR_INVALID;
    }
    if (scope_of(handle->index) == MPI_T_SCOPE_READONLY) {
        return MPI_T_ERR_CVAR_SET_NEVER;
    }
    char text[TEXT_MAX];
    if (snprintf(text, sizeof(text), "%s", (const char *)buf) >= (int)sizeof(text)) {
        return MPI_T_ERR_INVALID;
    }
    return is_named(handle->index, RZ_KILL_AT)            ? write_kill(text)
           : is_named(handle->index, RZ_COLL_ENVIRONMENT) ? write_coll(text)
                                                          : write_agreement(text);
}
