/*
 * sparsevec_io.c
 *		Text, binary and type modifier of the sparsevec type.
 *
 * Text:	{1:1.5,3:-2}/5: pairs of an index, counted from 1, and its value, then the dimensions.
 * Binary:	int32 dimensions, int32 number of elements, int32 zero, then the indices as int32,
 *			counted from 0, then the values as float4, all in network byte order.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "core/byte_order.h"
#include "core/sparse_text.h"
#include "types/dense.h"
#include "types/input.h"
#include "types/sparsevec.h"

/*
 * maximum length of an index or of the dimensions as text; includes one byte for a sign, which
 * neither has
 */
#define MAX_INDEX_LENGTH 11

static int32 max_elements_of_text(const char *text);

static const HybridTextForm text_form = {"sparsevec", "Vector contents must start with \"{\".",
                                         "Junk after closing."};

PG_FUNCTION_INFO_V1(hybrid_sparsevec_in);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_out);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_typmod_in);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_recv);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_send);

Datum
hybrid_sparsevec_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	int32 typmod = PG_GETARG_INT32(2);
	int32 limit = max_elements_of_text(text);
	HySparseElement *elements = palloc(sizeof(HySparseElement) * (Size) limit);
	const char *where = text;
	int32 nnz = 0;
	int32 dim = 0;
	HybridSparsevec *result;
	float *values;
	HyTextError error;
	int32 i;

	error = hy_sparse_parse(text, elements, limit, &nnz, &dim, &where);
	if (error != HY_TEXT_OK)
		hybrid_report_text_error(&text_form, error, text, where);
	hybrid_sparsevec_check_dim(dim);
	hybrid_dense_check_typmod(typmod, dim);

	result = hybrid_sparsevec_new(dim, nnz);
	values = hybrid_sparsevec_values(result);
	for (i = 0; i < nnz; i++)
	{
		result->indices[i] = elements[i].index;
		values[i] = elements[i].value;
	}
	pfree(elements);
	hybrid_sparsevec_check_indices(result);
	PG_RETURN_HYBRID_SPARSEVEC(result);
}

Datum
hybrid_sparsevec_out(PG_FUNCTION_ARGS)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	const float *values = hybrid_sparsevec_values(vector);
	char *text;
	char *end;
	int i;

	/*
	 * FLOAT_SHORTEST_DECIMAL_LEN includes a terminating zero, which leaves one byte for the comma.
	 */
	text = palloc((MAX_INDEX_LENGTH + 1 + FLOAT_SHORTEST_DECIMAL_LEN) * (Size) vector->nnz +
	              MAX_INDEX_LENGTH + sizeof("{}/"));
	end = text;
	*end++ = '{';
	for (i = 0; i < vector->nnz; i++)
	{
		if (i > 0)
			*end++ = ',';
		end += pg_ltoa(vector->indices[i] + 1, end);
		*end++ = ':';
		end += float_to_shortest_decimal_bufn(values[i], end);
	}
	*end++ = '}';
	*end++ = '/';
	end += pg_ltoa(vector->dim, end);
	*end = '\0';

	PG_FREE_IF_COPY(vector, 0);
	PG_RETURN_CSTRING(text);
}

Datum
hybrid_sparsevec_typmod_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(
		hybrid_read_modifier(PG_GETARG_ARRAYTYPE_P(0), text_form.type, HY_SPARSE_MAX_DIMS));
}

/*
 * hybrid_sparsevec_recv: read the binary format. The caller raises an error if bytes follow the
 * last value, as for every type.
 */
Datum
hybrid_sparsevec_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int32 typmod = PG_GETARG_INT32(2);
	int32 dim = (int32) pq_getmsgint(message, sizeof(int32));
	int32 nnz = (int32) pq_getmsgint(message, sizeof(int32));
	int32 unused = (int32) pq_getmsgint(message, sizeof(int32));
	HybridSparsevec *result;
	float *values;
	int i;

	hybrid_sparsevec_check_dim(dim);
	hybrid_sparsevec_check_nnz(nnz, dim);
	hybrid_dense_check_typmod(typmod, dim);
	if (unused != 0)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected unused to be 0, not %d", unused)));

	result = hybrid_sparsevec_new(dim, nnz);
	values = hybrid_sparsevec_values(result);
	hy_network_order(sizeof(int32), result->indices,
	                 pq_getmsgbytes(message, (int) sizeof(int32) * nnz), nnz);
	hybrid_sparsevec_check_indices(result);
	hy_network_order(sizeof(float), values, pq_getmsgbytes(message, (int) sizeof(float) * nnz),
	                 nnz);
	hybrid_sparsevec_check_finite(values, nnz);
	for (i = 0; i < nnz; i++)
	{
		if (values[i] == 0)
			ereport(ERROR,
			        (errcode(ERRCODE_DATA_EXCEPTION),
			         errmsg("binary representation of sparsevec cannot contain zero values")));
	}
	PG_RETURN_HYBRID_SPARSEVEC(result);
}

Datum
hybrid_sparsevec_send(PG_FUNCTION_ARGS)
{
	HybridSparsevec *vector = PG_GETARG_HYBRID_SPARSEVEC(0);
	const float *values = hybrid_sparsevec_values(vector);
	StringInfoData message;
	int i;

	pq_begintypsend(&message);
	enlargeStringInfo(&message, (int) VARSIZE(vector));
	pq_sendint32(&message, (uint32) vector->dim);
	pq_sendint32(&message, (uint32) vector->nnz);
	pq_sendint32(&message, (uint32) vector->unused);
	for (i = 0; i < vector->nnz; i++)
		pq_sendint32(&message, (uint32) vector->indices[i]);
	for (i = 0; i < vector->nnz; i++)
		pq_sendfloat4(&message, values[i]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/*
 * max_elements_of_text: return the number of commas plus one, an upper bound on the number of
 * elements. The bound also counts zeros, which are recognized only when the text is parsed. Raises
 * if the bound exceeds HY_SPARSE_MAX_ELEMENTS.
 */
static int32
max_elements_of_text(const char *text)
{
	int32 elements = 1;

	for (; *text != '\0' && elements <= HY_SPARSE_MAX_ELEMENTS; text++)
		elements += *text == ',';
	hybrid_sparsevec_check_nnz(elements, HY_SPARSE_MAX_DIMS);
	return elements;
}
