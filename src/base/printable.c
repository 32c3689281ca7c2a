/* SPDX-License-Identifier: BSD-3-Clause */
/* Control characters: 00 to 1F, 7F, and C2 80 to C2 9F; and what changes lines and the direction of
 * writing: E2 80 A8 to E2 80 AE, and E2 81 A6 to E2 81 A9. What was shown before this text may have
 * ended with C2, or with E2 and 80 or 81. */
#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

/* The number of bytes, up to text[i], of a character that is no plain one; 0: it is plain. */
static size_t unprintable_bytes(const unsigned char *text, size_t i)
{
    unsigned char c = text[i];
    if (c < ' ' || c == 0x7f) {
        return 1;
    }
    if (i == 0) {
        return (c >= 0x80 && c <= 0x9f) || (c >= 0xa6 && c <= 0xae);
    }
    if (text[i - 1] == 0xc2 && c >= 0x80 && c <= 0x9f) {
        return 2;
    }
    bool direction = i > 1 && text[i - 2] == 0xe2 &&
                     ((text[i - 1] == 0x80 && c >= 0xa8 && c <= 0xae) ||
                      (text[i - 1] == 0x81 && c >= 0xa6 && c <= 0xa9));
    return direction ? 3 : 0;
}

void rz_printable(char *text, size_t n, const char *kept)
{
    for (size_t i = 0; i < n; i++) {
        size_t bytes = unprintable_bytes((const unsigned char *)text, i);
        if (bytes > 0 && (bytes > 1 || !text[i] || !strchr(kept, text[i]))) {
            memset(text + i + 1 - bytes, '?', bytes);
        }
    }
}

void rz_printable_ascii(char *to, size_t bytes, const char *from)
{
    size_t n = 0;
    for (; *from && n + 1 < bytes; from++) {
        unsigned char c = (unsigned char)*from;
        if (c < 0x80) {
            to[n++] = (char)(c >= ' ' && c != 0x7f ? c : '?');
        } else if (c >= 0xc0) {
            to[n++] = '?'; /* one for each character beyond ASCII */
        }
    }
    to[n] = 0;
}
