/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of file_marks share. */
#ifndef RZ_DAEMON_FILE_MARKS_PRIVATE_H
#define RZ_DAEMON_FILE_MARKS_PRIVATE_H

#include "daemon/service/file_marks.h"
#include "daemon/service/mark_keepers.h"
#include "port/file_mark.h"

/* Marks are in the list of all, by number, in that of their rank, and in two tables. */
struct file_mark {
    struct file_mark *next, *prev, *next_of_rank;
    struct file_mark *next_same, *next_number; /* in a bucket of a table */
    uint64_t number;                           /* 1, 2, ... at this daemon */
    uint32_t rank;                             /* whose process made it */
    uint64_t moment;                           /* of the last snapshot before it */
    rz_id owner;                               /* the node that takes care of its second copy */
    rz_id kept_by; /* of an own one; RZ_ID_NONE: by no other, or by all */
    bool by_all;   /* all nodes have got it from one that has failed, and are its owners */
    struct rz_file_mark file;
    uint8_t *content; /* file.content, allocated; NULL: none */
    char path[];
};

/* A mark that another daemon has not confirmed yet. */
struct unconfirmed_mark {
    struct unconfirmed_mark *next;
    uint64_t number;
    uint32_t rank;
    rz_id node;
    int waiter; /* of the process; -1: it does not wait */
    bool again; /* it was confirmed, or is of another node: its keeper has failed */
};

/* Marks of a pair, one of which has failed: they are on their way to another keeper. */
struct moved_marks {
    struct moved_marks *next;
    rz_id owner, keeper; /* the pair */
    rz_id to;            /* RZ_ID_NONE: to all nodes */
    uint64_t moment;     /* the greatest */
};

/* The marks of one rank. */
struct rank_marks {
    struct file_mark *first, **last; /* the oldest first; last: valid if first is not NULL */
    uint32_t n;
    uint64_t contents; /* bytes of what was in files */
    uint32_t made;     /* since the files of all were looked at */
    uint64_t newest;   /* the greatest moment of a mark */
    uint64_t dropped; /* 1 and the greatest moment of one that was dropped, though it may be needed;
                         0: none */
    uint64_t told;    /* 1 and the last moment for which the user was told so */
    rz_id owner;      /* of the last mark */
    uint32_t given, taker; /* the newest epoch in which a process was told to restore them, and its
                              rank */
};

struct rz_file_marks {
    struct rz_file_marks_config config;
    const struct rz_own_node *own; /* copied from config */
    struct file_mark *first, *last;
    struct rank_marks *ranks;         /* [n_slots] */
    struct file_mark **same, **under; /* [n_buckets], a power of two: by same_marked, by number */
    uint32_t n, n_buckets, each;
    uint64_t contents_each;
    uint64_t number;
    struct unconfirmed_mark *unconfirmed;
    struct rz_mark_keepers keepers;
    struct moved_marks *moved;
    uint64_t oldest; /* marks of earlier moments were forgotten */
};

/* Whether files would not be as they were, if the process that asks became its image: then it is
 * told why. */
bool rz_file_marks_refuse(const struct rz_file_marks *marks, struct rz_child *p,
                          const struct rz_link_file_mark_ask *asked);

#endif
