/*
 * Inside the study `checkpoint`: what checkpoints cost, each part beside what it cannot be faster
 * than, measured in turns in the same run.
 */
#ifndef RZ_CMD_RZBENCH_CHECKPOINT_H
#define RZ_CMD_RZBENCH_CHECKPOINT_H

#include "cmd/rzbench_study.h"

/* --- the parts; false: they could not be made --- */

/* RZ_Checkpoint beside memcpy, over the size of the piece. */
bool rz_bench_checkpoint_copy(struct rz_bench_study *study);
/* The same over the share of pages that changed, without and with the copy to another node. */
bool rz_bench_checkpoint_pages(struct rz_bench_study *study);
/* Parities beside ISA-L's own function on the same memory. */
bool rz_bench_checkpoint_erasure(struct rz_bench_study *study);
/* Pieces in files beside dd to the same folder. */
bool rz_bench_checkpoint_files(struct rz_bench_study *study);
/* A checkpoint in each iteration of the proxy applications beside none. */
bool rz_bench_checkpoint_apps(struct rz_bench_study *study);

#endif
