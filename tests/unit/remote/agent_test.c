/* SPDX-License-Identifier: BSD-3-Clause */
/* Agents, which are shells here: what they read, what they say, and how they end. */
#include "remote/agent.h"

#include "../../patience.h"
#include "port/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 40 };

struct rig {
    struct event_base *base;
    struct rz_agents *agents;
    unsigned n_ended, expected;
    int status[NODES];
    char said[NODES][200];
};

static void said(void *arg, uint32_t node, const char *line)
{
    struct rig *rig = arg;
    assert_true(node < NODES);
    size_t n = strlen(rig->said[node]);
    snprintf(rig->said[node] + n, sizeof(rig->said[node]) - n, "%s|", line);
}

static void ended(void *arg, uint32_t node, int status)
{
    struct rig *rig = arg;
    assert_true(node < NODES);
    rig->status[node] = status;
    if (++rig->n_ended == rig->expected) {
        event_base_loopbreak(rig->base);
    }
}

static void open_rig(struct rig *rig, const char *const *words, const char *command)
{
    static const uint8_t key[32] = "no secret";
    *rig = (struct rig){.base = event_base_new()};
    const struct rz_agents_config config = {.base = rig->base,
                                            .words = words,
                                            .command = command,
                                            .begin = {.release = "1",
                                                      .key = key,
                                                      .key_length = sizeof(key),
                                                      .rzrun = "",
                                                      .interface = "",
                                                      .port_range = "",
                                                      .agent = key,
                                                      .command = command},
                                            .arg = rig,
                                            .said = said,
                                            .ended = ended};
    rz_agents_open(&rig->agents, &config);
}

static void start(struct rig *rig, const struct rz_remote_host *hosts, uint32_t n, unsigned ends)
{
    rig->expected = ends;
    rz_agents_start(rig->agents, hosts, n);
    if (rig->n_ended < ends) {
        event_base_loopexit(rig->base, &(struct timeval){.tv_sec = TEST_HANG_S});
        event_base_dispatch(rig->base);
    }
    assert_int_equal(rig->n_ended, ends);
}

static void close_rig(struct rig *rig)
{
    rz_agents_close(rig->agents, 1000);
    event_base_free(rig->base);
}

/* The host and the command are the last arguments; reports are told apart from other lines. */
static void lines_and_status_are_passed_on(void **state)
{
    static const char *const words[] = {
        "sh", "-c",
        "echo Welcome; echo \"rhizome-report 3 said no route\"; "
        "echo \"rhizome-report 3 ended 255\"; "
        "echo \"$1 runs $2\" >&2; printf '\\033[31m\\n'; printf 'no end of line'; exit 5",
        "agent", NULL};
    const struct rz_remote_host host = {.node = 1, .name = "alpha"};
    struct rig rig;
    (void)state;
    open_rig(&rig, words, "rzd --remote");
    start(&rig, &host, 1, 2);
    assert_int_equal(rig.status[1], 5);
    assert_int_equal(rig.status[3], 255);
    assert_string_equal(rig.said[3], "no route|");
    assert_non_null(strstr(rig.said[1], "Welcome|"));
    assert_non_null(strstr(rig.said[1], "alpha runs rzd --remote|"));
    assert_non_null(strstr(rig.said[1], "no end of line|"));
    assert_non_null(strstr(rig.said[1], "?[31m|"));
    close_rig(&rig);
}

/* What the agent of a host has written: the frame that it read; returns its bytes. */
static size_t read_file(const char *path, const char *name, uint8_t *bytes, size_t max)
{
    char file_name[400];
    snprintf(file_name, sizeof(file_name), "%s/%s", path, name);
    FILE *file = fopen(file_name, "r");
    size_t got = file ? fread(bytes, 1, max, file) : 0;
    if (file) {
        fclose(file);
    }
    return got;
}

/* The number of agents whose whole frame is in its file. */
static unsigned n_written(const char *path, const char (*names)[8])
{
    unsigned n = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        uint8_t bytes[4096];
        struct rz_wire_reader r;
        size_t got = read_file(path, names[i], bytes, sizeof(bytes));
        rz_wire_reader_init(&r, bytes, got);
        uint32_t length = rz_wire_get_u32(&r);
        n += !r.malformed && got == 4 + (size_t)length;
    }
    return n;
}

