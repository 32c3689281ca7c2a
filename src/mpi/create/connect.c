/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_connect and MPI_Comm_accept. The roots exchange setup messages; each informs its group.
 *
 *     connecting root                        accepting root
 *        CONNECT (its group)  -------------->   takes the oldest; tells its group, all confirm
 *        tells its group, all confirm  <-----   ACCEPT (its group)
 *        ACCEPT  --------------------------->   both groups have made the inter-communicator
 *
 * A connecting root that stops waiting for ACCEPT sends LEAVE, and its CONNECT is not taken; if it
 * was just taken, the root answers ACCEPT by REFUSE. A root that cannot continue sends REFUSE in
 * place of ACCEPT; after REFUSE, or when a root is gone, the other root returns an error, too. The
 * roots succeed when the last message has left; each tells its group so. A member that does not
 * learn of the success has made the inter-communicator already: it revokes it, so that no process
 * waits for that member there.
 */
#include "mpi/create/comm_creation.h"
#include "mpi/create/create_hooks.h"
#include "mpi/create/dynamic.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "mpi/create/service.h"
#include "mpi/create/setup_message.h"
#include "mpi/agree/comm_revoke.h"
#include "port/clock.h"
#include "port/kill_point.h"

#include <stdlib.h>

#define MEET UINT64_C(0xacce97)

/* What the roots send to each other, before the process numbers of the group. The last ACCEPT has
 * only this. */
struct offer {
    uint64_t id;   /* answers carry this id */
    uint64_t seed; /* one of the two words of which the context id is made */
    int32_t error; /* of REFUSE: the error class */
    uint32_t n;    /* number of members */
};

/* A root that waits for an answer with its id; an answer with another id comes too late. */
struct waiting {
    uint64_t id;
    struct waiting *next;
};

static struct waiting *all_waiting;

static bool a_process_waits(uint64_t id)
{
    struct waiting *waiting = all_waiting;
    while (waiting && waiting->id != id) {
        waiting = waiting->next;
    }
    return waiting != NULL;
}

/* ---- Setup messages ---- */

static bool read_offer(const struct rz_setup_message *word, struct offer *offer)
{
    if (word->bytes < sizeof(*offer)) {
        return false;
    }
    memcpy(offer, word->data, sizeof(*offer));
    return word->bytes == sizeof(*offer) + offer->n * sizeof(uint32_t);
}

/* Sends offer, with the processes of group where it is given. MPI_ERR_NO_MEM. */
static int say(uint32_t process, enum rz_setup_kind kind, uint64_t about, const struct offer *offer,
               const struct rz_group *group)
{
    if (!group) {
        return rz_setup_message_send(process, kind, about, offer, sizeof(*offer));
    }
    size_t numbers = (size_t)group->size * sizeof(group->process[0]);
    char *bytes = malloc(sizeof(*offer) + numbers);
    if (!bytes) {
        return MPI_ERR_NO_MEM;
    }
    struct offer said = *offer;
    said.n = (uint32_t)group->size;
    memcpy(bytes, &said, sizeof(said));
    memcpy(bytes + sizeof(said), group->process, numbers);
    int error = rz_setup_message_send(process, kind, about, bytes, sizeof(said) + numbers);
    free(bytes);
    return error;
}

static void refuse(uint32_t process, uint64_t id, int error)
{
    struct offer why = {.error = error};
    /* The other root would wait for ever. */
    rz_need_memory(say(process, RZ_SETUP_REFUSE, id, &why, NULL) == MPI_SUCCESS,
                   "to refuse a connection");
}

/* Ends the wait: drops the messages with this id that have arrived; later ones are not taken. */
static void waiting_end(struct waiting *waiting)
{
    rz_list_unlink(&all_waiting, waiting);
    for (struct rz_setup_message *word;
         (word = rz_setup_message_take(RZ_SETUP_ACCEPT, waiting->id)) != NULL;) {
        rz_connect_answers(word);
        free(word);
    }
    free(rz_setup_message_take(RZ_SETUP_REFUSE, waiting->id));
}

/* A process has sent LEAVE: marks its CONNECT as withdrawn, so that no accept takes it. It is not
 * removed, since this may be called while the messages are searched. */
