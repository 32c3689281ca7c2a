/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective access: the stages. */
#include "mpi/io/two_phase.h"

#include "base/no_memory.h"
#include "mpi/coll/coll.h"
#include "mpi/io/domains.h"
#include "mpi/io/shared_pointer.h"
#include "mpi/io/transfer.h"
#include "mpi/io/file_window.h"
#include "port/kill_point.h"

#include <stdlib.h>

/* What the members tell each other first. */
struct access_bounds {
    int64_t begin, end; /* offsets in the file */
    int64_t bytes;
    int64_t piece; /* of a write: of its first ones, the mean length in the file */
    int64_t node;
    int64_t apart; /* whether it cannot take part in a two-phase access */
};

/* What this member has for an aggregator: how far it has come. */
struct domain_side {
    struct rz_walk view, memory;
    MPI_Count position; /* bytes of the access before */
    bool walks;
};

/* Of an answer to a read. bytes: how many lie before the end of the file; they come first. */
struct read_answer {
    int64_t end_of_file, error, bytes;
};

struct two_phase {
    struct rz_file_op op;
    struct rz_access access;
    enum rz_collective_place from;
    int size, rank;
    struct access_bounds *bounds; /* [size] */
    MPI_Count done;
    bool looks;       /* for a lock, without which it can do nothing alone */
    MPI_Count before; /* ordered: how many etypes the members before this one take */
    struct told_place {
        int64_t place, error;
    } told; /* where the first begins */
    struct rz_shared_question question;

    struct rz_domains domains;
    const int *aggregators;     /* [domains.n]: their ranks; of the file */
    int domain;                 /* of this process, -1: it is no aggregator */
    struct rz_amount *amounts;  /* [domains.n][rounds]: of this process */
    struct rz_amount *arriving; /* [size][rounds]: of all members, in the domain of this process */
    struct domain_side *sides;  /* [domains.n] */
    struct rz_file_window window;
    MPI_Count round;
    MPI_Offset end_of_file; /* found by a read; INT64_MAX: not reached */
    int failed, failed_all; /* the error class of what was written for others */
    /* What is exchanged: one row for all members on each side. */
    struct message_row {
        char *bytes;
        MPI_Count room;
        int64_t *counts, *places; /* [size] */
    } out, in;
};

static struct two_phase *of_op(struct rz_file_op *op)
{
    return (struct two_phase *)(void *)op;
}

static void *two_phase_room(size_t n, size_t bytes)
{
    void *memory = calloc(n > 0 ? n : 1, bytes);
    rz_need_memory(memory, "to take part in a collective access to a file");
    return memory;
}

/* ---- Rows of messages ---- */

static void row_clear(struct message_row *row, int size)
{
    memset(row->counts, 0, (size_t)size * sizeof(int64_t));
}

/* The counts are set: sets the places, and makes room. */
static void row_line_up(struct message_row *row, int size)
{
    MPI_Count next = 0;
    for (int i = 0; i < size; i++) {
        row->places[i] = next;
        next += row->counts[i];
    }
    if (next > row->room) {
        free(row->bytes);
        row->bytes = two_phase_room((size_t)next, 1);
        row->room = next;
    }
}

static void row_make(struct message_row *row, int size)
{
    row->counts = two_phase_room((size_t)size, sizeof(int64_t));
    row->places = two_phase_room((size_t)size, sizeof(int64_t));
}

static void row_free(struct message_row *row)
{
    free(row->bytes);
    free(row->counts);
    free(row->places);
}

static char *row_at(const struct message_row *row, int rank)
{
    return row->bytes + row->places[rank];
}

