/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the overlay treats the end of a connection: `broken` is proof that the peer's daemon is gone,
 * `lost` is silence, and where nothing was sent yet there is only another try. The errors of
 * unreachable peers are simulated: this read replaces the library's.
 */
#include "overlay_sides.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- errors ---- */

/* The two connections between the sides, as side 0 has them; a bit each. */
enum { OUTGOING = 1, INCOMING = 2 };
static unsigned failing;
static int error;
static bool cut_short; /* our connection ends after the first bytes received over it */
static bool begun;     /* that has come */

static uint16_t port_of(int fd, int (*name_of)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in name = {.sin_port = 0};
    socklen_t bytes = sizeof(name);
    return name_of(fd, (struct sockaddr *)&name, &bytes) == 0 ? ntohs(name.sin_port) : 0;
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    unsigned which = 0;
    if (cut_short && port_of(fd, getpeername) == peers[1].tcp_port) {
        ssize_t got = begun ? 0 : syscall(SYS_read, fd, buffer, bytes);
        cut_short = !begun;
        begun = got > 0;
        return got;
    }
    if (failing & OUTGOING && port_of(fd, getpeername) == peers[1].tcp_port) {
        which = OUTGOING;
    } else if (failing & INCOMING && port_of(fd, getsockname) == peers[0].tcp_port) {
        which = INCOMING;
    }
    if (!which) {
        return syscall(SYS_read, fd, buffer, bytes);
    }
    failing &= ~which; /* the system reports it once */
    errno = error;
    return -1;
}

static void fail_next(unsigned which, int with)
{
    failing = which;
    error = with;
    cut_short = begun = false;
}

/* ---- two overlays ---- */

static void start_side(unsigned i)
{
    const struct rz_overlay_config config = side_config(i);
    assert_int_equal(rz_overlay_start(side[i].overlay, &config), RZ_OK);
}

static int setup(void **state)
{
    (void)state;
    fail_next(0, 0);
    open_sides();
    start_side(0);
    start_side(1);
    return 0;
}

static void say(unsigned from)
{
    struct rz_overlay_message message = {.type = RZ_OVERLAY_GET_EP_ADDRESS};
    rz_overlay_send(side[from].overlay, 1 - from, &message);
}

/* Each has opened its connection with the other, and both stand. */
static void meet(void)
{
    say(0);
    say(1);
    RUN_UNTIL(side[0].messages == 1 && side[1].messages == 1);
}

static void told(unsigned broken, unsigned lost)
{
    for (int i = 0; i < 20; i++) { /* all further consequences happen now */
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    assert_int_equal(side[0].broken, broken);
    assert_int_equal(side[0].lost, lost);
}

/* ---- the tests ---- */

static void the_end_of_a_connection_is_proof(void **state)
{
    (void)state;
    meet();
    close_side(1);
    RUN_UNTIL(side[0].broken > 0);
    told(1, 0);
}

static void a_refusal_is_proof(void **state)
{
    (void)state;
    close_side(1);
    say(0);
    RUN_UNTIL(side[0].broken > 0);
    told(1, 0);
}

/* The peer has ended as well, but the only evidence here is that no answer arrived: on the
 * connection that we opened, what was sent is lost; the other connection proves nothing. */
static void connections_that_stood_and_timed_out_are_silence(void **state)
{
    static const int errors[] = {ETIMEDOUT, EHOSTUNREACH};
    (void)state;
    for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        if (i > 0) {
            teardown(NULL);
            setup(NULL);
        }
        meet();
        fail_next(OUTGOING | INCOMING, errors[i]);
        close_side(1);
        RUN_UNTIL(failing == 0);
        told(0, 1);
    }
}

static void where_no_way_leads_another_try_is_made(void **state)
{
    (void)state;
    fail_next(OUTGOING, EHOSTUNREACH);
    say(0);
    RUN_UNTIL(failing == 0);
    told(0, 0);
    RUN_UNTIL(side[1].messages == 1); /* a second later: the message has waited */
    told(0, 0);
}

/* The other side did not see our proof in time: a loaded machine. */
static void an_end_before_the_proof_is_none(void **state)
{
    (void)state;
    cut_short = true;
    say(0);
    RUN_UNTIL(!cut_short);
    told(0, 0);
    RUN_UNTIL(side[1].messages == 1);
    told(0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_end_of_a_connection_is_proof),
        TEST(a_refusal_is_proof),
        TEST(connections_that_stood_and_timed_out_are_silence),
        TEST(where_no_way_leads_another_try_is_made),
        TEST(an_end_before_the_proof_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
