/*
 * words.c
 *		Parses and lists the keywords of settings and function arguments: see words.h.
 */
#include "dispatch/tools/words.h"

#include <stdio.h>
#include <string.h>

static const char *const execution_names[HY_EXECUTION_SPLIT + 1] = {
	"auto", "cpu", "gpu", "prefer_cpu", "prefer_gpu", "named", "split"};

static int count_of(HyWords kind);
static const char *word_of(HyWords kind, int value);

const char *
hy_execution_name(HyExecution execution)
{
	if ((int) execution < 0 || (int) execution > HY_EXECUTION_SPLIT)
		return "unknown";
	return execution_names[execution];
}

int
hy_word_read(HyWords kind, const char *text, size_t length)
{
	int value;

	for (value = 0; value < count_of(kind); value++)
	{
		const char *word = word_of(kind, value);

		if (word != NULL && strlen(word) == length && memcmp(word, text, length) == 0)
			return value;
	}
	return -1;
}

const char *
hy_words_list(HyWords kind, const char *quote, const char *last, char *text)
{
	int count = count_of(kind);
	size_t written = 0;
	int value;

	text[0] = '\0';
	for (value = 0; value < count && written < HY_WORDS_LENGTH; value++)
	{
		const char *word = word_of(kind, value);
		const char *before = written == 0 ? "" : value == count - 1 ? last : ", ";

		if (word != NULL)
			written += (size_t) snprintf(text + written, HY_WORDS_LENGTH - written, "%s%s%s%s",
			                             before, quote, word, quote);
	}
	return text;
}

static int
count_of(HyWords kind)
{
	switch (kind)
	{
		case HY_WORDS_OPERATION:
			return HY_OP_COUNT;
		case HY_WORDS_METRIC:
			return HY_METRIC_COUNT;
		case HY_WORDS_DTYPE:
			return HY_DTYPE_COUNT;
		case HY_WORDS_EXECUTION:
			return HY_EXECUTION_SPLIT + 1;
	}
	return 0;
}

/* word_of: return the word for a value, or NULL if the value has no word. */
static const char *
word_of(HyWords kind, int value)
{
	switch (kind)
	{
		case HY_WORDS_OPERATION:
			return hy_op_name((HyOp) value);
		case HY_WORDS_METRIC:
			return hy_metric_name((HyMetric) value);
		case HY_WORDS_DTYPE:
			return hy_dtype_name((HyDtype) value);
		case HY_WORDS_EXECUTION:
			return value == HY_EXECUTION_NAMED ? NULL : hy_execution_name((HyExecution) value);
	}
	return NULL;
}
