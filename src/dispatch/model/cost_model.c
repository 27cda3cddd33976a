/*
 * cost_model.c
 *		The regression behind the dispatcher's predictions: see cost_model.h.
 *
 * Sizes range from one item to 10^12 and more, so the columns of the linear system differ by many
 * powers of ten.  Before the system is solved, it is scaled to a diagonal of ones, and a small
 * value is added to the diagonal (a ridge).  So columns that always changed together have a unique
 * solution too, the one with the smallest coefficients.
 */
#include "dispatch/model/cost_model.h"

#include <math.h>
#include <string.h>

#define TERMS HY_COST_TERMS
#define LONGEST_NS 1e18
#define LARGEST_TERM 1e30
#define RIDGE 1e-7
/*
 * Weight, in observations, of the assumption that launch, work and bytes each took a third of a
 * device's time.  If the launch time is known, the launch takes that time instead of a third, and
 * work and bytes share the rest.  The assumption matters only with very few observations.  It
 * prevents the conclusion, from two tasks that took equally long, that a thousand times as much
 * work costs nothing.
 */
#define EVEN_PARTS 0.02
#define KNOWN_RIDGE 1e-10
/*
 * Weights of the assumptions in hy_model_regularize, relative to an observation, whose relative
 * error is about 0.1.  REGULARIZE_RATE: a coefficient other than the launch time is at most about
 * twice that of similar tasks.  REGULARIZE_LAUNCH: a launch takes at most about 30 times as long as
 * in similar tasks.  REGULARIZE_SEEN: a launch takes at most about SEEN_TIMES the smallest time
 * ever seen.  REGULARIZE_LEAST is not a weight: a coefficient of similar tasks counts as at least
 * this share of the value that would explain their whole time.
 */
#define REGULARIZE_RATE 1e-2
#define REGULARIZE_LAUNCH 1e-5
#define REGULARIZE_LEAST 0.03
#define REGULARIZE_SEEN 1e-2
#define SEEN_TIMES 3.0
/*
 * cost of an insertion into a heap, relative to the cost of a result (measured: insertion 7 to 15
 * ns, result 4 ns)
 */
#define INSERTION 3.0
/*
 * Extra ridge on the CPU's launch term and on a device's serial term, so that each of them is used
 * only if the observations clearly show it.
 */
#define BELIEF_RIDGE 1e-2
#define MOST_ROUNDS 8     /* limit on rounds that add a column; more rounds would mean a cycle */
#define LEAST_SLOPE 1e-10 /* smaller slopes are rounding errors */

/* the columns of the system */
enum
{
	LAUNCH,
	WORK,
	BYTES,
	SERIAL
};

static const int place[TERMS][TERMS] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};

static void
observe(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window);
static int
scaled(const HyModelState *state, double ridge, double system[TERMS][TERMS], double *scale);
static bool solve_subset(double system[TERMS][TERMS], const double *right, int subset, double *x);
static void fit(double system[TERMS][TERMS], const double *right, int usable, double *best);
static int steepest(double system[TERMS][TERMS], const double *right, int outside, const double *x);
static double within(double value, double low, double high);
static bool is_sound(const HyModelState *state);

HyCostTerms
hy_cost_terms(const HyShape *shape, bool cpu)
{
	HyCostTerms terms;
	double queries = shape->queries > 0 ? (double) shape->queries : 0;
	double targets = shape->targets > 0 ? (double) shape->targets : 0;
	double dims = shape->dims > 0 ? shape->dims : 1;
	double k = shape->k > 0 ? shape->k : 1;

	terms.work = queries * targets * dims;
	if (shape->op == HY_OP_SPREAD)
	{
		/*
		 * 8 bytes per edge: a weight and an end node.  The shape does not contain the numbers of
		 * nodes and hops.
		 */
		terms.bytes = (shape->resident ? 0 : 8 * targets) + 4 * queries * targets;
		terms.serial = 0;
		return terms;
	}
	/* rows to be assigned may be resident; centroids never are */
	terms.bytes = shape->op == HY_OP_ASSIGN && shape->resident ? 0 : 4 * queries * dims;
	if (hy_op_has_k(shape->op))
		terms.bytes += queries * 16 * k;
	else
		terms.bytes += queries * (shape->op == HY_OP_ASSIGN ? 4 : targets * 8);
	/* one bit per dimension, plus the factors */
	if (shape->op == HY_OP_SCORE_CODES)
		terms.bytes += targets * (dims / 8 + sizeof(HyCode));
	else if (!shape->resident || shape->op == HY_OP_ASSIGN)
		terms.bytes += targets * dims * (double) hy_dtype_size(shape->dtype);
	terms.serial = cpu ? queries * targets : dims;
	if (cpu && hy_op_has_k(shape->op))
		terms.serial += INSERTION * queries * (targets > k ? k * (1 + log(targets / k)) : targets);
	return terms;
}

