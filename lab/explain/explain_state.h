/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of this component: the record of a run, and what a subject provides. */
#ifndef RZ_EXPLAIN_EXPLAIN_STATE_H
#define RZ_EXPLAIN_EXPLAIN_STATE_H

#include "explain/explain.h"
#include "sim/sim.h"

#define RZ_EXPLAIN_UNIT 10 /* the time of one transfer */
#define RZ_EXPLAIN_MEMBERS_MAX 32
#define RZ_EXPLAIN_LABEL 32
#define RZ_EXPLAIN_PHRASE 256
#define RZ_EXPLAIN_NEVER UINT32_MAX

/* What one member did at one event. */
struct rz_explain_step {
    rz_id member;
    enum rz_sim_sight trigger; /* RECEIVE, CALL, TICK or TOLD; END: it only failed or was stopped */
    rz_id other;               /* RECEIVE: the sender; TOLD: the failed member, the first of them */
    uint32_t told;             /* TOLD: their bits */
    struct rz_message message; /* RECEIVE */
    uint32_t sent[8]; /* by type of message: the bits of the receivers; of the types below 8 */
    uint32_t lost;    /* receivers that get nothing because the member failed in this step */
    uint32_t notices; /* bits of the subject's notices, by rz_explain_subject.notice_bit */
    uint64_t arg[4];  /* of the last notice that has a bit */
    bool fails;
};

/* How a member looks at the end of a step. */
enum rz_explain_tone { RZ_TONE_IDLE, RZ_TONE_BUSY, RZ_TONE_DONE, RZ_TONE_ALARM, RZ_TONE_FAILED };
struct rz_explain_look {
    enum rz_explain_tone tone;
    char label[2][RZ_EXPLAIN_LABEL]; /* up to two lines beside it */
};

/* A clause about members: "proposes a value", "propose a value". Members of one step with the same
 * clause share a sentence. one empty: nothing worth showing happened. */
struct rz_explain_words {
    char one[RZ_EXPLAIN_PHRASE], many[RZ_EXPLAIN_PHRASE];
    bool first; /* before the other sentences of the step */
    bool minor; /* dropped where the member does something else at the same date */
};
void rz_explain_say(struct rz_explain_words *words, const char *one, const char *many);
/* The same clause for one and many. */
void rz_explain_say_alike(struct rz_explain_words *words);
/* "learns that 3 failed", and what it does then. */
void rz_explain_say_told(struct rz_explain_words *words, const struct rz_explain_step *step,
                         const char *then_one, const char *then_many);
/* "3", "3 and 5", "3, 5 and 6" */
void rz_explain_list(uint32_t bits, char *text, size_t bytes);
/* "knows 3 and 5": the label of a member with a list of failed ones; none: no label. */
void rz_explain_label_known(const uint64_t *failed, uint32_t n, char label[RZ_EXPLAIN_LABEL]);

struct rz_explain_sentence {
    struct rz_explain_words words;
    uint32_t members;
};

struct rz_explain_arrow {
    rz_id from, to;
    uint8_t type;
    bool lost;
    uint32_t sent, received; /* frames; NEVER: it does not arrive */
    const void *packet;
};

struct rz_explain_edge {
    rz_id a, b;
    bool strong;
};

/* What happens at one date. */
struct rz_explain_frame {
    rz_time at;
    bool shown;      /* it has a sentence */
    uint32_t number; /* of a shown one, from 1 */
    struct rz_explain_sentence *sentence;
    uint32_t n_sentences;
    uint32_t acted; /* the members that it speaks of */
    struct rz_explain_look look[RZ_EXPLAIN_MEMBERS_MAX];
    struct rz_explain_edge *edge;
    uint32_t n_edges;
};

struct rz_explain {
    const struct rz_explain_subject *subject;
    struct rz_sim_scenario scenario; /* the subject's, with equal transfer times */
    uint32_t members, kill;
    uint64_t seed;
    char plan[4096];
    struct rz_explain_frame *frame;
    uint32_t n_frames, n_shown;
    struct rz_explain_arrow *arrow;
    uint32_t n_arrows;
    uint32_t failed;
    uint32_t steps[RZ_EXPLAIN_MEMBERS_MAX]; /* of each member, in this run */
    struct rz_explain_step step;            /* under way */
    bool stepping;
};

struct rz_explain_subject {
    const char *name, *title;
    const char *summary;    /* a paragraph, plain text */
    const char *one, *many; /* "Member", "Members" */
    const struct rz_sim_scenario *scenario;
    uint32_t members, kill, members_max;
    uint32_t
        fail_from;  /* members fail in a later part of their steps: so many percent are before */
    bool periodic;  /* what only repeats is left out */
    uint32_t tree;  /* drawn as a binary tree; 0: on a circle */
    uint32_t quiet; /* bits of the messages whose arrival is not drawn */
    const char *type[8]; /* names of the messages */
    /* The bit of a notice in rz_explain_step.notices; 32 or more: none. Optional: its number. */
    uint32_t (*notice_bit)(uint32_t what);
    /* What the step means; called at its end. */
    void (*say)(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words);
    void (*look)(struct rz_sim *sim, rz_id member, struct rz_explain_look *look);
    /* The lines between members: calls rz_explain_link for each. Optional. */
    void (*links)(struct rz_sim *sim, struct rz_explain_frame *frame);
};

void rz_explain_link(struct rz_explain_frame *frame, rz_id a, rz_id b, bool strong);

extern const struct rz_explain_subject rz_explain_agree, rz_explain_gossip, rz_explain_recover,
    rz_explain_ring, rz_explain_spread;

/* ---- explain_text.c ---- */

/* A sentence with its members and its full stop. */
void rz_explain_sentence_text(const struct rz_explain *explain,
                              const struct rz_explain_sentence *sentence, char *text, size_t bytes);
/* The command that makes this run again. */
void rz_explain_command(const struct rz_explain *explain, char *text, size_t bytes);
const struct rz_explain_frame *rz_explain_shown(const struct rz_explain *explain, uint32_t step);

/* ---- explain_draw.c ---- */

#define RZ_EXPLAIN_WIDTH 720
#define RZ_EXPLAIN_HEIGHT 520

extern const char rz_explain_style[]; /* the style sheet of all pictures */
/* The picture of a frame, without the svg element: RZ_EXPLAIN_WIDTH by RZ_EXPLAIN_HEIGHT. */
void rz_explain_draw_frame(const struct rz_explain *explain, uint32_t step, FILE *out);
/* The arrow heads, once in a document. */
void rz_explain_draw_heads(FILE *out);
/* Text with &, < and > escaped. */
void rz_explain_escape(const char *text, FILE *out);
/* The same for the timeline, of this size. */
void rz_explain_timeline_size(const struct rz_explain *explain, unsigned *width, unsigned *height);
void rz_explain_draw_lines(const struct rz_explain *explain, FILE *out);

enum { RZ_EXPLAIN_KINDS = 4 }; /* of arrows, by colour */

static inline uint8_t rz_explain_kind(uint8_t type)
{
    return type < RZ_EXPLAIN_KINDS ? type : RZ_EXPLAIN_KINDS - 1;
}

static inline uint32_t rz_explain_bit(rz_id id)
{
    return UINT32_C(1) << id;
}

#endif
