/*
 * spread_kernel.cuh
 *		The kernels of the operation 'spread'.  The results have the bits that core/spread.h
 *		defines.
 *
 * To pull a row is to add up what the source nodes of its entries send.  Several threads pull a row
 * together.  The canonical sum has 32 lanes: lane l adds the entries l, l + 32, ... in that order,
 * for every set of the group.  The tree over the lanes takes one shuffle per level.  After each
 * level, a thread continues with half of its sets' sums, as in hy_fold.  A row of at most 8 entries
 * uses only 8 lanes, and the others are 0, so four such rows share a warp.  Two rows of middle
 * length share a warp, and a thread has lanes l and l + 16.  A whole block pulls a long row.  All
 * threads of the block fetch entries ahead, but only 32 x sets threads add, because a long row also
 * has only 32 lanes.
 *
 * The thread that computes y for a node and a set also updates the answer and computes the node's
 * charge for the next hop.  A node without entries has no y and is never visited.
 *
 * The charges are read many times, and should stay in the second-level cache.  A hop reads entries
 * and activation only once, so they are marked for early eviction.
 */
#ifndef HY_CUDA_SPREAD_KERNEL_CUH
#define HY_CUDA_SPREAD_KERNEL_CUH

#include "cuda/row_sums.cuh"
#include "cuda/spread_launch.h"

/*
 * Resident blocks per multiprocessor.  Compute capability 7.5 has only 1,024 threads per
 * multiprocessor, which is four blocks.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HY_CUDA_SPREAD_RESIDENT 4
#else
#define HY_CUDA_SPREAD_RESIDENT 5
#endif

/*
 * Number of blocks that a multiprocessor should hold, for kernels of eight sets and two lanes per
 * thread.  Before compute capability 9.0, the compiler would spill registers with three blocks.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HY_CUDA_SPREAD_WIDE 2
#else
#define HY_CUDA_SPREAD_WIDE 3
#endif

/* HySpreadKind: the parameters for which a kernel is compiled. */
template <int Combine, int Sets> struct HySpreadKind
{
	static const int combine = Combine;
	static const int sets = Sets;
	static const int lanes = HY_SPREAD_LANES * Sets;
	/* threads per row of middle length */
	static const int row_threads = HY_SPREAD_LANES / 2;
	/* entries that a thread fetches at a time for a long row */
	static const int ahead = Sets < 4 ? 4 / Sets : 1;
	static const int staged = HY_CUDA_THREADS * ahead;
	/*
	 * resident blocks per multiprocessor for kernels that read rows ahead; with more blocks, the
	 * compiler would spill registers
	 */
	static const int resident_blocks = Sets < 4 ? HY_CUDA_SPREAD_RESIDENT : Sets < 8 ? 4 : 3;
	static const int resident_rows = Sets < 8 ? resident_blocks : HY_CUDA_SPREAD_WIDE;
};

/* hy_spread_live: return one bit for each set that continues. */
__device__ __forceinline__ uint32_t
hy_spread_live(const HyCudaSpreadState &state)
{
	return state.live != 0 ? state.live : state.control->live;
}

/* HyCharges: the charges of a node for all sets, read at once. */
template <int Sets> struct alignas(Sets == 1 ? 8 : 16) HyCharges
{
	double of[Sets];
};

/*
 * hy_spread_charge: return the array of the charges that hop number `hop` writes and the next hop
 * reads.
 */
__device__ __forceinline__ double *
hy_spread_charge(const HyCudaSpreadState &state, uint32_t hop)
{
	return hop % 2 == 0 ? state.charge[0] : state.charge[1];
}

/* hy_spread_add: add one entry to its lane. */
template <int Combine>
__device__ __forceinline__ double
hy_spread_add(double lane, double charge, float weight)
{
	if (Combine == HY_COMBINE_MAX)
	{
		const double product = __dmul_rn(charge, (double) weight);

		return product > lane ? product : lane;
	}
	return __fma_rn(charge, (double) weight, lane);
}

/* HyEntry: an entry of a row. */
struct HyEntry
{
	uint32_t column;
	float weight;
};

