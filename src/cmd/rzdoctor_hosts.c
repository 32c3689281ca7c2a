/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor --hosts: asks all hosts at once, one question after the other, and says what is not as
 * here. */
#include "cmd/rzdoctor_hosts.h"

#include "base/no_memory.h"
#include "launch/family.h"
#include "launch/host_options.h"
#include "port/clock.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { CLOCK_ROUNDS = 8, COMMAND_MAX = 2 * RZ_DOCTOR_PATH + 128, HERE = -1 };

/* Clocks that differ by more are reported. */
#define CLOCK_OFF_NS INT64_C(500000000)

struct survey {
    struct rz_doctor_report *report;
    const struct rz_rzrun_options *run;
    struct rz_doctor_host *hosts; /* [n]: those that are not this machine */
    struct rz_dialog *dialogs;    /* [n] */
    unsigned n;
    int server;                                          /* of this machine */
    bool here_too;                                       /* this machine is one of the hosts */
    char command[COMMAND_MAX];                           /* for the shell of each host */
    char token[RZ_LINK_TOKEN + 1];                       /* of this run */
    char here[RZ_RZRUN_ADDRESSES_MAX * RZ_ADDRESS_TEXT]; /* its addresses, with commas between */
};

/* ---- questions ---- */

/* Takes a line that a host says: its answer, the version of its rzd, or another word. */
static bool take_line(void *arg, char *line)
{
    struct rz_doctor_host *host = arg;
    const size_t n = strlen(RZ_LINK_MARK), m = strlen(RZ_LINK_RZD);
    if (strncmp(line, RZ_LINK_MARK, n) == 0) {
        json_decref(host->answer);
        host->answer = json_loads(line + n, 0, NULL);
        return host->answer != NULL;
    }
    if (strncmp(line, RZ_LINK_RZD, m) == 0) {
        snprintf(host->version, sizeof(host->version), "%s", line + m);
    } else {
        snprintf(host->word, sizeof(host->word), "%s", line);
    }
    return false;
}

/* Gives an order, which is consumed. The answer to the one before is forgotten. */
static void give_order(struct rz_doctor_host *host, json_t *order)
{
    char *text = json_dumps(order, JSON_COMPACT);
    rz_need_memory(text, "for an order");
    json_decref(host->answer);
    host->answer = NULL;
    rz_dialog_order(host->dialog, text);
    free(text);
    json_decref(order);
}

/* Whether it has answered, without an error. */
static bool is_good(const struct rz_doctor_host *host)
{
    return host->answer && !json_object_get(host->answer, "error");
}

typedef json_t *order_maker(struct survey *survey, unsigned i);

/* Gives each host an order (NULL: none) and awaits the answers. */
static void ask_all(struct survey *survey, order_maker *make)
{
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        json_t *order = host->lost ? NULL : make(survey, i);
        if (order) {
            give_order(host, order);
        }
    }
    rz_dialogs_await(survey->dialogs, survey->n, rz_clock_now() + survey->run->start_timeout);
}

static void lose(struct rz_doctor_host *host)
{
    host->lost = true;
    rz_dialog_stop(host->dialog);
}

/* Says that a host has not answered, with what is known of the reason. */
static void say_lost(struct survey *survey, struct rz_doctor_host *host)
{
    const struct rz_rzrun_options *run = survey->run;
    char remedy[RZ_DOCTOR_TEXT];
    const int status = host->dialog->status;
    const char *known = rz_host_options_remedy(run, status);
    lose(host);
    if (host->dialog->pid >= 0) {
        rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name,
                      "is it up and not overloaded? --start-timeout says how long it is waited for",
                      "no answer within %.0f s%s%s", (double)run->start_timeout / 1e9,
                      *host->word ? ": " : "", host->word);
        return;
    }
    snprintf(remedy, sizeof(remedy), "try `%s HOST true`", run->agent.texts[0]);
    rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name,
                  status == 2 ? "is another version of Rhizome there? All hosts need the "
                                "same; --prefix says where it is"
                  : *known    ? known
                              : remedy,
                  "%s (%s ended with status %d)", *host->word ? host->word : "no answer",
                  run->agent.texts[0], status);
}