/* Starts the exchange of `out` and `in`; messages without bytes are not sent. */
static int exchange(struct two_phase *two)
{
    struct rz_comm *comm = two->op.file->comm;
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    struct rz_parts out = {.buffer = two->out.bytes,
                           .datatype = byte,
                           .counts = {.wide = two->out.counts},
                           .displacements = {.wide = two->out.places}};
    struct rz_parts in = {.buffer = two->in.bytes,
                          .datatype = byte,
                          .counts = {.wide = two->in.counts},
                          .displacements = {.wide = two->in.places}};
    struct rz_schedule *schedule;
    rz_kill_here(RZ_KILL_DATA_FILE_EXCHANGE);
    if (two->out.counts[two->rank] > 0) {
        memcpy(row_at(&two->in, two->rank), row_at(&two->out, two->rank),
               (size_t)two->out.counts[two->rank]);
    }
    int error = rz_schedule_begin(comm, "MPI_File_write_all", &schedule);
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_schedule_exchange(schedule, &out, &in);
    return rz_schedule_start(schedule, &two->op.inner);
}

/* ---- The end ---- */

static int two_phase_ended(struct rz_file_op *op, int error, MPI_Status *status)
{
    struct two_phase *two = of_op(op);
    int conversion = rz_access_end(&two->access, error == MPI_SUCCESS ? two->done : 0, status);
    return error != MPI_SUCCESS ? error : conversion;
}

static void look_for_lock(struct two_phase *two, bool looks)
{
    if (two->looks != looks) {
        two->looks = looks;
        rz_engine_looks(looks);
    }
}

static void two_phase_destroy(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (!op->is_told) {
        two->access.writes = true; /* nothing is converted */
        rz_access_end(&two->access, 0, NULL);
    }
    for (int a = 0; two->sides && a < two->domains.n; a++) {
        if (two->sides[a].walks) {
            rz_walk_end(&two->sides[a].view);
            if (!two->access.row) {
                rz_walk_end(&two->sides[a].memory);
            }
        }
    }
    look_for_lock(two, false);
    rz_shared_question_drop(&two->question);
    rz_file_window_free(&two->window);
    row_free(&two->out);
    row_free(&two->in);
    free(two->bounds);
    free(two->amounts);
    free(two->arriving);
    free(two->sides);
    free(two);
}

/* ---- The last stage of a write: all learn whether all have written ---- */

static int stage_told(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->failed_all != MPI_SUCCESS && op->error == MPI_SUCCESS) {
        rz_file_op_note(op, rzm_error(two->failed_all,
                                      "a process that writes \"%.120s\" for others could not",
                                      op->file->name));
    }
    two->done = two->access.bytes;
    return MPI_SUCCESS;
}

static int tell_written(struct two_phase *two)
{
    two->op.next = stage_told;
    rz_kill_here(RZ_KILL_DATA_FILE_WRITTEN);
    return rzm_iallreduce(&two->failed, &two->failed_all, 1, rz_datatype_of(MPI_INT),
                          rz_op_predefined(0x23), two->op.file->comm, &two->op.inner);
}

/* ---- Rounds ---- */

static struct rz_amount *amount_of(struct two_phase *two, int domain)
{
    return &two->amounts[domain * two->domains.rounds + two->round];
}

static struct rz_amount *arriving_of(struct two_phase *two, int member)
{
    return &two->arriving[member * two->domains.rounds + two->round];
}

static MPI_Count list_bytes(const struct rz_amount *amount)
{
    return amount->pieces * (MPI_Count)sizeof(struct rz_file_piece);
}

/* Copies between the memory of the program and the bytes of a message. */
static void move_data(struct two_phase *two, struct domain_side *side, char *message,
                      MPI_Count bytes)
{
    struct rz_access *access = &two->access;
    if (bytes == 0) {
        return;
    }
    if (access->row && access->writes) {
        memcpy(message, access->row + side->position, (size_t)bytes);
    } else if (access->row) {
        memcpy(access->row + side->position, message, (size_t)bytes);
    } else if (access->writes) {
        rz_walk_pack(&side->memory, access->buffer, bytes, message);
    } else {
        rz_walk_unpack(&side->memory, message, bytes, access->buffer);
    }
    side->position += bytes;
}

