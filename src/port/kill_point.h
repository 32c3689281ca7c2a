/*
 * Places where a process can be told to fail: RZ_KILL_AT=POINT[:NTH][@RANK] ends it by SIGKILL when
 * it comes to that place for the NTH time (1); RZ_KILL_AT=POINT[:NTH][@RANK]+stop stops it there
 * by SIGSTOP. For tests of what the others make of it; without the
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
    RZ_KILL_SENT,             /* it was given to the transport */
    RZ_KILL_ARRIVED,          /* a message has passed the epoch check, nothing was made of it yet */
    RZ_KILL_PROTOCOL_MESSAGE, /* a letter of a protocol is about to leave, to one of several */
    RZ_KILL_READ,             /* a letter is about to be read */
    RZ_KILL_STEP,             /* a protocol has made a step, nothing of it was done */
    RZ_KILL_DECIDED,          /* something was agreed, the caller does not know yet */
    RZ_KILL_REVOKED,          /* a communicator is marked, nobody else was told */
    RZ_KILL_REVOKE_TOLD,      /* the daemon was told of it */
    RZ_KILL_COMM,             /* a communicator is about to be made */
    RZ_KILL_RING_WRITE,       /* a record stands in shared memory, unpublished */
    RZ_KILL_RING_TOLD,        /* it is published, the reader was not woken */
    RZ_KILL_FETCH,            /* a payload is about to be fetched */
    RZ_KILL_FETCHED,          /* it was copied, its sender was not told */
    RZ_KILL_GOSSIP,           /* gossip has found out who has failed, nothing was checked yet */
    RZ_KILL_SPAWN,            /* processes are about to be ordered */
    RZ_KILL_SPAWNED,          /* the daemon has said who they are, nobody else knows */
    RZ_KILL_READY,            /* a spawned process has said so, and was not told to go on */
    RZ_KILL_GO,               /* one of the spawned is about to be told to go on */
    RZ_KILL_CONNECT,          /* a port is about to be asked */
    RZ_KILL_ACCEPT,           /* who asked is about to be answered */
    RZ_KILL_LAST_WORD,        /* the accepting root is about to be told that all is well */
    RZ_KILL_JOIN,             /* a process is about to say over a socket who it is */
    RZ_KILL_REPLACE_AGREED,   /* the members have agreed who is to be replaced */
    RZ_KILL_REPLACE_ASKED, /* the daemon was asked for processes in place of the failed processes */
    RZ_KILL_REPLACE_BOOTSTRAPPED, /* one of the spawned processes was told where it belongs */
    RZ_KILL_REPLACE_LAST, /* the agreement that spawned processes take part in is about to begin */
    RZ_KILL_REPLACE_JOINED,     /* a spawned process knows where it belongs */
    RZ_KILL_GROUP_SOCKET,       /* a group monitor has a socket, the others know nothing of it */
    RZ_KILL_GROUP_EP_ADDRESSES, /* it has told them, and knows what they said */
    RZ_KILL_GROUP_MADE,         /* its thread is there, or it failed; nothing is agreed */
    RZ_KILL_GROUP_ARRIVED,      /* the daemon was told that a process waits for the next round */
    RZ_KILL_GROUP_ROUND,        /* it was told of that, and is not in it yet */
    RZ_KILL_VOTE_PREPARE,       /* a vote on who comes back was called, in the monitor's thread */
    RZ_KILL_VOTE_PROMISE,       /* it has answered such a call, with its vote */
    RZ_KILL_VOTE_ACCEPT,        /* it has proposed what most voted for */
    RZ_KILL_VOTE_ACCEPTED,      /* it has told the proposer that it agrees */
    /* Of a daemon, whose number stands for the rank: checkpoint files. */
    RZ_KILL_FILE_BEGIN,   /* a piece is about to be written */
    RZ_KILL_FILE_OPENED,  /* its file is there, empty, under another name */
    RZ_KILL_FILE_WRITTEN, /* and written, not on the disk */
    RZ_KILL_FILE_SYNCED,  /* and on the disk */
    RZ_KILL_FILE_NAMED,   /* it has its name, perhaps not on the disk */
    RZ_KILL_FILE_DURABLE, /* the piece is durable, nobody was told */
    RZ_KILL_MARK_BEGIN,   /* the same of the mark of a generation */
    RZ_KILL_MARK_OPENED,
    RZ_KILL_MARK_WRITTEN,
    RZ_KILL_MARK_SYNCED,
    RZ_KILL_MARK_NAMED,
    RZ_KILL_MARK_DURABLE,    /* the generation is committed in files, older ones are still there */
    RZ_KILL_PRUNE,           /* an older generation is about to be removed */
    RZ_KILL_PRUNE_UNMARKED,  /* its mark is gone, its pieces are not */
    RZ_KILL_RESTORE_OPEN,    /* a piece is about to be read */
    RZ_KILL_RESTORE_READ,    /* it was read, not checked */
    RZ_KILL_RESTORE_CHECKED, /* it is good, and nobody has it yet */
    /* Of a process: checkpoints. */
    RZ_KILL_CHECKPOINT,      /* its piece is about to be copied */
    RZ_KILL_CHECKPOINT_HALF, /* half of it is */
    RZ_KILL_STORE,           /* all of it is, and the daemon was not told */
    RZ_KILL_STORED,          /* the daemon was told */
    RZ_KILL_RESTORE,         /* what is to be restored is known and good, nothing was copied yet */
    RZ_KILL_RESTORED,        /* it was copied, and the daemon was not told */
    /* Of a process: global restart. */
    RZ_KILL_JOINED,     /* its daemon knows it, nobody else */
    RZ_KILL_AT_START,   /* it stands at the start of an epoch, and its daemon was not told */
    RZ_KILL_START_TOLD, /* its daemon was told */
    RZ_KILL_ENTERING,   /* it is about to enter MPIX_Reinit */
    RZ_KILL_ENTERED,    /* its daemon was told so */
    RZ_KILL_GAVE_UP,    /* everything of the old epoch has ended, nothing was cleaned up */
    RZ_KILL_WENT_BACK,  /* it was cleaned up, and the new epoch is about to be awaited */
    RZ_KILL_POINT_OVER, /* the restart point has returned, nobody was told */
    /* Of a daemon: the same. */
    RZ_KILL_EPOCH,       /* an epoch is decided, nothing was done about it */
    RZ_KILL_EPOCH_BEGUN, /* its processes are started, and those that live were not told */
    RZ_KILL_RUN,         /* its barrier is open, the processes here were not told */
    /* Of a daemon: checkpoint pieces in memory. */
    RZ_KILL_PIECE_CAME, /* a process has given its piece, nobody was told */
    RZ_KILL_PIECE_PART, /* a part of a piece is about to leave for another daemon */
    RZ_KILL_SHARE,      /* a part of another's piece is about to be folded into a parity */
    RZ_KILL_PIECE_KEPT, /* a copy or share is whole here, its owner was not told */
    RZ_KILL_PIECE_ACK,  /* a keeper has acknowledged, nothing was made of it */
    RZ_KILL_BLOCK,      /* a part of a block is about to be given */
    RZ_KILL_REBUILT,    /* a lost piece was made from blocks, it was not looked at */
    RZ_KILL_PIECE_BACK, /* the piece of a new rank is here and good, nobody was told */
    /* Of a daemon: computing rounds of dynamic groups. */
    RZ_KILL_TURN,       /* a message about one is about to leave, to one of several */
    RZ_KILL_TURN_READ,  /* a message about one is about to be read */
    RZ_KILL_ROUND,      /* one counts, the processes here were not told */
    RZ_KILL_ROUND_TOLD, /* one of the processes here was told */
    /* Of rzrun: from its first fork to its end. */
    RZ_KILL_LAUNCH_FORKED,     /* a keeper was forked, others may not be */
    RZ_KILL_LAUNCH_NODES,      /* all keepers were forked, none was heard */
    RZ_KILL_LAUNCH_LISTENING,  /* a daemon has reported */
    RZ_KILL_LAUNCH_JOB,        /* a daemon was told the job, others may not be */
    RZ_KILL_LAUNCH_STARTED,    /* it is told that a process was started */
    RZ_KILL_LAUNCH_CAN_DETACH, /* all daemons can go on alone, the number is not written */
    RZ_KILL_LAUNCH_NUMBER,     /* it is written, no daemon was let go */
    RZ_KILL_LAUNCH_LET_GO,     /* a daemon was let go, others may not be */
    RZ_KILL_LAUNCH_EXITED,     /* it is told that a process has ended */
    RZ_KILL_LAUNCH_SHUTDOWN,   /* a daemon was told to end, others may not be */
    RZ_KILL_LAUNCH_ENDING,     /* the daemons were told to end */
    RZ_KILL_LAUNCH_LEAVE,      /* the daemons were told that all know of the end */
    RZ_KILL_LAUNCH_RELEASED,   /* their streams were closed, their keepers are awaited */
    RZ_KILL_LAUNCH_OVER,       /* all has ended, nothing was said of it */
    /* Of a keeper, whose node's number stands for the rank: the same. */
    RZ_KILL_KEEPER_BEGIN,   /* nothing was done */
    RZ_KILL_KEEPER_FORKED,  /* the daemon is there, the keeper does not look yet */
    RZ_KILL_KEEPER_LET_GO,  /* rzrun may go */
    RZ_KILL_KEEPER_TOLD,    /* the daemon was told to end */
    RZ_KILL_KEEPER_REAPED,  /* the daemon has ended, what is below it has not */
    RZ_KILL_KEEPER_CLEARED, /* nothing is left but the scratch folder */
    /* Of a daemon: the same. */
    RZ_KILL_DAEMON_BEGIN,      /* nothing was done */
    RZ_KILL_DAEMON_STREAM,     /* the stream to rzrun is open */
    RZ_KILL_DAEMON_LISTENING,  /* rzrun was told so */
    RZ_KILL_DAEMON_JOB,        /* the job has come, nothing was made of it */
    RZ_KILL_DAEMON_OPEN,       /* its parts are open, no process was started */
    RZ_KILL_DAEMON_FORKED,     /* a process was forked, nobody was told */
    RZ_KILL_DAEMON_STARTED,    /* rzrun was told so */
    RZ_KILL_DAEMON_EXECUTED,   /* a process runs its program */
    RZ_KILL_DAEMON_HELLO,      /* a process has said who it is, and was not answered */
    RZ_KILL_DAEMON_WELCOME,    /* it was answered */
    RZ_KILL_DAEMON_CAN_DETACH, /* rzrun was told that the daemon can go on alone */
    RZ_KILL_DAEMON_LET_GO,     /* rzrun has let it go, the keeper was not told */
    RZ_KILL_DAEMON_DETACHED,   /* the keeper was told, rzrun was not */
    RZ_KILL_DAEMON_BYE,        /* a process has said that it ends */
    RZ_KILL_DAEMON_ENDED,      /* a process has ended, nobody was told */
    RZ_KILL_DAEMON_TOLD,       /* rzrun was told so */
    RZ_KILL_DAEMON_ENDING,     /* the daemon is told to end */
    RZ_KILL_DAEMON_DONE,       /* all has ended here, and rzrun was told */
    RZ_KILL_DAEMON_EMPTY,      /* its loop was left, orphans may be there */
    RZ_KILL_DAEMON_CLEARED,    /* nothing is left but the last words to rzrun */
    RZ_KILL_POINTS
};

struct rz_kill_plan {
    enum rz_kill_point point;
    uint64_t left; /* times it is still passed */
    int signal;
};

extern struct rz_kill_plan *rz_kill_plan; /* NULL: nobody is to fail */

/* One reaches a point; does not return when it was the one. */
void rz_kill_reached(enum rz_kill_point point);

static inline void rz_kill_here(enum rz_kill_point point)
{
    if (__builtin_expect(rz_kill_plan != NULL, 0)) {
        rz_kill_reached(point);
    }
}

/* Takes over the plan in text, if it is one for this rank; "": no plan. False: not understood, and
 * nothing was changed. */
bool rz_kill_arm(const char *text, uint32_t rank);

/* The name of a point, e.g. "ring-write"; NULL behind the last. */
const char *rz_kill_point_name(unsigned point);

#endif
