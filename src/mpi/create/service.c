/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports and the names under which they are published: the daemons keep the names
 * (daemon/service/names.h).
 */
#include "base/linked_list.h"
#include "base/no_memory.h"
#include "mpi/impl.h"
#include "mpi/engine/waiting.h"
#include "mpi/create/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The question to the daemon for which a thread of this process waits, by its number; other threads
 * may have others. */
struct question {
    uint64_t number;
    bool answered;
    rz_status_t status;
    char port[MPI_MAX_PORT_NAME];
    struct question *next;
};

static struct question *open_questions;
static uint64_t last_name_question;

/* The names that this process has published. */
struct published {
    struct published *next;
    char name[];
};

static struct published *published_here;
static uint64_t last_port;

/* ---- Questions to the daemon ---- */

static void named(void *arg, const struct rz_link_message *message, const int *fds, unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    struct question *question = open_questions;
    while (question && question->number != message->named.question) {
        question = question->next;
    }
    if (question) {
        question->answered = true;
        question->status = (rz_status_t)message->named.status;
        snprintf(question->port, sizeof(question->port), "%s", message->named.port);
        rz_engine.completions++;
    }
}

static bool question_is_answered(void *arg)
{
    return ((struct question *)arg)->answered;
}

static int check_texts(const char *service, const char *port)
{
    if (service[0] == '\0' || strlen(service) >= MPI_MAX_PORT_NAME) {
        return rzm_error(MPI_ERR_ARG, "service_name has %zu characters, not 1 to %d",
                         strlen(service), MPI_MAX_PORT_NAME - 1);
    }
    if (strlen(port) >= MPI_MAX_PORT_NAME) {
        return rzm_error(MPI_ERR_PORT, "port_name is longer than MPI_MAX_PORT_NAME - 1");
    }
    return MPI_SUCCESS;
}

/* MPI_SUCCESS (then question->status is the daemon's answer), the error why it cannot be asked, or
 * RZM_ROLLBACK. */
static int ask_daemon(enum rz_name_question what, const char *call, const char *service,
                      const char *port, struct question *question)
{
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : check_texts(service, port);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_engine.info->alone) {
        return rzm_error(MPI_ERR_UNSUPPORTED_OPERATION,
                         "a program that was not started by rzrun has no name service");
    }
    *question = (struct question){.number = ++last_name_question, .next = open_questions};
    open_questions = question;
    rz_link_handle(rz_engine.link, RZ_LINK_NAMED, named, NULL);
    struct rz_link_message message = {
        .type = RZ_LINK_NAME,
        .name = {.question = question->number, .what = what, .service = service, .port = port}};
    rz_engine_tell_daemon(&message);
    struct rz_blocked blocked = {.call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    error = rz_engine_wait(&blocked, question_is_answered, question);
    rz_list_unlink(&open_questions, question);
    return error;
}

