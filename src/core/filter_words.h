/*
 * filter_words.h
 *		Maps each value to a 64-bit word, and tests conditions on the words of 32 entries at once.
 *
 * The word of a number loses information but keeps the order: if a < b, the word of a is at most the
 * word of b.  A condition on values therefore implies a condition on their words.  The test of the
 * words never excludes a value that satisfies the condition.  It may admit other values, so the
 * caller must also compare the values.  The word of a hash serves only for equality.
 */
#ifndef HY_FILTER_WORDS_H
#define HY_FILTER_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#define HY_WORD_ROWS 32
#define HY_WORD_NULL 0  /* word of NULL */
#define HY_WORD_LEAST 1 /* smallest word of a value */

/* HyWordCondition: a condition on the words of one column: a range, or a set within the range. */
typedef struct HyWordCondition
{
	int column;
	uint64_t least; /* words from `least` to `most` satisfy the condition; none if least > most */
	uint64_t most;
	/* if not NULL, the words in ascending order that satisfy the condition; all are in the range */
	const uint64_t *set;
	int count;
} HyWordCondition;

/*
 * hy_word_of_integer: return the word of an integer.  Only the two smallest integers share a word.
 */
extern uint64_t hy_word_of_integer(int64_t value);

/*
 * hy_word_of_double: return the word of a number.  All NaNs share one word, which is greater than every
 * other.  0 and -0 share a word.  All other numbers have different words.
 */
extern uint64_t hy_word_of_double(double value);

/*
 * hy_integer_of_word, hy_double_of_word: set *value to the value that has this word.  Return false
 * if several values may have this word.
 */
extern bool hy_integer_of_word(uint64_t word, int64_t *value);
extern bool hy_double_of_word(uint64_t word, double *value);

/* hy_word_of_hash: return the word of a value with this hash. */
extern uint64_t hy_word_of_hash(uint64_t hash);

/*
 * hy_word_above: set the condition to the words above `word`.  Includes `word` itself unless
 * `exact` is set and only one value has this word.
 */
extern void hy_word_above(HyWordCondition *condition, uint64_t word, bool exact);

/* hy_word_below: set the condition to the words below `word`, like hy_word_above. */
extern void hy_word_below(HyWordCondition *condition, uint64_t word, bool exact);

/* hy_word_any: set the condition to the words of a set.  Sorts the words. */
extern void hy_word_any(HyWordCondition *condition, uint64_t *words, int count);

/* hy_word_between: test whether any word from `least` to `most` satisfies the condition. */
extern bool hy_word_between(const HyWordCondition *condition, uint64_t least, uint64_t most);

/*
 * hy_words_mask: return the bits of `live` whose entries satisfy all conditions.  The words of column c
 * begin at words[c * HY_WORD_ROWS], one for each bit.
 */
extern uint32_t
hy_words_mask(const HyWordCondition *conditions, int count, const uint64_t *words, uint32_t live);

#endif
