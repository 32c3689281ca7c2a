/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor link: the end of rzdoctor --hosts on each host (rzdoctor_hosts.h). Orders that may take
 * time run in a process of their own, so that the end of standard input ends them, too. */
#include "cmd/rzdoctor_hosts.h"

#include "port/interface.h"
#include "port/process.h"

#include <mpi.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* It ends after this time at the latest. */
enum { LIVES_S = 900 };

/* ---- lines ---- */

/* What was read of a descriptor. */
struct input {
    char *text;
    size_t n;
};

/* Reads once, waiting. False: the end, or more than a line may have. */
static bool fill(struct input *input, int fd)
{
    if (!input->text) {
        input->text = malloc(RZ_LINK_ANSWER_MAX);
    }
    if (!input->text || input->n == RZ_LINK_ANSWER_MAX - 1) {
        return false;
    }
    ssize_t got;
    do {
        got = read(fd, input->text + input->n, RZ_LINK_ANSWER_MAX - 1 - input->n);
    } while (got < 0 && errno == EINTR);
    input->n += got > 0 ? (size_t)got : 0;
    input->text[input->n] = '\0';
    return got > 0;
}

/* The next order, which the caller releases; NULL: there is none any more. */
static json_t *next_order(struct input *input)
{
    char *end = NULL;
    while (!(end = input->n > 0 ? memchr(input->text, '\n', input->n) : NULL)) {
        if (!fill(input, STDIN_FILENO)) {
            return NULL;
        }
    }
    json_t *order = json_loadb(input->text, (size_t)(end - input->text), 0, NULL);
    input->n -= (size_t)(end + 1 - input->text);
    memmove(input->text, end + 1, input->n + 1);
    return order;
}

static void print_answer(const char *text)
{
    printf("%s%s\n", RZ_LINK_MARK, text);
    fflush(stdout);
}

static void print_answer_json(json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    print_answer(text ? text : "{\"error\":\"(not printable)\"}");
    free(text);
    json_decref(answer);
}

static const char *word_of(const json_t *order, const char *key)
{
    const char *word = json_string_value(json_object_get(order, key));
    return word ? word : "";
}

static json_t *complaint(const char *why)
{
    return json_pack("{s:s}", "error", why);
}

/* ---- orders that take time ---- */

static json_t *check(const json_t *order)
{
    struct rz_doctor_report report = {.json = true, .findings = json_array()};
    static const char *const variables[][2] = {{"path", "PATH"}, {"libraries", "LD_LIBRARY_PATH"}};
    for (size_t i = 0; i < 2; i++) { /* as rzrun sets them for ranks */
        if (*word_of(order, variables[i][0])) {
            setenv(variables[i][1], word_of(order, variables[i][0]), 1);
        }
    }
    rz_doctor_check_here(&report);
    return json_pack("{s:o}", "findings", report.findings);
}

/* The order's target; false: it names none. */
static bool target_of(const json_t *order, const char *address, struct rz_link_target *target)
{
    json_int_t within = json_integer_value(json_object_get(order, "within_ns"));
    target->within = within > 0 ? (rz_time)within : 0;
    target->token = word_of(order, "token");
    return strlen(target->token) == RZ_LINK_TOKEN &&
           rz_address_parse(address, &target->address) == RZ_OK;
}

/* The addresses are tried in their order, as the daemon of a host tries those of rzrun. */
static json_t *reach(const json_t *order)
{
    const char *why = "no address was named", *interface = word_of(order, "interface");
    char text[RZ_ADDRESS_TEXT], own[RZ_ADDRESS_TEXT], beside[RZ_ADDRESS_TEXT];
    for (const char *at = word_of(order, "to"); *at;) {
        struct rz_link_target target;
        struct rz_address from, other;
        double us;
        size_t n = strcspn(at, ",");
        snprintf(text, sizeof(text), "%.*s", (int)(n < sizeof(text) ? n : 0), at);
        at += n + (at[n] == ',');
        if (!target_of(order, text, &target) || !rz_link_trip(&target, &us, &from, &why)) {
            continue;
        }
        const struct rz_address here = from;
        if (*interface && !rz_interface_find(interface, &here, &from)) {
            return complaint("no interface there is the one of --interface");
        }
        bool both = rz_interface_other_family(&from, &other);
        return json_pack("{s:s,s:s,s:s,s:f}", "ip", rz_address_ip_text(&from, own), "other",
                         both ? rz_address_ip_text(&other, beside) : "", "to",
                         rz_address_ip_text(&target.address, text), "us", us);
    }
    return complaint(why);
}