/* Says which hosts have not answered the last order. */
static void say_all_lost(struct survey *survey)
{
    for (unsigned i = 0; i < survey->n; i++) {
        if (!survey->hosts[i].lost && !survey->hosts[i].answer) {
            say_lost(survey, &survey->hosts[i]);
        }
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- versions ---- */

/* What a host says at its start: is it the same Rhizome, for the same kind of machine? */
static void check_version(struct survey *survey, struct rz_doctor_host *host)
{
    char ours[32];
    const char *theirs = *host->version ? host->version : text_of(host->answer, "version");
    const char *abi = text_of(host->answer, "abi"), *remedy = "install the same version on all "
                                                              "hosts; --prefix says where it is";
    snprintf(ours, sizeof(ours), "%d.%d", MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    if (strcmp(theirs, RZ_VERSION) != 0) {
        rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name, remedy,
                      "Rhizome %s is there, %s is here", theirs, RZ_VERSION);
    } else if (strcmp(text_of(host->answer, "version"), RZ_VERSION) != 0) {
        rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name, remedy,
                      "rzdoctor there is of %s, rzd of %s", text_of(host->answer, "version"),
                      theirs);
    } else if (strcmp(abi, ours) != 0) {
        rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name, remedy,
                      "its MPI ABI is %s, %s is here", abi, ours);
    } else {
        return;
    }
    lose(host);
}

static void check_versions(struct survey *survey)
{
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        if (host->answer) {
            check_version(survey, host);
        } else if (*host->version && strcmp(host->version, RZ_VERSION) != 0) {
            check_version(survey, host); /* its rzdoctor does not know what it is asked */
        } else {
            say_lost(survey, host);
        }
    }
}

/* ---- clocks ---- */

static json_t *order_clock(struct survey *survey, unsigned i)
{
    (void)survey, (void)i;
    return json_pack("{s:s}", "do", "clock");
}

static void take_clocks(struct survey *survey)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    rz_time base = (rz_time)wall.tv_sec * RZ_SECOND + (rz_time)wall.tv_nsec - rz_clock_now();
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        if (host->lost || !is_good(host)) {
            continue;
        }
        rz_time theirs = (rz_time)json_integer_value(json_object_get(host->answer, "ns"));
        rz_clock_offset_take(&host->clock, base + host->dialog->ordered, theirs,
                             base + host->dialog->answered);
    }
}

static bool clock_is_off(const struct rz_doctor_host *host)
{
    int64_t off = host->clock.ahead < 0 ? -host->clock.ahead : host->clock.ahead;
    return off - (int64_t)(host->clock.round_trip / 2) > CLOCK_OFF_NS;
}

/* "0.3 ms ahead of the one here, give or take 0.2 ms" */
static const char *clock_text(const struct rz_doctor_host *host, char text[128])
{
    double ahead = (double)host->clock.ahead / 1e6,
           bound = (double)(host->clock.round_trip / 2) / 1e6;
    double ms = ahead < 0 ? -ahead : ahead;
    const char *side = host->clock.ahead < 0 ? "behind" : "ahead of";
    snprintf(text, 128, "%.*f %s %s the one here, give or take %.1f ms", ms < 1e4 ? 1 : 0,
             ms < 1e4 ? ms : ms / 1e3, ms < 1e4 ? "ms" : "s", side, bound);
    return text;
}

/* ---- what is not as here ---- */

static json_t *order_check(struct survey *survey, unsigned i)
{
    const char *path = getenv("PATH"), *libraries = getenv("LD_LIBRARY_PATH");
    (void)survey, (void)i;
    json_t *order = json_pack("{s:s,s:s,s:s}", "do", "check", "path", path ? path : "", "libraries",
                              libraries ? libraries : "");
    return order ? order : json_pack("{s:s}", "do", "check"); /* they are not UTF-8 */
}