static void withdraw(const struct rz_setup_message *leaves, uint64_t id)
{
    struct rz_setup_message *word = NULL;
    struct offer offer;
    while ((word = rz_setup_message_next(RZ_SETUP_CONNECT, word)) != NULL) {
        word->withdrawn =
            word->withdrawn || (word->process == leaves->process && word->about == leaves->about &&
                                read_offer(word, &offer) && offer.id == id);
    }
}

bool rz_connect_answers(const struct rz_setup_message *word)
{
    struct offer offer;
    bool concerns = word->kind == RZ_SETUP_CONNECT || word->kind == RZ_SETUP_ACCEPT ||
                    word->kind == RZ_SETUP_REFUSE || word->kind == RZ_SETUP_LEAVE;
    if (!concerns) {
        return false;
    }
    if (!read_offer(word, &offer)) {
        return true;
    }
    if (word->kind == RZ_SETUP_LEAVE) {
        withdraw(word, offer.id);
        return true;
    }
    if (word->kind == RZ_SETUP_CONNECT) {
        if (rz_port_is_open(word->about)) {
            return false;
        }
        refuse(word->process, offer.id, MPI_ERR_PORT);
        return true;
    }
    if (a_process_waits(word->about)) {
        return false;
    }
    if (word->kind == RZ_SETUP_ACCEPT && offer.id != 0) { /* the sender waits for our answer */
        refuse(word->process, offer.id, MPI_ERR_PROC_FAILED);
    }
    return true;
}

static void turn_away(uint64_t port)
{
    for (struct rz_setup_message *word;
         (word = rz_setup_message_take(RZ_SETUP_CONNECT, port)) != NULL;) {
        struct offer offer;
        if (read_offer(word, &offer)) {
            refuse(word->process, offer.id, MPI_ERR_PORT);
        }
        free(word);
    }
}

/* ---- A connect or accept call ---- */

struct meeting {
    const char *call;
    struct rz_comm *comm;
    int root;
    uint64_t operation;
    /* Used at the root. */
    uint64_t port;
    struct waiting waiting;
    uint64_t seed;
    uint32_t other;                /* the other root */
    uint64_t other_id;             /* the id with which the other root waits; 0: it does not wait */
    struct rz_setup_message *word; /* the awaited message */
    rz_time deadline;              /* RZ_TIME_NEVER: none */
    bool answered;                 /* the other root was told the result, or has told it to us */
};

/* What the root tells its group. */
struct told {
    int32_t error;
    uint32_t n;
    uint64_t seeds[2]; /* of the connecting side and of the accepting side */
    uint32_t process[];
};

static bool answer_has_come(void *arg)
{
    struct meeting *meeting = arg;
    uint64_t id = meeting->waiting.id;
    meeting->word = rz_setup_message_take(RZ_SETUP_ACCEPT, id);
    if (!meeting->word) {
        meeting->word = rz_setup_message_take(RZ_SETUP_REFUSE, id);
    }
    return meeting->word || rz_dynamic_is_gone(meeting->other);
}

/* As last_answer_has_come, while the other side is not bound yet: this side may still withdraw. */
static bool first_answer_has_come(void *arg)
{
    const struct meeting *meeting = arg;
    return answer_has_come(arg) || rz_dynamic_is_broken(meeting->comm) ||
           rz_clock_now() >= meeting->deadline;
}

/*
 * Waits whatever happens to our group, since the other side may have made its inter-communicator.
 * But a revocation of comm must end all calls on it; then the inter-communicator of the other side
 * is revoked, too.
 */
static bool last_answer_has_come(void *arg)
{
    const struct meeting *meeting = arg;
    return answer_has_come(arg) || meeting->comm->revoked;
}

static int gone(const struct meeting *meeting)
{
    return rz_dynamic_has_ended(meeting->other)
               ? rzm_error(MPI_ERR_PORT, "the process that opened the port has ended")
               : rzm_error(MPI_ERR_PROC_FAILED, "the root of the other side failed");
}

