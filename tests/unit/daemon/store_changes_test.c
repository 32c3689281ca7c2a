/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by what changed, between two stores that the test plays: the overlay is a queue, commit
 * and recover answer what the test says.
 */
#include "ckpt/pages.h"
#include "daemon/overlay/overlay.h"
#include "daemon/store/store_private.h"
#include "port/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OWNER = 0, BUDDY = 1, RANK = 3, N_RANKS = 4, BYTES_MAX = 40 * 4096 };

/* ---- what is played ---- */

struct played {
    struct rz_own_node own;
    struct rz_core recover;
    struct rz_store store;
};

static struct played nodes[2];
static uint64_t floor_of_buddy;
static unsigned sent, kept, refused, damage; /* damage: the n-th message from now, 0: none */
static unsigned slices_read;
static uint64_t proved;

uint64_t rz_recover_generation_floor(const struct rz_recover *recover)
{
    (void)recover;
    return floor_of_buddy;
}

struct piece *store_find(struct rz_store *store, uint32_t rank, uint64_t generation)
{
    for (struct piece *piece = store->pieces; piece; piece = piece->next) {
        if (piece->rank == rank && piece->generation == generation) {
            return piece;
        }
    }
    return NULL;
}

void store_drop_piece(struct rz_store *store, struct piece *piece)
{
    struct piece **link = &store->pieces;
    while (*link != piece) {
        link = &(*link)->next;
    }
    *link = piece->next;
    close(piece->fd);
    store_forget_hashes(piece);
    free(piece->changes);
    free(piece);
}

struct piece *store_add(struct rz_store *store, uint32_t rank, uint64_t generation, uint64_t bytes,
                        uint64_t hash, int fd)
{
    struct piece *piece = store->pieces, *next;
    uint64_t below = floor_of_buddy < generation - 1 ? floor_of_buddy : generation - 1;
    for (; piece; piece = next) {
        next = piece->next;
        if (piece->generation < below) {
            store_drop_piece(store, piece);
        }
    }
    piece = calloc(1, sizeof(*piece));
    assert_non_null(piece);
    *piece = (struct piece){.next = store->pieces,
                            .rank = rank,
                            .generation = generation,
                            .bytes = bytes,
                            .hash = hash,
                            .kept_by = RZ_ID_NONE,
                            .fd = fd};
    store->pieces = piece;
    return piece;
}

bool store_is_own(const struct rz_store *store, uint32_t rank)
{
    (void)rank;
    return store == &nodes[OWNER].store;
}

void store_tell_commit(struct rz_store *store, enum rz_commit_call call, uint64_t generation,
                       uint32_t rank, rz_id keeper)
{
    (void)store, (void)rank, (void)keeper;
    assert_int_equal(call, RZ_COMMIT_PROOF);
    proved = generation;
}

void store_send_small(struct rz_store *store, rz_id to, enum rz_overlay_type type,
                      uint64_t generation, uint32_t rank)
{
    (void)generation, (void)rank;
    assert_ptr_equal(store, &nodes[BUDDY].store);
    assert_int_equal(to, OWNER);
    assert_int_equal(type, RZ_OVERLAY_PIECE_GONE);
    refused++;
}

static uint64_t hash_of(const struct piece *piece)
{
    void *at;
    assert_int_equal(rz_memory_map(piece->fd, piece->bytes, false, &at, NULL), RZ_OK);
    uint64_t hash = rz_pages_look(at, piece->bytes, NULL);
    rz_memory_unmap(at, piece->bytes);
    return hash;
}

void store_meet(struct rz_store *store, struct piece *piece, const struct demand *demand)
{
    assert_ptr_equal(store, &nodes[BUDDY].store);
    assert_int_equal(demand->kind, DEMAND_KEEP);
    assert_int_equal(demand->to, OWNER);
    assert_true(hash_of(piece) == piece->hash);
    kept++;
}

void store_fail(struct rz_store *store, const struct demand *demand)
{
    assert_ptr_equal(store, &nodes[BUDDY].store);
    assert_int_equal(demand->kind, DEMAND_KEEP);
    refused++;
}

/* libevent's: a turn of the loop, which reads a slice of a copy. */
void event_active(struct event *timer, int what, short unused)
{
    (void)timer, (void)what, (void)unused;
    slices_read++;
    store_turn(-1, 0, &nodes[BUDDY].store);
}