/* Writes the list of pieces of this round. */
static void list_pieces(struct domain_side *side, const struct rz_amount *amount, char *message)
{
    MPI_Count left = amount->bytes;
    for (int64_t i = 0; i < amount->pieces; i++) {
        struct rz_file_piece piece;
        piece.bytes = rz_walk_next(&side->view, left, &piece.offset);
        left -= piece.bytes;
        memcpy(message + (size_t)i * sizeof(piece), &piece, sizeof(piece));
    }
    rz_assert(left == 0);
}

/* Tells the aggregators which pieces this member has in their windows, with the data of a write. */
static int send_lists(struct two_phase *two)
{
    bool data = two->access.writes;
    row_clear(&two->out, two->size);
    row_clear(&two->in, two->size);
    for (int a = 0; a < two->domains.n; a++) {
        const struct rz_amount *amount = amount_of(two, a);
        two->out.counts[two->aggregators[a]] = list_bytes(amount) + (data ? amount->bytes : 0);
    }
    for (int i = 0; two->domain >= 0 && i < two->size; i++) {
        const struct rz_amount *amount = arriving_of(two, i);
        two->in.counts[i] = list_bytes(amount) + (data ? amount->bytes : 0);
    }
    row_line_up(&two->out, two->size);
    row_line_up(&two->in, two->size);
    for (int a = 0; a < two->domains.n; a++) {
        const struct rz_amount *amount = amount_of(two, a);
        char *message = row_at(&two->out, two->aggregators[a]);
        if (amount->bytes > 0) {
            list_pieces(&two->sides[a], amount, message);
        }
        if (amount->bytes > 0 && data) {
            move_data(two, &two->sides[a], message + list_bytes(amount), amount->bytes);
        }
    }
    return exchange(two);
}

/* The aggregator moves its window, and marks what the members have told, with their data. */
static void take_lists(struct two_phase *two)
{
    rz_file_window_move(&two->window, rz_domain_window(&two->domains, two->domain, two->round),
                        rz_domain_window(&two->domains, two->domain, two->round + 1));
    for (int i = 0; i < two->size; i++) {
        const struct rz_amount *amount = arriving_of(two, i);
        const char *list = row_at(&two->in, i), *data = list + list_bytes(amount);
        for (int64_t k = 0; k < amount->pieces; k++) {
            struct rz_file_piece piece;
            memcpy(&piece, list + (size_t)k * sizeof(piece), sizeof(piece));
            rz_file_window_mark(&two->window, &piece, two->access.writes ? data : NULL);
            data += piece.bytes;
        }
    }
}

static int stage_round(struct rz_file_op *op);

/* A write: what has arrived is written. */
static int stage_write(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->domain >= 0) {
        take_lists(two);
        int error = rz_file_window_write(&two->window);
        two->failed = two->failed != MPI_SUCCESS ? two->failed : error;
        rz_file_op_note(op, error);
    }
    two->round++;
    return stage_round(op);
}

/* Goes past data that are not there: the memory of the program keeps what it has. */
static void skip_data(struct two_phase *two, struct domain_side *side, MPI_Count bytes)
{
    if (bytes == 0) {
        return;
    }
    side->position += bytes;
    if (!two->access.row) {
        rz_walk_seek(&side->memory, side->position);
    }
}

/* The data of the answers reach the program, as far as the file has some. */
static int stage_answered(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    for (int a = 0; a < two->domains.n; a++) {
        const struct rz_amount *amount = amount_of(two, a);
        struct read_answer answer;
        const char *message = row_at(&two->in, two->aggregators[a]);
        if (amount->bytes == 0) {
            continue;
        }
        memcpy(&answer, message, sizeof(answer));
        if (answer.error != MPI_SUCCESS && op->error == MPI_SUCCESS) {
            rz_file_op_note(op, rzm_error((int)answer.error,
                                          "rank %d could not read \"%.120s\" for this process",
                                          two->aggregators[a], op->file->name));
        }
        two->end_of_file =
            answer.end_of_file < two->end_of_file ? answer.end_of_file : two->end_of_file;
        rz_assert(answer.bytes >= 0 && answer.bytes <= amount->bytes);
        move_data(two, &two->sides[a], (char *)(uintptr_t)message + sizeof(answer), answer.bytes);
        skip_data(two, &two->sides[a], amount->bytes - answer.bytes);
    }
    two->round++;
    return stage_round(op);
}