/* The other root's answer: MPI_SUCCESS and its offer, or its error. */
static int heard(struct meeting *meeting, struct offer *offer)
{
    if (!meeting->word) {
        return gone(meeting);
    }
    read_offer(meeting->word, offer);
    if (meeting->word->kind == RZ_SETUP_ACCEPT) {
        return MPI_SUCCESS;
    }
    meeting->answered = true;
    if (offer->error == MPI_ERR_PORT) {
        return rzm_error(MPI_ERR_PORT, "no process has opened this port, or it was closed");
    }
    return rzm_error(offer->error, "the root of the other side could not continue");
}

static void waiting_begin(struct meeting *meeting)
{
    meeting->waiting = (struct waiting){rz_dynamic_word(), all_waiting};
    all_waiting = &meeting->waiting;
}

static int wait_for_meeting(struct meeting *meeting, bool (*done)(void *arg))
{
    struct rz_blocked blocked = {
        .call = meeting->call, .comm = meeting->comm, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_begin();
    return error != MPI_SUCCESS ? error : rz_engine_wait(&blocked, done, meeting);
}

/* Makes what our side is told from an offer and the group that follows it. NULL: no memory. */
static struct told *told_of(const struct meeting *meeting, const struct offer *offer, bool connects,
                            size_t *bytes)
{
    uint32_t n = meeting->word ? offer->n : 0;
    struct told *told = calloc(1, sizeof(*told) + n * sizeof(uint32_t));
    if (!told) {
        return NULL;
    }
    *bytes = sizeof(*told) + n * sizeof(uint32_t);
    told->n = n;
    told->seeds[!connects] = meeting->seed;
    told->seeds[connects] = offer->seed;
    if (n > 0) {
        memcpy(told->process, meeting->word->data + sizeof(*offer), n * sizeof(uint32_t));
    }
    return told;
}

/* ---- The connecting root: from the port name to the answer ---- */

/* MPI_ERR_PORT: it is no port of this job. */
static int read_port(const char *name, uint32_t *process, uint64_t *port)
{
    uint64_t job;
    uint32_t slot, incarnation;
    if (!rz_port_read(name, &job, &slot, &incarnation, port) || job != rz_engine.info->self.job ||
        slot >= rz_engine.info->n_slots) {
        return rzm_error(MPI_ERR_PORT, "port_name \"%s\" is no port of this job", name);
    }
    *process = rz_engine_number(slot, incarnation);
    return *process != rz_engine.self
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_PORT, "port_name is of the connecting process itself");
}

/* When to stop waiting for the accepting side, by the info key in seconds; without it: as long as
 * the port is open. */
static rz_time deadline_of(struct rz_info *info)
{
    char text[32];
    int length = sizeof(text), flag = 0;
    if (!info || rzm_info_get_string(info, "timeout", &length, text, &flag) != MPI_SUCCESS ||
        !flag) {
        return RZ_TIME_NEVER;
    }
    char *end;
    double seconds = strtod(text, &end);
    bool meant = *text != '\0' && *end == '\0' && seconds >= 0 && seconds < 1e9;
    return meant ? rz_clock_now() + (rz_time)(seconds * (double)RZ_SECOND) : RZ_TIME_NEVER;
}

/* The root stops waiting before an answer. */
static int leave(const struct meeting *meeting)
{
    struct offer mine = {.id = meeting->waiting.id};
    int error = say(meeting->other, RZ_SETUP_LEAVE, meeting->port, &mine, NULL);
    if (error == MPI_SUCCESS && rz_dynamic_is_broken(meeting->comm)) {
        error = rz_dynamic_why_broken(meeting->comm);
    }
    return error != MPI_SUCCESS
               ? error
               : rzm_error(MPI_ERR_PORT, "no process accepted within the timeout of info");
}

static int first_answer(struct meeting *meeting, struct offer *offer)
{
    int error = wait_for_meeting(meeting, first_answer_has_come);
    if (error != MPI_SUCCESS) {
        return error;
    }
    return !meeting->word && !rz_dynamic_is_gone(meeting->other) ? leave(meeting)
                                                                 : heard(meeting, offer);
}

