/*
 * index_search.h
 *		Searches by codes for many queries, without an executor: HybridSearchMethods of server/store.h.
 */
#ifndef HYBRID_INDEX_SEARCH_H
#define HYBRID_INDEX_SEARCH_H

#include "server/store.h"

/* hybrid_search_methods: registered when the library is loaded. */
extern const HybridSearchMethods hybrid_search_methods;

#endif