/* Through messages, and at once. */
void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    static uint8_t wire[RZ_STORE_CHUNK_BYTES + 512];
    struct rz_overlay_message told;
    (void)overlay;
    size_t n = rz_overlay_encode(message, wire, sizeof(wire));
    assert_true(n > 0);
    assert_int_equal(to, BUDDY);
    if (damage > 0 && --damage == 0) {
        wire[n - 1] ^= 4;
    }
    assert_int_equal(rz_overlay_decode(&told, wire, n), RZ_OK);
    assert_int_equal(told.type, RZ_OVERLAY_CHANGES);
    sent += told.changes.data_length;
    store_on_changes(&nodes[BUDDY].store, OWNER, &told.changes);
}

/* ---- a process, and its two slots ---- */

static uint64_t dice;
static uint8_t memory[BYTES_MAX];
static size_t bytes;
static int slots[2];
static uint8_t in_slot[2][BYTES_MAX];

static uint64_t draw(uint64_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 33) % below;
}

static int copy_of(const void *from)
{
    int fd;
    assert_int_equal(rz_memory_create("test", BYTES_MAX + 4096, &fd), RZ_OK);
    assert_int_equal(pwrite(fd, from, bytes, 0), (ssize_t)bytes);
    return fd;
}

/* Both nodes have the first two generations whole. */
static void begin(uint64_t seed)
{
    dice = seed;
    bytes = 1 + draw(BYTES_MAX);
    memset(nodes, 0, sizeof(nodes));
    floor_of_buddy = UINT64_MAX;
    sent = kept = refused = damage = slices_read = 0;
    for (int i = 0; i < 2; i++) {
        nodes[i].own.job.n_ranks = N_RANKS;
        nodes[i].own.job.node = (rz_id)i;
        nodes[i].store.own = &nodes[i].own;
        nodes[i].store.config.recover = &nodes[i].recover;
        nodes[i].store.epoch = 1;
    }
    for (uint64_t generation = 1; generation <= 2; generation++) {
        for (size_t i = 0; i < bytes; i++) {
            memory[i] = (uint8_t)draw(256);
        }
        int slot = (int)(generation % 2);
        slots[slot] = copy_of(memory);
        memcpy(in_slot[slot], memory, bytes);
        for (int i = 0; i < 2; i++) {
            struct piece *piece = store_add(&nodes[i].store, RANK, generation, bytes,
                                            rz_pages_look(memory, bytes, NULL),
                                            i == OWNER ? dup(slots[slot]) : copy_of(memory));
            piece->have = bytes;
            piece->kept_by = i == OWNER ? BUDDY : RZ_ID_NONE;
        }
    }
}

static void end(void)
{
    for (int i = 0; i < 2; i++) {
        while (nodes[i].store.pieces) {
            store_drop_piece(&nodes[i].store, nodes[i].store.pieces);
        }
        close(slots[i]);
    }
}

/* Writes the next generation over the one before the last, as a process does; what STORE says. */
static struct rz_link_store write_over(uint64_t generation, uint64_t writes)
{
    int slot = (int)(generation % 2);
    uint8_t bitmap[(BYTES_MAX / 4096 + 7) / 8] = {0};
    for (; writes > 0; writes--) {
        memory[draw(bytes)]++;
    }
    for (size_t page = 0; page < rz_pages_of(bytes); page++) {
        size_t at = page * 4096, n = bytes - at < 4096 ? bytes - at : 4096;
        if (memcmp(memory + at, in_slot[slot] + at, n) != 0) {
            bitmap[page / 8] |= (uint8_t)(1u << page % 8);
        }
    }
    memcpy(in_slot[slot], memory, bytes);
    assert_int_equal(pwrite(slots[slot], memory, bytes, 0), (ssize_t)bytes);
    size_t n = rz_pages_bitmap_bytes(rz_pages_of(bytes));
    assert_int_equal(pwrite(slots[slot], bitmap, n, (off_t)((bytes + 7) / 8 * 8)), (ssize_t)n);
    return (struct rz_link_store){.epoch = 1,
                                  .number = generation,
                                  .bytes = bytes,
                                  .hash = rz_pages_look(memory, bytes, NULL),
                                  .back = 2};
}

