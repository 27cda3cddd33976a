/*
 * dense_io.c
 *		Text, binary and type modifier of vector and halfvec.
 *
 * Text:	[1,2.5,-3e-05], each element the shortest decimal that reads back to the same float.
 * Binary:	int16 dimensions, int16 zero, then the elements as IEEE binary32 or binary16, all in
 *			network byte order.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"

#include "core/byte_order.h"
#include "core/vector_text.h"
#include "server/compat.h"
#include "types/dense.h"
#include "types/input.h"

static Datum read_text(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum write_text(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum read_binary(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum write_binary(FunctionCallInfo fcinfo, const HybridDenseType *type);
pg_noreturn static void report_text_error(const HybridDenseType *type, HyTextError error,
                                          const char *text, const char *where);

PG_FUNCTION_INFO_V1(hybrid_vector_in);
PG_FUNCTION_INFO_V1(hybrid_halfvec_in);
PG_FUNCTION_INFO_V1(hybrid_vector_out);
PG_FUNCTION_INFO_V1(hybrid_halfvec_out);
PG_FUNCTION_INFO_V1(hybrid_vector_typmod_in);
PG_FUNCTION_INFO_V1(hybrid_halfvec_typmod_in);
PG_FUNCTION_INFO_V1(hybrid_vector_recv);
PG_FUNCTION_INFO_V1(hybrid_halfvec_recv);
PG_FUNCTION_INFO_V1(hybrid_vector_send);
PG_FUNCTION_INFO_V1(hybrid_halfvec_send);

HYBRID_DENSE_FUNCTION(in, read_text(fcinfo, type));
HYBRID_DENSE_FUNCTION(out, write_text(fcinfo, type));
HYBRID_DENSE_FUNCTION(typmod_in, Int32GetDatum(hybrid_read_modifier(PG_GETARG_ARRAYTYPE_P(0),
                                                                    type->name, HYBRID_MAX_DIM)));
HYBRID_DENSE_FUNCTION(recv, read_binary(fcinfo, type));
HYBRID_DENSE_FUNCTION(send, write_binary(fcinfo, type));

/*
 * read_text: parse the text directly into the result. The result is first allocated large enough
 * for any text of that length and then shrunk. Counting the commas first would add a third to the
 * parsing time.
 */
static Datum
read_text(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	const char *text = PG_GETARG_CSTRING(0);
	int32 typmod = PG_GETARG_INT32(2);
	int32 limit = (int32) Min(strlen(text) / 2 + 1, HYBRID_MAX_DIM);
	HybridDense *result = (HybridDense *) palloc(hybrid_dense_size(type, limit));
	const char *where = text;
	int32 dims = 0;
	HyTextError error;

	error = hy_vector_parse(text, type->dtype, result->x, limit, &dims, &where);
	if (error != HY_TEXT_OK)
		report_text_error(type, error, text, where);
	hybrid_dense_check_typmod(typmod, dims);

	result = (HybridDense *) repalloc(result, hybrid_dense_size(type, dims));
	SET_VARSIZE(result, hybrid_dense_size(type, dims));
	result->dim = (int16) dims;
	result->unused = 0;
	PG_RETURN_HYBRID_DENSE(result);
}

static Datum
write_text(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	float *x = hybrid_dense_floats(type, value);
	char *text;
	char *end;
	int i;

	/*
	 * FLOAT_SHORTEST_DECIMAL_LEN includes a terminating zero, which leaves one byte for the comma.
	 */
	text = palloc((Size) FLOAT_SHORTEST_DECIMAL_LEN * value->dim + 3);
	end = text;
	*end++ = '[';
	for (i = 0; i < value->dim; i++)
	{
		if (i > 0)
			*end++ = ',';
		end += float_to_shortest_decimal_bufn(x[i], end);
	}
	*end++ = ']';
	*end = '\0';

	hybrid_dense_free_floats(value, x);
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_CSTRING(text);
}

/*
 * read_binary: read the binary format. The caller raises an error if bytes follow the last element,
 * as for every type.
 */
static Datum
read_binary(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int32 typmod = PG_GETARG_INT32(2);
	int dim = (int) pq_getmsgint(message, sizeof(int16));
	int unused = (int) pq_getmsgint(message, sizeof(int16));
	HybridDense *result;
	const char *elements;

	hybrid_dense_check_dim(type, dim);
	hybrid_dense_check_typmod(typmod, dim);
	if (unused != 0)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected unused to be 0, not %d", unused)));

	elements = pq_getmsgbytes(message, (int) hy_dtype_size(type->dtype) * dim);
	result = hybrid_dense_new(type, dim);
	hy_network_order(hy_dtype_size(type->dtype), result->x, elements, dim);
	hybrid_dense_check_finite(type, result);
	PG_RETURN_HYBRID_DENSE(result);
}

static Datum
write_binary(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	int size = (int) hy_dtype_size(type->dtype) * value->dim;
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendint16(&message, (uint16) value->dim);
	pq_sendint16(&message, (uint16) value->unused);
	enlargeStringInfo(&message, size);
	hy_network_order(hy_dtype_size(type->dtype), message.data + message.len, value->x, value->dim);
	message.len += size;
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

static void
report_text_error(const HybridDenseType *type, HyTextError error, const char *text,
                  const char *where)
{
	HybridTextForm form = {type->name, "Vector contents must start with \"[\".",
	                       "Junk after closing right brace."};

	if (error == HY_TEXT_EMPTY)
		hybrid_dense_check_dim(type, 0);
	if (error == HY_TEXT_TOO_MANY)
		hybrid_dense_check_dim(type, HYBRID_MAX_DIM + 1);
	hybrid_report_text_error(&form, error, text, where);
}
