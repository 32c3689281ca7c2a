/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_spawn and MPI_Comm_spawn_multiple.
 *
 *   1. The root has its daemon start the processes, and waits until each has sent READY or is gone.
 *   2. The root tells the members of comm the numbers of the processes; each member makes the
 *      inter-communicator and confirms.
 *   3. The root sends GO to the processes, whose MPI_Init ends then (parent.c). Each answers GOING.
 *      Then the root tells comm that the call has succeeded. Earlier it must not: it could fail
 *      with a GO still on its way, and the processes would end although members have an
 *      inter-communicator with them.
 *
 * Where the root returns an error, whatever its cause, the processes are ended; where it fails
 * before it has sent GO, they exit by themselves. So a failed spawn leaves no process that could
 * communicate with the parents. If one member returns MPI_SUCCESS, all have made the
 * inter-communicator; members that did not learn of the success have revoked and ended it.
 */
#include "mpi/create/comm_creation.h"
#include "base/trace.h"
#include "mpi/create/create_hooks.h"
#include "mpi/create/dynamic.h"
#include "mpi/create/parent.h"
#include "mpi/create/spawn_commands.h"

#include "base/linked_list.h"
#include "base/random.h"
#include "mpi/create/setup_message.h"
#include "mpi/agree/comm_revoke.h"
#include "port/kill_point.h"

#include <stdlib.h>

#define SPAWN UINT64_C(0x5397)

/* ---- The daemon's part ---- */

/* A spawn order that the daemon has not answered yet. Several threads may have one each. */
struct spawn {
    uint64_t question;
    bool answered;
    rz_status_t status;
    struct rz_link_process *processes; /* [n], in order of rank */
    uint32_t n;
    struct spawn *next;
};

static struct spawn *start_spawns;
static uint64_t last_spawn_question;

static void spawned(void *arg, const struct rz_link_message *message, const int *fds,
                    unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    const struct rz_link_spawned *told = &message->spawned;
    struct spawn *spawn = start_spawns;
    while (spawn && spawn->question != told->question) {
        spawn = spawn->next;
    }
    if (!spawn) {
        return;
    }
    uint32_t n = told->processes_length / RZ_LINK_PAIR_BYTES;
    spawn->answered = true;
    spawn->status = (rz_status_t)told->status;
    spawn->processes = calloc(n + 1, sizeof(*spawn->processes));
    spawn->n = spawn->processes ? n : 0;
    rz_link_get_pairs(told->processes, told->processes_length, spawn->processes, spawn->n);
    rz_engine.completions++;
}

static bool spawn_is_answered(void *arg)
{
    return ((struct spawn *)arg)->answered;
}

/* Passes the order to the daemon and waits for the answer: MPI_SUCCESS (spawn->status is the
 * result) or RZM_ROLLBACK. */
