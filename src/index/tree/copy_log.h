/*
 * copy_log.h
 *		Log which leaves received rows while VACUUM copies all rows to other lists.
 *
 * The log tells VACUUM which leaves have changed since it copied their rows. VACUUM then reads only these
 * leaves again, because it has no time to read all leaves while it holds the gate. The log is a bitmap on
 * the meta page, in which several leaves share a bit. An insert sets the bit of its leaf after it has added
 * the entry, while it holds the gate in share mode.
 */
#ifndef HYBRID_INDEX_COPY_LOG_H
#define HYBRID_INDEX_COPY_LOG_H

#include "index/page/index.h"

/* HybridCopyLog: bits of the log that VACUUM has taken from the meta page. */
typedef struct HybridCopyLog
{
	uint8 bits[HYBRID_COPY_LOG_BYTES];
} HybridCopyLog;

/*
 * hybrid_copy_log_begin: start logging every leaf that receives an entry. Waits for processes that are
 * adding an entry or splitting a list. The caller holds no lock of a list.
 */
extern void hybrid_copy_log_begin(Relation index);

/* hybrid_copy_log_end: stop logging, if logging is on. */
extern void hybrid_copy_log_end(Relation index);

/* hybrid_copy_log_add: log that a leaf has received an entry. Call it if HybridTree.logging is set. */
extern void hybrid_copy_log_add(Relation index, BlockNumber leaf);

/* hybrid_copy_log_take: add the bits of the log on the meta page to *copy_log, and clear them on the meta page. */
extern void hybrid_copy_log_take(Relation index, HybridCopyLog *copy_log);

/*
 * hybrid_copy_log_has: test whether a leaf may have received an entry. The result may be true for a leaf
 * that has not, but never false for one that has.
 */
extern bool hybrid_copy_log_has(const HybridCopyLog *copy_log, BlockNumber leaf);

#endif