/* The aggregator's answer to one member: the pieces of its list, up to the end of the file. */
static void fill_answer(struct two_phase *two, int member, struct read_answer answer)
{
    const struct rz_amount *amount = arriving_of(two, member);
    const char *list = row_at(&two->in, member);
    char *to = row_at(&two->out, member), *data = to + sizeof(answer);
    for (int64_t k = 0; k < amount->pieces && answer.error == MPI_SUCCESS; k++) {
        struct rz_file_piece piece;
        memcpy(&piece, list + (size_t)k * sizeof(piece), sizeof(piece));
        MPI_Count there = answer.end_of_file - piece.offset;
        if (there <= 0) {
            break;
        }
        there = there < piece.bytes ? there : piece.bytes;
        memcpy(data + answer.bytes, two->window.bytes + (piece.offset - two->window.begin),
               (size_t)there);
        answer.bytes += there;
    }
    memcpy(to, &answer, sizeof(answer));
}

/* A read: the aggregators have the lists; they read, and answer. */
static int stage_read(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    struct read_answer answer = {.end_of_file = INT64_MAX};
    const MPI_Count head = (MPI_Count)sizeof(answer);
    row_clear(&two->out, two->size);
    if (two->domain >= 0) {
        take_lists(two);
        answer.error = rz_file_window_read(&two->window, &answer.end_of_file);
        rz_file_op_note(op, (int)answer.error);
    }
    for (int i = 0; two->domain >= 0 && i < two->size; i++) {
        MPI_Count bytes = arriving_of(two, i)->bytes;
        two->out.counts[i] = bytes > 0 ? head + bytes : 0;
    }
    row_line_up(&two->out, two->size);
    for (int i = 0; i < two->size; i++) {
        if (two->out.counts[i] > 0) {
            fill_answer(two, i, answer);
        }
    }
    row_clear(&two->in, two->size);
    for (int a = 0; a < two->domains.n; a++) {
        MPI_Count bytes = amount_of(two, a)->bytes;
        two->in.counts[two->aggregators[a]] = bytes > 0 ? head + bytes : 0;
    }
    row_line_up(&two->in, two->size);
    op->next = stage_answered;
    return exchange(two);
}

/* The bytes of a read that lie before the end of the file. */
static MPI_Count bytes_read(const struct two_phase *two)
{
    const struct rz_access *access = &two->access;
    if (two->end_of_file == INT64_MAX || access->bytes == 0) {
        return access->bytes;
    }
    return rz_view_search(&access->view, access->place, access->place + access->bytes,
                          two->end_of_file) -
           access->place;
}

static int stage_round(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->round < two->domains.rounds) {
        op->next = two->access.writes ? stage_write : stage_read;
        return send_lists(two);
    }
    if (two->access.writes) {
        return tell_written(two);
    }
    two->done = bytes_read(two);
    return MPI_SUCCESS;
}

/* ---- Which members are aggregators, and what each member has for them ---- */

/* The k-th member, counted from 0, of the node of `member`, or -1. */
static int place_on_node(const struct two_phase *two, int member)
{
    int place = 0;
    for (int i = 0; i < member; i++) {
        place += two->bounds[i].node == two->bounds[member].node;
    }
    return place;
}