/* hy_spread_bring: add the contribution of an entry to the sums of all sets. */
template <class Kind>
__device__ __forceinline__ void
hy_spread_bring(double (&sum)[Kind::sets], const HyCharges<Kind::sets> *charges,
                const HyEntry &entry)
{
	const HyCharges<Kind::sets> charge = charges[entry.column];

#pragma unroll
	for (int s = 0; s < Kind::sets; s++)
		sum[s] = hy_spread_add<Kind::combine>(sum[s], charge.of[s], entry.weight);
}

/* hy_spread_join: combine two lanes by sum or maximum. */
template <int Combine>
__device__ __forceinline__ double
hy_spread_join(double a, double b)
{
	if (Combine == HY_COMBINE_MAX)
		return b > a ? b : a;
	return __dadd_rn(a, b);
}

/*
 * hy_spread_fold: fold the tree over `Threads` lanes.  A thread gets the sum for set number lane *
 * sets / Threads.
 */
template <class Kind, int Threads>
__device__ __forceinline__ double
hy_spread_fold(double (&sum)[Kind::sets], int lane)
{
#pragma unroll
	for (int level = 0; Threads >> level > 1; level++)
	{
		const int h = Threads / 2 >> level;
		const int half = (Kind::sets >> level) / 2;
		const bool upper = (lane & h) != 0;

		if (half == 0)
			sum[0] = hy_spread_join<Kind::combine>(sum[0],
			                                       __shfl_xor_sync(HY_CUDA_ALL_THREADS, sum[0], h));
#pragma unroll
		for (int i = 0; i < half; i++)
		{
			const double kept = upper ? sum[i + half] : sum[i];
			const double given = upper ? sum[i] : sum[i + half];

			sum[i] =
				hy_spread_join<Kind::combine>(kept, __shfl_xor_sync(HY_CUDA_ALL_THREADS, given, h));
		}
	}
	return sum[0];
}

/* hy_spread_charge_of: return the charge of a node that fires with activation y. */
__device__ __forceinline__ double
hy_spread_charge_of(const HyCudaSpreadState &state, double out_weight, double y)
{
	if (!(out_weight > 0.0))
		return __dmul_rn(y, 0.0);
	if (state.fan == 0.0)
		return __dmul_rn(y, state.decay);
	if (state.fan == 0.5)
		out_weight = __dsqrt_rn(out_weight);
	return __dmul_rn(y, __ddiv_rn(state.decay, out_weight));
}

/*
 * hy_spread_send: add the charge of a node that fires to the sum of the charges that the node has
 * sent.  If entries are combined by maximum, keep the largest charge instead.
 */
template <class Kind>
__device__ __forceinline__ void
hy_spread_send(const HyCudaSpreadState &state, int64_t at, double charge)
{
	const double before = state.sent[at];

	if (Kind::combine == HY_COMBINE_SUM)
		state.sent[at] = __dadd_rn(before, charge);
	else if (charge > before)
		state.sent[at] = charge;
}

/* HyKnown: values of a node and a set that can be read before y is known. */
struct HyKnown
{
	double activation;
	double out_weight;
};

__device__ __forceinline__ HyKnown
hy_spread_known(const HyCudaSpreadState &state, uint32_t row, int64_t at)
{
	return HyKnown{__ldcs(&state.activation[at]), state.out_weight[row]};
}

/*
 * hy_spread_arrive: finish a hop for a node and a set, given the sum y of the node's row: update
 * the answer and compute the charge for the next hop. `at` is the index of the node and the set in
 * the arrays.  Returns whether the node fires in the next hop.
 */
