/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places where a process can be told to fail, for tests of how other processes react.
 *
 * RZ_KILL_AT=POINT[:NTH][@RANK] ends the process by SIGKILL when it reaches that place for the NTH
 * time (default 1). RZ_KILL_AT=POINT[:NTH][@RANK]+stop stops it there by SIGSTOP. Without the
 * variable a place costs one load and one branch.
 */
#ifndef RZ_PORT_KILL_POINT_H
#define RZ_PORT_KILL_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_KILL_AT "RZ_KILL_AT"

enum rz_kill_point {
    RZ_KILL_SEND,             /* a message of the user or of a collective is about to leave */
    RZ_KILL_SENT,             /* the message was passed to the transport */
    RZ_KILL_ARRIVED,          /* a message has passed the epoch check, and is not handled yet */
    RZ_KILL_PROTOCOL_MESSAGE, /* a control message of a protocol is about to leave, to one of
                                 several */
    RZ_KILL_READ,             /* a control message is about to be read */
    RZ_KILL_STEP,             /* a protocol has made a step, its outputs are not carried out */
    RZ_KILL_DECIDED,          /* a decision was made, the caller does not know it yet */
    RZ_KILL_REVOKED,          /* a communicator is marked, no other process was told */
    RZ_KILL_REVOKE_TOLD,      /* the daemon was told of the revocation */
    RZ_KILL_COMM,             /* a communicator is about to be made */
    RZ_KILL_RING_WRITE,       /* a record is in shared memory, unpublished */
    RZ_KILL_RING_TOLD,        /* the record is published, the reader was not woken */
    RZ_KILL_FETCH,            /* a payload is about to be fetched */
    RZ_KILL_FETCHED,          /* the payload was copied, its sender was not told */
    RZ_KILL_GOSSIP,           /* gossip has found the failed processes, nothing was checked yet */
    RZ_KILL_SPAWN,            /* processes are about to be ordered */
    RZ_KILL_SPAWNED,   /* the daemon has named the spawned processes, no other process knows */
    RZ_KILL_READY,     /* a spawned process has reported itself, and was not told to continue */
    RZ_KILL_GO,        /* one of the spawned processes is about to be told to continue */
    RZ_KILL_CONNECT,   /* a port is about to be asked */
    RZ_KILL_ACCEPT,    /* the process that asked is about to be answered */
    RZ_KILL_LAST_WORD, /* the accepting root is about to be told of the success */
    RZ_KILL_JOIN,      /* a process is about to identify itself over a socket */
    RZ_KILL_REPLACE_AGREED, /* the members have agreed on the processes to replace */
    RZ_KILL_REPLACE_ASKED, /* the daemon was asked for processes in place of the failed processes */
    RZ_KILL_REPLACE_BOOTSTRAPPED, /* one of the spawned processes was told its place */
    RZ_KILL_REPLACE_LAST, /* the agreement that spawned processes take part in is about to begin */
    RZ_KILL_REPLACE_JOINED,     /* a spawned process knows its place */
    RZ_KILL_GROUP_SOCKET,       /* a group monitor has a socket, the others know nothing of it */
    RZ_KILL_GROUP_EP_ADDRESSES, /* the group monitor knows the addresses of the others' sockets */
    RZ_KILL_GROUP_MADE,         /* the monitor's thread runs, or has failed to; nothing is agreed */
    RZ_KILL_GROUP_ARRIVED,      /* the daemon was told that a process waits for the next round */
    RZ_KILL_GROUP_ROUND,        /* the process was told of the round, and is not in it yet */
    RZ_KILL_VOTE_PREPARE,  /* a vote on a rejoining process was called, in the monitor's thread */
    RZ_KILL_VOTE_PROMISE,  /* the monitor has answered such a call with its vote */
    RZ_KILL_VOTE_ACCEPT,   /* the monitor has proposed what most voted for */
    RZ_KILL_VOTE_ACCEPTED, /* the monitor has told the proposer that it agrees */
    /* Of a daemon, with its node's number in place of the rank: checkpoint files. */
    RZ_KILL_FILE_BEGIN,   /* a piece is about to be written */
    RZ_KILL_FILE_OPENED,  /* the piece's file exists, empty, under another name */
    RZ_KILL_FILE_WRITTEN, /* the file is written, not yet on disk */
    RZ_KILL_FILE_SYNCED,  /* the file is on disk */
    RZ_KILL_FILE_NAMED,   /* the file has its name, perhaps not on disk */
    RZ_KILL_FILE_DURABLE, /* the piece is durable, no process was told */
    RZ_KILL_MARK_BEGIN,   /* the mark of a generation is about to be written; then as for a piece */
    RZ_KILL_MARK_OPENED,
    RZ_KILL_MARK_WRITTEN,
    RZ_KILL_MARK_SYNCED,
    RZ_KILL_MARK_NAMED,
    RZ_KILL_MARK_DURABLE,    /* the generation is committed in files, older ones are still there */
    RZ_KILL_PRUNE,           /* an older generation is about to be removed */
    RZ_KILL_PRUNE_UNMARKED,  /* the mark of that generation is removed, its pieces are not */
    RZ_KILL_RESTORE_OPEN,    /* a piece is about to be read */
    RZ_KILL_RESTORE_READ,    /* the piece was read, not checked */
    RZ_KILL_RESTORE_CHECKED, /* the piece is valid, and not delivered yet */
    /* Of a process: checkpoints. */
    RZ_KILL_CHECKPOINT,      /* its piece is about to be copied */
    RZ_KILL_CHECKPOINT_HALF, /* half of the piece is copied */
    RZ_KILL_STORE,           /* the piece is copied, and the daemon was not told */
    RZ_KILL_STORED,          /* the daemon was told */
    RZ_KILL_RESTORE,         /* the data to restore is known and valid, nothing was copied yet */
    RZ_KILL_RESTORED,        /* the data was copied, and the daemon was not told */
    /* Of a process: global restart. */
    RZ_KILL_JOINED,     /* its daemon knows it, no other process does */
    RZ_KILL_AT_START,   /* it is at the start of an epoch, and its daemon was not told */
    RZ_KILL_START_TOLD, /* its daemon was told */
    RZ_KILL_ENTERING,   /* it is about to enter MPIX_Reinit */
    RZ_KILL_ENTERED,    /* the daemon was told that the process has entered */
    RZ_KILL_GAVE_UP,    /* everything of the old epoch has ended, nothing was freed */
    RZ_KILL_WENT_BACK,  /* the old epoch was freed, and the new one is about to be awaited */
    RZ_KILL_POINT_OVER, /* the restart point has returned, no process was told */
    /* Of a daemon: global restart. */
    RZ_KILL_EPOCH,       /* an epoch is decided, nothing was done for it */
    RZ_KILL_EPOCH_BEGUN, /* its processes are started, and survivors were not told */
    RZ_KILL_RUN,         /* its barrier is open, the processes here were not told */
    /* Of a daemon: checkpoint pieces in memory. */
    RZ_KILL_PIECE_CAME, /* a process has delivered its piece, no process was told */
    RZ_KILL_PIECE_PART, /* a part of a piece is about to leave for another daemon */
    RZ_KILL_SHARE,      /* a part of another rank's piece is about to be added to a parity */
    RZ_KILL_PIECE_KEPT, /* a copy or share is whole here, its owner was not told */
    RZ_KILL_PIECE_ACK,  /* a keeper has acknowledged, this is not handled yet */
    RZ_KILL_BLOCK,      /* a part of a block is about to be sent */
    RZ_KILL_REBUILT,    /* a lost piece was rebuilt from blocks, it was not checked */
    RZ_KILL_PIECE_BACK, /* the piece of a new rank is here and valid, no process was told */
    /* Of a daemon: computing rounds of dynamic groups. */
    RZ_KILL_TURN,       /* a message about a round is about to leave, to one of several */
    RZ_KILL_TURN_READ,  /* a message about a round is about to be read */
    RZ_KILL_ROUND,      /* a round is valid, the processes here were not told */
    RZ_KILL_ROUND_TOLD, /* one of the processes here was told */
    /* Of rzrun: from its first fork to its end. */
    RZ_KILL_LAUNCH_FORKED,     /* a keeper was forked, others may not be */
    RZ_KILL_LAUNCH_NODES,      /* all keepers were forked, none has reported */
    RZ_KILL_LAUNCH_LISTENING,  /* a daemon has reported */
    RZ_KILL_LAUNCH_JOB,        /* a daemon was told the job, others may not be */
    RZ_KILL_LAUNCH_STARTED,    /* it receives that a process was started */
    RZ_KILL_LAUNCH_CAN_DETACH, /* all daemons can continue without it, the number is not written */
    RZ_KILL_LAUNCH_NUMBER,     /* the number is written, no daemon was released */
    RZ_KILL_LAUNCH_LET_GO,     /* a daemon was released, others may not be */
    RZ_KILL_LAUNCH_EXITED,     /* it receives that a process has ended */
    RZ_KILL_LAUNCH_SHUTDOWN,   /* a daemon was told to end, others may not be */
    RZ_KILL_LAUNCH_ENDING,     /* the daemons were told to end */
    RZ_KILL_LAUNCH_LEAVE,      /* the daemons were told that all know of the end */
    RZ_KILL_LAUNCH_RELEASED,   /* their streams were closed, their keepers are awaited */
    RZ_KILL_LAUNCH_OVER,       /* all has ended, nothing was reported */
    /* Of a keeper, with its node's number in place of the rank: from its start to its end. */
    RZ_KILL_KEEPER_BEGIN,   /* nothing was done */
    RZ_KILL_KEEPER_FORKED,  /* the daemon is there, the keeper does not watch yet */
    RZ_KILL_KEEPER_LET_GO,  /* rzrun may end */
    RZ_KILL_KEEPER_TOLD,    /* the daemon was told to end */
    RZ_KILL_KEEPER_REAPED,  /* the daemon has ended, its descendants have not */
    RZ_KILL_KEEPER_CLEARED, /* nothing is left but the scratch folder */
    /* Of a daemon: from its start to its end. */
    RZ_KILL_DAEMON_BEGIN,      /* nothing was done */
    RZ_KILL_DAEMON_STREAM,     /* the stream to rzrun is open */
    RZ_KILL_DAEMON_LISTENING,  /* rzrun was told so */
    RZ_KILL_DAEMON_JOB,        /* the job has arrived, and is not handled yet */
    RZ_KILL_DAEMON_OPEN,       /* its parts are open, no process was started */
    RZ_KILL_DAEMON_FORKED,     /* a process was forked, no process was told */
    RZ_KILL_DAEMON_STARTED,    /* rzrun was told so */
    RZ_KILL_DAEMON_EXECUTED,   /* a process runs its program */
    RZ_KILL_DAEMON_HELLO,      /* a process has identified itself, and was not answered */
    RZ_KILL_DAEMON_WELCOME,    /* it was answered */
    RZ_KILL_DAEMON_CAN_DETACH, /* rzrun was told that the daemon can continue alone */
    RZ_KILL_DAEMON_LET_GO,     /* rzrun has released it, the keeper was not told */
    RZ_KILL_DAEMON_DETACHED,   /* the keeper was told, rzrun was not */
    RZ_KILL_DAEMON_BYE,        /* a process has announced its end */
    RZ_KILL_DAEMON_ENDED,      /* a process has ended, no process was told */
    RZ_KILL_DAEMON_TOLD,       /* rzrun was told so */
    RZ_KILL_DAEMON_ENDING,     /* the daemon is told to end */
    RZ_KILL_DAEMON_DONE,       /* all has ended here, and rzrun was told */
    RZ_KILL_DAEMON_EMPTY,      /* its loop was left, orphans may exist */
    RZ_KILL_DAEMON_CLEARED,    /* nothing is left but the last messages to rzrun */
    RZ_KILL_POINTS
};

struct rz_kill_plan {
    enum rz_kill_point point;
    uint64_t left; /* how often the point is still passed */
    int signal;
};

extern struct rz_kill_plan *rz_kill_plan; /* NULL: no process is to fail */

/* Called at a point; does not return if it was the chosen one. */
void rz_kill_reached(enum rz_kill_point point);

static inline void rz_kill_here(enum rz_kill_point point)
{
    if (__builtin_expect(rz_kill_plan != NULL, 0)) {
        rz_kill_reached(point);
    }
}

/* Sets the plan from text, if it is for this rank; "": no plan. False: text is not understood, and
 * nothing was changed. */
bool rz_kill_arm(const char *text, uint32_t rank);

/* The name of a point, e.g. "ring-write"; NULL after the last. */
const char *rz_kill_point_name(unsigned point);

#endif
