/*
 * store.c
 *		The store of an index: see store.h.
 */
#include "postgres.h"

#include "server/store.h"

static const HybridStoreMethods *registered;

void
hybrid_register_stores(const HybridStoreMethods *methods)
{
	registered = methods;
}

const HybridStoreMethods *
hybrid_stores(void)
{
	return registered;
}