/* The finding of this machine about the same subject, or NULL. */
static const json_t *same_here(const json_t *findings, const json_t *finding)
{
    size_t i;
    const json_t *here;
    json_array_foreach(findings, i, here)
    {
        if (strcmp(text_of(here, "section"), text_of(finding, "section")) == 0 &&
            strcmp(text_of(here, "subject"), text_of(finding, "subject")) == 0) {
            return here;
        }
    }
    return NULL;
}

static bool same_text(const json_t *here, const json_t *there, const char *key)
{
    return here && strcmp(text_of(here, key), text_of(there, key)) == 0;
}

static void say_finding(struct survey *survey, const struct rz_doctor_host *host,
                        const json_t *finding)
{
    bool fault = strcmp(text_of(finding, "verdict"), "fault") == 0;
    rz_doctor_say(survey->report, fault ? RZ_DOCTOR_FAULT : RZ_DOCTOR_WARNING, host->name,
                  text_of(finding, "remedy"), "%s: %s", text_of(finding, "subject"),
                  text_of(finding, "text"));
}

/* Facts that may differ without harm. */
static bool is_fact(const json_t *finding)
{
    return strcmp(text_of(finding, "subject"), "kernel") == 0 ||
           strcmp(text_of(finding, "subject"), "processors") == 0;
}

static void compare(struct survey *survey, const struct rz_doctor_host *host, const json_t *here)
{
    const json_t *finding, *findings = json_object_get(host->answer, "findings");
    char facts[RZ_DOCTOR_TEXT] = "", text[128];
    size_t i, used = 0;
    bool as_here = true;
    json_array_foreach(findings, i, finding)
    {
        const json_t *same = same_here(here, finding);
        bool good = strcmp(text_of(finding, "verdict"), "ok") == 0;
        if (!good && !(same_text(same, finding, "verdict") && same_text(same, finding, "text"))) {
            say_finding(survey, host, finding);
            as_here = false;
        } else if (good && is_fact(finding) && !same_text(same, finding, "text") &&
                   used < sizeof(facts)) {
            used += (size_t)snprintf(facts + used, sizeof(facts) - used, "%s %s: %s",
                                     used > 0 ? ";" : ", but", text_of(finding, "subject"),
                                     text_of(finding, "text"));
        }
    }
    if (clock_is_off(host)) {
        rz_doctor_say(
            survey->report, RZ_DOCTOR_WARNING, host->name,
            "set the clocks by NTP (chrony, ntpd): times of files and logs do not compare",
            "its clock is %s", clock_text(host, text));
    } else if (as_here) {
        rz_doctor_say(survey->report, RZ_DOCTOR_OK, host->name, NULL, "as here%s; its clock is %s",
                      facts, clock_text(host, text));
    }
}

static void compare_all(struct survey *survey)
{
    json_t *here = json_copy(survey->report->findings); /* without what is said now */
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        if (!host->lost && is_good(host)) {
            compare(survey, host, here);
        } else if (!host->lost && host->answer) {
            rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name,
                          "try by hand: rzdoctor check, on that host", "its check failed: %s",
                          text_of(host->answer, "error"));
        }
    }
    json_decref(here);
}

/* ---- ways between hosts ---- */

static const char *name_of(const struct survey *survey, int i)
{
    return i == HERE ? "here" : survey->hosts[i].name;
}

static void say_no_way(struct survey *survey, int from, const char *to, const char *why)
{
    const char *range = survey->run->port_range;
    char subject[160], remedy[RZ_DOCTOR_TEXT];
    snprintf(subject, sizeof(subject), "%s -> %s", name_of(survey, from), to);
    if (range) {
        snprintf(remedy, sizeof(remedy),
                 "let the firewalls of both pass TCP and UDP to the ports %s; --interface chooses "
                 "another network",
                 range);
    } else {
        snprintf(remedy, sizeof(remedy),
                 "let the firewalls of both pass TCP and UDP between the hosts, or say which ports "
                 "are open: --port-range; --interface chooses another network");
    }
    rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, subject, remedy, "%s", why);
}

static json_t *order_reach(struct survey *survey, unsigned i)
{
    (void)i;
    unsigned n = survey->run->n_addresses;
    return json_pack("{s:s,s:s,s:s,s:s,s:I}", "do", "reach", "to", survey->here, "interface",
                     survey->run->interface ? survey->run->interface : "", "token", survey->token,
                     "within_ns", (json_int_t)(survey->run->start_timeout / 2 / n));
}

