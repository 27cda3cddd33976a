/*
 * bench/client.c - a client that sends one prepared statement again and again.
 *
 *	client CONNECTION search|insert FILE CLIENTS SECONDS SETTINGS STATEMENT [ANSWERS]
 *
 * FILE is in the format of COPY ... (FORMAT binary) of (id bigint, v vector), with vectors of one length.
 * The id and the vector of a row are sent unchanged, as binary parameters.  'search' has the vector as
 * $1; 'insert' has the id as $1 and the vector as $2.  SETTINGS are statements that are run first.
 *
 * Each of CLIENTS threads has a connection and waits for each answer before it sends the next statement.
 * A search cycles through the file for SECONDS, after some runs that do not count.  Inserts also end
 * with the file.  With ANSWERS, a search goes through the file once and writes the values of the first
 * column there, one line per row of the file, separated by blanks.
 *
 * Prints the number of runs, the seconds, and the median and the 99th percentile of the run times in
 * microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <postgresql/libpq-fe.h>

/* of the file, and of a row: number of fields, length and id, length and vector */
#define HEADER 19
#define TRAILER 2
#define ID_AT 6
#define LENGTH_AT 14
#define VECTOR_AT 18
#define MAX_CLIENTS 64
/* a plan is the statement's own, for all values, after the first five */
#define WARM_UP 200
#define WARM_UP_LEAST 10
#define WARM_UP_SECONDS 0.5

static struct
{
	const char *connection;
	const char *settings;
	const char *statement;
	const char *bytes;
	size_t row_length;
	size_t rows;
	int vector_length;
	int clients;
	int insert;
	double seconds;
	FILE *answers;
	pthread_barrier_t ready;
} job;

struct client
{
	pthread_t thread;
	int number;
	double *taken;
	size_t runs;
	size_t room;
	double begin;
	double end;
};

static double now(void);
static void fail(const char *what, const char *why);
static void read_file(const char *path);
static void *work(void *argument);
static void run(PGconn *connection, size_t row, int keep);
static void remember(struct client *client, double seconds);
static int by_size(const void *a, const void *b);
static void report(struct client *clients);

int
main(int argc, char **argv)
{
	struct client clients[MAX_CLIENTS] = {0};
	int i;

	if (argc < 8 || argc > 9)
		fail("usage",
		     "client CONNECTION search|insert FILE CLIENTS SECONDS SETTINGS STATEMENT [ANSWERS]");
	job.connection = argv[1];
	job.insert = strcmp(argv[2], "insert") == 0;
	read_file(argv[3]);
	job.clients = atoi(argv[4]);
	job.seconds = atof(argv[5]);
	job.settings = argv[6];
	job.statement = argv[7];
	if (job.clients < 1 || job.clients > MAX_CLIENTS)
		fail("clients", argv[4]);
	if (argc == 9)
	{
		job.answers = fopen(argv[8], "w");
		if (job.answers == NULL)
			fail("cannot write", argv[8]);
		job.clients = 1;
	}
	pthread_barrier_init(&job.ready, NULL, job.clients);
	for (i = 0; i < job.clients; i++)
	{
		clients[i].number = i;
		if (pthread_create(&clients[i].thread, NULL, work, &clients[i]) != 0)
			fail("cannot start", "a thread");
	}
	for (i = 0; i < job.clients; i++)
		pthread_join(clients[i].thread, NULL);
	if (job.answers != NULL && fclose(job.answers) != 0)
		fail("cannot write", argv[8]);
	report(clients);
	return 0;
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void
fail(const char *what, const char *why)
{
	fprintf(stderr, "client: %s: %s\n", what, why);
	exit(1);
}

static void
read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *bytes;
	long length;
	uint32_t vector_length;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		fail("cannot read", path);
	length = ftell(file);
	rewind(file);
	bytes = length > 0 ? malloc(length) : NULL;
	if (bytes == NULL || fread(bytes, 1, length, file) != (size_t) length)
		fail("cannot read", path);
	fclose(file);
	if (length < HEADER + VECTOR_AT + TRAILER)
		fail("no rows in", path);
	job.bytes = bytes + HEADER;
	memcpy(&vector_length, job.bytes + LENGTH_AT, sizeof(vector_length));
	job.vector_length = ntohl(vector_length);
	job.row_length = VECTOR_AT + job.vector_length;
	job.rows = (length - HEADER - TRAILER) / job.row_length;
	if (HEADER + TRAILER + job.rows * job.row_length != (size_t) length)
		fail("not rows of one length", path);
}

