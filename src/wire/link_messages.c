#include "wire/link_messages.h"

#define CASE(NAME, name)                                                                           \
    case RZ_LINK_##NAME: {                                                                         \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

size_t rz_link_encode(const struct rz_link_message *message, void *buffer,
                      size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_LINK_TABLE, CASE, END)}

rz_status_t rz_link_decode(struct rz_link_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_LINK_TABLE, CASE, END, enum rz_link_type)
}

#define TEXT_OF(NAME, name) [RZ_LINK_##NAME] = #NAME,
const char *rz_link_type_name(enum rz_link_type type)
{
    static const char *const names[RZ_LINK_TYPE_COUNT] = {
        RZ_LINK_TABLE(TEXT_OF, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                      RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_LINK_TYPE_COUNT ? names[type] : "unknown";
}