static json_t *order_serve(struct survey *survey, unsigned i)
{
    const struct rz_doctor_host *host = &survey->hosts[i];
    if (!*host->address) {
        return NULL;
    }
    return json_pack("{s:s,s:s,s:s,s:s}", "do", "serve", "ip", host->address, "ports",
                     survey->run->port_range ? survey->run->port_range : "", "token",
                     survey->token);
}

/* In which family the hosts reach each other, as rzrun decides it. */
static void settle_family(struct survey *survey)
{
    struct rz_family_host *hosts = calloc(survey->n, sizeof(*hosts));
    struct rz_doctor_host **of = calloc(survey->n, sizeof(*of));
    uint32_t n = 0;
    const char *why;
    rz_need_memory(hosts && of, "for the addresses of hosts");
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        hosts[n].name = host->name;
        of[n] = host;
        if (!host->lost && rz_address_parse(host->address, &hosts[n].address) == RZ_OK) {
            hosts[n].both = rz_address_parse(host->other, &hosts[n].other) == RZ_OK;
            n++;
        }
    }
    bool good = rz_family_settle(hosts, n, &why);
    if (!good) {
        rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, "addresses",
                      "--interface chooses a network by its name or its addresses", "%s", why);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (good) {
            rz_address_ip_text(&hosts[i].address, of[i]->address);
        } else { /* there are no ways to measure */
            *of[i]->address = '\0';
        }
    }
    free(hosts);
    free(of);
}

/* Each host to this machine; those that come through serve then. */
static void reach_here(struct survey *survey)
{
    ask_all(survey, order_reach);
    say_all_lost(survey);
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        const json_t *answer = host->lost ? NULL : host->answer;
        char subject[160], why[RZ_DOCTOR_TEXT];
        if (!answer) {
            continue;
        }
        if (!is_good(host)) {
            snprintf(why, sizeof(why), "%.300s: %s", survey->here, text_of(answer, "error"));
            say_no_way(survey, (int)i, "here", why);
            continue;
        }
        snprintf(host->address, sizeof(host->address), "%s", text_of(answer, "ip"));
        snprintf(host->other, sizeof(host->other), "%s", text_of(answer, "other"));
        snprintf(subject, sizeof(subject), "%s -> here", host->name);
        rz_doctor_say(survey->report, RZ_DOCTOR_OK, subject, NULL, "%s to %s: round trip %.0f us",
                      host->address, text_of(answer, "to"),
                      json_number_value(json_object_get(answer, "us")));
    }
    settle_family(survey);
    ask_all(survey, order_serve);
    say_all_lost(survey);
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        bool serves = !host->lost && *host->address && is_good(host);
        if (!host->lost && *host->address && !serves) {
            rz_doctor_say(survey->report, RZ_DOCTOR_FAULT, host->name,
                          "choose another range, or end what uses these ports", "%s: %s",
                          host->address, text_of(host->answer, "error"));
        }
        snprintf(host->address, sizeof(host->address), "%s",
                 serves ? text_of(host->answer, "at") : "");
        snprintf(host->datagrams, sizeof(host->datagrams), "%s",
                 serves ? text_of(host->answer, "udp") : "");
    }
}

/* The next host behind i (HERE: before the first) in the ring that serves; i: there is no other. */
static int next_of(const struct survey *survey, int i)
{
    for (unsigned step = 1; step <= survey->n; step++) {
        int next = (i + (int)step) % (int)survey->n;
        if (next != i && !survey->hosts[next].lost && *survey->hosts[next].address) {
            return next;
        }
    }
    return i;
}

static json_t *order_measure(struct survey *survey, unsigned i, const char *what)
{
    int next = survey->hosts[i].next;
    if (next == (int)i || !*survey->hosts[i].address) {
        return NULL;
    }
    return json_pack("{s:s,s:s,s:s,s:s,s:I}", "do", what, "to", survey->hosts[next].address, "udp",
                     survey->hosts[next].datagrams, "token", survey->token, "within_ns",
                     (json_int_t)(survey->run->start_timeout / 2));
}