/* The first member of each node, then the second of each, ...: chosen once for each cb_nodes. */
static void choose_aggregators(struct two_phase *two)
{
    struct rz_file *file = two->op.file;
    int *place = two_phase_room((size_t)two->size, sizeof(int)), nodes = 0, n = 0;
    for (int i = 0; i < two->size; i++) {
        place[i] = place_on_node(two, i);
        nodes += place[i] == 0;
    }
    int64_t hint = file->hints.cb_nodes;
    int n_max = hint == 0 ? nodes : hint < two->size ? (int)hint : two->size;
    free(file->aggregators);
    file->aggregators = two_phase_room((size_t)n_max, sizeof(int));
    file->n_aggregators = n_max;
    file->aggregators_hint = hint;
    for (int k = 0; n < n_max; k++) {
        for (int i = 0; i < two->size && n < n_max; i++) {
            if (place[i] == k) {
                file->aggregators[n++] = i;
            }
        }
    }
    free(place);
}

static int find_aggregators(struct two_phase *two)
{
    struct rz_file *file = two->op.file;
    if (!file->aggregators || file->aggregators_hint != file->hints.cb_nodes) {
        choose_aggregators(two);
    }
    two->domain = -1;
    two->aggregators = file->aggregators;
    for (int a = 0; a < file->n_aggregators; a++) {
        two->domain = file->aggregators[a] == two->rank ? a : two->domain;
    }
    return file->n_aggregators;
}

/* Each member stands at its first byte in each domain. */
static void make_sides(struct two_phase *two, const MPI_Count *first)
{
    const struct rz_access *access = &two->access;
    two->sides = two_phase_room((size_t)two->domains.n, sizeof(*two->sides));
    for (int a = 0; a < two->domains.n && access->bytes > 0; a++) {
        struct domain_side *side = &two->sides[a];
        side->position = first[a];
        side->walks = true;
        rz_view_walk(&access->view, access->place + first[a], &side->view);
        if (!access->row) {
            rz_walk_begin(&side->memory, access->datatype, 0);
            rz_walk_seek(&side->memory, first[a]);
        }
    }
}

/* Tells each aggregator how much this member has in each of its windows. */
static int send_amounts(struct two_phase *two)
{
    MPI_Count bytes = two->domains.rounds * (MPI_Count)sizeof(struct rz_amount);
    row_make(&two->out, two->size);
    row_make(&two->in, two->size);
    for (int a = 0; a < two->domains.n; a++) {
        two->out.counts[two->aggregators[a]] = bytes;
    }
    for (int i = 0; two->domain >= 0 && i < two->size; i++) {
        two->in.counts[i] = bytes;
    }
    row_line_up(&two->out, two->size);
    row_line_up(&two->in, two->size);
    for (int a = 0; a < two->domains.n; a++) {
        memcpy(row_at(&two->out, two->aggregators[a]), &two->amounts[a * two->domains.rounds],
               (size_t)bytes);
    }
    return exchange(two);
}

static int stage_amounts(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->domain >= 0) {
        size_t n = (size_t)two->size * (size_t)two->domains.rounds;
        two->arriving = two_phase_room(n, sizeof(*two->arriving));
        memcpy(two->arriving, two->in.bytes, n * sizeof(*two->arriving));
        rz_need_memory(rz_file_window_make(&two->window, op->file, two->domains.window),
                       "to write a part of a file for others");
    }
    return stage_round(op);
}

static int begin_two_phase(struct two_phase *two)
{
    size_t n = (size_t)two->domains.n;
    MPI_Count *first = two_phase_room(n, sizeof(*first));
    two->amounts = two_phase_room(n * (size_t)two->domains.rounds, sizeof(*two->amounts));
    rz_domains_count(&two->domains, &two->access, two->amounts, first);
    make_sides(two, first);
    free(first);
    two->end_of_file = INT64_MAX;
    two->op.next = stage_amounts;
    return send_amounts(two);
}

/* ---- Which way ---- */

/* Members access the file alone if its reached part has less data, or if the tables of what each
 * member has in each window would be larger. */
