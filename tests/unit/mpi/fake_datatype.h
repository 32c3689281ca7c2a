#ifndef FAKE_DATATYPE_H
#define FAKE_DATATYPE_H

#include "mpi/datatype.h"

/* Bytes 0 and 2 of every 4. */
extern struct rz_datatype fake_gaps;

#endif
