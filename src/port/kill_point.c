/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the kill points, and the plan that RZ_KILL_AT sets. */
#include "port/kill_point.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP "+stop"

struct rz_kill_plan *rz_kill_plan;

static const char *const names[RZ_KILL_POINTS] = {
    [RZ_KILL_PIECE_CAME] = "piece-came",
    [RZ_KILL_PIECE_PART] = "piece-part",
    [RZ_KILL_SHARE] = "share",
    [RZ_KILL_PIECE_KEPT] = "piece-kept",
    [RZ_KILL_PIECE_ACK] = "piece-ack",
    [RZ_KILL_BLOCK] = "block",
    [RZ_KILL_REBUILT] = "rebuilt",
    [RZ_KILL_PIECE_BACK] = "piece-back",
    [RZ_KILL_TURN] = "turn",
    [RZ_KILL_TURN_READ] = "turn-read",
    [RZ_KILL_ROUND] = "round",
    [RZ_KILL_ROUND_TOLD] = "round-told",
    [RZ_KILL_JOINED] = "joined",
    [RZ_KILL_AT_START] = "at-start",
    [RZ_KILL_START_TOLD] = "start-told",
    [RZ_KILL_ENTERING] = "entering",
    [RZ_KILL_ENTERED] = "entered",
    [RZ_KILL_GAVE_UP] = "gave-up",
    [RZ_KILL_WENT_BACK] = "went-back",
    [RZ_KILL_POINT_OVER] = "point-over",
    [RZ_KILL_EPOCH] = "epoch",
    [RZ_KILL_EPOCH_BEGUN] = "epoch-begun",
    [RZ_KILL_RUN] = "run",
    [RZ_KILL_SEND] = "send",
    [RZ_KILL_SENT] = "sent",
    [RZ_KILL_ARRIVED] = "arrived",
    [RZ_KILL_PROTOCOL_MESSAGE] = "protocol-message",
    [RZ_KILL_READ] = "read",
    [RZ_KILL_STEP] = "step",
    [RZ_KILL_DECIDED] = "decided",
    [RZ_KILL_REVOKED] = "revoked",
    [RZ_KILL_COMM] = "comm",
    [RZ_KILL_GROUP_SOCKET] = "group-socket",
    [RZ_KILL_GROUP_EP_ADDRESSES] = "group-addresses",
    [RZ_KILL_GROUP_MADE] = "group-made",
    [RZ_KILL_GROUP_ARRIVED] = "group-arrived",
    [RZ_KILL_GROUP_ROUND] = "group-round",
    [RZ_KILL_VOTE_PREPARE] = "vote-prepare",
    [RZ_KILL_VOTE_PROMISE] = "vote-promise",
    [RZ_KILL_VOTE_ACCEPT] = "vote-accept",
    [RZ_KILL_VOTE_ACCEPTED] = "vote-accepted",
    [RZ_KILL_RING_WRITE] = "ring-write",
    [RZ_KILL_RING_TOLD] = "ring-told",
    [RZ_KILL_FETCH] = "fetch",
    [RZ_KILL_REVOKE_TOLD] = "revoke-told",
    [RZ_KILL_FETCHED] = "fetched",
    [RZ_KILL_GOSSIP] = "gossip",
    [RZ_KILL_SPAWN] = "spawn",
    [RZ_KILL_SPAWNED] = "spawned",
    [RZ_KILL_READY] = "ready",
    [RZ_KILL_GO] = "go",
    [RZ_KILL_CONNECT] = "connect",
    [RZ_KILL_ACCEPT] = "accept",
    [RZ_KILL_LAST_WORD] = "last-word",
    [RZ_KILL_JOIN] = "join",
    [RZ_KILL_REPLACE_AGREED] = "replace-agreed",
    [RZ_KILL_REPLACE_ASKED] = "replace-asked",
    [RZ_KILL_REPLACE_BOOTSTRAPPED] = "replace-bootstrapped",
    [RZ_KILL_REPLACE_LAST] = "replace-last",
    [RZ_KILL_REPLACE_JOINED] = "replace-joined",
    [RZ_KILL_FILE_BEGIN] = "file-begin",
    [RZ_KILL_FILE_OPENED] = "file-opened",
    [RZ_KILL_FILE_WRITTEN] = "file-written",
    [RZ_KILL_FILE_SYNCED] = "file-synced",
    [RZ_KILL_FILE_NAMED] = "file-named",
    [RZ_KILL_FILE_DURABLE] = "file-durable",
    [RZ_KILL_MARK_BEGIN] = "mark-begin",
    [RZ_KILL_MARK_OPENED] = "mark-opened",
    [RZ_KILL_MARK_WRITTEN] = "mark-written",
    [RZ_KILL_MARK_SYNCED] = "mark-synced",
    [RZ_KILL_MARK_NAMED] = "mark-named",
    [RZ_KILL_MARK_DURABLE] = "mark-durable",
    [RZ_KILL_PRUNE] = "prune",
    [RZ_KILL_PRUNE_UNMARKED] = "prune-unmarked",
    [RZ_KILL_RESTORE_OPEN] = "restore-open",
    [RZ_KILL_RESTORE_READ] = "restore-read",
    [RZ_KILL_RESTORE_CHECKED] = "restore-checked",
    [RZ_KILL_CHECKPOINT] = "checkpoint",
    [RZ_KILL_CHECKPOINT_HALF] = "checkpoint-half",
    [RZ_KILL_STORE] = "store",
    [RZ_KILL_STORED] = "stored",
    [RZ_KILL_RESTORE] = "restore",
    [RZ_KILL_RESTORED] = "restored",
    [RZ_KILL_LAUNCH_FORKED] = "launch-forked",
    [RZ_KILL_LAUNCH_NODES] = "launch-nodes",
    [RZ_KILL_LAUNCH_LISTENING] = "launch-listening",
    [RZ_KILL_LAUNCH_JOB] = "launch-job",
    [RZ_KILL_LAUNCH_STARTED] = "launch-started",
    [RZ_KILL_LAUNCH_CAN_DETACH] = "launch-can-detach",
    [RZ_KILL_LAUNCH_NUMBER] = "launch-number",
    [RZ_KILL_LAUNCH_LET_GO] = "launch-let-go",
    [RZ_KILL_LAUNCH_EXITED] = "launch-exited",
    [RZ_KILL_LAUNCH_SHUTDOWN] = "launch-shutdown",
    [RZ_KILL_LAUNCH_ENDING] = "launch-ending",
    [RZ_KILL_LAUNCH_LEAVE] = "launch-leave",
    [RZ_KILL_LAUNCH_RELEASED] = "launch-released",
    [RZ_KILL_LAUNCH_OVER] = "launch-over",
    [RZ_KILL_KEEPER_BEGIN] = "keeper-begin",
    [RZ_KILL_KEEPER_FORKED] = "keeper-forked",
    [RZ_KILL_KEEPER_LET_GO] = "keeper-let-go",
    [RZ_KILL_KEEPER_TOLD] = "keeper-told",
    [RZ_KILL_KEEPER_REAPED] = "keeper-reaped",
    [RZ_KILL_KEEPER_CLEARED] = "keeper-cleared",
    [RZ_KILL_DAEMON_BEGIN] = "daemon-begin",
    [RZ_KILL_DAEMON_STREAM] = "daemon-stream",
    [RZ_KILL_DAEMON_LISTENING] = "daemon-listening",
    [RZ_KILL_DAEMON_JOB] = "daemon-job",
    [RZ_KILL_DAEMON_OPEN] = "daemon-open",
    [RZ_KILL_DAEMON_FORKED] = "daemon-forked",
    [RZ_KILL_DAEMON_STARTED] = "daemon-started",
    [RZ_KILL_DAEMON_EXECUTED] = "daemon-executed",
    [RZ_KILL_DAEMON_HELLO] = "daemon-hello",
    [RZ_KILL_DAEMON_WELCOME] = "daemon-welcome",
    [RZ_KILL_DAEMON_CAN_DETACH] = "daemon-can-detach",
    [RZ_KILL_DAEMON_LET_GO] = "daemon-let-go",
    [RZ_KILL_DAEMON_DETACHED] = "daemon-detached",
    [RZ_KILL_DAEMON_BYE] = "daemon-bye",
    [RZ_KILL_DAEMON_ENDED] = "daemon-ended",
    [RZ_KILL_DAEMON_TOLD] = "daemon-told",
    [RZ_KILL_DAEMON_ENDING] = "daemon-ending",
    [RZ_KILL_DAEMON_DONE] = "daemon-done",
    [RZ_KILL_DAEMON_EMPTY] = "daemon-empty",
    [RZ_KILL_DAEMON_CLEARED] = "daemon-cleared",
};

