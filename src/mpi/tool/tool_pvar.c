/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_T performance variables: what the engine counts in any case. A counter of a handle runs
 * between start and stop, and holds the sum over these times; other variables always show the
 * present value.
 */
#include "mpi/tool/tool.h"

#include "base/linked_list.h"
#include "mpi/engine/waiting.h"
#include "mpi/agree/agreement.h"
#include "mpi/coll/algorithm.h"
#include "mpi/monitor/monitors.h"
#include "mpi/p2p/message.h"

#include <stdlib.h>

struct pvar {
    const char *name;
    enum rz_tool_category category;
    int class;
    uint64_t (*value)(void);
    const char *text;
};

static const char *const phase_items[] = {"not begun", "running", "ended"};
static struct MPI_ABI_T_enum phases = {"phase of the library", phase_items, 3};

#define VALUE(name, expression)                                                                    \
    static uint64_t name(void)                                                                     \
    {                                                                                              \
        return expression;                                                                         \
    }
VALUE(messages_sent, rz_engine.counters.sends)
VALUE(messages_received, rz_engine.counters.receives)
VALUE(bytes_sent, rz_engine.counters.bytes_sent)
VALUE(bytes_received, rz_engine.counters.bytes_received)
VALUE(protocol_messages_sent, rz_engine.counters.protocol_messages)
VALUE(tests_sent, rz_monitors_sent())
VALUE(tests_received, rz_monitors_received())
VALUE(unexpected, rz_engine.counters.unexpected)
VALUE(unexpected_length, rz_matcher.early.entries)
VALUE(posted_length, rz_matcher.n_listed + (rz_matcher.lone != NULL))
VALUE(completions, rz_engine.completions)
VALUE(dropped_foreign, rz_engine.counters.foreign)
VALUE(dropped_old_epoch, rz_engine.counters.old_epoch)
VALUE(dropped_future_epoch, rz_engine.counters.future_epoch)
VALUE(dropped_old_incarnation, rz_engine.counters.old_incarnation)
VALUE(epoch, rz_engine.epoch)
VALUE(incarnation, rz_engine.info ? rz_engine.info->self.incarnation : 0)
VALUE(failed, rz_liveness.n_failed)
VALUE(sessions, rz_sessions_open)
VALUE(phase, rz_phase)
VALUE(agreed_era, rz_agreement_counters.decided[RZ_AGREEMENT_ERA])
VALUE(agreed_twophase, rz_agreement_counters.decided[RZ_AGREEMENT_TWOPHASE])
VALUE(agreed_gossip1, rz_agreement_counters.decided[RZ_AGREEMENT_GOSSIP1])
VALUE(agreed_gossip2, rz_agreement_counters.decided[RZ_AGREEMENT_GOSSIP2])
VALUE(agreed_gossip3, rz_agreement_counters.decided[RZ_AGREEMENT_GOSSIP3])
VALUE(chosen_tree, rz_coll_chosen[RZ_COLL_TREE])
VALUE(chosen_flat, rz_coll_chosen[RZ_COLL_FLAT])
VALUE(chosen_dissemination, rz_coll_chosen[RZ_COLL_DISSEMINATION])
VALUE(chosen_doubling, rz_coll_chosen[RZ_COLL_DOUBLING])
VALUE(chosen_direct, rz_coll_chosen[RZ_COLL_DIRECT])
VALUE(chosen_halving, rz_coll_chosen[RZ_COLL_HALVING])
VALUE(chosen_ring, rz_coll_chosen[RZ_COLL_RING])
VALUE(chosen_bruck, rz_coll_chosen[RZ_COLL_BRUCK])
VALUE(chosen_chain, rz_coll_chosen[RZ_COLL_CHAIN])
VALUE(chosen_scatter, rz_coll_chosen[RZ_COLL_SCATTER])
VALUE(chosen_cells, rz_coll_chosen[RZ_COLL_CELLS])
VALUE(chosen_leaders, rz_coll_chosen[RZ_COLL_LEADERS])
VALUE(agreement_fallbacks, rz_agreement_counters.fallbacks)

