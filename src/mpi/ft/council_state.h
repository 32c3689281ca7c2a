/* What the files of the council share; nobody else includes it. */
#ifndef RZ_MPI_COUNCIL_STATE_H
#define RZ_MPI_COUNCIL_STATE_H

#include "host/hosted.h"
#include "mpi/ft/agreement.h"
#include "mpi/ft/council.h"

/* A message that is of no core: the communicator was here and has ended. In the room of agreement:
 * everybody has decided all that was agreed. In that of revocation: who says so will tell nobody.
 */
#define RZ_COUNCIL_OVER 255

/* And: somebody waits in a council beside this one, word[0]; items: its members, none: all. */
#define RZ_COUNCIL_ANNOUNCED 254

struct rz_council {
    uint64_t context;
    uint64_t of;               /* beside that of a communicator: the context of that one; else 0 */
    bool part;                 /* ... and not of all its members */
    struct rz_comm *comm;      /* NULL: it has ended */
    struct rz_council **owner; /* whose it is: comm's pointer, or another's; NULL: nobody's */
    struct rz_group *first, *second; /* retained; second: NULL or of an inter-communicator */
    rz_id self;
    uint32_t per_node;              /* this many members in a row are on one node; 0: no such row */
    struct rz_agreement *agreement; /* NULL: nothing was proposed here yet */
    struct rz_letter *early;        /* to the engine, before it was there; oldest first */
    bool timed;                     /* the engine has deadlines */
    struct rz_hosted spread;
    struct rz_motion *motions, **motions_last; /* the first is being voted on */
    bool voting;
    bool owes; /* something was decided here, and another member may not know of it yet */
    struct rz_council_asking {
        rz_time at, wait; /* when the daemon is asked next, and how long after; at 0: not at all */
        bool hurry;       /* a death has cut somebody off: whoever waits looks at the clock */
        uint32_t turn;
    } asking;
    uint32_t deposit;          /* of its last decision: index + 1; 0: none yet */
    struct rz_motion farewell; /* once the communicator has ended */
    struct rz_motion own;      /* rz_council_own_motion */
    bool over;                 /* nobody asks any more: it goes when none of its code runs */
    struct rz_council *next;
};

/* ---- council_deposits.c ---- */

/* So many councils ask their daemon in a hurry. */
extern unsigned rz_councils_hurrying;

/* The decision of that number was taken: lays it where the daemon finds it. */
void rz_council_deposit(struct rz_council *council, uint64_t number);

/* A motion is voted on: if that takes long, whoever is awaited may have decided and left with its
 * word unsent. A member has died: the same, and likely. */
void rz_council_ask_later(struct rz_council *council, rz_time now);
void rz_council_ask_soon(struct rz_council *council, rz_time now);

/* Asks, if it is time. */
void rz_council_ask(struct rz_council *council, rz_time now);
void rz_council_ask_no_more(struct rz_council *council);

/* ---- council.c ---- */

struct rz_council *rz_councils_first(void);

/* ---- council_members.c ---- */

uint32_t rz_council_size(const struct rz_council *council);

/* RZ_ID_NONE: no member. */
rz_id rz_council_find_member(const struct rz_council *council, uint32_t process);

/* The groups of comm in the order in which its members are numbered; the second may be NULL. */
void rz_council_order_groups(const struct rz_comm *comm, struct rz_group *groups[2]);

/*
 * How many members in a row share a node, if they stand in rows of one length. By the nodes where
 * the epoch began, which all processes see alike.
 */
uint32_t rz_council_rows_of_nodes(const struct rz_council *council);

/* The council of that context, or NULL. A new one, of the members of groups, for comm; NULL: no
 * memory. */
struct rz_council *rz_council_at(uint64_t context);
struct rz_council *rz_council_new(struct rz_comm *comm, struct rz_group *const groups[2],
                                  uint64_t context, struct rz_council **owner);

/* Its engine, at the latest with the first motion of this process; false: no memory. */
bool rz_council_open_engine(struct rz_council *council, enum rz_agreement_engine wanted);
/* By attribute, for that is part of the type, which that of a host's function has, too. */
void rz_council_no_memory(void) __attribute__((noreturn));

/* Another motion; on with the first one, if it can be voted on. Councils that are over go. */
void rz_council_append(struct rz_council *council, struct rz_motion *motion);
void rz_council_continue(struct rz_council *council);
struct rz_motion *rz_council_take_first(struct rz_council *council);

/* ---- council_beside.c ---- */

/* A letter RZ_COUNCIL_ANNOUNCED, to the council of a communicator; to nobody: who has ended the
 * communicator will say nothing beside it. */
void rz_council_announced(struct rz_council *council, const struct rz_letter *letter);
void rz_council_announced_too_late(const struct rz_letter *letter);

#endif