static struct published **published_at(const char *name)
{
    struct published **at = &published_here;
    while (*at && strcmp((*at)->name, name) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void note_published(const char *name)
{
    struct published **at = published_at(name);
    if (*at) {
        return;
    }
    size_t bytes = strlen(name) + 1;
    *at = malloc(sizeof(**at) + bytes);
    rz_need_memory(*at, "for a published name");
    (*at)->next = NULL;
    memcpy((*at)->name, name, bytes);
}

static void forget_published(const char *name)
{
    struct published **at = published_at(name), *published = *at;
    if (published) {
        *at = published->next;
        free(published);
    }
}

bool rz_service_publishes(void)
{
    return published_here != NULL;
}

bool rz_service_asks(void)
{
    return open_questions != NULL;
}

int rzm_publish_name(const char *service_name, struct rz_info *info, const char *port_name)
{
    (void)info;
    struct question question;
    int error = ask_daemon(RZ_NAME_PUBLISH, "MPI_Publish_name", service_name, port_name, &question);
    if (error == MPI_SUCCESS && question.status == RZ_ERR_REFUSED) {
        return rzm_error(MPI_ERR_SERVICE,
                         "service_name \"%s\" cannot be kept: a job has at most 4096 published "
                         "names; MPI_Unpublish_name makes room",
                         service_name);
    }
    if (error == MPI_SUCCESS && question.status == RZ_ERR_EXISTS) {
        return rzm_error(MPI_ERR_SERVICE, "service_name \"%s\" is published by another process",
                         service_name);
    }
    if (error == MPI_SUCCESS && question.status == RZ_OK) {
        note_published(service_name);
    }
    return error != MPI_SUCCESS ? error : rzm_status_class(question.status);
}

int rzm_unpublish_name(const char *service_name, struct rz_info *info, const char *port_name)
{
    (void)info;
    struct question question;
    int error =
        ask_daemon(RZ_NAME_UNPUBLISH, "MPI_Unpublish_name", service_name, port_name, &question);
    if (error == MPI_SUCCESS && question.status == RZ_ERR_NOT_FOUND) {
        return rzm_error(MPI_ERR_SERVICE, "service_name \"%s\" is not published with this port",
                         service_name);
    }
    if (error == MPI_SUCCESS && question.status == RZ_OK) {
        forget_published(service_name);
    }
    return error != MPI_SUCCESS ? error : rzm_status_class(question.status);
}

int rzm_lookup_name(const char *service_name, struct rz_info *info, char *port_name)
{
    (void)info;
    struct question question;
    int error = ask_daemon(RZ_NAME_LOOK_UP, "MPI_Lookup_name", service_name, "", &question);
    if (error == MPI_SUCCESS && question.status == RZ_ERR_NOT_FOUND) {
        return rzm_error(MPI_ERR_NAME, "service_name \"%s\" is not published", service_name);
    }
    if (error == MPI_SUCCESS && question.status == RZ_OK) {
        strcpy(port_name, question.port);
    }
    return error != MPI_SUCCESS ? error : rzm_status_class(question.status);
}

/* ---- Ports ---- */

struct port {
    uint64_t number;
    struct port *next;
};

static struct port *ports;

/* The name of a port consists of the job, the process, and the port's number. */
static void port_text(uint64_t number, char *text)
{
    const struct rz_identity *self = &rz_engine.info->self;
    snprintf(text, MPI_MAX_PORT_NAME, "rhizome:%016llx:%u.%u:%llu", (unsigned long long)self->job,
             self->rank, self->incarnation, (unsigned long long)number);
}

int rzm_open_port(struct rz_info *info, char *port_name)
{
    (void)info;
    struct port *port = malloc(sizeof(*port));
    if (!port) {
        return MPI_ERR_NO_MEM;
    }
    *port = (struct port){.number = ++last_port, .next = ports};
    ports = port;
    port_text(port->number, port_name);
    return MPI_SUCCESS;
}

bool rz_port_read(const char *name, uint64_t *job, uint32_t *slot, uint32_t *incarnation,
                  uint64_t *number)
{
    int end = 0;
    int n = sscanf(name, "rhizome:%16" SCNx64 ":%" SCNu32 ".%" SCNu32 ":%" SCNu64 "%n", job, slot,
                   incarnation, number, &end);
    return n == 4 && name[end] == '\0';
}

uint64_t rz_port_number(const char *name)
{
    char text[MPI_MAX_PORT_NAME];
    for (struct port *port = ports; port; port = port->next) {
        port_text(port->number, text);
        if (strcmp(text, name) == 0) {
            return port->number;
        }
    }
    return 0;
}

bool rz_port_is_open(uint64_t number)
{
    struct port *port = ports;
    while (port && port->number != number) {
        port = port->next;
    }
    return port != NULL;
}

void rz_port_remove(uint64_t number)
{
    struct port **at = &ports;
    while ((*at)->number != number) {
        at = &(*at)->next;
    }
    struct port *port = *at;
    *at = port->next;
    free(port);
}

uint64_t rz_port_first(void)
{
    return ports ? ports->number : 0;
}