static json_t *trip(const json_t *order)
{
    const char *why = "no address was named";
    struct rz_link_target target;
    struct rz_address from;
    double us;
    bool good =
        target_of(order, word_of(order, "to"), &target) && rz_link_trip(&target, &us, &from, &why);
    if (good) {
        why = "no address was named";
        good = target_of(order, word_of(order, "udp"), &target) && rz_link_datagram(&target, &why);
    }
    return good ? json_pack("{s:f}", "us", us) : complaint(why);
}

static json_t *rate(const json_t *order)
{
    const char *why = "no address was named";
    struct rz_link_target target;
    double mb_s;
    bool good =
        target_of(order, word_of(order, "to"), &target) && rz_link_rate(&target, &mb_s, &why);
    return good ? json_pack("{s:f}", "mb_s", mb_s) : complaint(why);
}

_Noreturn static void work(json_t *(*body)(const json_t *order), const json_t *order, int out,
                           pid_t parent)
{
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK || nothing < 0) {
        _exit(1);
    }
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    char *text = json_dumps(body(order), JSON_COMPACT);
    printf("%s", text ? text : "");
    _exit(fflush(stdout) != 0);
}

/* Passes on what the process says until it ends. False: standard input has ended. */
static bool await_work(struct input *input, int from)
{
    struct input said = {NULL, 0};
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = from, .events = POLLIN}};
    bool goes_on = true, works = true;
    while (goes_on && works) {
        if (poll(ready, 2, -1) < 0) {
            continue;
        }
        works = !ready[1].revents || fill(&said, from);
        goes_on = !ready[0].revents || fill(input, STDIN_FILENO);
    }
    if (goes_on) {
        print_answer(said.n > 0 ? said.text : "{\"error\":\"rzdoctor failed there\"}");
    }
    free(said.text);
    return goes_on;
}

/* False: standard input has ended. */
static bool do_work(struct input *input, json_t *(*body)(const json_t *order), const json_t *order)
{
    int ends[2];
    fflush(stdout);
    pid_t self = getpid(), pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0) {
        work(body, order, ends[1], self);
    }
    if (pid < 0) {
        print_answer_json(complaint(strerror(errno)));
        return true;
    }
    close(ends[1]);
    bool goes_on = await_work(input, ends[0]);
    close(ends[0]);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        ;
    }
    return goes_on;
}

/* ---- orders ---- */

static int server = -1;

static json_t *tell_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return json_pack("{s:I}", "ns", (json_int_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

static json_t *begin_serving(const json_t *order)
{
    static char token[RZ_LINK_TOKEN + 1];
    char text[RZ_ADDRESS_TEXT], other[RZ_ADDRESS_TEXT];
    struct rz_address address, datagrams;
    if (strlen(word_of(order, "token")) != RZ_LINK_TOKEN ||
        rz_address_parse(word_of(order, "ip"), &address) != RZ_OK) {
        return complaint("no address was named");
    }
    memcpy(token, word_of(order, "token"), sizeof(token));
    if (*word_of(order, "ports")) {
        setenv(RZ_PORT_RANGE, word_of(order, "ports"), 1);
    }
    rz_doctor_serve_end(server);
    datagrams = address;
    server = rz_doctor_serve(&address, &datagrams, token);
    return server >= 0
               ? json_pack("{s:s,s:s}", "at", rz_address_text(&address, text), "udp",
                           rz_address_text(&datagrams, other))
               : complaint(*word_of(order, "ports") ? "no port of --port-range is free there"
                                                    : "no port can be opened there");
}

/* False: standard input has ended. */
static bool obey(struct input *input, const json_t *order)
{
    static const struct {
        const char *name;
        json_t *(*body)(const json_t *order);
    } works[] = {{"check", check}, {"reach", reach}, {"trip", trip}, {"rate", rate}};
    const char *name = word_of(order, "do");
    for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
        if (strcmp(name, works[i].name) == 0) {
            return do_work(input, works[i].body, order);
        }
    }
    print_answer_json(strcmp(name, "clock") == 0   ? tell_time()
                      : strcmp(name, "serve") == 0 ? begin_serving(order)
                                                   : complaint("that order is not known there"));
    return true;
}

int rz_doctor_link(void)
{
    struct input input = {NULL, 0};
    struct utsname system;
    char abi[32];
    json_t *order;
    bool goes_on = true;
    alarm(LIVES_S);
    uname(&system);
    snprintf(abi, sizeof(abi), "%d.%d", MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    print_answer_json(
        json_pack("{s:s,s:s,s:s}", "version", RZ_VERSION, "abi", abi, "machine", system.machine));
    while (goes_on && (order = next_order(&input))) {
        goes_on = obey(&input, order);
        json_decref(order);
    }
    rz_doctor_serve_end(server);
    free(input.text);
    return RZ_DOCTOR_GOOD;
}
