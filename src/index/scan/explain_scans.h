/*
 * explain_scans.h
 *		Shows in EXPLAIN ANALYZE what the scans of hybrid indexes have read.
 */
#ifndef HYBRID_INDEX_EXPLAIN_SCANS_H
#define HYBRID_INDEX_EXPLAIN_SCANS_H

#include "postgres.h"

#include "index/scan/last_scan.h"

/* hybrid_explain_init: install the hook of EXPLAIN. Called from _PG_init. */
extern void hybrid_explain_init(void);

/* hybrid_explain_add: if an EXPLAIN ANALYZE is running, add the work of a scan that has ended. */
extern void hybrid_explain_add(const HybridScanDone *done);

#endif
