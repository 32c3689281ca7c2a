/* SPDX-License-Identifier: BSD-3-Clause */
/* What JOB may say, and what is derived from its key. */
#include "daemon/state/job.h"
#include "wire/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A good JOB of two nodes and three ranks, as bytes. */
struct example {
    struct rz_launch_job job;
    uint8_t placement[12], slots[8], addresses[64], arguments[64], environment[64];
};

static void make(struct example *e)
{
    static const struct rz_address loopback = {.ip = RZ_ADDRESS_LOOPBACK};
    static const uint8_t key[RZ_JOB_KEY_BYTES] = "key";
    struct rz_wire_writer w;
    *e = (struct example){.job = {.job = 1,
                                  .key = key,
                                  .key_length = sizeof(key),
                                  .n_nodes = 2,
                                  .n_ranks = 3,
                                  .node = 1,
                                  .share = 1,
                                  .shares = 2,
                                  .hb_period_ns = RZ_MILLISECOND,
                                  .hb_timeout_ns = 3 * RZ_MILLISECOND,
                                  .checkpoint_folder = "",
                                  .checkpoint_name = "",
                                  .directory = ""}};
    e->job.placement = e->placement;
    e->job.placement_length = sizeof(e->placement);
    e->placement[4] = 1; /* rank 1 on node 1 */
    e->job.slots = e->slots;
    e->job.slots_length = sizeof(e->slots);
    rz_wire_writer_init(&w, e->addresses, sizeof(e->addresses));
    for (uint32_t i = 0; i < 2; i++) {
        rz_wire_put_bytes(&w, loopback.ip, RZ_IP_BYTES);
        rz_wire_put_u32(&w, 1000 + i);
        rz_wire_put_u32(&w, 2000 + i);
        rz_wire_put_u32(&w, 3000 + i);
    }
    e->job.addresses = e->addresses;
    e->job.addresses_length = (uint32_t)(w.at - w.start);
    rz_wire_writer_init(&w, e->arguments, sizeof(e->arguments));
    rz_wire_put_text(&w, "program");
    rz_wire_put_text(&w, "");
    e->job.arguments = e->arguments;
    e->job.arguments_length = (uint32_t)(w.at - w.start);
    rz_wire_writer_init(&w, e->environment, sizeof(e->environment));
    rz_wire_put_text(&w, "NAME=value");
    e->job.environment = e->environment;
    e->job.environment_length = (uint32_t)(w.at - w.start);
}

static void a_good_job_is_read_whole(void **state)
{
    struct example e;
    struct rz_daemon_job job;
    const char *why;
    (void)state;
    make(&e);
    assert_int_equal(rz_job_read(&job, &e.job, &why), RZ_OK);
    assert_int_equal(job.placement[1], 1);
    assert_int_equal(job.peers[1].tcp_port, 1001);
    assert_int_equal(job.peers[1].udp_port, 2001);
    assert_int_equal(job.peers[1].pid, 3001);
    assert_int_equal(job.share, 1);
    assert_int_equal(job.shares, 2);
    assert_string_equal(job.arguments[0], "program");
    assert_string_equal(job.arguments[1], "");
    assert_null(job.arguments[2]);
    assert_string_equal(job.environment[0], "NAME=value");
    assert_true(job.token != 0);
    rz_job_clear(&job);
}

/* Rank 0 runs "one", ranks 1 and 2 "two" with an argument, a variable and a directory. */
static uint32_t put_programs(uint8_t *bytes, size_t room)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, bytes, room);
    rz_wire_put_u32(&w, 1);
    rz_wire_put_text(&w, "");
    rz_wire_put_u32(&w, 1);
    rz_wire_put_text(&w, "one");
    rz_wire_put_u32(&w, 0);
    rz_wire_put_u32(&w, 2);
    rz_wire_put_text(&w, "/there");
    rz_wire_put_u32(&w, 2);
    rz_wire_put_text(&w, "two");
    rz_wire_put_text(&w, "2");
    rz_wire_put_u32(&w, 1);
    rz_wire_put_text(&w, "A=b");
    return (uint32_t)(w.at - w.start);
}

static void each_rank_has_its_program(void **state)
{
    struct example e;
    struct rz_daemon_job job;
    const char *why;
    uint8_t programs[128];
    (void)state;
    make(&e);
    e.job.contexts = programs;
    e.job.contexts_length = put_programs(programs, sizeof(programs));
    assert_int_equal(rz_job_read(&job, &e.job, &why), RZ_OK);
    assert_string_equal(rz_job_program(&job, 0).arguments[0], "one");
    for (uint32_t rank = 1; rank < 3; rank++) {
        struct rz_program program = rz_job_program(&job, rank);
        assert_int_equal(rz_job_appnum(&job, rank), 1);
        assert_string_equal(program.arguments[1], "2");
        assert_null(program.arguments[2]);
        assert_string_equal(program.environment[0], "A=b");
        assert_string_equal(program.directory, "/there");
    }
    assert_int_equal(rz_job_appnum(&job, 3), 0); /* a slot behind the ranks */
    rz_job_clear(&job);
}

