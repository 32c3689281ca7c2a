/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol components on messages of any content, calls, failures and dates: built once for
 * each component (RZ_FUZZ_PROTOCOL). Members must survive, stay quiet about members that do not
 * exist, end every step, request memory only in proportion to received data, and keep their
 * decisions.
 */
#include "base/random.h"
#include "fuzz_patient.h"
#include "fuzz_proto_cores.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    patient_live(&fuzz_proto_protocol, &input);
    return 0;
}

/* There is no invalid input here: the bytes determine a run, and any bytes do. */
static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    struct rz_random random = {number};
    size_t n = number < 24 ? 64u << number % 6 : 0;
    n = n < max ? n : max;
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)rz_random_next(&random);
    }
    return n;
}

#define NAME_OF(protocol) "fuzz_proto_" #protocol
#define NAME(protocol) NAME_OF(protocol)
const struct rz_fuzz_target rz_fuzz_target = {.name = NAME(RZ_FUZZ_PROTOCOL),
                                              .input_max = 4096,
                                              .memory_fixed = 8u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