template <class Kind>
__device__ __forceinline__ bool
hy_spread_arrive(const HyCudaSpreadState &state, uint32_t hop, uint32_t row, int64_t at,
                 const HyKnown &known, double y)
{
	double charge = 0.0;
	bool fires = false;

	/*
	 * count the charge that the node sends in this hop; the seeds kernel has counted the charge of
	 * the first hop
	 */
	if (state.sent != NULL && hop > 1)
	{
		const double sends = hy_spread_charge(state, hop - 1)[at];

		if (sends != 0.0)
			hy_spread_send<Kind>(state, at, sends);
	}
	if (state.hub != NULL)
		y = __ddiv_rn(y, state.hub[row]);
	if (state.arrived != NULL)
		state.arrived[at] = y;
	/* not "y > 0", because an overflow to NaN must be visible in the answer */
	if (y != 0.0)
	{
		if (Kind::combine == HY_COMBINE_SUM)
			__stcs(&state.activation[at], __dadd_rn(known.activation, y));
		else if (!(y <= known.activation))
			__stcs(&state.activation[at], y);
		/* hop[at] is 0 only while the activation is 0, so the array is read only then */
		if (known.activation == 0.0 && state.hop[at] == 0)
			state.hop[at] = hop + 1;
		fires = y >= state.threshold;
		if (fires && state.fired != NULL)
		{
			const uint32_t times = state.fired[at];

			fires = times < state.refire;
			if (fires)
				state.fired[at] = times + 1;
		}
		if (fires)
			charge = hy_spread_charge_of(state, known.out_weight, y);
	}
	hy_spread_charge(state, hop)[at] = charge;
	return fires;
}

/*
 * hy_spread_row: return row number `at` of a list.  Beyond the end of the list, return a row
 * without entries.
 */
__device__ __forceinline__ HyPackedRow
hy_spread_row(const HyPackedRow *rows, int64_t at, int64_t count)
{
	return at < count ? rows[at] : HyPackedRow{0, 0, 0};
}

/*
 * hy_spread_entry: return entry number p of a row.  Beyond the end of the row, return an entry of
 * weight 0.
 */
__device__ __forceinline__ HyEntry
hy_spread_entry(const HyCudaSpreadState &state, const HyPackedRow &row, uint32_t p)
{
	if (p >= row.count)
		return HyEntry{0, 0.0f};
	return HyEntry{__ldcs(&state.column[row.begin + p]), __ldcs(&state.weight[row.begin + p])};
}

/*
 * hy_spread_rows_kernel: pull rows of a list, with `Threads` threads per row. `Lanes` is the number
 * of lanes that a row can use: `Threads` or twice as many.  A row, its entries and the charges of
 * their source nodes take three reads, and each read waits for the one before.  So while a row is
 * added up, the entries of the next row and the record of the row after that are read.
 */
template <class Kind, int Threads, int Lanes>
__global__ void
__launch_bounds__(HY_CUDA_THREADS, Lanes > Threads ? Kind::resident_rows : Kind::resident_blocks)
	hy_spread_rows_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	typedef HyCharges<Kind::sets> Charges;
	const Charges *charges = (const Charges *) hy_spread_charge(state, step.hop - 1);
	const HyPackedRow *rows = (const HyPackedRow *) step.in + step.first;
	const int64_t turn = HY_CUDA_THREADS / Threads;
	const int64_t stride = gridDim.x * turn;
	const int lane = threadIdx.x % Threads;
	const int set = lane * Kind::sets / Threads;
	const uint32_t live = hy_spread_live(state);
	/* several threads have the sum; only the first of them continues with it */
	const bool mine = lane * Kind::sets % Threads == 0 && (live >> set & 1) != 0;
	int64_t at = blockIdx.x * turn + threadIdx.x / Threads;
	bool fires = false;

	if (live == 0)
		return;

	HyPackedRow row = hy_spread_row(rows, at, step.count);
	HyPackedRow next = hy_spread_row(rows, at + stride, step.count);
	HyEntry entry = hy_spread_entry(state, row, lane);

	for (int64_t first = blockIdx.x * turn; first < step.count; first += stride, at += stride)
	{
		const bool ends_here = mine && at < step.count;
		const int64_t value = (int64_t) row.row * Kind::sets + set;
		const HyPackedRow after = hy_spread_row(rows, at + 2 * stride, step.count);
		const HyEntry next_entry = hy_spread_entry(state, next, lane);
		HyKnown known = {};
		double sum[Kind::sets] = {};
		double second[Kind::sets] = {};
		uint32_t p = lane + Threads;

		if (ends_here)
			known = hy_spread_known(state, row.row, value);
		if (lane < (int) row.count)
			hy_spread_bring<Kind>(sum, charges, entry);
		if (Lanes > Threads)
		{
			if (p < row.count)
				hy_spread_bring<Kind>(second, charges, hy_spread_entry(state, row, p));
			p += Threads;
		}
#pragma unroll(Lanes > Threads ? 1 : 2)
		for (; p < row.count; p += Lanes)
		{
			hy_spread_bring<Kind>(sum, charges, hy_spread_entry(state, row, p));
			if (Lanes > Threads && p + Threads < row.count)
				hy_spread_bring<Kind>(second, charges, hy_spread_entry(state, row, p + Threads));
		}
		if (Lanes > Threads)
		{
#pragma unroll
			for (int s = 0; s < Kind::sets; s++)
				sum[s] = hy_spread_join<Kind::combine>(sum[s], second[s]);
		}

		const double y = hy_spread_fold<Kind, Threads>(sum, lane);

		if (ends_here)
			fires |= hy_spread_arrive<Kind>(state, step.hop, row.row, value, known, y);
		row = next;
		next = after;
		entry = next_entry;
	}
	if (fires && state.control->fires[set] == 0)
		state.control->fires[set] = 1;
}