static void *
work(void *argument)
{
	struct client *client = argument;
	PGconn *connection = PQconnectdb(job.connection);
	PGresult *result;
	size_t row = client->number;
	size_t i;
	double begin;

	if (PQstatus(connection) != CONNECTION_OK)
		fail("cannot connect", PQerrorMessage(connection));
	result = PQexec(connection, job.settings);
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_EMPTY_QUERY &&
	    PQresultStatus(result) != PGRES_TUPLES_OK)
		fail(job.settings, PQerrorMessage(connection));
	PQclear(result);
	result = PQprepare(connection, "asked", job.statement, 0, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail(job.statement, PQerrorMessage(connection));
	PQclear(result);
	if (!job.insert)
	{
		/* two clients go through different parts of the file */
		row = client->number * (job.rows / job.clients);
		begin = now();
		for (i = 0; i < WARM_UP && job.answers == NULL &&
		            (i < WARM_UP_LEAST || now() - begin < WARM_UP_SECONDS);
		     i++)
			run(connection, (row + i) % job.rows, 0);
	}
	pthread_barrier_wait(&job.ready);
	client->begin = begin = now();
	for (;;)
	{
		run(connection, row, job.answers != NULL);
		client->end = now();
		remember(client, client->end - begin);
		begin = client->end;
		row += job.insert ? (size_t) job.clients : 1;
		if (row >= job.rows)
		{
			if (job.insert || job.answers != NULL)
				break;
			row = 0;
		}
		if (job.answers == NULL && begin - client->begin >= job.seconds)
			break;
	}
	PQfinish(connection);
	return NULL;
}

/* Once; keep: writes the answer down. */
static void
run(PGconn *connection, size_t row, int keep)
{
	const char *at = job.bytes + row * job.row_length;
	const char *values[2] = {at + ID_AT, at + VECTOR_AT};
	int lengths[2] = {LENGTH_AT - ID_AT, job.vector_length};
	const int formats[2] = {1, 1};
	int first = job.insert ? 0 : 1;
	PGresult *result =
		PQexecPrepared(connection, "asked", 2 - first, values + first, lengths + first, formats, 1);
	int i;

	if (PQresultStatus(result) != (job.insert ? PGRES_COMMAND_OK : PGRES_TUPLES_OK))
		fail(job.statement, PQerrorMessage(connection));
	if (keep)
	{
		for (i = 0; i < PQntuples(result); i++)
		{
			uint64_t id;

			memcpy(&id, PQgetvalue(result, i, 0), sizeof(id));
			fprintf(job.answers, "%s%lld", i > 0 ? " " : "", (long long) be64toh(id));
		}
		fputc('\n', job.answers);
	}
	PQclear(result);
}

static void
remember(struct client *client, double seconds)
{
	if (client->runs == client->room)
	{
		client->room = client->room > 0 ? 2 * client->room : 4096;
		client->taken = realloc(client->taken, client->room * sizeof(*client->taken));
		if (client->taken == NULL)
			fail("out of", "memory");
	}
	client->taken[client->runs++] = seconds;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
report(struct client *clients)
{
	double *all;
	double begin = clients[0].begin;
	double end = clients[0].end;
	size_t runs = 0;
	int i;

	for (i = 0; i < job.clients; i++)
		runs += clients[i].runs;
	all = malloc(runs * sizeof(*all));
	if (all == NULL)
		fail("out of", "memory");
	runs = 0;
	for (i = 0; i < job.clients; i++)
	{
		memcpy(all + runs, clients[i].taken, clients[i].runs * sizeof(*all));
		runs += clients[i].runs;
		begin = clients[i].begin < begin ? clients[i].begin : begin;
		end = clients[i].end > end ? clients[i].end : end;
	}
	qsort(all, runs, sizeof(*all), by_size);
	printf("%zu %.6f %.1f %.1f\n", runs, end - begin, all[runs / 2] * 1e6,
	       all[runs * 99 / 100] * 1e6);
	free(all);
}