/* Each agent reads BEGIN for its host, with the hosts below it. */
static void each_reads_what_its_host_begins_with(void **state)
{
    char path[] = "/tmp/rz-agent-test-XXXXXX", script[200], names[NODES][8];
    struct rz_remote_host hosts[NODES];
    struct rig rig;
    unsigned total = 0;
    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(script, sizeof(script), "cat > %s/$1", path);
    const char *const words[] = {"sh", "-c", script, "agent", NULL};
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof(names[i]), "h%u", i);
        hosts[i] = (struct rz_remote_host){.node = i, .name = names[i]};
    }
    open_rig(&rig, words, "");
    rz_agents_start(rig.agents, hosts, NODES);
    unsigned n = rz_agents_running(rig.agents);
    assert_int_equal(n, 16);
    rz_time bound = rz_clock_now() + TEST_HANG_S * RZ_SECOND;
    while (n_written(path, (const char(*)[8])names) < n && rz_clock_now() < bound) {
        event_base_loopexit(rig.base, &(struct timeval){.tv_usec = 10000});
        event_base_dispatch(rig.base);
    }
    rz_agents_signal(rig.agents, 15); /* `cat` reads on as long as its agent is needed */
    rz_agents_close(rig.agents, 100000);
    event_base_free(rig.base);
    for (uint32_t i = 0; i < NODES; i++) {
        char name[64];
        uint8_t bytes[4096];
        struct rz_remote_message message;
        size_t got = read_file(path, names[i], bytes, sizeof(bytes));
        if (got == 0) {
            continue;
        }
        snprintf(name, sizeof(name), "%s/%s", path, names[i]);
        unlink(name);
        assert_true(got > 4);
        assert_int_equal(rz_remote_decode(&message, bytes + 4, got - 4), RZ_OK);
        assert_int_equal(message.begin.node, i);
        assert_string_equal(message.begin.host, names[i]);
        struct rz_wire_reader r;
        rz_wire_reader_init(&r, message.begin.children, message.begin.children_length);
        total++;
        for (uint32_t child = i + 1; r.at != r.end; child++, total++) {
            assert_int_equal(rz_wire_get_u32(&r), child);
            assert_string_equal(rz_wire_get_text(&r), names[child]);
        }
        assert_false(r.malformed);
    }
    assert_int_equal(total, NODES);
    assert_int_equal(rmdir(path), 0);
}

/* After the loop has ended, too, and more than a pipe holds; another agent is ended, alone. */
static void what_is_said_last_is_passed_on(void **state)
{
    static const char *const words[] = {
        "sh", "-c",
        "[ \"$1\" = beta ] && exec sleep 1000; head -c 200000 /dev/zero; echo; echo last >&2",
        "agent", NULL};
    const struct rz_remote_host hosts[] = {{.node = 1, .name = "alpha"},
                                           {.node = 2, .name = "beta"}};
    struct rig rig;
    (void)state;
    open_rig(&rig, words, "");
    rz_agents_start(rig.agents, hosts, 2);
    rz_agents_signal_node(rig.agents, 2, SIGTERM);
    rz_agents_close(rig.agents, TEST_HANG_S * 1000);
    event_base_free(rig.base);
    assert_non_null(strstr(rig.said[1], "last|"));
    assert_string_equal(rig.said[2], "");
}

static void an_agent_that_does_not_exist_is_reported(void **state)
{
    static const char *const words[] = {"/no/such/agent", NULL};
    const struct rz_remote_host host = {.node = 1, .name = "alpha"};
    struct rig rig;
    (void)state;
    open_rig(&rig, words, "");
    start(&rig, &host, 1, 1);
    assert_int_equal(rig.status[1], RZ_AGENT_NOT_STARTED);
    assert_non_null(strstr(rig.said[1], "/no/such/agent cannot be started"));
    close_rig(&rig);
}

/* Agents that do not end are killed within the bound. */
static void closing_is_bounded(void **state)
{
    static const char *const words[] = {"sh", "-c", "trap '' TERM; while :; do sleep 1; done",
                                        "agent", NULL};
    const struct rz_remote_host hosts[] = {{.node = 1, .name = "a"}, {.node = 2, .name = "b"}};
    struct rig rig;
    (void)state;
    open_rig(&rig, words, "");
    rz_agents_start(rig.agents, hosts, 2);
    assert_int_equal(rz_agents_running(rig.agents), 2);
    rz_agents_close(rig.agents, 50);
    event_base_free(rig.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_status_are_passed_on),
        cmocka_unit_test(each_reads_what_its_host_begins_with),
        cmocka_unit_test(what_is_said_last_is_passed_on),
        cmocka_unit_test(an_agent_that_does_not_exist_is_reported),
        cmocka_unit_test(closing_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
