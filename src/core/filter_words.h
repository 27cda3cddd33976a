/*
 * filter_words.h
 *		Images of values in one 64-bit word each, and conditions on the words of 32 entries.
 *
 * A word loses information but keeps the order: if a < b, the word of a is at most the word of b.  A
 * condition on values therefore follows from a condition on words, which never excludes a value that
 * satisfies it.  It may admit others, so the caller compares the values, too.
 */
#ifndef HY_FILTER_WORDS_H
#define HY_FILTER_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#define HY_WORD_ROWS 32
#define HY_WORD_NULL 0  /* word of NULL */
#define HY_WORD_LEAST 1 /* smallest word of a value */

/* HyWordCondition: a condition on the words of one column: a range, or a set. */
typedef struct HyWordCondition
{
	int column;
	uint64_t least; /* words from `least` to `most` satisfy the condition; none if least > most */
	uint64_t most;
	/* if not NULL, the words in ascending order that satisfy the condition; all are in the range */
	const uint64_t *set;
	int count;
} HyWordCondition;

/* hy_word_of_integer: return the word of an integer.  Only the two smallest integers have the same word. */
extern uint64_t hy_word_of_integer(int64_t value);

/*
 * hy_word_of_double: return the word of a number.  All NaN have the same word, which is greater than those
 * of other numbers.  0 and -0 have the same word.  Other numbers have different words.
 */
extern uint64_t hy_word_of_double(double value);

/*
 * hy_integer_of_word, hy_double_of_word: set *value to the value that has this word.  Return false if several values
 * have it.
 */
extern bool hy_integer_of_word(uint64_t word, int64_t *value);
extern bool hy_double_of_word(uint64_t word, double *value);

/* hy_word_of_hash: return the word of a value with this hash. */
extern uint64_t hy_word_of_hash(uint64_t hash);

/* hy_word_above: set the condition to values greater than that of `word`, or not less if it is inexact. */
extern void hy_word_above(HyWordCondition *condition, uint64_t word, bool exact);

/* hy_word_below: set the condition to values less than that of `word`, or not greater if it is inexact. */
extern void hy_word_below(HyWordCondition *condition, uint64_t word, bool exact);

/* hy_word_any: set the condition to the words of a set.  Sorts the words. */
extern void hy_word_any(HyWordCondition *condition, uint64_t *words, int count);

/* hy_word_between: test whether a word from `least` to `most` satisfies the condition. */
extern bool hy_word_between(const HyWordCondition *condition, uint64_t least, uint64_t most);

/*
 * hy_words_mask: return the bits of `live` whose entries satisfy all conditions.  The words of column c are
 * words[c * HY_WORD_ROWS] and those after it, one for each bit.
 */
extern uint32_t
hy_words_mask(const HyWordCondition *conditions, int count, const uint64_t *words, uint32_t live);

#endif
