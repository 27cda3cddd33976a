/*
 * store.c
 *		The store of an index: see store.h.
 */
#include "postgres.h"

#include "server/store.h"

static const HybridStoreMethods *registered;
static const HybridSearchMethods *registered_searches;

void
hybrid_register_stores(const HybridStoreMethods *methods, const HybridSearchMethods *searches)
{
	registered = methods;
	registered_searches = searches;
}

const HybridStoreMethods *
hybrid_stores(void)
{
	return registered;
}

const HybridSearchMethods *
hybrid_searches(void)
{
	return registered_searches;
}
