/*
 * What the overlay makes of the end of a connection: `broken` is proof that the peer's daemon is
 * gone, `lost` is silence, and where nothing was sent yet there is only another try. The errors of
 * connections over which no way leads any more are played: this read comes before the library's.
 */
#include "daemon/overlay.h"
#include "port/clock.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 2 };
static const uint8_t key[RZ_JOB_KEY_BYTES] = "the key of a job under test ...";

struct side {
    struct rz_overlay *overlay;
    unsigned messages, broken, lost;
};

static struct event_base *base;
static struct side side[NODES];
static struct rz_overlay_peer peers[NODES];

/* ---- errors */

/* The two connections between the sides, as side 0 has them; a bit each. */
enum { OUTGOING = 1, INCOMING = 2 };
static unsigned failing;
static int error;

static uint16_t port_of(int fd, int (*name_of)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in name = {.sin_port = 0};
    socklen_t bytes = sizeof name;
    return name_of(fd, (struct sockaddr *)&name, &bytes) == 0 ? ntohs(name.sin_port) : 0;
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    unsigned which = 0;
    if (failing & OUTGOING && port_of(fd, getpeername) == peers[1].tcp_port)
        which = OUTGOING;
    else if (failing & INCOMING && port_of(fd, getsockname) == peers[0].tcp_port)
        which = INCOMING;
    if (!which)
        return syscall(SYS_read, fd, buffer, bytes);
    failing &= ~which; /* the system tells it once */
    errno = error;
    return -1;
}

static void fail_next(unsigned which, int with)
{
    failing = which;
    error = with;
}

/* ---- two overlays */

static void on_message(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct side *s = arg;
    (void)from, (void)message;
    s->messages++;
}

static void on_heartbeat(void *arg, const struct rz_message *message, const uint64_t *items)
{
    (void)arg, (void)message, (void)items;
}

static void on_broken(void *arg, rz_id peer)
{
    struct side *s = arg;
    (void)peer;
    s->broken++;
}

static void on_lost(void *arg, rz_id peer)
{
    struct side *s = arg;
    (void)peer;
    s->lost++;
}

static void on_writable(void *arg, rz_id peer)
{
    (void)arg, (void)peer;
}

static void start_side(unsigned i)
{
    const struct rz_overlay_config config = {.job = 4711,
                                             .key = key,
                                             .n_nodes = NODES,
                                             .self = i,
                                             .peers = peers,
                                             .arg = &side[i],
                                             .message = on_message,
                                             .heartbeat = on_heartbeat,
                                             .broken = on_broken,
                                             .lost = on_lost,
                                             .writable = on_writable};
    assert_int_equal(rz_overlay_start(side[i].overlay, &config), RZ_OK);
}

static int setup(void **state)
{
    (void)state;
    memset(side, 0, sizeof side);
    fail_next(0, 0);
    base = event_base_new();
    assert_non_null(base);
    assert_int_equal(event_base_priority_init(base, 2), 0);
    for (unsigned i = 0; i < NODES; i++) {
        assert_int_equal(rz_overlay_open(&side[i].overlay, base, "127.0.0.1"), RZ_OK);
        peers[i].address = "127.0.0.1";
        rz_overlay_ports(side[i].overlay, &peers[i].tcp_port, &peers[i].udp_port);
    }
    start_side(0);
    start_side(1);
    return 0;
}

static void close_side(unsigned i)
{
    if (side[i].overlay)
        rz_overlay_close(side[i].overlay);
    side[i].overlay = NULL;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NODES; i++)
        close_side(i);
    event_base_free(base);
    return 0;
}

#define RUN_UNTIL(condition)                                                                       \
    do {                                                                                           \
        rz_time bound_ = rz_clock_now() + 20 * RZ_SECOND;                                          \
        while (!(condition) && rz_clock_now() < bound_) {                                          \
            event_base_loop(base, EVLOOP_NONBLOCK);                                                \
            poll(NULL, 0, 1);                                                                      \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

static void say(unsigned from)
{
    struct rz_overlay_message message = {.type = RZ_OVERLAY_GET_CARD};
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
    for (int i = 0; i < 20; i++) /* whatever else would come of it comes now */
        event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(side[0].broken, broken);
    assert_int_equal(side[0].lost, lost);
}

/* ---- the tests */

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

/* The peer has gone as well, but what is said of it here is only that no answer came: of the
 * connection that we have opened, what was sent is lost; of the other one it says nothing. */
static void connections_that_stood_and_timed_out_are_silence(void **state)
{
    static const int errors[] = {ETIMEDOUT, EHOSTUNREACH};
    (void)state;
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_end_of_a_connection_is_proof),
        TEST(a_refusal_is_proof),
        TEST(connections_that_stood_and_timed_out_are_silence),
        TEST(where_no_way_leads_another_try_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
