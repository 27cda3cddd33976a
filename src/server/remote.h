/*
 * remote.h
 *		Runs statements on several foreign servers at the same time, through the extension dblink.
 */
#ifndef HYBRID_REMOTE_H
#define HYBRID_REMOTE_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "foreign/foreign.h"
#include "nodes/pg_list.h"

/* HybridRemotes: one connection to each of several foreign servers. */
typedef struct HybridRemotes HybridRemotes;

typedef void (*HybridUseRemotes)(HybridRemotes *remotes, void *arg);

/* HybridTakeRemote: process a row of the answer of server number i, counted from 0. */
typedef void (*HybridTakeRemote)(void *arg, int i, HeapTuple row, TupleDesc columns);

/* hybrid_is_postgres_fdw: return whether a server's foreign-data wrapper uses the handler of postgres_fdw. */
extern bool hybrid_is_postgres_fdw(const ForeignServer *server);

/*
 * hybrid_remotes_use: connect to the servers, a list of OIDs, as the current user, and call `use`.
 * The connections are closed when `use` returns or raises, and when this process ends. A server that
 * still runs a statement at that time is told to cancel it. The caller must have connected to SPI.
 *
 * Raises if dblink does not exist, or refuses a connection. An error of a server names the server.
 */
extern void hybrid_remotes_use(const List *servers, HybridUseRemotes use, void *arg);

/* hybrid_remotes_count: return the number of servers. */
extern int hybrid_remotes_count(const HybridRemotes *remotes);

/* hybrid_remote_name: return the name of server number i. */
extern const char *hybrid_remote_name(const HybridRemotes *remotes, int i);

/*
 * hybrid_remote_schema: return the schema of the extension hybrid on a server, quoted as an
 * identifier, or NULL if the extension does not exist there.
 */
extern const char *hybrid_remote_schema(const HybridRemotes *remotes, int i);

/* hybrid_remote_version: return the version of hybrid on a server, or NULL if it does not exist there. */
extern const char *hybrid_remote_version(const HybridRemotes *remotes, int i);

/*
 * hybrid_remote_send: start a statement on a server, without waiting for the answer. The search_path
 * is pg_catalog. The connection must not be running another statement. Raises an error if the
 * statement cannot be sent.
 */
extern void hybrid_remote_send(HybridRemotes *remotes, int i, const char *statement);

/*
 * hybrid_remotes_receive: wait until all statements that were sent have ended, and pass the rows of
 * each answer to `take`. `columns` defines the columns of all answers, as in "id pg_catalog.int4, name
 * pg_catalog.text". Raises if a statement has failed.
 */
extern void hybrid_remotes_receive(HybridRemotes *remotes, const char *columns,
                                   HybridTakeRemote take, void *arg);

#endif