/*
 * hy_spread_long_arrive: fold the lanes of a row, and finish the row for the sets that continue.
 * The threads t < 32 x sets hold the lanes.
 */
template <class Kind>
__device__ __forceinline__ void
hy_spread_long_arrive(const HyCudaSpreadState &state, uint32_t hop, uint32_t row, uint32_t live,
                      double *lanes, double sum)
{
	const int t = threadIdx.x;

	if (t < Kind::lanes)
		lanes[t] = sum;
	for (int h = Kind::lanes / 2; h >= Kind::sets; h /= 2)
	{
		__syncthreads();
		if (t < h)
			lanes[t] = hy_spread_join<Kind::combine>(lanes[t], lanes[t + h]);
	}
	if (t < Kind::sets && (live >> t & 1) != 0)
	{
		const int64_t at = (int64_t) row * Kind::sets + t;

		if (hy_spread_arrive<Kind>(state, hop, row, at, hy_spread_known(state, row, at), lanes[t]))
			state.control->fires[t] = 1;
	}
}

/*
 * hy_spread_long_kernel: pull long rows, or a part of one long row, with one block per row.  Thread
 * t < 32 x sets keeps lane t / sets of set t % sets.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_spread_long_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	typedef HyCharges<Kind::sets> Charges;
	__shared__ double charge[Kind::staged * Kind::sets];
	__shared__ float weight[Kind::staged];
	__shared__ double lanes[Kind::lanes];
	const Charges *charges = (const Charges *) hy_spread_charge(state, step.hop - 1);
	const HyPackedRow row = ((const HyPackedRow *) step.in)[step.first + blockIdx.x];
	const uint32_t end = step.to != 0 ? (uint32_t) step.to : row.count;
	const int t = threadIdx.x;
	const uint32_t live = hy_spread_live(state);
	double sum = 0.0;

	if (live == 0)
		return;
	if (t < Kind::lanes && step.from != 0)
		sum = state.control->carry[t];
	for (uint32_t start = (uint32_t) step.from; start < end; start += Kind::staged)
	{
		const uint32_t left = end - start;
		const int count = left < Kind::staged ? (int) left : Kind::staged;
		Charges fetched[Kind::ahead];
		float w[Kind::ahead];

#pragma unroll
		for (int i = 0; i < Kind::ahead; i++)
		{
			const int p = t + i * HY_CUDA_THREADS;

			w[i] = 0.0f;
			if (p < count)
			{
				fetched[i] = charges[__ldcs(&state.column[row.begin + start + p])];
				w[i] = __ldcs(&state.weight[row.begin + start + p]);
			}
		}
		__syncthreads();
#pragma unroll
		for (int i = 0; i < Kind::ahead; i++)
		{
			const int p = t + i * HY_CUDA_THREADS;

			if (p < count)
			{
				weight[p] = w[i];
#pragma unroll
				for (int s = 0; s < Kind::sets; s++)
					charge[p * Kind::sets + s] = fetched[i].of[s];
			}
		}
		__syncthreads();
		if (t < Kind::lanes)
		{
			for (int p = t / Kind::sets; p < count; p += HY_SPREAD_LANES)
				sum = hy_spread_add<Kind::combine>(sum, charge[p * Kind::sets + t % Kind::sets],
				                                   weight[p]);
		}
	}
	if (!step.last)
	{
		if (t < Kind::lanes)
			state.control->carry[t] = sum;
		return;
	}
	hy_spread_long_arrive<Kind>(state, step.hop, row.row, live, lanes, sum);
}

/*
 * hy_spread_seeds_kernel: store the seeds, with one thread per seed.  If a set names a node several
 * times, these seeds have the same value.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_spread_seeds_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	const HyCudaSpreadSeed *seeds = (const HyCudaSpreadSeed *) step.in;
	const int64_t i = (int64_t) blockIdx.x * HY_CUDA_THREADS + threadIdx.x;

	if (i >= step.count || !(seeds[i].value > 0.0))
		return;

	const HyCudaSpreadSeed seed = seeds[i];
	const int64_t at = (int64_t) seed.node * Kind::sets + seed.set;

	state.activation[at] = seed.value;
	state.hop[at] = 1;
	if (!(seed.value >= state.threshold))
		return;
	if (state.fired != NULL)
		state.fired[at] = 1;
	state.charge[0][at] = hy_spread_charge_of(state, state.out_weight[seed.node], seed.value);
	if (state.sent != NULL && state.hops)
		state.sent[at] = state.charge[0][at];
	state.control->fires[seed.set] = 1;
}

/*
 * hy_spread_sum_kernel: add y of the step's nodes to the lanes of |y|_1 (before the first hop,
 * their activation).  Runs as one block.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_spread_sum_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	const double *y = (step.hop == 0 ? state.activation : state.arrived);
	const int64_t end = (step.first + step.count) * Kind::sets;
	const int t = threadIdx.x;
	double sum;

	if (t >= Kind::lanes || (step.hop != 0 && state.control->live == 0))
		return;
	sum = state.control->lanes[t];
#pragma unroll 8
	for (int64_t i = step.first * Kind::sets + t; i < end; i += Kind::lanes)
		sum = __dadd_rn(sum, y[i]);
	state.control->lanes[t] = sum;
}

/* hy_spread_turn_kernel: decide between two hops which sets continue.  Runs as one block. */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_spread_turn_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	__shared__ double lanes[Kind::lanes];
	HyCudaSpreadControl *control = state.control;
	const int t = threadIdx.x;
	uint32_t live;

	if (t < Kind::lanes)
	{
		lanes[t] = control->lanes[t];
		control->lanes[t] = 0.0;
	}
	for (int h = Kind::lanes / 2; h >= Kind::sets; h /= 2)
	{
		__syncthreads();
		if (t < h)
			lanes[t] = __dadd_rn(lanes[t], lanes[t + h]);
	}
	__syncthreads();
	if (t != 0)
		return;
	live = step.hop == 0 ? (1u << state.sets) - 1 : control->live;
	for (int s = 0; s < Kind::sets; s++)
	{
		const double now = lanes[s];

		if (state.arrived != NULL && step.hop == 0)
			control->enough[s] = __dmul_rn(state.tolerance, now);
		else if (state.arrived != NULL && (now < control->enough[s] || now >= control->before[s]))
			live &= ~(1u << s);
		control->before[s] = now;
		/* if no node fires for the set, its next hop would change nothing */
		if (control->fires[s] == 0)
			live &= ~(1u << s);
		control->fires[s] = 0;
	}
	control->live = live;
}

/*
 * hy_spread_down_kernel: arrange the answers in step.out.  The activation of all sets comes first,
 * set by set.  The charges sent (if the task wants them) and the hops follow in the same order.
 */
template <class Kind>
__global__ void
__launch_bounds__(HY_CUDA_THREADS)
	hy_spread_down_kernel(const HyCudaSpreadState state, const HyCudaSpreadStep step)
{
	const int64_t all = step.count * state.sets;
	double *activation = (double *) step.out;
	double *sent = activation + all;
	uint32_t *hop = (uint32_t *) (state.sent != NULL ? sent + all : sent);

	for (int64_t i = (int64_t) blockIdx.x * HY_CUDA_THREADS + threadIdx.x; i < all;
	     i += (int64_t) gridDim.x * HY_CUDA_THREADS)
	{
		const int64_t set = i / step.count;
		const int64_t at = (step.first + i % step.count) * Kind::sets + set;

		activation[i] = state.activation[at];
		if (state.sent != NULL)
			sent[i] = state.sent[at];
		hop[i] = state.hop[at];
	}
}

#endif
