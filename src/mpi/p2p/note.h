/*
 * Notes: what parts of the library tell each other, process to process: letters of protocol cores
 * (ft/council_letter.h), words outside of communicators (comm/word.h). A note passes the door like
 * any message, but no matcher, and its payload is fetched where it was not sent along.
 */
#ifndef RZ_MPI_NOTE_H
#define RZ_MPI_NOTE_H

#include "mpi/core/engine.h"
#include "mpi/p2p/parcel.h"
#include "wire/envelope.h"

/* Whoever understands notes of a kind: the payload is whole, and valid during the call only, which
 * may come from inside a callback of a transport. */
typedef void (*rz_note_reader_t)(const struct rz_envelope *envelope, const void *data,
                                 size_t bytes);

/* What moves: a note that is sent, or one that is being fetched. */
struct rz_note {
    struct rz_parcel parcel;
    struct rz_envelope envelope;
    uint32_t process;        /* to whom it goes, or who wrote it */
    rz_note_reader_t reader; /* of one that is fetched */
    unsigned char bytes[];
};

/* A note with room for so many bytes, to be filled and sent; NULL: no memory. */
struct rz_note *rz_note_new(size_t bytes);

/*
 * Sends it: kind, context, tag and serial of its envelope are set. The note is the callee's from
 * here on. A process that is dead gets nothing.
 */
void rz_note_send(uint32_t process, struct rz_note *note);

/* A note has passed the door; a longer one than bytes_max is somebody's bug, and dropped. */
void rz_note_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token, size_t bytes_max, rz_note_reader_t reader);

/* Whether all that were sent are on their way, and all that are fetched are here. */
bool rz_notes_quiet(void);

#endif
