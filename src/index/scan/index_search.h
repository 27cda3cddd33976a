/*
 * index_search.h
 *		Searches by codes without an executor, for many queries: HybridSearchMethods of server/store.h.
 */
#ifndef HYBRID_INDEX_SEARCH_H
#define HYBRID_INDEX_SEARCH_H

#include "server/store.h"

/* hybrid_search_methods: registered at load. */
extern const HybridSearchMethods hybrid_search_methods;

#endif
