/*
 * A process of a job that speaks the link protocol without MPI. Its words (arguments) are done in
 * order:
 *
 *   join          HELLO, WELCOME                       enter        REACHED(epoch, ENTER), waits
 * for RUN leave         REACHED(epoch, RUN), waits for LEFT   bye          BYE, clean end of the
 * watch repairing     REPAIRING                            say:TEXT     writes the line "TEXT rank
 * incarnation epoch" epoch:N       waits for epoch N or later           exit:N       exits hang
 * sleeps for ever                      stdin        copies standard input to standard output
 *   abort:N       ABORT with code N, then hangs        flood:N      writes N bytes to standard
 * output waits         shows a wait object                  open:R card:R  wants to reach rank R,
 * and waits for the answer net           answers OPEN_NET by PUT_CARD         serve        deals
 * with messages for ever if:R          the rest only in rank R              kill         kills
 * itself deaf          asks and asks and never reads        noise        sends what is no message
 *   unlink        closes the link without BYE          grow:N       touches N MiB
 *   store:WHAT    stores a checkpoint piece, `right` or wrong in the way WHAT
 */
#include "link/link.h"

#include "base/assert.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TURN_NS (20 * RZ_MILLISECOND)

static struct rz_link *link_;
static uint32_t epoch;
static bool answered;

static uint32_t self(void)
{
    return link_ ? rz_link_info(link_)->self.rank : (uint32_t)atoi(getenv("RZ_RANK"));
}

/* A turn of waiting: messages, then sleep until rung; ends the process where the node must stop. */
static void turn(void)
{
    const struct rz_link_info *info = rz_link_info(link_);
    if (rz_link_check(link_) != RZ_OK || rz_link_progress(link_) != RZ_OK)
        exit(75);
    uint32_t value = rz_doorbell_prepare(info->doorbell, RZ_DOORBELL_POLL);
    rz_doorbell_sleep(info->doorbell, value, info->doorbell_fd, &info->fd, 1, TURN_NS);
}

static uint64_t epoch_phase(void)
{
    return atomic_load(&rz_link_info(link_)->board->epoch_phase);
}

static void reached(uint32_t phase)
{
    struct rz_link_message message = {.type = RZ_LINK_REACHED,
                                      .reached = {.epoch = epoch, .phase = phase}};
    rz_assert(rz_link_send(link_, &message, -1) == RZ_OK);
}

/* Says that this process stands at the end of phase and waits for the next one; a newer epoch
 * begins anew. */
static void pass(uint32_t phase)
{
    do {
        epoch = (uint32_t)(epoch_phase() >> 8);
        reached(phase);
        while (epoch_phase() == ((uint64_t)epoch << 8 | phase))
            turn();
    } while (epoch_phase() >> 8 != epoch);
}

static void await_epoch(uint32_t number)
{
    while ((epoch = (uint32_t)(epoch_phase() >> 8)) < number)
        turn();
}

static void send_simple(enum rz_link_type type)
{
    struct rz_link_message message = {.type = type};
    rz_assert(rz_link_send(link_, &message, -1) == RZ_OK);
}

static void on_answer(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    if (message->type == RZ_LINK_OPENED)
        printf("opened %u %u\n", message->opened.rank, n_fds);
    else
        printf("card %u %.*s\n", message->card.rank, (int)message->card.card_length,
               (const char *)message->card.card);
    fflush(stdout);
    while (n_fds > 0)
        close(fds[--n_fds]);
    answered = true;
}

static void on_open_net(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    char card[32];
    (void)arg, (void)fds, (void)n_fds;
    int n = snprintf(card, sizeof card, "card-of-%u", self());
    struct rz_link_message put = {.type = RZ_LINK_PUT_CARD,
                                  .put_card = {.epoch = message->open_net.epoch,
                                               .card = (const uint8_t *)card,
                                               .card_length = (uint32_t)n}};
    rz_assert(rz_link_send(link_, &put, -1) == RZ_OK);
}

static void ask(enum rz_link_type type, uint32_t rank)
{
    struct rz_link_message message = {.type = type};
    if (type == RZ_LINK_OPEN)
        message.open.rank = rank;
    else
        message.get_card.rank = rank, message.get_card.epoch = epoch;
    answered = false;
    rz_assert(rz_link_send(link_, &message, -1) == RZ_OK);
    while (!answered)
        turn();
}

static void join(void)
{
    if (rz_link_open(&link_) != RZ_OK)
        exit(76);
    rz_link_handle(link_, RZ_LINK_OPENED, on_answer, NULL);
    rz_link_handle(link_, RZ_LINK_CARD, on_answer, NULL);
    await_epoch(1);
}

static void copy_input(void)
{
    char data[4096];
    ssize_t n;
    while ((n = read(0, data, sizeof data)) > 0)
        rz_assert(write(1, data, (size_t)n) == n);
}

static void flood(size_t bytes)
{
    static const char line[64] = "012345678901234567890123456789012345678901234567890123456789ab\n";
    for (size_t done = 0; done < bytes; done += sizeof line - 1)
        rz_assert(write(1, line, sizeof line - 1) > 0);
}