bool
hy_model_observe(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window)
{
	if (count < 1)
		return false;
	terms.work = within(terms.work, 0, LARGEST_TERM);
	terms.bytes = within(terms.bytes, 0, LARGEST_TERM);
	terms.serial = within(terms.serial, 0, LARGEST_TERM);
	ns = within(ns, 1, LONGEST_NS);
	if (state->first_ns == 0)
	{
		state->first_ns = ns;
		state->first = terms;
		if (--count == 0)
			return false;
	}
	observe(state, terms, ns, count, window > 1 ? window : 1);
	return true;
}

void
hy_model_merge(HyModelState *into, const HyModelState *from, double most)
{
	double share;
	int i;

	if (!is_sound(from) || !(from->weight > 0) || !(most > 0))
		return;
	share = from->weight > most ? most / from->weight : 1;
	for (i = 0; i < HY_COST_PRODUCTS; i++)
		into->information[i] += share * from->information[i];
	for (i = 0; i < TERMS; i++)
		into->response[i] += share * from->response[i];
	into->weight += share * from->weight;
}

void
hy_model_count(HyModelState *state, HyCostTerms terms, double ns, int32_t count)
{
	double x[TERMS];
	int i;
	int j;

	ns = within(ns, 1, LONGEST_NS);
	x[LAUNCH] = 1 / ns;
	x[WORK] = within(terms.work, 0, LARGEST_TERM) / ns;
	x[BYTES] = within(terms.bytes, 0, LARGEST_TERM) / ns;
	x[SERIAL] = within(terms.serial, 0, LARGEST_TERM) / ns;
	for (i = 0; i < TERMS; i++)
	{
		for (j = i; j < TERMS; j++)
			state->information[place[i][j]] += count * x[i] * x[j];
		state->response[i] += count * x[i];
	}
	state->weight += count;
}

void
hy_model_regularize(HyModelState *state, const HyModelState *like, double launch_ns)
{
	static const double belief[TERMS] = {REGULARIZE_LAUNCH, REGULARIZE_RATE, REGULARIZE_RATE,
	                                     REGULARIZE_RATE};
	HyCoefficients fit;
	double theta[TERMS];
	int i;

	if (launch_ns > 0)
	{
		double wide = SEEN_TIMES * launch_ns;

		state->information[place[LAUNCH][LAUNCH]] += REGULARIZE_SEEN / (wide * wide);
		state->response[LAUNCH] += REGULARIZE_SEEN * launch_ns / (wide * wide);
	}
	if (!(like->weight > 0) || !hy_model_solve(like, HY_LAUNCH_UNKNOWN, &fit))
		return;
	theta[LAUNCH] = fit.launch_ns;
	theta[WORK] = fit.work_ns;
	theta[BYTES] = fit.byte_ns;
	theta[SERIAL] = fit.serial_ns;
	for (i = 0; i < TERMS; i++)
	{
		/* what the coefficient would be if this term explained the whole time */
		double alone = sqrt(like->weight / like->information[place[i][i]]);
		double size = theta[i] > REGULARIZE_LEAST * alone ? theta[i] : REGULARIZE_LEAST * alone;

		if (!(size > 0) || !isfinite(size))
			continue;
		state->information[place[i][i]] += belief[i] / (size * size);
		state->response[i] += belief[i] * theta[i] / (size * size);
	}
}