const char *rz_kill_point_name(unsigned point)
{
    return point < RZ_KILL_POINTS ? names[point] : NULL;
}

void rz_kill_reached(enum rz_kill_point point)
{
    if (rz_kill_plan->point == point && --rz_kill_plan->left == 0) {
        kill(getpid(), rz_kill_plan->signal);
    }
}

/* Reads `mark` and a number of at least `least`, or nothing; moves *text behind it. */
static bool read_number(const char **text, char mark, uint64_t least, uint64_t *number)
{
    if (**text != mark) {
        return true;
    }
    if ((*text)[1] < '0' || (*text)[1] > '9') {
        return false;
    }
    char *end;
    errno = 0;
    *number = strtoull(*text + 1, &end, 10);
    *text = end;
    return errno == 0 && *number >= least;
}

bool rz_kill_arm(const char *text, uint32_t rank)
{
    static struct rz_kill_plan plan;
    size_t length = strcspn(text, ":@+");
    unsigned point = 0;
    while (point < RZ_KILL_POINTS &&
           (strlen(names[point]) != length || strncmp(names[point], text, length) != 0)) {
        point++;
    }
    uint64_t nth = 1, whom = rank;
    const char *rest = text + length;
    if (*text == '\0') {
        rz_kill_plan = NULL;
        return true;
    }
    if (point == RZ_KILL_POINTS || !read_number(&rest, ':', 1, &nth) ||
        !read_number(&rest, '@', 0, &whom) || (*rest != '\0' && strcmp(rest, STOP) != 0)) {
        return false;
    }
    plan = (struct rz_kill_plan){.point = (enum rz_kill_point)point,
                                 .left = nth,
                                 .signal = *rest == '\0' ? SIGKILL : SIGSTOP};
    rz_kill_plan = whom == rank ? &plan : NULL;
    return true;
}