#define CHOSEN(algorithm)                                                                          \
    {                                                                                              \
        "rz_coll_" #algorithm, RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, chosen_##algorithm,     \
            "Collective operations, and parts of them, for which the algorithm " #algorithm        \
            " was chosen (RZ_COLL)"                                                                \
    }

static const struct pvar pvar_table[] = {
    {"rz_messages_sent", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, messages_sent,
     "Messages sent, those inside collective operations included"},
    {"rz_messages_received", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, messages_received,
     "Messages received, those inside collective operations included"},
    {"rz_bytes_sent", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, bytes_sent,
     "Bytes of payload in the messages sent"},
    {"rz_bytes_received", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, bytes_received,
     "Bytes of payload in the messages received"},
    {"rz_unexpected", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, unexpected,
     "Messages that came before their receive was posted"},
    {"rz_unexpected_length", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_LEVEL, unexpected_length,
     "Messages that wait for their receive now"},
    {"rz_posted_length", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_LEVEL, posted_length,
     "Receives that wait for their message now"},
    {"rz_completions", RZ_TOOL_MESSAGES, MPI_T_PVAR_CLASS_COUNTER, completions,
     "Requests completed, those of the library itself included; a send that left at once has none"},
    {"rz_dropped_foreign", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, dropped_foreign,
     "Messages dropped because they were of another job or malformed"},
    {"rz_dropped_old_epoch", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, dropped_old_epoch,
     "Messages dropped because a roll-back came after them"},
    {"rz_dropped_future_epoch", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, dropped_future_epoch,
     "Messages dropped because they came before a roll-back was known here"},
    {"rz_dropped_old_incarnation", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER,
     dropped_old_incarnation, "Messages dropped because their sender has been replaced"},
    {"rz_epoch", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_GENERIC, epoch,
     "The epoch of the job: it grows with each recovery"},
    {"rz_incarnation", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_GENERIC, incarnation,
     "How many processes have had this rank, this one included"},
    {"rz_failed", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_LEVEL, failed,
     "Processes of the job known to have failed in this epoch"},
    {"rz_protocol_messages_sent", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER,
     protocol_messages_sent, "Messages sent for agreement and revocation"},
    {"rz_tests_sent", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, tests_sent,
     "Datagrams sent by group monitors: tests, answers, votes"},
    {"rz_tests_received", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, tests_received,
     "Datagrams received by group monitors"},
    {"rz_agreed_era", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreed_era,
     "Agreements that ended here, those of the library itself included, by the engine era"},
    {"rz_agreed_twophase", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreed_twophase,
     "The same by twophase"},
    {"rz_agreed_gossip1", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreed_gossip1,
     "The same by gossip1"},
    {"rz_agreed_gossip2", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreed_gossip2,
     "The same by gossip2"},
    {"rz_agreed_gossip3", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreed_gossip3,
     "The same by gossip3"},
    {"rz_agreement_fallbacks", RZ_TOOL_FAILURES, MPI_T_PVAR_CLASS_COUNTER, agreement_fallbacks,
     "Agreements by gossip whose check agreed on other failed processes than gossip had found"},
    CHOSEN(tree),
    CHOSEN(flat),
    CHOSEN(dissemination),
    CHOSEN(doubling),
    CHOSEN(direct),
    CHOSEN(halving),
    CHOSEN(ring),
    CHOSEN(bruck),
    CHOSEN(chain),
    CHOSEN(scatter),
    CHOSEN(cells),
    CHOSEN(leaders),
    {"rz_sessions", RZ_TOOL_JOB, MPI_T_PVAR_CLASS_LEVEL, sessions, "Sessions that are open"},
    {"rz_phase", RZ_TOOL_JOB, MPI_T_PVAR_CLASS_STATE, phase, "The phase of the library"},
};
#define N_PVARS ((int)(sizeof(pvar_table) / sizeof(pvar_table[0])))

struct MPI_ABI_T_pvar_handle {
    const struct pvar *pvar;
    bool runs;
    uint64_t sum;  /* of a counter: the sum until it was last started or stopped */
    uint64_t from; /* of a running counter: the variable when it was started */
    struct MPI_ABI_T_pvar_handle *next;
};