bool
hy_model_solve(const HyModelState *state, double launch_ns, HyCoefficients *coefficients)
{
	bool proportional = launch_ns == HY_LAUNCH_NONE;
	double even;
	double part[TERMS];
	HyModelState cold;
	double system[TERMS][TERMS];
	double right[TERMS];
	double scale[TERMS];
	double best[TERMS];
	int usable;
	int i;

	memset(coefficients, 0, sizeof(*coefficients));
	if (!(state->weight > 0))
	{
		if (!(state->first_ns > 0))
			return false;
		memset(&cold, 0, sizeof(cold));
		observe(&cold, state->first, state->first_ns, 1, 1);
		state = &cold;
	}
	usable = scaled(state, RIDGE, system, scale);
	/*
	 * Scaled coefficients: with `even`, a term explains the whole time of a task.  With part[],
	 * each term explains the part that it is assumed to take (EVEN_PARTS).
	 */
	even = sqrt(state->weight);
	part[LAUNCH] = even / 3;
	if (launch_ns > 0 && scale[LAUNCH] > 0)
		part[LAUNCH] = launch_ns < even * scale[LAUNCH] ? launch_ns / scale[LAUNCH] : even;
	part[WORK] = part[BYTES] = (even - part[LAUNCH]) / 2;
	if (proportional)
		system[LAUNCH][LAUNCH] += BELIEF_RIDGE;
	else
		system[SERIAL][SERIAL] += BELIEF_RIDGE;
	for (i = 0; i < TERMS; i++)
	{
		right[i] = state->response[i] * scale[i];
		if (proportional || scale[i] == 0 || i == SERIAL)
			continue;
		system[i][i] += EVEN_PARTS / state->weight;
		right[i] += EVEN_PARTS / state->weight * part[i];
	}
	fit(system, right, usable, best);
	coefficients->launch_ns = best[LAUNCH] * scale[LAUNCH];
	coefficients->work_ns = best[WORK] * scale[WORK];
	coefficients->byte_ns = best[BYTES] * scale[BYTES];
	coefficients->serial_ns = best[SERIAL] * scale[SERIAL];
	return best[LAUNCH] + best[WORK] + best[BYTES] + best[SERIAL] > 0;
}

double
hy_cost_predict(const HyCoefficients *coefficients, HyCostTerms terms)
{
	double ns = coefficients->launch_ns +
	            coefficients->work_ns * within(terms.work, 0, LARGEST_TERM) +
	            coefficients->byte_ns * within(terms.bytes, 0, LARGEST_TERM) +
	            coefficients->serial_ns * within(terms.serial, 0, LARGEST_TERM);

	return within(ns, 1, LONGEST_NS);
}

