/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes frames and the three messages of the handshake, and checks the proofs in
 * them.
 */
#include "net/tcp/tcp_frame.h"

#include <string.h>

#define CHALLENGE_MAGIC 0x33545a52u /* "RZT3"; includes the version */

/* ---- frames ---- */

void rz_tcp_frame_encode(const struct rz_rdv_frame *frame, uint32_t padding,
                         uint8_t bytes[RZ_TCP_FRAME_BYTES])
{
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, bytes, RZ_TCP_FRAME_BYTES);
    rz_wire_put_u32(&writer, frame->kind);
    rz_wire_put_u32(&writer, frame->header_bytes);
    rz_wire_put_u32(&writer, (uint32_t)frame->bytes);
    rz_wire_put_u32(&writer, padding);
    rz_wire_put_u64(&writer, frame->id);
    rz_wire_put_u64(&writer, frame->place);
}

/* The kinds with a header of the user, and the limits of their payload. */
static const struct {
    bool header;
    uint32_t least, most;
} contents[RZ_RDV_KIND_COUNT] = {
    [RZ_RDV_SMALL] = {true, 0, RZ_TCP_EAGER_MAX},
    [RZ_RDV_OFFER] = {true, 0, 0},
    [RZ_RDV_PIECE] = {false, 1, RZ_TCP_PIECE_MAX},
};

rz_status_t rz_tcp_frame_decode(struct rz_rdv_frame *frame, uint32_t *padding,
                                const uint8_t bytes[RZ_TCP_FRAME_BYTES])
{
    struct rz_wire_reader reader;
    rz_wire_reader_init(&reader, bytes, RZ_TCP_FRAME_BYTES);
    uint32_t kind = rz_wire_get_u32(&reader);
    uint32_t header_bytes = rz_wire_get_u32(&reader), n = rz_wire_get_u32(&reader);
    *padding = rz_wire_get_u32(&reader);
    uint64_t id = rz_wire_get_u64(&reader), place = rz_wire_get_u64(&reader);
    if (kind >= RZ_RDV_LAST || n < contents[kind].least || n > contents[kind].most ||
        header_bytes > (contents[kind].header ? RZ_NET_HEADER_MAX : 0) ||
        *padding >= (n > 0 ? RZ_TCP_LINE_BYTES : 1)) {
        return RZ_ERR_MALFORMED;
    }
    *frame = (struct rz_rdv_frame){.kind = (enum rz_rdv_kind)kind,
                                   .id = id,
                                   .place = place,
                                   .header_bytes = header_bytes,
                                   .bytes = n};
    return RZ_OK;
}

/* ---- the handshake ---- */

/* Job and both ends: a proof for one connection is not valid for another. */
static void put_party(struct rz_wire_writer *writer, const struct rz_tcp_party *party)
{
    rz_wire_put_u64(writer, party->name);
    rz_wire_put_u32(writer, party->slot);
    rz_wire_put_u32(writer, party->incarnation);
}

struct bound {
    uint8_t bytes[44];
    struct rz_proof_terms terms;
};

static const struct rz_proof_terms *terms_of(const struct rz_tcp_shake *shake, struct bound *bound)
{
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, bound->bytes, sizeof(bound->bytes));
    rz_wire_put_u64(&writer, shake->job);
    put_party(&writer, &shake->connector);
    put_party(&writer, &shake->acceptor);
    rz_wire_put_u32(&writer, shake->stream);
    bound->terms = (struct rz_proof_terms){.key = shake->key,
                                           .challenge = shake->challenge,
                                           .answer = shake->answer,
                                           .bound = bound->bytes,
                                           .bound_bytes = sizeof(bound->bytes)};
    return &bound->terms;
}

void rz_tcp_challenge_write(struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_CHALLENGE_BYTES])
{
    struct rz_wire_writer writer;
    rz_proof_nonce(shake->challenge);
    rz_wire_writer_init(&writer, bytes, RZ_TCP_CHALLENGE_BYTES);
    rz_wire_put_u32(&writer, CHALLENGE_MAGIC);
    memcpy(writer.at, shake->challenge, sizeof(shake->challenge));
}

bool rz_tcp_challenge_read(struct rz_tcp_shake *shake, const uint8_t bytes[RZ_TCP_CHALLENGE_BYTES])
{
    struct rz_wire_reader reader;
    rz_wire_reader_init(&reader, bytes, RZ_TCP_CHALLENGE_BYTES);
    uint32_t magic = rz_wire_get_u32(&reader);
    memcpy(shake->challenge, reader.at, sizeof(shake->challenge));
    return magic == CHALLENGE_MAGIC;
}

void rz_tcp_hello_write(struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_HELLO_BYTES])
{
    struct rz_wire_writer writer;
    struct bound bound;
    rz_proof_nonce(shake->answer);
    rz_wire_writer_init(&writer, bytes, RZ_TCP_HELLO_BYTES);
    rz_wire_put_u64(&writer, shake->job);
    put_party(&writer, &shake->connector);
    rz_wire_put_u32(&writer, shake->stream);
    memcpy(writer.at, shake->answer, sizeof(shake->answer));
    rz_proof_make(terms_of(shake, &bound), RZ_PROOF_CONNECTOR, writer.at + sizeof(shake->answer));
}

bool rz_tcp_hello_read(struct rz_tcp_shake *shake, const uint8_t bytes[RZ_TCP_HELLO_BYTES])
{
    struct rz_wire_reader reader;
    struct bound bound;
    rz_wire_reader_init(&reader, bytes, RZ_TCP_HELLO_BYTES);
    uint64_t job = rz_wire_get_u64(&reader);
    shake->connector.name = rz_wire_get_u64(&reader);
    shake->connector.slot = rz_wire_get_u32(&reader);
    shake->connector.incarnation = rz_wire_get_u32(&reader);
    shake->stream = rz_wire_get_u32(&reader);
    memcpy(shake->answer, reader.at, sizeof(shake->answer));
    return job == shake->job && rz_proof_holds(terms_of(shake, &bound), RZ_PROOF_CONNECTOR,
                                               reader.at + sizeof(shake->answer));
}

void rz_tcp_welcome_write(const struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_WELCOME_BYTES])
{
    struct bound bound;
    rz_proof_make(terms_of(shake, &bound), RZ_PROOF_ACCEPTOR, bytes);
}

bool rz_tcp_welcome_read(const struct rz_tcp_shake *shake,
                         const uint8_t bytes[RZ_TCP_WELCOME_BYTES])
{
    struct bound bound;
    return rz_proof_holds(terms_of(shake, &bound), RZ_PROOF_ACCEPTOR, bytes);
}