struct MPI_ABI_T_pvar_session {
    struct MPI_ABI_T_pvar_handle *handles;
    struct MPI_ABI_T_pvar_session *next;
};

static struct MPI_ABI_T_pvar_session *sessions_first;

int rz_tool_pvars(void)
{
    return N_PVARS;
}

enum rz_tool_category rz_tool_pvar_category(int index)
{
    return pvar_table[index].category;
}

static bool is_counter(const struct pvar *pvar)
{
    return pvar->class == MPI_T_PVAR_CLASS_COUNTER;
}

/* ---- Inquiries ---- */

int rzm_t_pvar_get_num(int *num_pvar)
{
    RZ_TOOL_BEGIN();
    if (!num_pvar) {
        return MPI_T_ERR_INVALID;
    }
    *num_pvar = N_PVARS;
    return MPI_SUCCESS;
}

int rzm_t_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    RZ_TOOL_BEGIN();
    if (!name || !pvar_index) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < N_PVARS; i++) {
        if (strcmp(pvar_table[i].name, name) == 0 && pvar_table[i].class == var_class) {
            *pvar_index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int rzm_t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                        int *bind, int *readonly, int *continuous, int *atomic)
{
    RZ_TOOL_BEGIN();
    if (pvar_index < 0 || pvar_index >= N_PVARS) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    const struct pvar *pvar = &pvar_table[pvar_index];
    bool state = pvar->class == MPI_T_PVAR_CLASS_STATE, counter = is_counter(pvar);
    rz_tool_give_text(pvar->name, name, name_len);
    rz_tool_give_text(pvar->text, desc, desc_len);
    rz_tool_give_int(MPI_T_VERBOSITY_USER_BASIC, verbosity);
    rz_tool_give_int(pvar->class, var_class);
    rz_tool_give_int(MPI_T_BIND_NO_OBJECT, bind);
    rz_tool_give_int(!counter, readonly);
    rz_tool_give_int(!counter, continuous);
    rz_tool_give_int(counter, atomic);
    if (datatype) {
        *datatype = state ? MPI_INT : MPI_UNSIGNED_LONG_LONG;
    }
    if (enumtype) {
        *enumtype = state ? &phases : MPI_T_ENUM_NULL;
    }
    return MPI_SUCCESS;
}

/* ---- Sessions and handles ---- */

static bool is_session(MPI_T_pvar_session session)
{
    const struct MPI_ABI_T_pvar_session *at = sessions_first;
    while (at && at != session) {
        at = at->next;
    }
    return at != NULL;
}

int rzm_t_pvar_session_create(MPI_T_pvar_session *session)
{
    RZ_TOOL_BEGIN();
    if (!session) {
        return MPI_T_ERR_INVALID;
    }
    struct MPI_ABI_T_pvar_session *made = calloc(1, sizeof(*made));
    if (!made) {
        return MPI_T_ERR_OUT_OF_SESSIONS;
    }
    made->next = sessions_first;
    sessions_first = made;
    *session = made;
    return MPI_SUCCESS;
}

int rzm_t_pvar_session_free(MPI_T_pvar_session *session)
{
    RZ_TOOL_BEGIN();
    if (!session || !is_session(*session)) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    struct MPI_ABI_T_pvar_session *gone = *session;
    rz_list_unlink(&sessions_first, gone);
    struct MPI_ABI_T_pvar_handle *handle;
    while ((handle = gone->handles) != NULL) {
        gone->handles = handle->next;
        free(handle);
    }
    free(gone);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int rzm_t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                            MPI_T_pvar_handle *handle, int *count)
{
    RZ_TOOL_BEGIN();
    (void)obj_handle;
    if (!is_session(session)) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    if (pvar_index < 0 || pvar_index >= N_PVARS) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (!handle || !count) {
        return MPI_T_ERR_INVALID;
    }
    struct MPI_ABI_T_pvar_handle *made = calloc(1, sizeof(*made));
    if (!made) {
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    made->pvar = &pvar_table[pvar_index];
    made->next = session->handles;
    session->handles = made;
    *handle = made;
    *count = 1;
    return MPI_SUCCESS;
}

/* Finds the handle in the session: MPI_T_ERR_INVALID_SESSION, _HANDLE. */
static int find_pvar(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                     struct MPI_ABI_T_pvar_handle ***found)
{
    if (!is_session(session)) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    struct MPI_ABI_T_pvar_handle **at = &session->handles;
    while (*at && *at != handle) {
        at = &(*at)->next;
    }
    *found = at;
    return *at ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int rzm_t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_pvar_handle **at;
    if (!handle) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    int error = find_pvar(session, *handle, &at);
    if (error == MPI_SUCCESS) {
        *at = (*handle)->next;
        free(*handle);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return error;
}

/* ---- Operations on one handle, or on all of a session ---- */

static uint64_t value_of(const struct MPI_ABI_T_pvar_handle *handle)
{
    uint64_t now = handle->pvar->value();
    if (!is_counter(handle->pvar)) {
        return now;
    }
    return handle->sum + (handle->runs ? now - handle->from : 0);
}

static void set(struct MPI_ABI_T_pvar_handle *handle, uint64_t value)
{
    handle->sum = value;
    handle->from = handle->pvar->value();
}

static void start(struct MPI_ABI_T_pvar_handle *handle)
{
    set(handle, value_of(handle));
    handle->runs = true;
}

static void stop(struct MPI_ABI_T_pvar_handle *handle)
{
    set(handle, value_of(handle));
    handle->runs = false;
}

static void reset(struct MPI_ABI_T_pvar_handle *handle)
{
    set(handle, 0);
}

/* MPI_T_PVAR_ALL_HANDLES applies to the counters among the handles of the session. */
static int apply(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                 void (*action)(struct MPI_ABI_T_pvar_handle *handle), int refusal)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_pvar_handle **at;
    if (handle == MPI_T_PVAR_ALL_HANDLES && is_session(session)) {
        for (struct MPI_ABI_T_pvar_handle *each = session->handles; each; each = each->next) {
            if (is_counter(each->pvar)) {
                action(each);
            }
        }
        return MPI_SUCCESS;
    }
    int error = find_pvar(session, handle, &at);
    if (error == MPI_SUCCESS && !is_counter(handle->pvar)) {
        error = refusal;
    }
    if (error == MPI_SUCCESS) {
        action(handle);
    }
    return error;
}

int rzm_t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, start, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int rzm_t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, stop, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int rzm_t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, reset, MPI_T_ERR_PVAR_NO_WRITE);
}