static int connect_meeting(struct meeting *meeting, const char *name, struct rz_info *info,
                           struct offer *offer)
{
    int error =
        rz_engine.info->alone
            ? rzm_error(MPI_ERR_PORT, "a program that was not started by rzrun has no ports")
            : read_port(name, &meeting->other, &meeting->port);
    error = error != MPI_SUCCESS ? error : rz_engine_await(&meeting->other, 1, meeting->call);
    if (error == MPI_SUCCESS && rz_dynamic_is_broken(meeting->comm)) {
        error = rz_dynamic_why_broken(meeting->comm);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    meeting->seed = rz_dynamic_word();
    meeting->deadline = deadline_of(info);
    struct offer mine = {.id = meeting->waiting.id, .seed = meeting->seed};
    rz_kill_here(RZ_KILL_CONNECT);
    error = say(meeting->other, RZ_SETUP_CONNECT, meeting->port, &mine, meeting->comm->group);
    error = error != MPI_SUCCESS ? error : first_answer(meeting, offer);
    meeting->other_id = error == MPI_SUCCESS ? offer->id : 0;
    return error;
}

/* ---- The accepting root: takes the oldest CONNECT at the port ---- */

static bool a_process_connects(void *arg)
{
    struct meeting *meeting = arg;
    while (!meeting->word &&
           (meeting->word = rz_setup_message_take(RZ_SETUP_CONNECT, meeting->port)) != NULL &&
           (meeting->word->withdrawn || rz_dynamic_is_gone(meeting->word->process))) {
        free(meeting->word);
        meeting->word = NULL;
    }
    return meeting->word || rz_dynamic_is_broken(meeting->comm) || !rz_port_is_open(meeting->port);
}

static int accept_meeting(struct meeting *meeting, const char *name, struct offer *offer)
{
    meeting->port = rz_port_number(name);
    if (meeting->port == 0) {
        return rzm_error(MPI_ERR_PORT, "port_name \"%s\" is not an open port of this process",
                         name);
    }
    int error = wait_for_meeting(meeting, a_process_connects);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!meeting->word) {
        return rz_dynamic_is_broken(meeting->comm)
                   ? rz_dynamic_why_broken(meeting->comm)
                   : rzm_error(MPI_ERR_PORT, "port_name was closed meanwhile");
    }
    read_offer(meeting->word, offer);
    meeting->other = meeting->word->process;
    meeting->other_id = offer->id;
    meeting->seed = rz_dynamic_word();
    return MPI_SUCCESS;
}

/* ---- Both roots: each with its group, then with the other root ---- */

static int make_met(struct meeting *meeting, const struct told *told, struct rz_comm **made)
{
    uint64_t words[3] = {told->seeds[0], told->seeds[1], MEET};
    struct rz_group *remote = rz_group_new((int)told->n, told->process);
    if (!remote) {
        return MPI_ERR_NO_MEM;
    }
    int error = rz_dynamic_make(words, meeting->comm, remote, meeting->call, made);
    rz_group_release(remote);
    return error;
}

/* error: of the root so far. All members of the side end with the inter-communicator made, or with
 * an error that the root has as well. */
static int prepare(struct meeting *meeting, int error, const struct offer *offer, bool connects,
                   struct rz_comm **made)
{
    struct rz_comm *comm = meeting->comm;
    bool is_root = rz_comm_rank(comm) == meeting->root;
    struct rz_news news = {0};
    int without = MPI_SUCCESS; /* the root has no memory even for the message */
    if (error == RZM_ROLLBACK) {
        return error;
    }
    if (is_root) {
        struct told *told = told_of(meeting, offer, connects, &news.bytes);
        news.data = told;
        without = !told ? MPI_ERR_NO_MEM : MPI_SUCCESS;
        if (told) {
            told->error = error;
        }
    }
    int heard_it = rz_news_tell(comm, meeting->operation, meeting->root, without, &news);
    const struct told *told = news.data;
    error = error != MPI_SUCCESS ? error : heard_it;
    if (error == MPI_SUCCESS && told->error != MPI_SUCCESS) {
        error = rzm_error(told->error, "the root could not continue");
    }
    error = error != MPI_SUCCESS ? error : make_met(meeting, told, made);
    free(news.data);
    return rz_dynamic_confirm(comm, meeting->operation, meeting->root, error);
}

