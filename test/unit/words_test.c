/*
 * words_test.c
 *		Words of settings and arguments: the words that are read and listed are the names that
 *		are printed.
 */
#include "unit.h"

#include "dispatch/tools/words.h"

static const HyWords kinds[] = {HY_WORDS_OPERATION, HY_WORDS_METRIC, HY_WORDS_DTYPE,
                                HY_WORDS_EXECUTION};

#define KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

static int
read_word(HyWords kind, const char *word)
{
	return hy_word_read(kind, word, strlen(word));
}

static void
test_executions(void)
{
	CHECK_STR(hy_execution_name(HY_EXECUTION_AUTO), "auto");
	CHECK_STR(hy_execution_name(HY_EXECUTION_PREFER_GPU), "prefer_gpu");
	CHECK_STR(hy_execution_name((HyExecution) 99), "unknown");
	CHECK_STR(hy_execution_name((HyExecution) -1), "unknown");
}

static void
test_each_name_is_read(void)
{
	int i;

	for (i = 0; i < HY_OP_COUNT; i++)
		CHECK_INT(read_word(HY_WORDS_OPERATION, hy_op_name((HyOp) i)), i);
	for (i = 0; i < HY_METRIC_COUNT; i++)
		CHECK_INT(read_word(HY_WORDS_METRIC, hy_metric_name((HyMetric) i)), i);
	for (i = 0; i < HY_DTYPE_COUNT; i++)
		CHECK_INT(read_word(HY_WORDS_DTYPE, hy_dtype_name((HyDtype) i)), i);
	for (i = 0; i <= HY_EXECUTION_SPLIT; i++)
	{
		if (i != HY_EXECUTION_NAMED)
			CHECK_INT(read_word(HY_WORDS_EXECUTION, hy_execution_name((HyExecution) i)), i);
	}
}

static void
test_what_is_no_word(void)
{
	static const char *const none[] = {"",      "unknown", "named",     "top", "topkk", "TOPK",
	                                   " topk", "topk ",   "distance ", "L2",  "l",     "l22",
	                                   "float", "float64", "aut",       "GPU", "cuda",  "prefer"};
	size_t i;
	int kind;

	for (kind = 0; kind < KINDS; kind++)
	{
		for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
			CHECK_MSG(read_word(kinds[kind], none[i]) == -1, "\"%s\" is of kind %d", none[i], kind);
	}
	/* of each kind only its own */
	CHECK_INT(read_word(HY_WORDS_METRIC, "topk"), -1);
	CHECK_INT(read_word(HY_WORDS_OPERATION, "l2"), -1);
	/* as much of the text as was said, and no byte more is looked at */
	CHECK_INT(hy_word_read(HY_WORDS_OPERATION, "topk:128", 4), HY_OP_TOPK);
	CHECK_INT(hy_word_read(HY_WORDS_OPERATION, "topk:128", 3), -1);
}

static void
test_lists(void)
{
	char text[HY_WORDS_LENGTH];

	CHECK_STR(hy_words_list(HY_WORDS_OPERATION, "", " and ", text),
	          "distance, topk, assign, score_codes and spread");
	CHECK_STR(hy_words_list(HY_WORDS_METRIC, "\"", " and ", text),
	          "\"l2\", \"ip\", \"cosine\" and \"l1\"");
	CHECK_STR(hy_words_list(HY_WORDS_DTYPE, "\"", " and ", text), "\"float32\" and \"float16\"");
	CHECK_STR(hy_words_list(HY_WORDS_EXECUTION, "", ", ", text),
	          "auto, cpu, gpu, prefer_cpu, prefer_gpu, split");
	CHECK(text == hy_words_list(HY_WORDS_EXECUTION, "", ", ", text));
}

/* a list fits its buffer, with quotes and the longest word last: its last word is complete */
static void
test_lists_are_whole(void)
{
	char text[HY_WORDS_LENGTH];
	int kind;

	for (kind = 0; kind < KINDS; kind++)
	{
		CHECK(strlen(hy_words_list(kinds[kind], "\"", " and ", text)) < HY_WORDS_LENGTH - 16);
		CHECK(text[strlen(text) - 1] == '"');
	}
}

int
main(void)
{
	UNIT_RUN(test_executions);
	UNIT_RUN(test_each_name_is_read);
	UNIT_RUN(test_what_is_no_word);
	UNIT_RUN(test_lists);
	UNIT_RUN(test_lists_are_whole);
	return unit_finish();
}
