/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the shared-memory transport share: the state in one process; no other process
 * sees it.
 */
#ifndef RZ_NET_SHM_STATE_H
#define RZ_NET_SHM_STATE_H

#include "net/shm/shm.h"
#include "net/shm/shm_layout.h"

/* The transport's part of an operation, in its net_private. */
struct __attribute__((may_alias)) shm_op {
    struct rz_net_op *next;
    const void *data;
    size_t bytes; /* to send; after ASK: the number requested */
    union {
        size_t sent;             /* in pieces */
        struct rz_net_op *right; /* parked: `next` and this are the node's children */
    };
    uint64_t id; /* of the offer */
    uint32_t slot;
    uint32_t asked; /* the receiver has asked for pieces: no DONE will come */
};
static inline struct shm_op *shm_op(struct rz_net_op *op)
{
    return (struct shm_op *)(void *)op->net_private;
}

struct shm_ops { /* a queue through shm_op.next */
    struct rz_net_op *first, *last;
};

/* What a token waits to send to the sender, or to begin. */
enum shm_action {
    SHM_ACTION_FETCH, /* begin the fetch: there was no connection when it was requested */
    SHM_ACTION_ASK,
    SHM_ACTION_DONE,
};

/* A payload offered to this process. Exists from OFFER until DONE or ASK and all pieces, or until
 * its user has dropped it. */
struct rz_net_token {
    struct rz_net_token *next;
    struct shm_pair *pair;
    uint64_t connection; /* the pair's value when the offer arrived; if it differs now, the payload
                            is out of reach */
    struct shm_offer offer;
    enum shm_action action;
    struct rz_net_op *op; /* of the fetch in progress, or NULL */
    bool begun;           /* the fetch: it did not have to wait for a connection */
    unsigned char *data;
    size_t want, got;    /* got: in pieces that were asked for */
    size_t early_got;    /* of offer.early */
    unsigned char *kept; /* [offer.early]: what came before the fetch had begun; or NULL */
    /* Of a copy by both sides (shm_share.c): */
    size_t copied;       /* by the receiver: up to this byte */
    size_t shared_from;  /* the first piece begins here */
    uint64_t asked_high; /* what the sender had taken when it was last asked to help */
};

struct shm_tokens {
    struct rz_net_token *first, *last;
};

/* The state between this process and one owner of `lane`. */
struct shm_pair {
    uint32_t lane;
    bool over; /* of a former owner of the lane: exists as long as tokens refer to it */
    struct shm_pair *next_over;
    bool connected;
    bool closed;            /* permanently: the process has failed */
    bool torn;              /* its ring has invalid content; it is read no more */
    bool told;              /* the unknown process was reported to the user */
    bool copy_refused;      /* the system does not allow copies from its memory */
    rz_time verified_until; /* its number is its own until then */
    bool help_refused;      /* or copies by it to ours */
    uint64_t connection;    /* grows at each disconnect */
    rz_status_t status;     /* of the last disconnect */
    rz_peer_t peer;
    struct rz_identity identity;
    uint32_t pid;

    struct { /* the peer's ring in our inbox; mapped at its first event */
        const struct shm_lane_page *page;
        const unsigned char *ring;
        uint64_t head;              /* read up to here */
        uint64_t published;         /* what the sender knows of head */
        struct rz_net_token *early; /* the early bytes of its payload are still to come; or NULL */
        unsigned depth; /* number of nested reading calls: the memory that they read must stay until
                           the outermost one ends */
    } in;

    struct { /* our ring in its inbox; mapped while connected */
        struct rz_doorbell *doorbell;
        int event_fd;
        const void *heads_page;
        const struct shm_head *head;
        struct shm_lane_page *page;
        unsigned char *ring;
        uint64_t tail, head_seen;
        uint64_t until;          /* records may be written up to here without a further look */
        bool grown, cannot_grow; /* all of the ring is used; the system has refused that */
        unsigned *n_grown;       /* of this process */
        const struct shm_bounds *bounds;
        uint64_t rung;         /* the tail at the last ring of the owner's doorbell */
        struct shm_ops queue;  /* sends without space, in order */
        struct shm_ops pieces; /* offers that the receiver requested in pieces */
        bool pieces_turn;      /* the turn is that of pieces: queue and pieces alternate */
        uint64_t slots_free;   /* one bit per slot */
        struct rz_net_op *offered[SHM_SLOTS]; /* those on offer or being sent in pieces */
        struct rz_net_op *parked;             /* offers without a slot: a tree (shm_parked.c) */
    } out;