#define SPARSE_PART 64
#define AMOUNTS_MAX (INT64_C(1) << 22)

/* Where all members are on one node, they write pieces of this length and more alone: a call of the
 * file system costs less than one copy more. Over a network the borders of domains count for more.
 */
#define LONG_PIECE (INT64_C(16) << 10)

struct access_total {
    MPI_Offset begin, end;
    MPI_Count bytes, piece; /* of the member with the shortest pieces */
    bool interleaved, apart, one_node;
};

static struct access_total add_up(const struct two_phase *two)
{
    struct access_total total = {.begin = INT64_MAX, .piece = INT64_MAX, .one_node = true};
    MPI_Offset last = 0;
    for (int i = 0; i < two->size; i++) {
        const struct access_bounds *one = &two->bounds[i];
        total.apart |= one->apart;
        total.one_node &= one->node == two->bounds[0].node;
        if (one->bytes == 0) {
            continue;
        }
        total.interleaved |= total.bytes > 0 && one->begin < last;
        last = one->end;
        total.begin = one->begin < total.begin ? one->begin : total.begin;
        total.end = one->end > total.end ? one->end : total.end;
        total.bytes += one->bytes;
        total.piece = one->piece < total.piece ? one->piece : total.piece;
    }
    return total;
}

static bool lock_is_free(struct rz_file_op *op)
{
    return rz_file_may_lock(&of_op(op)->access);
}

static int access_alone(struct two_phase *two);

static int stage_alone(struct rz_file_op *op)
{
    return access_alone(of_op(op));
}

static int access_alone(struct two_phase *two)
{
    struct rz_access *access = &two->access;
    bool busy;
    int error = rz_file_try_lock(access, &busy);
    look_for_lock(two, error == MPI_SUCCESS && busy);
    if (two->looks) {
        two->op.next = stage_alone;
        two->op.ready = lock_is_free;
        return MPI_SUCCESS;
    }
    if (error == MPI_SUCCESS) {
        error = rz_transfer(access, &two->done);
        rz_file_unlock(access);
    }
    rz_file_op_note(&two->op, error);
    return MPI_SUCCESS;
}

static int stage_bounds(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    const struct rz_file_hints *hints = &op->file->hints;
    enum rz_file_switch way =
        (enum rz_file_switch)(two->access.writes ? hints->cb_write : hints->cb_read);
    struct access_total total = add_up(two);
    if (total.bytes == 0 || total.apart || way == RZ_FILE_DISABLE) {
        return access_alone(two);
    }
    int n = find_aggregators(two);
    MPI_Count unit = hints->striping_unit > 0 ? hints->striping_unit : op->file->block;
    rz_domains_make(&two->domains, total.begin, total.end, n, unit, hints->cb_buffer_size);
    bool sparse = total.bytes < (total.end - total.begin) / SPARSE_PART;
    bool direct = two->access.writes && total.one_node && total.piece >= LONG_PIECE;
    bool alone = two->domains.rounds > AMOUNTS_MAX / two->size ||
                 (way == RZ_FILE_AUTOMATIC && (sparse || direct || !total.interleaved));
    return alone ? access_alone(two) : begin_two_phase(two);
}

static MPI_Count piece_length(const struct rz_access *access)
{
    struct rz_walk walk;
    MPI_Count offset, bytes = 0, n = 0;
    for (rz_view_walk(&access->view, access->place, &walk); n < 16 && bytes < access->bytes; n++) {
        bytes += rz_walk_next(&walk, access->bytes - bytes, &offset);
    }
    rz_walk_end(&walk);
    return bytes / n;
}

