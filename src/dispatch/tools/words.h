/*
 * words.h
 *		Parses the keywords of settings and function arguments, and lists the valid ones for
 *		messages.
 *
 * The names themselves are defined once, by hy_op_name and similar functions.  A function that
 * rejects a word can list all valid ones.  A program that loads a plug-in and has no dispatcher can
 * use this file too.
 */
#ifndef HY_WORDS_H
#define HY_WORDS_H

#include <stddef.h>

#include "dispatch/model/decision.h"

/* HyWords: the kinds of words.  Each kind has the names of one enumeration. */
typedef enum HyWords
{
	HY_WORDS_OPERATION = 0, /* HyOp */
	HY_WORDS_METRIC,        /* HyMetric */
	HY_WORDS_DTYPE,         /* HyDtype */
	HY_WORDS_EXECUTION /* HyExecution; HY_EXECUTION_NAMED has no word and stands for any other */
} HyWords;

/* hy_execution_name: return 'auto', 'cpu', ...; 'named' if the setting is a backend's name. */
extern const char *hy_execution_name(HyExecution execution);

/* buffer size in bytes that suffices for the list of any kind */
#define HY_WORDS_LENGTH 128

/*
 * hy_word_read: return the value of the word in the first length bytes of text, or -1 if the text is
 * no word of this kind.
 */
extern int hy_word_read(HyWords kind, const char *text, size_t length);

/*
 * hy_words_list: write the words of a kind, in order, to text (HY_WORDS_LENGTH bytes), and return
 * text.  Each word is enclosed in quote.  Words are separated by commas, except that the string last
 * (" and " or ", ") precedes the final word.
 */
extern const char *hy_words_list(HyWords kind, const char *quote, const char *last, char *text);

#endif
