/*
 * included.h
 *		Keys before the vector, and INCLUDE columns: the words that an index stores for their values.
 *
 * Each entry of a leaf has one 64-bit word for each key before the vector and for each included column
 * (core/filter_words.h). The words of numbers and times keep the order of the built-in btree operator family of the
 * type. The word of any other value is a hash, computed by the default hash operator class of the type. In some columns
 * all values have the same word: included columns with a non-deterministic collation, and columns of composite or range
 * types, or of arrays of these.
 */
#ifndef HYBRID_INDEX_INCLUDED_H
#define HYBRID_INDEX_INCLUDED_H

#include "postgres.h"

#include "utils/relcache.h"

#include "core/filter_words.h"

#define HYBRID_MAX_INCLUDED 8
#define HYBRID_EQUAL_STRATEGY 3 /* strategy number of the equality of a key */

/* HybridIncluded: a column of an index other than the vector: a key or an included column. */
typedef struct HybridIncluded
{
	AttrNumber column; /* number of the column in the table; 0 for an expression */
	Oid type;          /* type of the column; the base type if it is a domain */
	/* words of columns with the same scale can be compared; InvalidOid if the words are hashes */
	Oid scale;
	Oid family; /* operator family: of btree if there is a scale, else of hash */
	/* if words are hashes, the extended hash function; InvalidOid if all values have the same word */
	Oid hash;
	Oid collation;
	Oid operand; /* input type of the operator class of a key; InvalidOid for an included column */
} HybridIncluded;

/*
 * hybrid_keys_count: return the number of keys before the vector. This is also the number of the vector's column
 * in the index, counted from 0.
 */
extern int hybrid_keys_count(Relation index);

/* hybrid_included_count: return the number of columns of an index besides the vector. */
extern int hybrid_included_count(Relation index);

/* hybrid_included_column: return the number, from 0, of the index's column whose values have word number `word`. */
static inline int
hybrid_included_column(int keys, int word)
{
	return word < keys ? word : word + 1;
}

/*
 * hybrid_included_describe: describe the columns of an index besides the vector, keys first. Raises an error if
 * there are more than HYBRID_MAX_INCLUDED, if the type of one has neither a scale nor a hash, or if the operator
 * class of a key has an equality operator that differs from that of the scale or hash.
 */
extern void hybrid_included_describe(Relation index, HybridIncluded *columns);

/*
 * hybrid_included_mark: return a number that changes if the words of these columns would be computed in another
 * way. It does not depend on OIDs that pg_upgrade changes. It is 0 if there are no columns.
 */
extern uint32 hybrid_included_mark(const HybridIncluded *columns, int count);

/* hybrid_included_scale: return the scale of the words of a type, or InvalidOid if the words are hashes. */
extern Oid hybrid_included_scale(Oid type);

/* hybrid_included_exact: test whether each value of a scale has its own word, except that the least two share one. */
extern bool hybrid_included_exact(Oid scale);

/* hybrid_included_returned: test whether nearly all values of a column can be computed from their words. */
extern bool hybrid_included_returned(const HybridIncluded *column);

/*
 * hybrid_included_value: set *value to the value that has this word, in a column for which hybrid_included_returned is
 * true. The word is not that of NULL. Returns false if several values have the word.
 */
extern bool hybrid_included_value(const HybridIncluded *column, uint64 word, Datum *value);

/* hybrid_included_word: return the word of a value of this type, which has the scale of the column. */
extern uint64 hybrid_included_word(const HybridIncluded *column, Oid type, Datum value);

#endif