static int tell_bounds(struct two_phase *two)
{
    struct rz_access *access = &two->access;
    struct access_bounds *mine = &two->bounds[two->rank];
    *mine = (struct access_bounds){
        .bytes = access->bytes, .node = rz_engine.info->node, .apart = two->op.file->atomic};
    if (access->bytes > 0) {
        mine->apart |= !rz_view_grows(&access->view, access->place, access->bytes);
        rz_access_span(access, &mine->begin, &mine->end);
        mine->piece = access->writes ? piece_length(access) : 0;
    }
    two->op.next = stage_bounds;
    MPI_Count bytes = (MPI_Count)sizeof(*mine);
    return rzm_iallgather(MPI_IN_PLACE, 0, NULL, two->bounds, bytes, rz_datatype_of(MPI_BYTE),
                          two->op.file->comm, &two->op.inner);
}

/* ---- Ordered ---- */

/* All know where the first member begins. */
static int stage_placed(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->told.error != MPI_SUCCESS) {
        return two->rank == 0 ? (int)two->told.error
                              : rzm_error((int)two->told.error,
                                          "the shared pointer of \"%.120s\" "
                                          "is lost",
                                          op->file->name);
    }
    int error = rz_access_move(&two->access, two->told.place + two->before);
    rz_file_op_note(op, error);
    return tell_bounds(two);
}

/* Rank 0 has moved the pointer. */
static int stage_moved(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->rank == 0) {
        two->told.error = rz_shared_question_result(&two->question, op->file, &two->told.place);
    }
    op->next = stage_placed;
    return rzm_ibcast(&two->told, (MPI_Count)sizeof(two->told), rz_datatype_of(MPI_BYTE), 0,
                      op->file->comm, &op->inner);
}

static bool is_moved(struct rz_file_op *op)
{
    return of_op(op)->question.answered;
}

/* All know what each takes. */
static int stage_ordered(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    MPI_Count all = 0;
    for (int i = 0; i < two->size; i++) {
        two->before = i == two->rank ? all : two->before;
        all += two->bounds[i].bytes;
    }
    op->next = stage_moved;
    if (two->rank == 0) {
        rz_shared_question_ask(&two->question, op->file, RZ_POINTER_ADD, all);
        op->ready = is_moved;
    }
    return MPI_SUCCESS;
}

static int stage_begin(struct rz_file_op *op)
{
    struct two_phase *two = of_op(op);
    if (two->from == RZ_PLACE_GIVEN) {
        return tell_bounds(two);
    }
    two->bounds[two->rank].bytes = rz_access_units(&two->access);
    op->next = stage_ordered;
    return rzm_iallgather(MPI_IN_PLACE, 0, NULL, two->bounds, (MPI_Count)sizeof(*two->bounds),
                          rz_datatype_of(MPI_BYTE), op->file->comm, &op->inner);
}

int rz_collective_start(struct rz_file *file, const struct rz_collective *collective,
                        struct rz_request **request, MPI_Count *units)
{
    const struct rz_access_data none = {.datatype = rz_datatype_of(MPI_BYTE)};
    struct two_phase *two = two_phase_room(1, sizeof(*two));
    two->op.next = stage_begin;
    two->op.writes = collective->writes;
    two->op.ended = two_phase_ended;
    two->op.destroy = two_phase_destroy;
    two->from = collective->from;
    two->size = rz_comm_size(file->comm);
    two->rank = rz_comm_rank(file->comm);
    two->domain = -1;
    two->bounds = two_phase_room((size_t)two->size, sizeof(*two->bounds));
    int error = collective->place < 0 ? rzm_error(MPI_ERR_ARG, "offset is %lld, less than 0",
                                                  (long long)collective->place)
                                      : rz_access_begin(&two->access, file, collective->writes,
                                                        collective->place, &collective->data);
    if (error != MPI_SUCCESS) { /* the others need this member even so */
        rz_file_op_note(&two->op, error);
        error = rz_access_begin(&two->access, file, collective->writes, 0, &none);
        rz_need_memory(error == MPI_SUCCESS, "to take part in a collective access to a file");
    }
    if (units) {
        *units = rz_access_units(&two->access);
    }
    return rz_file_op_start(&two->op, file, request);
}