static json_t *order_trip(struct survey *survey, unsigned i)
{
    return order_measure(survey, i, "trip");
}

static json_t *order_rate(struct survey *survey, unsigned i)
{
    return survey->hosts[i].us > 0 ? order_measure(survey, i, "rate") : NULL;
}

static void say_way(struct survey *survey, int from, int to, double us, double mb_s)
{
    char subject[160];
    snprintf(subject, sizeof(subject), "%s -> %s", name_of(survey, from), name_of(survey, to));
    rz_doctor_say(survey->report, RZ_DOCTOR_OK, subject, NULL, "%s: round trip %.0f us, %.0f MB/s",
                  survey->hosts[to].address, us, mb_s);
}

/* From this machine, which may be one of the hosts, to the first of the others. */
static void measure_here(struct survey *survey)
{
    int to = next_of(survey, HERE);
    struct rz_link_target stream = {.token = survey->token}, datagram = stream;
    struct rz_address from;
    const char *why = "";
    double us = 0, mb_s = 0;
    if (to == HERE || !survey->here_too) {
        return;
    }
    const struct rz_doctor_host *host = &survey->hosts[to];
    if (rz_address_parse(host->address, &stream.address) == RZ_OK &&
        rz_address_parse(host->datagrams, &datagram.address) == RZ_OK &&
        rz_link_trip(&stream, &us, &from, &why) && rz_link_datagram(&datagram, &why) &&
        rz_link_rate(&stream, &mb_s, &why)) {
        say_way(survey, HERE, to, us, mb_s);
    } else {
        char text[RZ_DOCTOR_TEXT];
        snprintf(text, sizeof(text), "%s: %s", host->address, why);
        say_no_way(survey, HERE, host->name, text);
    }
}

/* Round trips first, all at once, then rates: bulk would be in the way of the round trips. */
static void measure_ring(struct survey *survey)
{
    for (unsigned i = 0; i < survey->n; i++) {
        survey->hosts[i].next = next_of(survey, (int)i);
        survey->hosts[i].us = 0;
    }
    ask_all(survey, order_trip);
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        bool asked = !host->lost && *host->address && host->next != (int)i;
        if (asked && is_good(host)) {
            host->us = json_number_value(json_object_get(host->answer, "us"));
        } else if (asked && host->answer) {
            char why[RZ_DOCTOR_TEXT];
            snprintf(why, sizeof(why), "%s: %s", survey->hosts[host->next].address,
                     text_of(host->answer, "error"));
            say_no_way(survey, (int)i, survey->hosts[host->next].name, why);
        }
    }
    say_all_lost(survey);
    ask_all(survey, order_rate);
    for (unsigned i = 0; i < survey->n; i++) {
        struct rz_doctor_host *host = &survey->hosts[i];
        if (host->lost || host->us <= 0 || !host->answer) {
            continue;
        }
        if (is_good(host)) {
            say_way(survey, (int)i, host->next, host->us,
                    json_number_value(json_object_get(host->answer, "mb_s")));
        } else {
            say_no_way(survey, (int)i, survey->hosts[host->next].name,
                       text_of(host->answer, "error"));
        }
    }
    say_all_lost(survey);
}

/* ---- begin and end ---- */

