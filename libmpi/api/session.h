/* libmpi/api/session.h - sessions: only what error handling needs to know. */
#ifndef LMPI_SESSION_H
#define LMPI_SESSION_H

#include "object.h"

struct lmpi_session {
	struct lmpi_obj obj;
	MPI_Errhandler errhandler;
};

/* NULL if the handle is not one. */
struct lmpi_session *lmpi_session_find(MPI_Session handle);

#endif