int64_t
hy_cost_break_even(HyBatchTest faster, void *arg, int64_t limit)
{
	int64_t low = 0; /* largest number known to be too small; 0 is below all valid numbers */
	int64_t high = 1;

	/* Test the limit first: a device that is faster only at small sizes has no break-even point. */
	if (limit < 1 || !faster(arg, limit))
		return -1;
	while (high < limit / 2 && !faster(arg, high))
	{
		low = high;
		high *= 2;
	}
	if (high >= limit / 2 && !faster(arg, high))
	{
		low = high;
		high = limit;
	}
	while (high - low > 1)
	{
		int64_t middle = low + (high - low) / 2;

		if (faster(arg, middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}

/*
 * observe: add count equal rows x.  A share of the earlier information is forgotten, but only along
 * the direction of x.  Let A be the information matrix, r the response and z = A^-1 x.  Then 1 /
 * x'z is the information known along x, and r'z is the predicted right-hand side.
 */
static void
observe(HyModelState *state, HyCostTerms terms, double ns, int32_t count, int32_t window)
{
	double x[TERMS] = {1 / ns, terms.work / ns, terms.bytes / ns, terms.serial / ns};
	double keep = count == 1 ? 1 - 1.0 / window : pow(1 - 1.0 / window, count);
	/* number of the `count` rows that remain after forgetting */
	double rows = window == 1 ? 1 : (1 - keep) * window;
	double system[TERMS][TERMS];
	double right[TERMS];
	double scale[TERMS];
	double z[TERMS];
	double known = 0;
	double foretold = 0;
	int usable = scaled(state, KNOWN_RIDGE, system, scale);
	int i;
	int j;

	for (i = 0; i < TERMS; i++)
		right[i] = x[i] * scale[i];
	if (usable != 0 && solve_subset(system, right, usable, z))
	{
		double length = 0;

		for (i = 0; i < TERMS; i++)
		{
			length += z[i] * right[i];
			foretold += z[i] * scale[i] * state->response[i];
		}
		if (length > 0)
			known = (1 - keep) / length;
	}
	if (!isfinite(known) || !isfinite(foretold))
		known = foretold = 0;
	for (i = 0; i < TERMS; i++)
	{
		for (j = i; j < TERMS; j++)
			state->information[place[i][j]] += (rows - known) * x[i] * x[j];
		/* rounding can make the difference negative */
		if (state->information[place[i][i]] < 0)
			state->information[place[i][i]] = 0;
		state->response[i] += (rows - known * foretold) * x[i];
	}
	state->weight = keep * state->weight + rows;
}

/*
 * scaled: scale the system to a diagonal of ones, and add ridge to the diagonal.  Returns a bit for
 * each column that has observations.
 */
static int
scaled(const HyModelState *state, double ridge, double system[TERMS][TERMS], double *scale)
{
	int usable = 0;
	int i;
	int j;

	for (i = 0; i < TERMS; i++)
	{
		double diagonal = state->information[place[i][i]];

		scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 0;
		if (scale[i] > 0 && isfinite(scale[i]))
			usable |= 1 << i;
		else
			scale[i] = 0;
	}
	for (i = 0; i < TERMS; i++)
	{
		for (j = 0; j < TERMS; j++)
			system[i][j] = state->information[place[i][j]] * scale[i] * scale[j];
		system[i][i] += ridge;
	}
	return usable;
}

/*
 * solve_subset: solve for the columns in subset by Gaussian elimination.  The other coefficients
 * are 0.  Returns false if the system is singular.
 */
static bool
solve_subset(double system[TERMS][TERMS], const double *right, int subset, double *x)
{
	double m[TERMS][TERMS + 1];
	int column[TERMS] = {0};
	int n = 0;
	int i;
	int j;
	int k;

	for (i = 0; i < TERMS; i++)
	{
		x[i] = 0;
		if (subset >> i & 1)
			column[n++] = i;
	}
	for (i = 0; i < n; i++)
	{
		for (j = 0; j < n; j++)
			m[i][j] = system[column[i]][column[j]];
		m[i][n] = right[column[i]];
	}
	/* The system is symmetric and positive definite, so no pivoting is needed. */
	for (i = 0; i < n; i++)
	{
		if (!(m[i][i] > KNOWN_RIDGE / 16))
			return false;
		for (j = i + 1; j < n; j++)
		{
			double factor = m[j][i] / m[i][i];

			for (k = i; k <= n; k++)
				m[j][k] -= factor * m[i][k];
		}
	}
	for (i = n - 1; i >= 0; i--)
	{
		double sum = m[i][n];

		for (j = i + 1; j < n; j++)
			sum -= m[i][j] * x[column[j]];
		x[column[i]] = sum / m[i][i];
	}
	return true;
}

/*
 * fit: add the column that would improve the fit most, remove columns whose coefficient falls below
 * 0, and repeat until no column improves the fit.  (C. L. Lawson, R. J. Hanson, "Solving Least
 * Squares Problems", 1974, chapter 23.)  Each round fits better than the one before.  If rounding
 * prevents termination, the result of the last round is used.
 */
static void
fit(double system[TERMS][TERMS], const double *right, int usable, double *best)
{
	int inside = 0;
	int rounds;

	memset(best, 0, TERMS * sizeof(double));
	for (rounds = 0; rounds < MOST_ROUNDS; rounds++)
	{
		int entering = steepest(system, right, usable & ~inside, best);

		if (entering < 0)
			return;
		inside |= 1 << entering;
		while (inside != 0)
		{
			double x[TERMS];
			double step = 1;
			int leaving = -1;
			int i;

			if (!solve_subset(system, right, inside, x))
			{
				inside &= ~(1 << entering);
				usable &= ~(1 << entering);
				break;
			}
			for (i = 0; i < TERMS; i++)
			{
				/* written so that a NaN counts as below 0 */
				if ((inside >> i & 1) && !(x[i] > 0) && !(best[i] / (best[i] - x[i]) >= step))
				{
					step = best[i] / (best[i] - x[i]);
					leaving = i;
				}
			}
			if (leaving < 0)
			{
				memcpy(best, x, sizeof(x));
				break;
			}
			for (i = 0; i < TERMS; i++)
				best[i] += step * (x[i] - best[i]);
			best[leaving] = 0;
			inside &= ~(1 << leaving);
		}
	}
}

/*
 * steepest: find the column in `outside` whose growth improves the fit most.  Returns -1 if none
 * improves the fit.
 */
static int
steepest(double system[TERMS][TERMS], const double *right, int outside, const double *x)
{
	double most = 0;
	int found = -1;
	int i;
	int j;

	for (i = 0; i < TERMS; i++)
	{
		double slope = right[i];

		if (!(outside >> i & 1))
			continue;
		for (j = 0; j < TERMS; j++)
			slope -= system[i][j] * x[j];
		if (slope > LEAST_SLOPE * right[i] && slope > most)
		{
			most = slope;
			found = i;
		}
	}
	return found;
}

/* within: return `value`, limited to the range low .. high; a NaN becomes low. */
static double
within(double value, double low, double high)
{
	return value > high ? high : value > low ? value : low;
}

static bool
is_sound(const HyModelState *state)
{
	int i;

	for (i = 0; i < HY_COST_PRODUCTS; i++)
	{
		if (!isfinite(state->information[i]))
			return false;
	}
	for (i = 0; i < TERMS; i++)
	{
		if (!isfinite(state->response[i]) || state->information[place[i][i]] < 0)
			return false;
	}
	return isfinite(state->weight);
}