static void grow(size_t mebibytes)
{
    char *memory = malloc(mebibytes << 20);
    rz_assert(memory != NULL);
    memset(memory, 1, mebibytes << 20);
    rz_assert(*(volatile char *)memory == 1);
}

static void show_wait(void)
{
    struct rz_wait_text text = {
        .call = "MPI_Recv", .context = 0xbeef, .peer = 1, .tag = 7, .since_ns = rz_clock_now()};
    rz_wait_write(&rz_link_info(link_)->waits->wait[0], &text);
}

static void say(const char *text)
{
    printf("%s %u %s %u\n", text, self(), getenv("RZ_INCARNATION"), epoch);
    fflush(stdout);
}

static void hang(void)
{
    for (;;)
        pause();
}

static void serve(void)
{
    for (;;)
        turn();
}

/* Answers pile up until the daemon gives this process up. */
static void deaf(void)
{
    static uint8_t card[4000];
    struct rz_link_message put = {
        .type = RZ_LINK_PUT_CARD,
        .put_card = {.epoch = epoch, .card = card, .card_length = sizeof card}};
    struct rz_link_message get = {.type = RZ_LINK_GET_CARD,
                                  .get_card = {.rank = self(), .epoch = epoch}};
    rz_assert(rz_link_send(link_, &put, -1) == RZ_OK);
    while (rz_link_send(link_, &get, -1) == RZ_OK)
        ;
}

static void noise(void)
{
    rz_assert(rz_channel_send(rz_link_info(link_)->fd, "noise", 5, NULL, 0) == RZ_OK);
    hang();
}

static void unlink_(void)
{
    rz_link_close(link_, false);
    hang();
}

static void abort_job(uint32_t code)
{
    struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                      .abort = {.code = code, .reason = "as told"}};
    rz_assert(rz_link_send(link_, &message, -1) == RZ_OK);
    serve();
}

static void send_store(uint64_t number, uint64_t bytes, int fd)
{
    struct rz_link_message message = {.type = RZ_LINK_STORE,
                                      .store = {.epoch = epoch, .number = number, .bytes = bytes}};
    rz_assert(rz_link_send(link_, &message, fd) == RZ_OK);
}

static void store(const char *what)
{
    enum { BYTES = 4096 };
    int fd;
    if (strcmp(what, "unsealed") == 0) {
        fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        rz_assert(fd >= 0 && ftruncate(fd, BYTES) == 0);
    } else if (strcmp(what, "pipe") == 0) {
        int ends[2];
        rz_assert(pipe(ends) == 0);
        fd = ends[0];
    } else {
        rz_assert(rz_memory_create("piece", BYTES, &fd) == RZ_OK);
    }
    send_store(strcmp(what, "number-0") == 0   ? 0
               : strcmp(what, "number-2") == 0 ? 2
                                               : 1,
               strcmp(what, "short") == 0 ? BYTES + 1 : BYTES,
               strcmp(what, "no-fd") == 0 ? -1 : fd);
    if (strcmp(what, "twice") == 0)
        send_store(1, BYTES, fd);
    if (strcmp(what, "right") != 0)
        serve();
}

static void enter(void)
{
    pass(0);
}

static void leave(void)
{
    pass(1);
}

static void bye(void)
{
    rz_link_close(link_, true);
    link_ = NULL;
}

static void do_word(const char *word, const char *argument)
{
    static const struct {
        const char *word;
        void (*act)(void);
    } plain[] = {{"join", join}, {"enter", enter}, {"leave", leave},      {"bye", bye},
                 {"hang", hang}, {"serve", serve}, {"stdin", copy_input}, {"waits", show_wait},
                 {"deaf", deaf}, {"noise", noise}, {"unlink", unlink_}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(word, plain[i].word) == 0) {
            plain[i].act();
            return;
        }
    uint32_t number = (uint32_t)atoi(argument);
    if (strcmp(word, "repairing") == 0)
        send_simple(RZ_LINK_REPAIRING);
    else if (strcmp(word, "net") == 0)
        rz_link_handle(link_, RZ_LINK_OPEN_NET, on_open_net, NULL);
    else if (strcmp(word, "epoch") == 0)
        await_epoch(number);
    else if (strcmp(word, "say") == 0)
        say(argument);
    else if (strcmp(word, "store") == 0)
        store(argument);
    else if (strcmp(word, "flood") == 0)
        flood(number);
    else if (strcmp(word, "grow") == 0)
        grow(number);
    else if (strcmp(word, "open") == 0)
        ask(RZ_LINK_OPEN, number);
    else if (strcmp(word, "card") == 0)
        ask(RZ_LINK_GET_CARD, number);
    else if (strcmp(word, "abort") == 0)
        abort_job(number);
    else if (strcmp(word, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(word, "exit") == 0)
        exit((int)number);
    else
        rz_assert(!"an unknown word");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char word[64];
        snprintf(word, sizeof word, "%s", argv[i]);
        char *colon = strchr(word, ':');
        if (colon)
            *colon = '\0';
        if (strcmp(word, "if") == 0) {
            if ((uint32_t)atoi(colon + 1) != self())
                hang();
            continue;
        }
        do_word(word, colon ? colon + 1 : "");
    }
    return 0;
}