static void refused(const struct example *e)
{
    struct rz_daemon_job job;
    const char *why = NULL;
    assert_int_equal(rz_job_read(&job, &e->job, &why), RZ_ERR_INVALID);
    assert_non_null(why);
    assert_memory_equal(why, "JOB: ", 5);
}

static void each_bad_value_is_refused_in_words(void **state)
{
    struct example e;
    (void)state;
    make(&e), e.job.n_nodes = 0, refused(&e);
    make(&e), e.job.n_ranks = UINT32_MAX, refused(&e);
    make(&e), e.job.node = 2, refused(&e);
    make(&e), e.job.key_length = 31, refused(&e);
    make(&e), e.job.hb_period_ns = 0, refused(&e);
    make(&e), e.job.scheme = 99, refused(&e);
    make(&e), e.job.scheme_parity = 1, refused(&e);
    make(&e), e.job.hb_timeout_ns = 1, refused(&e);
    make(&e), e.job.placement_length = 8, refused(&e);
    make(&e), e.placement[8] = 2, refused(&e);
    make(&e), e.job.slots_length = 12, refused(&e);
    make(&e), e.job.addresses_length--, refused(&e);
    make(&e), e.addresses[0] = RZ_IP_BYTES - 1, refused(&e);
    make(&e), e.job.flags = RZ_JOB_BIND_CORE, e.job.shares = 0, refused(&e);
    make(&e), e.job.flags = RZ_JOB_BIND_CORE, e.job.share = 2, refused(&e);
    make(&e), e.job.arguments_length = 0, refused(&e);
    make(&e), e.job.arguments_length--, refused(&e);
    make(&e), e.environment[8] = '_', refused(&e); /* the '=' */
    uint8_t programs[128];
    uint32_t n = put_programs(programs, sizeof(programs));
    for (uint32_t length = 1; length < n; length++) {
        make(&e), e.job.contexts = programs, e.job.contexts_length = length, refused(&e);
    }
    make(&e), e.job.contexts = programs, e.job.contexts_length = n, e.job.n_ranks = 2;
    e.job.placement_length = 8, refused(&e); /* programs of three ranks */
}

/* The second run of a job on its folder, which begins from the first. */
static void make_with_files(struct example *e)
{
    make(e);
    e->job.checkpoint_folder = "/checkpoints/job";
    e->job.checkpoint_name = "job";
    e->job.checkpoint_run = 2;
    e->job.checkpoint_keep = 2;
    e->job.restored_run = e->job.restored_epoch = 1;
    e->job.restored_number = 12;
}

static void where_checkpoints_are_must_fit_together(void **state)
{
    struct example e;
    struct rz_daemon_job job;
    const char *why;
    (void)state;
    make_with_files(&e), e.job.scheme = RZ_SCHEME_FILE;
    assert_int_equal(rz_job_read(&job, &e.job, &why), RZ_OK);
    assert_string_equal(job.checkpoints.folder, "/checkpoints/job");
    assert_string_equal(job.checkpoints.name, "job");
    assert_int_equal(job.checkpoints.restored.number, 12);
    rz_job_clear(&job);
    make_with_files(&e), e.job.checkpoint_name = "../job", refused(&e);
    make_with_files(&e), e.job.checkpoint_keep = 1, refused(&e);
    make_with_files(&e), e.job.restored_run = 2, refused(&e);
    make_with_files(&e), e.job.restored_epoch = 0, refused(&e);
    make_with_files(&e), e.job.checkpoint_folder = "", refused(&e);
    make(&e), e.job.scheme = RZ_SCHEME_FILE, refused(&e);
}

static void keys_of_processes_differ_and_hide_the_job_key(void **state)
{
    struct example e;
    struct rz_daemon_job job;
    const char *why;
    uint8_t a[RZ_JOB_KEY_BYTES], b[RZ_JOB_KEY_BYTES], again[RZ_JOB_KEY_BYTES];
    (void)state;
    make(&e);
    assert_int_equal(rz_job_read(&job, &e.job, &why), RZ_OK);
    rz_job_process_key(&job, 1, 1, a);
    rz_job_process_key(&job, 1, 2, b);
    rz_job_process_key(&job, 1, 1, again);
    assert_memory_equal(a, again, sizeof(a));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, job.key, sizeof(a));
    rz_job_ring_key(&job, b);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(b, job.key, sizeof(b));
    rz_job_group_key(&job, a);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, job.key, sizeof(a));
    rz_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_job_is_read_whole),
        cmocka_unit_test(each_rank_has_its_program),
        cmocka_unit_test(each_bad_value_is_refused_in_words),
        cmocka_unit_test(where_checkpoints_are_must_fit_together),
        cmocka_unit_test(keys_of_processes_differ_and_hide_the_job_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