static int ask(const struct rz_news *order, uint32_t n, const struct rz_news *parent,
               const char *call, struct spawn *spawn)
{
    *spawn = (struct spawn){.question = ++last_spawn_question, .next = start_spawns};
    start_spawns = spawn;
    rz_link_handle(rz_engine.link, RZ_LINK_SPAWNED, spawned, NULL);
    RZ_TRACE(SPAWN_ASK, n, 0, 0);
    rz_kill_here(RZ_KILL_SPAWN);
    rz_engine_tell_daemon(
        &(struct rz_link_message){.type = RZ_LINK_SPAWN,
                                  .spawn = {.question = spawn->question,
                                            .count = n,
                                            .commands = order->data,
                                            .commands_length = (uint32_t)order->bytes,
                                            .parent = parent->data,
                                            .parent_length = (uint32_t)parent->bytes}});
    struct rz_blocked blocked = {.call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_wait(&blocked, spawn_is_answered, spawn);
    rz_list_unlink(&start_spawns, spawn);
    return error;
}

/* ---- The spawned processes, at the root ---- */

/* What the root sends to all members. */
struct spawn_news {
    int32_t error;   /* MPI_SUCCESS, or that of the call */
    uint32_t wanted; /* requested number of processes */
    uint32_t n;      /* number of entries: one for each process, or none */
    struct {
        uint32_t process; /* its number */
        int32_t code;     /* MPI_SUCCESS, or MPI_ERR_SPAWN */
    } item[];
};

static size_t news_bytes(uint32_t n)
{
    return sizeof(struct spawn_news) + n * sizeof(((struct spawn_news *)0)->item[0]);
}

/* The root waits for a setup message of each spawned process. */
struct gathering {
    enum rz_setup_kind kind;
    const struct rz_comm *comm; /* the wait ends when it breaks; NULL: it does not */
    uint64_t order;
    const struct spawn_news *news;
    bool *said;
};

static uint32_t find(const struct spawn_news *news, uint32_t process)
{
    uint32_t i = 0;
    while (i < news->n && news->item[i].process != process) {
        i++;
    }
    return i;
}

static bool all_have_said_it(void *arg)
{
    struct gathering *gathering = arg;
    const struct spawn_news *news = gathering->news;
    struct rz_setup_message *word;
    while ((word = rz_setup_message_take(gathering->kind, gathering->order)) != NULL) {
        uint32_t i = find(news, word->process);
        if (i < news->n) {
            gathering->said[i] = true;
        }
        free(word);
    }
    bool waits = false;
    for (uint32_t i = 0; i < news->n; i++) {
        waits = waits || !(gathering->said[i] || rz_dynamic_is_gone(news->item[i].process));
    }
    return !waits || (gathering->comm && rz_dynamic_is_broken(gathering->comm));
}

static int gather(struct gathering *gathering, const char *call)
{
    struct rz_blocked blocked = {
        .call = call, .comm = gathering->comm, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    gathering->said = calloc(gathering->news->n, sizeof(bool));
    return gathering->said ? rz_engine_wait(&blocked, all_have_said_it, gathering) : MPI_ERR_NO_MEM;
}

/* Waits until the processes are in MPI_Init; one that is gone before gets the code
 * MPI_ERR_SPAWN. */
static int gather_ready(const struct rz_comm *comm, struct spawn_news *news, uint64_t order,
                        const char *call)
{
    struct gathering gathering = {
        .kind = RZ_SETUP_READY, .comm = comm, .order = order, .news = news};
    int error = gather(&gathering, call);
    if (error == MPI_SUCCESS && rz_dynamic_is_broken(comm)) {
        error = rz_dynamic_why_broken(comm);
    }
    uint32_t lost = 0;
    for (uint32_t i = 0; i < news->n && error == MPI_SUCCESS; i++) {
        bool is_lost = !gathering.said[i] || rz_dynamic_is_gone(news->item[i].process);
        news->item[i].code = is_lost ? MPI_ERR_SPAWN : MPI_SUCCESS;
        lost += is_lost;
    }
    free(gathering.said);
    return lost == 0 ? error
                     : rzm_error(MPI_ERR_SPAWN,
                                 "%u of %u processes did not reach MPI_Init: the program cannot "
                                 "be executed, or has ended or failed before",
                                 lost, news->n);
}

static void send_processes(enum rz_link_type type, const struct rz_link_process *processes,
                           uint32_t n)
{
    uint8_t *pairs = malloc((size_t)n * RZ_LINK_PAIR_BYTES + 1);
    if (!pairs || n == 0) {
        free(pairs);
        return;
    }
    rz_link_put_pairs(pairs, processes, n);
    uint32_t length = n * RZ_LINK_PAIR_BYTES;
    struct rz_link_message message = {.type = type};
    if (type == RZ_LINK_ABORT) {
        message.abort.reason = "MPI_Comm_spawn has failed";
        message.abort.processes = pairs;
        message.abort.processes_length = length;
    } else {
        message.acknowledged.processes = pairs;
        message.acknowledged.processes_length = length;
    }
    rz_engine_tell_daemon(&message);
    free(pairs);
}

/* The call returns an error: ends the processes that were started for it, without a failure of the
 * job. They end as by an abort with code 0. */
static void undo(const struct spawn *spawn)
{
    send_processes(RZ_LINK_ACKNOWLEDGED, spawn->processes, spawn->n);
    send_processes(RZ_LINK_ABORT, spawn->processes, spawn->n);
}

/* Continues whatever happens to comm meanwhile, since some processes may have got GO already. */
static int go(const struct spawn_news *news, uint64_t order, const char *call)
{
    for (uint32_t i = 0; i < news->n; i++) {
        rz_kill_here(RZ_KILL_GO);
        int error = rz_setup_message_send(news->item[i].process, RZ_SETUP_GO, order, NULL, 0);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    struct gathering gathering = {.kind = RZ_SETUP_GOING, .order = order, .news = news};
    int error = gather(&gathering, call);
    free(gathering.said);
    return error;
}

/* ---- The root ---- */

struct spawning {
    const struct rz_spawn_arguments *arguments;
    const char *call;
    struct rz_comm *comm;
    int root;
    uint64_t operation;
    struct spawn spawn;      /* used at the root */
    struct spawn_news *news; /* at all members, once received; NULL: nothing was received */
    struct spawning *next;   /* at the root */
};

/* The spawn calls of which this process is the root; a message about another spawn comes too
 * late. */
static struct spawning *spawnings;

static void words_of(const struct spawning *spawning, uint64_t words[3])
{
    words[0] = spawning->comm->context;
    words[1] = spawning->operation;
    words[2] = SPAWN;
}

static uint64_t order_of(const struct spawning *spawning)
{
    return rz_mix(rz_mix(spawning->comm->context, spawning->operation), SPAWN);
}

static void spawning_begin(struct spawning *spawning)
{
    spawning->next = spawnings;
    spawnings = spawning;
}

static void spawning_end(const struct spawning *spawning)
{
    rz_list_unlink(&spawnings, spawning);
    for (int kind = RZ_SETUP_READY; kind <= RZ_SETUP_GOING; kind++) {
        struct rz_setup_message *word;
        while ((word = rz_setup_message_take((enum rz_setup_kind)kind, order_of(spawning))) !=
               NULL) {
            free(word);
        }
    }
}

bool rz_spawn_answers(const struct rz_setup_message *word)
{
    const struct spawning *spawning = spawnings;
    while (spawning && order_of(spawning) != word->about) {
        spawning = spawning->next;
    }
    return !spawning && (word->kind == RZ_SETUP_READY || word->kind == RZ_SETUP_GOING);
}

static int start(struct spawning *spawning, const struct rz_news *order, uint32_t n)
{
    struct rz_news parent = {0};
    struct rz_parent_message protocol_message = {
        .order = order_of(spawning), .root = rz_comm_process(spawning->comm, spawning->root)};
    words_of(spawning, protocol_message.words);
    /* An answer would come to the process that asked, not to one that became its image. */
    if (rz_engine.rewinds) {
        return rzm_error(MPI_ERR_SPAWN, "no process can be started %s", rz_dynamic_refusal());
    }
    int error = rz_parent_write(&protocol_message, spawning->comm->group, &parent);
    if (error == MPI_SUCCESS) {
        error = ask(order, n, &parent, spawning->call, &spawning->spawn);
    }
    free(parent.data);
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_kill_here(RZ_KILL_SPAWNED);
    const struct spawn *spawn = &spawning->spawn;
    if (spawn->status == RZ_OK && spawn->n != n) {
        return MPI_ERR_NO_MEM; /* there was no memory for the answer */
    }
    const char *why = rz_dynamic_refusal();
    if (spawn->status == RZ_ERR_UNSUPPORTED) {
        return rzm_error(MPI_ERR_SPAWN, "no process can be started %s",
                         why ? why : "where the job begins or ends");
    }
    if (spawn->status == RZ_ERR_NO_MEMORY) {
        return rzm_error(MPI_ERR_SPAWN, "the job has no slots for %u more processes", n);
    }
    if (spawn->status == RZ_ERR_TRUNCATE) {
        return rzm_error(MPI_ERR_SPAWN,
                         "%u processes, spawned by %d, are too many for one call: their numbers "
                         "do not fit into a message of %u bytes; spawn fewer at a time",
                         n, spawning->comm->group->size, RZ_LINK_MESSAGE_MAX);
    }
    return spawn->status == RZ_OK ? MPI_SUCCESS
                                  : rzm_error(MPI_ERR_SPAWN, "%u processes cannot be started: %s",
                                              n, rz_status_text(spawn->status));
}

/* What the members are told, whatever the result of the order; NULL: no memory. */
static struct spawn_news *news_new(uint32_t wanted, uint32_t n)
{
    struct spawn_news *news = calloc(1, news_bytes(n));
    if (news) {
        news->wanted = wanted;
        news->n = n;
    }
    return news;
}

/* The root's part up to the message to the members. */
static int beget(struct spawning *spawning)
{
    struct rz_news order = {0};
    uint32_t n = 0;
    int error = rz_spawn_commands_write(spawning->arguments, &order, &n);
    if (error == MPI_SUCCESS && rz_dynamic_is_broken(spawning->comm)) {
        error = rz_dynamic_why_broken(spawning->comm);
    }
    error = error != MPI_SUCCESS ? error : start(spawning, &order, n);
    free(order.data);
    spawning->news = news_new(n, error == MPI_SUCCESS ? n : 0);
    if (!spawning->news) {
        error = MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < n && error == MPI_SUCCESS; i++) {
        const struct rz_link_process *process = &spawning->spawn.processes[i];
        spawning->news->item[i].process = rz_engine_number(process->slot, process->incarnation);
        spawning->news->item[i].code = MPI_ERR_SPAWN; /* until it is ready */
    }
    return error != MPI_SUCCESS
               ? error
               : gather_ready(spawning->comm, spawning->news, order_of(spawning), spawning->call);
}

/* ---- All members ---- */

/* The root sends the same result to all members, including errors of the order, so that all
 * confirm. */
static int tell(struct spawning *spawning, int error)
{
    struct rz_news news = {spawning->news, spawning->news ? news_bytes(spawning->news->n) : 0};
    bool is_root = rz_comm_rank(spawning->comm) == spawning->root;
    if (error == RZM_ROLLBACK) {
        return error;
    }
    if (is_root && spawning->news) {
        spawning->news->error = error;
    }
    const char *why = rz_dynamic_refusal();
    int told = rz_news_tell(spawning->comm, spawning->operation, spawning->root,
                            is_root && !spawning->news ? error : MPI_SUCCESS, &news);
    if (told != MPI_SUCCESS && !is_root) { /* it may have arrived in part */
        free(news.data);
        news.data = NULL;
    }
    spawning->news = news.data;
    if (told == MPI_SUCCESS && !is_root && spawning->news->error != MPI_SUCCESS) {
        error = why ? rzm_error(spawning->news->error, "no process can be started %s", why)
                    : rzm_error(spawning->news->error, "the root could not start the processes");
    }
    return error != MPI_SUCCESS ? error : told;
}

static int make_spawned(const struct spawning *spawning, struct rz_comm **intercomm)
{
    const struct spawn_news *news = spawning->news;
    uint64_t words[3];
    uint32_t *processes = malloc(news->n * sizeof(*processes));
    if (!processes) {
        return MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < news->n; i++) {
        processes[i] = news->item[i].process;
    }
    struct rz_group *children = rz_group_new((int)news->n, processes);
    free(processes);
    if (!children) {
        return MPI_ERR_NO_MEM;
    }
    words_of(spawning, words);
    int error = rz_dynamic_make(words, spawning->comm, children, spawning->call, intercomm);
    rz_group_release(children);
    return error;
}

static void give_codes(const struct spawn_news *news, int *codes)
{
    for (uint32_t i = 0; news && codes && i < news->wanted; i++) {
        codes[i] = i < news->n ? news->item[i].code : MPI_ERR_SPAWN;
    }
}

/* The root ends what it has begun, after success or an error. */
static int let_go(const struct spawning *spawning, int error)
{
    if (error == MPI_SUCCESS) {
        error = go(spawning->news, order_of(spawning), spawning->call);
    }
    if (error != MPI_SUCCESS && error != RZM_ROLLBACK) {
        undo(&spawning->spawn);
    }
    return error;
}

static int spawn(struct spawning *spawning, struct rz_comm **intercomm, int *codes)
{
    struct rz_comm *comm = spawning->comm, *made = NULL;
    bool is_root = rz_comm_rank(comm) == spawning->root;
    if (comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    int error = rz_comm_create_begin(comm, spawning->call, &spawning->operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (is_root) {
        spawning_begin(spawning);
    }
    error = tell(spawning, is_root ? beget(spawning) : MPI_SUCCESS);
    error = error != MPI_SUCCESS ? error : make_spawned(spawning, &made);
    error = rz_dynamic_confirm(comm, spawning->operation, spawning->root, error);
    if (is_root) {
        error = let_go(spawning, error);
        spawning_end(spawning);
    }
    error = rz_dynamic_result(comm, spawning->operation, spawning->root, error);
    if (error != RZM_ROLLBACK) {
        give_codes(spawning->news, codes);
    }
    free(spawning->news);
    free(spawning->spawn.processes);
    if (error == MPI_SUCCESS) {
        *intercomm = made;
    } else if (made && error != RZM_ROLLBACK) {
        rz_comm_revoke(made); /* other members may have it, and wait for us */
        rz_comm_release(made);
    }
    return error;
}

int rzm_comm_spawn(const char *command, char *argv[], int maxprocs, struct rz_info *info, int root,
                   struct rz_comm *comm, struct rz_comm **intercomm, int array_of_errcodes[])
{
    char *name = (char *)(uintptr_t)command; /* never written to */
    struct rz_spawn_arguments arguments = {
        .count = 1, .commands = &name, .argvs = &argv, .maxprocs = &maxprocs, .infos = &info};
    struct spawning spawning = {
        .arguments = &arguments, .call = "MPI_Comm_spawn", .comm = comm, .root = root};
    return spawn(&spawning, intercomm, array_of_errcodes);
}

int rzm_comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                            const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                            struct rz_comm *comm, struct rz_comm **intercomm,
                            int array_of_errcodes[])
{
    struct rz_spawn_arguments arguments = {.count = 0};
    struct rz_info **infos = NULL;
    if (rz_comm_rank(comm) == root && !(comm->object.flags & RZ_COMM_INTER)) {
        infos = calloc((size_t)count, sizeof(struct rz_info *));
        if (!infos) {
            return MPI_ERR_NO_MEM;
        }
        for (int i = 0; i < count; i++) {
            infos[i] = array_of_info[i] != MPI_INFO_NULL ? rz_info_of(array_of_info[i]) : NULL;
        }
        arguments = (struct rz_spawn_arguments){.count = count,
                                                .commands = array_of_commands,
                                                .argvs = array_of_argv,
                                                .maxprocs = array_of_maxprocs,
                                                .infos = infos};
    }
    struct spawning spawning = {
        .arguments = &arguments, .call = "MPI_Comm_spawn_multiple", .comm = comm, .root = root};
    int error = spawn(&spawning, intercomm, array_of_errcodes);
    free(infos);
    return error;
}
