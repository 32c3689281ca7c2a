/* Singly linked lists of structs with a field `next`. */
#ifndef RZ_BASE_LINKED_LIST_H
#define RZ_BASE_LINKED_LIST_H

#include <stddef.h>

/* Takes an item out of the list that begins at *first; nothing where it is not in that list. The
 * item itself is not touched: it may be freed next. */
#define rz_list_unlink(first, item)                                                                \
    do {                                                                                           \
        __typeof__(*(first)) *rz_list_at = (first);                                                \
        while (*rz_list_at != NULL && *rz_list_at != (item))                                       \
            rz_list_at = &(*rz_list_at)->next;                                                     \
        if (*rz_list_at != NULL)                                                                   \
            *rz_list_at = (*rz_list_at)->next;                                                     \
    } while (0)

#endif