/* The owner takes it and sends it. NULL: it would have to send all. */
static struct piece *store_and_send(const struct rz_link_store *told)
{
    struct rz_store *store = &nodes[OWNER].store;
    struct store_changes *changes = store_changes_of(store, RANK, told, slots[told->number % 2]);
    struct piece *piece =
        store_add(store, RANK, told->number, told->bytes, told->hash, dup(slots[told->number % 2]));
    struct transfer transfer = {.rank = RANK, .generation = told->number, .to = BUDDY};
    piece->have = piece->bytes;
    piece->changes = changes;
    if (!store_changes_serve(piece, BUDDY)) {
        return NULL;
    }
    while (store_send_changes(store, &transfer)) {
        ;
    }
    return piece;
}

/* ---- tests ---- */

static void the_buddy_has_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        begin(seed);
        for (uint64_t generation = 3; generation < 20; generation++) {
            struct rz_link_store told = write_over(generation, draw(5));
            struct piece *piece = store_and_send(&told);
            assert_non_null(piece);
            struct piece *copy = store_find(&nodes[BUDDY].store, RANK, generation);
            assert_non_null(copy);
            assert_int_equal(copy->have, bytes);
            assert_true(hash_of(copy) == told.hash);
            assert_int_equal(kept, generation - 2);
            assert_int_equal(proved, generation - 1);
            assert_null(store_find(&nodes[BUDDY].store, RANK, generation - 2));
            assert_true(hash_of(store_find(&nodes[BUDDY].store, RANK, generation - 1)) ==
                        store_find(&nodes[OWNER].store, RANK, generation - 1)->hash);
            piece->kept_by = BUDDY;
            /* Each of the first two copies is read once, and no other one. */
            assert_int_equal(slices_read, generation < 4 ? 1 : 2);
        }
        assert_int_equal(refused, 0);
        end();
    }
}

static void nothing_changed_is_one_empty_message(void **state)
{
    (void)state;
    begin(7);
    for (uint64_t generation = 3; generation < 6; generation++) {
        struct rz_link_store told = write_over(generation, draw(5));
        store_and_send(&told)->kept_by = BUDDY;
    }
    sent = 0;
    memcpy(memory, in_slot[0], bytes); /* as in generation 4 */
    struct rz_link_store told = write_over(6, 0);
    assert_non_null(store_and_send(&told));
    assert_int_equal(sent, 0);
    assert_int_equal(kept, 4);
    end();
}

/* Whatever the reason, the answer is that it takes all of it; and the last generation is untouched.
 */
static void without_its_base_the_buddy_refuses(void **state)
{
    (void)state;
    for (int why = 0; why < 5; why++) {
        begin((uint64_t)why + 100);
        struct rz_store *buddy = &nodes[BUDDY].store;
        struct piece *base = store_find(buddy, RANK, 1);
        if (why == 0) {
            store_drop_piece(buddy, base);
        } else if (why == 1) {
            base->hash ^= 1; /* another one of the same number */
        } else if (why == 2) {
            base->have--; /* it has not come whole */
        } else if (why == 3) {
            floor_of_buddy = 1; /* a recovery may still choose it */
        } else {
            base->bytes = base->have = bytes + 1;
        }
        struct rz_link_store told = write_over(3, 1 + draw(5));
        uint64_t last = store_find(buddy, RANK, 2)->hash;
        store_and_send(&told);
        assert_int_equal(refused, 1);
        assert_int_equal(kept, 0);
        assert_null(store_find(buddy, RANK, 3));
        assert_true(hash_of(store_find(buddy, RANK, 2)) == last);
        assert_true(why == 0 || store_find(buddy, RANK, 1) == base);
        end();
    }
}

static void damage_on_the_way_is_found(void **state)
{
    unsigned found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin(seed);
        struct rz_link_store told = write_over(3, 1 + draw(5));
        damage = 1; /* the last byte of the first message: data, unless it has none */
        store_and_send(&told);
        assert_int_equal(kept + refused, 1);
        found += refused;
        end();
    }
    assert_true(found >= 30);
}

/* Also where the hashes of the other pages are known. The copy that did not match is gone, and so
 * is what was known of it. */
static void damage_of_a_later_generation_is_found(void **state)
{
    unsigned found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin(seed);
        for (uint64_t generation = 3; generation <= 5; generation++) {
            struct rz_link_store told = write_over(generation, 1 + draw(5));
            damage = generation == 5;
            struct piece *piece = store_and_send(&told);
            piece->kept_by = BUDDY;
        }
        assert_int_equal(kept + refused, 3);
        assert_true((store_find(&nodes[BUDDY].store, RANK, 5) == NULL) == (refused == 1));
        found += refused;
        end();
    }
    assert_true(found >= 30);
}