static bool make_token(char token[RZ_LINK_TOKEN + 1])
{
    unsigned char bytes[RZ_LINK_TOKEN / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

/* This machine serves at all its addresses, as rzrun listens. False: *why. */
static bool serve_here(struct survey *survey, const char **why)
{
    const struct rz_rzrun_options *run = survey->run;
    struct rz_address at = {.port = 0};
    size_t used = 0;
    *why = run->interface ? "no interface of this machine is the one of --interface"
                          : "this machine has no address that other hosts could reach";
    if (run->n_addresses == 0) {
        return false;
    }
    *why = run->port_range ? "no port of --port-range is free" : "no port can be opened";
    if (!make_token(survey->token)) {
        return false;
    }
    survey->server = rz_doctor_serve(&at, NULL, survey->token);
    if (survey->server < 0) {
        return false;
    }
    for (unsigned i = 0; i < run->n_addresses; i++) {
        char text[RZ_ADDRESS_TEXT];
        const struct rz_address here = rz_address_at(&run->addresses[i], at.port);
        used += (size_t)snprintf(survey->here + used, sizeof(survey->here) - used, "%s%s",
                                 i > 0 ? "," : "", rz_address_text(&here, text));
    }
    return true;
}

/* False: *why. */
static bool make_command(struct survey *survey, const char **why)
{
    char daemon[RZ_DOCTOR_PATH], doctor[RZ_DOCTOR_PATH];
    *why = "the path of this command is not known, or has a quote in it";
    if (!rz_host_options_program(survey->run, "rzd", daemon, sizeof(daemon)) ||
        !rz_host_options_program(survey->run, "rzdoctor", doctor, sizeof(doctor))) {
        return false;
    }
    snprintf(survey->command, sizeof(survey->command), "'%s' --version && exec '%s' link", daemon,
             doctor);
    return true;
}

static void start_agent(struct survey *survey, struct rz_doctor_host *host)
{
    const struct rz_texts *agent = &survey->run->agent;
    const char **words = calloc(agent->n + 8, sizeof(*words));
    char list[80];
    uint32_t n = agent->n;
    rz_need_memory(words, "for the command line");
    memcpy(words, agent->texts, n * sizeof(*words));
    if (survey->run->launcher == RZ_LAUNCHER_SLURM) {
        snprintf(list, sizeof(list), "--nodelist=%s", host->name);
        words[n++] = list;
        words[n++] = "--nodes=1";
        words[n++] = "--ntasks=1";
        words[n++] = "sh";
        words[n++] = "-c";
    } else {
        words[n++] = host->name;
    }
    words[n] = survey->command;
    host->dialog->heard = take_line;
    host->dialog->arg = host;
    host->dialog->line_max = RZ_LINK_ANSWER_MAX;
    rz_dialog_start(host->dialog, words, true);
    free(words);
}

static void start_agents(struct survey *survey)
{
    const struct rz_launch_layout *layout = &survey->run->layout;
    rz_dialogs_prepare();
    survey->hosts = calloc(layout->n_nodes, sizeof(*survey->hosts));
    survey->dialogs = calloc(layout->n_nodes, sizeof(*survey->dialogs));
    rz_need_memory(survey->hosts && survey->dialogs, "for hosts");
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        if (layout->nodes[i].remote) {
            struct rz_doctor_host *host = &survey->hosts[survey->n];
            host->name = layout->nodes[i].host;
            host->dialog = &survey->dialogs[survey->n++];
            start_agent(survey, host);
        } else {
            survey->here_too = true;
        }
    }
}

void rz_doctor_check_hosts(struct rz_doctor_report *report, const struct rz_rzrun_options *run)
{
    struct survey survey = {.report = report, .run = run};
    const char *why;
    rz_doctor_section(report, "Hosts");
    if (run->n_remote == 0) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "hosts", NULL, "all of them are this machine");
        return;
    }
    if (!make_command(&survey, &why) || !serve_here(&survey, &why)) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "here", "see --interface, --port-range and --prefix",
                      "%s", why);
        return;
    }
    start_agents(&survey);
    rz_dialogs_await(survey.dialogs, survey.n, rz_clock_now() + run->start_timeout);
    check_versions(&survey);
    for (int i = 0; i < CLOCK_ROUNDS; i++) {
        ask_all(&survey, order_clock);
        take_clocks(&survey);
        say_all_lost(&survey);
    }
    ask_all(&survey, order_check);
    say_all_lost(&survey);
    compare_all(&survey);
    rz_doctor_section(report, "Between hosts");
    reach_here(&survey);
    measure_ring(&survey);
    measure_here(&survey);
    rz_dialogs_end(survey.dialogs, survey.n);
    rz_doctor_serve_end(survey.server);
    for (unsigned i = 0; i < survey.n; i++) {
        json_decref(survey.hosts[i].answer);
    }
    free(survey.dialogs);
    free(survey.hosts);
}
