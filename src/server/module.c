/*
 * module.c
 *		The entry point of the library.
 *
 * _PG_init may run in the postmaster (shared_preload_libraries).  So it opens no device, and requests no
 * feature of the processor that a child process would inherit.
 */
#include "postgres.h"

#include "fmgr.h"
#include "graph/shared_graphs.h"
#include "index/handler.h"
#include "index/scan/settings.h"
#include "server/compat.h"
#include "server/settings.h"
#include "server/shared.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	hybrid_define_index_settings();
	hybrid_define_settings();
	hybrid_shared_init();
	hybrid_shared_graphs_init();
	hybrid_index_init();
}