/* An owner that does not know it sends them again. */
static void changes_that_are_here_are_kept_again(void **state)
{
    (void)state;
    begin(12);
    struct rz_link_store told = write_over(3, 1 + draw(5));
    struct piece *piece = store_and_send(&told);
    struct transfer transfer = {.rank = RANK, .generation = 3, .to = BUDDY};
    assert_non_null(piece);
    assert_int_equal(kept, 1);
    while (store_send_changes(&nodes[OWNER].store, &transfer)) {
        ;
    }
    assert_int_equal(kept, 2);
    assert_int_equal(refused, 0);
    end();
}

/* A new epoch: what is known of the pages was true in the one before. */
static void forgotten_hashes_are_made_again(void **state)
{
    (void)state;
    begin(11);
    for (uint64_t generation = 3; generation < 9; generation++) {
        if (generation == 6) {
            for (struct piece *p = nodes[BUDDY].store.pieces; p; p = p->next) {
                store_forget_hashes(p);
                p->good = false;
            }
            slices_read = 0;
        }
        struct rz_link_store told = write_over(generation, 1 + draw(5));
        store_and_send(&told)->kept_by = BUDDY;
    }
    assert_int_equal(slices_read, 2);
    assert_int_equal(kept, 6);
    end();
}

static void no_changes_are_taken_that_no_process_keeps(void **state)
{
    (void)state;
    for (int why = 0; why < 6; why++) {
        begin((uint64_t)why + 200);
        struct rz_store *owner = &nodes[OWNER].store;
        struct rz_link_store told = write_over(3, 1 + draw(5));
        struct piece *base = store_find(owner, RANK, 1);
        if (why == 0) {
            told.back = 0;
        } else if (why == 1) {
            told.back = 3; /* generation 0 */
        } else if (why == 2) {
            told.back = UINT32_MAX;
        } else if (why == 3) {
            base->kept_by = RZ_ID_NONE;
        } else if (why == 4) {
            base->bytes++; /* of another size */
        } else {
            told.bytes = BYTES_MAX + 4096; /* no space for a bitmap after it */
        }
        struct store_changes *changes = store_changes_of(owner, RANK, &told, slots[1]);
        assert_null(changes);
        end();
    }
}

/* Anything that a stranger may say: nothing outside the piece is touched, and nothing is kept that
 * is not what it says. */
static void any_message_is_survived(void **state)
{
    static uint8_t data[9000];
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        begin(seed);
        for (int i = 0; i < 30; i++) {
            struct rz_overlay_changes told = {
                .epoch = 1,
                .generation = draw(5),
                .rank = (uint32_t)draw(N_RANKS + 1),
                .total = draw(3) ? bytes : draw(UINT32_MAX),
                .hash = draw(2),
                .base = draw(4),
                .base_hash = store_find(&nodes[OWNER].store, RANK, 1 + draw(2))->hash,
                .part = (uint32_t)draw(5),
                .offset = draw(2)   ? draw(bytes)
                          : draw(3) ? bytes
                                    : UINT64_MAX - draw(5000),
                .data = data,
                .data_length = (uint32_t)draw(sizeof(data))};
            if (draw(2)) {
                told.rank = RANK;
            }
            store_on_changes(&nodes[BUDDY].store, (rz_id)OWNER, &told);
        }
        for (const struct piece *piece = nodes[BUDDY].store.pieces; piece; piece = piece->next) {
            assert_true(piece->bytes == bytes);
        }
        assert_int_equal(kept, 0);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_buddy_has_the_same_bits),
                                       cmocka_unit_test(nothing_changed_is_one_empty_message),
                                       cmocka_unit_test(without_its_base_the_buddy_refuses),
                                       cmocka_unit_test(damage_on_the_way_is_found),
                                       cmocka_unit_test(damage_of_a_later_generation_is_found),
                                       cmocka_unit_test(changes_that_are_here_are_kept_again),
                                       cmocka_unit_test(forgotten_hashes_are_made_again),
                                       cmocka_unit_test(no_changes_are_taken_that_no_process_keeps),
                                       cmocka_unit_test(any_message_is_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