    struct shm_tokens to_send;   /* tokens that wait to send something to the sender */
    struct shm_tokens fetching;  /* tokens that wait for pieces */
    struct rz_net_token *shared; /* we have copied our part; its sender may still write; or NULL */
    uint32_t n_tokens;           /* number of all tokens of this pair */
};

struct shm_peer {
    struct shm_pair *pair;         /* NULL: not connected (any more) */
    rz_status_t status;            /* of the disconnect */
    const struct shm_pair *former; /* the pair after the disconnect, while it exists */
};

#define SHM_NO_LANE UINT32_MAX

/* A set of lanes. */
struct shm_set {
    uint64_t *words;
    bool some; /* false: it is empty */
};

/* Of a process; tests make them smaller (port/bounds.h). */
struct shm_bounds {
    uint64_t slots, slots_kept; /* bits: for offers; for payloads that were parked */
    uint32_t early_bytes;
    uint32_t ring_first;
    unsigned grown_peers;
};

struct shm {
    struct shm_bounds bounds;
    struct rz_shm_config config;
    struct shm_identity identity;
    struct rz_doorbell *doorbell;
    struct shm_head *heads;
    unsigned n_words;        /* of the sets below: one bit per lane */
    struct shm_set again;    /* lanes to be checked at the next progress */
    struct shm_set taken;    /* lanes whose bits were ever taken from a sender without a fence */
    struct shm_set blocked;  /* lanes with something to write */
    struct shm_set shared;   /* lanes of pairs whose `shared` is set */
    struct shm_pair **pairs; /* [lanes_max], made when first needed, kept until the owner of the
                                lane is over, or close */
    struct shm_pair *over;   /* pairs whose owner is gone while tokens of its payloads exist */
    struct shm_pair *hot;    /* the last pair with an event: checked first, without its bit */
    struct shm_peer *peers;
    uint32_t n_peers;
    uint64_t last_id;
    unsigned streak; /* consecutive turns of progress in which hot had events */
    unsigned looks;  /* turns since bits were taken */
    struct rz_net_token *free_tokens;
    rz_time verified_ns; /* so long a process that was verified to be the sender counts as it */
    unsigned n_grown;    /* rings in other inboxes */
    bool in_progress;
};

static inline void shm_set_add(struct shm_set *set, uint32_t lane)
{
    set->words[lane / 64] |= UINT64_C(1) << lane % 64;
    set->some = true;
}
static inline void shm_set_remove(struct shm_set *set, uint32_t lane)
{
    set->words[lane / 64] &= ~(UINT64_C(1) << lane % 64);
}

/* shm.c */
struct shm_pair *shm_pair(struct shm *shm, uint32_t lane); /* NULL: no memory */
/* the pair has ended, and its last token is gone */
void shm_pair_let_go(struct shm *shm, struct shm_pair *pair);
void shm_ops_push(struct shm_ops *ops, struct rz_net_op *op);
struct rz_net_op *shm_ops_pop(struct shm_ops *ops);
bool shm_ops_take(struct shm_ops *ops, const struct rz_net_op *op); /* false: it is not there */
void shm_tokens_push(struct shm_tokens *tokens, struct rz_net_token *token);
struct rz_net_token *shm_tokens_pop(struct shm_tokens *tokens);
bool shm_tokens_take(struct shm_tokens *tokens, const struct rz_net_token *token);

/* shm_out.c */
enum shm_written {
    SHM_WRITTEN,
    SHM_NOTHING, /* nothing to write, or it must wait for something other than space */
    SHM_FULL,
};
rz_status_t shm_out_open(struct shm *shm, struct shm_pair *pair,
                         const struct rz_shm_ep_address *ep_address);
void shm_out_close(struct shm *shm, struct shm_pair *pair, rz_status_t status); /* ends all sends */
/* ends all sends, and the connection continues */
void shm_out_renew(struct shm *shm, struct shm_pair *pair, rz_status_t status);
enum rz_net_withdrawn shm_out_withdraw(struct shm_pair *pair, struct rz_net_op *op);
enum shm_written shm_out_reply(struct shm_pair *pair, enum shm_kind kind,
                               const struct shm_reply *reply);