/* The connecting root sends the last message. */
static int last_word(struct meeting *meeting)
{
    struct offer end = {0};
    rz_kill_here(RZ_KILL_LAST_WORD);
    int error = say(meeting->other, RZ_SETUP_ACCEPT, meeting->other_id, &end, NULL);
    meeting->answered = error == MPI_SUCCESS;
    return error;
}

static int await_last_word(struct meeting *meeting)
{
    struct offer mine = {.id = meeting->waiting.id, .seed = meeting->seed}, answer = {0};
    rz_kill_here(RZ_KILL_ACCEPT);
    int error =
        say(meeting->other, RZ_SETUP_ACCEPT, meeting->other_id, &mine, meeting->comm->group);
    if (error != MPI_SUCCESS) {
        return error;
    }
    meeting->answered = true;
    free(meeting->word);
    meeting->word = NULL;
    error = wait_for_meeting(meeting, last_answer_has_come);
    if (error == MPI_SUCCESS && !meeting->word && !rz_dynamic_is_gone(meeting->other)) {
        return MPI_ERR_REVOKED;
    }
    error = error != MPI_SUCCESS ? error : heard(meeting, &answer);
    return error == MPI_ERR_PORT
               ? rzm_error(MPI_ERR_PROC_FAILED, "the connecting root has left meanwhile")
               : error;
}

static int meet(struct meeting *meeting, int error, const struct offer *offer, bool connects,
                struct rz_comm **newcomm)
{
    struct rz_comm *made = NULL;
    bool is_root = rz_comm_rank(meeting->comm) == meeting->root;
    error = prepare(meeting, error, offer, connects, &made);
    if (is_root && error == MPI_SUCCESS) {
        error = connects ? last_word(meeting) : await_last_word(meeting);
    }
    if (is_root && error != MPI_SUCCESS && error != RZM_ROLLBACK && meeting->other_id != 0 &&
        !meeting->answered) {
        refuse(meeting->other, meeting->other_id, MPI_ERR_PROC_FAILED);
    }
    error = rz_dynamic_result(meeting->comm, meeting->operation, meeting->root, error);
    if (error == MPI_SUCCESS) {
        *newcomm = made;
    } else if (made && error != RZM_ROLLBACK) {
        rz_comm_revoke(made); /* other members may have it */
        rz_comm_release(made);
    }
    return error;
}

static int side(struct meeting *meeting, const char *name, struct rz_info *info, bool connects,
                struct rz_comm **newcomm)
{
    struct rz_comm *comm = meeting->comm;
    struct offer offer = {0};
    if (comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    int error = rz_comm_create_begin(comm, meeting->call, &meeting->operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool is_root = rz_comm_rank(comm) == meeting->root;
    if (is_root) {
        waiting_begin(meeting);
        error = connects ? connect_meeting(meeting, name, info, &offer)
                         : accept_meeting(meeting, name, &offer);
    }
    error = meet(meeting, error, &offer, connects, newcomm);
    if (is_root) {
        waiting_end(&meeting->waiting);
        free(meeting->word);
    }
    return error;
}

int rzm_comm_connect(const char *port_name, struct rz_info *info, int root, struct rz_comm *comm,
                     struct rz_comm **newcomm)
{
    struct meeting meeting = {.call = "MPI_Comm_connect", .comm = comm, .root = root};
    return side(&meeting, port_name, info, true, newcomm);
}

int rzm_comm_accept(const char *port_name, struct rz_info *info, int root, struct rz_comm *comm,
                    struct rz_comm **newcomm)
{
    struct meeting meeting = {.call = "MPI_Comm_accept", .comm = comm, .root = root};
    return side(&meeting, port_name, info, false, newcomm);
}

static void close_port(uint64_t number)
{
    rz_port_remove(number);
    turn_away(number);
}

int rzm_close_port(const char *port_name)
{
    uint64_t number = rz_port_number(port_name);
    if (number == 0) {
        return rzm_error(MPI_ERR_PORT, "port_name \"%s\" is not an open port of this process",
                         port_name);
    }
    close_port(number);
    return MPI_SUCCESS;
}

void rz_connect_ports_close(void)
{
    uint64_t number;
    while ((number = rz_port_first()) != 0) {
        close_port(number);
    }
}