int rzm_t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_pvar_handle **at;
    int error = find_pvar(session, handle, &at);
    if (error != MPI_SUCCESS || !buf) {
        return error != MPI_SUCCESS ? error : MPI_T_ERR_INVALID;
    }
    if (handle->pvar->class == MPI_T_PVAR_CLASS_STATE) {
        *(int *)buf = (int)value_of(handle);
    } else {
        *(unsigned long long *)buf = value_of(handle);
    }
    return MPI_SUCCESS;
}

int rzm_t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_pvar_handle **at;
    int error = find_pvar(session, handle, &at);
    if (error == MPI_SUCCESS && !is_counter(handle->pvar)) {
        error = MPI_T_ERR_PVAR_NO_ATOMIC;
    }
    error = error != MPI_SUCCESS ? error : rzm_t_pvar_read(session, handle, buf);
    return error != MPI_SUCCESS ? error : rzm_t_pvar_reset(session, handle);
}

int rzm_t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    RZ_TOOL_BEGIN();
    struct MPI_ABI_T_pvar_handle **at;
    int error = find_pvar(session, handle, &at);
    if (error != MPI_SUCCESS || !buf) {
        return error != MPI_SUCCESS ? error : MPI_T_ERR_INVALID;
    }
    if (!is_counter(handle->pvar)) {
        return MPI_T_ERR_PVAR_NO_WRITE;
    }
    set(handle, *(const unsigned long long *)buf);
    return MPI_SUCCESS;
}