enum shm_written shm_out_help(struct shm_pair *pair, const struct shm_help *help);
void shm_out_ring(struct shm *shm, struct shm_pair *pair); /* announces all that was written */
/* The payload in this slot, if it has this id and is still on offer, or NULL. */
const struct shm_op *shm_out_offered(const struct shm_pair *pair, uint64_t id, uint32_t slot);
void shm_out_flush(struct shm *shm, struct shm_pair *pair);
bool shm_out_arm(struct shm_pair *pair); /* false: there is space now */
void shm_out_done(struct shm_pair *pair, const struct shm_reply *reply);
void shm_out_asked(struct shm *shm, struct shm_pair *pair, const struct shm_reply *reply);
rz_status_t shm_send(struct rz_net *net, rz_peer_t peer, const void *data, size_t bytes,
                     struct rz_net_op *op);
rz_status_t shm_inject(struct rz_net *net, rz_peer_t peer, const void *header,
                       uint32_t header_bytes, const void *data, size_t bytes);

/* shm_parked.c: a set of offers without a slot, by their ids */
void shm_parked_add(struct rz_net_op **root, struct rz_net_op *op);
struct rz_net_op *shm_parked_find(struct rz_net_op *root, uint64_t id);
/* Takes the operation with this id out; NULL: it is not there. */
struct rz_net_op *shm_parked_take(struct rz_net_op **root, uint64_t id);

/* shm_in.c */
rz_status_t shm_in_open(struct shm *shm,
                        struct shm_pair *pair); /* RZ_ERR_CLOSED: nothing was sent yet */
/* Handles at most so many records; returns their number. */
unsigned shm_in_read(struct shm *shm, struct shm_pair *pair, unsigned most);
bool shm_in_news(const struct shm_pair *pair); /* there is a record to read */
/* Lanes whose bits senders have set since are read at the next progress; the bit of lane `but`
 * stays. */
void shm_in_take_bits(struct shm *shm, uint32_t but);
/* Those with news whose bits were taken are to be checked again. */
void shm_in_look_at_taken(struct shm *shm);
void shm_in_close(struct shm *shm, struct shm_pair *pair);
unsigned shm_progress(struct rz_net *net);

/* shm_fetch.c */
rz_status_t shm_fetch_offered(struct shm *shm, struct shm_pair *pair, const struct shm_offer *offer,
                              struct rz_net_token **token);
rz_status_t shm_fetch_piece(struct shm *shm, struct shm_pair *pair, const struct shm_piece *piece,
                            const void *data, size_t bytes);
/* The sender has given the payload a slot: it can be copied. */
rz_status_t shm_fetch_slotted(struct shm *shm, struct shm_pair *pair,
                              const struct shm_reply *reply);
/* As shm_fetch_piece, of early bytes. */
rz_status_t shm_fetch_early(struct shm *shm, struct shm_pair *pair, const struct shm_piece *piece,
                            const void *data, size_t bytes);
bool shm_fetch_withdraw(struct shm *shm, struct rz_net_token *token);
enum shm_written shm_fetch_flush(struct shm *shm, struct shm_pair *pair);
/* Ends all fetches; one into whose memory the peer may be writing later (shm_fetch_shared), unless
 * it has failed, or at_once. */
void shm_fetch_close(struct shm *shm, struct shm_pair *pair, rz_status_t status, bool at_once);
/* Continues the fetches that wait until their senders have left; returns their number. */
unsigned shm_fetch_shared(struct shm *shm);
rz_status_t shm_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                      struct rz_net_op *op);
void shm_drop(struct rz_net *net, rz_net_token_t token);

/* shm_share.c */
/* The receiver is about to copy the token's payload from this byte on. False: alone. */
bool shm_share_begin(struct shm *shm, struct rz_net_token *token, size_t first);
/* It takes piece i. False: the sender has it. */
bool shm_share_take(struct shm *shm, struct rz_net_token *token, uint64_t i);
void shm_share_end(const struct shm_pair *pair);               /* it takes no more */
bool shm_share_left(const struct shm_pair *pair, uint64_t id); /* the sender does not write */
/* The sender could not write all that it had taken. */
bool shm_share_failed(const struct shm_pair *pair, uint64_t id);
void shm_share_help(struct shm *shm, struct shm_pair *pair, const struct shm_help *help);

/* shm_cell.c: see net.h */
void shm_cell_put(struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                  const void *data, size_t bytes);
const void *shm_cell_see(const struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                         size_t *bytes);
void shm_cell_ring(struct rz_net *net, rz_peer_t peer);

#endif
