/*
 * simt.cpp
 *		The scheduler of the fibers that run as the threads of a block (simt.h).
 */
#include "simt.h"

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <vector>

dim3 threadIdx;
dim3 blockIdx;
dim3 gridDim;

namespace
{
const int warp_size = 32;
const size_t stack_size = 128 * 1024;
/* values of Fiber.lanes for a product and for a load of matrices, instead of a shuffle */
const int in_product = -1;
const int in_load = -2;
const size_t shared_alignment = 128;

/*
 * Place: a point at which a function that has not returned can continue, as __builtin_setjmp stores
 * it.
 */
typedef void *Place[5];

struct Copy
{
	void *to;
	const void *from;
	size_t bytes;
};

/* Fiber: the data that every switch and every shuffle reads. */
struct Fiber
{
	Place place;
	/*
	 * values passed to the shuffles of even and odd number, because a reader may be one shuffle
	 * behind
	 */
	uint64_t given[2];
	int lanes; /* lanes of the shuffle, or in_product or in_load */
	unsigned shuffles;
	bool started; /* place is a point at which the fiber can continue */
	bool ended;
};

/* Origin: the other data of a fiber. */
struct Origin
{
	ucontext_t start;
	std::vector<char> stack;
	std::vector<Copy> copies;
	std::vector<size_t> commits; /* number of copies at each commit */
};

/*
 * Factors: the matrices of a product, which the threads of a warp put together.  Columns are stored
 * as rows.
 */
struct Factors
{
	float left[16][16];
	float right[8][16];
};

struct Warp
{
	Factors factors[2]; /* for products of even and odd number */
	int in_shuffle;     /* number of threads that wait in a shuffle */
	bool ready;         /* at the start of the block, or after a barrier */
	unsigned slowness;
};

std::vector<Fiber> fibers;
std::vector<Origin> origins;
std::vector<Warp> warps;
std::vector<size_t> blocks_left; /* blocks that have not run yet */
std::vector<int> due;            /* fibers whose turn it is, in this order */
size_t turn;
Place scheduler;
int current;
int thread_count;
int in_barrier;
bool any; /* result of the vote of sync_threads_or */
int ended;
uint64_t random_state = 1;
const char *first_fault;
const std::function<void()> *thread_body;
bool unit_cuts;
int version = 90;
std::vector<char> shared_room;
char *shared_memory;
size_t shared_bytes;

uint64_t
next_random()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

void
report(const char *text)
{
	if (first_fault == nullptr)
		first_fault = text;
}

/*
 * in_shared: return whether this memory, aligned to its size, lies in the shared memory that the
 * launch requested.
 */
bool
in_shared(const void *at, size_t bytes)
{
	const char *first = (const char *) at;

	return (uintptr_t) at % bytes == 0 && first >= shared_memory &&
	       first + bytes <= shared_memory + shared_bytes;
}

/* go_on: switch to the next fiber whose turn it is, or to the scheduler. */
__attribute__((noinline, noreturn)) void
go_on()
{
	if (turn == due.size())
		__builtin_longjmp(scheduler, 1);
	current = due[turn++];
	threadIdx.x = current;

	Fiber &fiber = fibers[current];

	if (fiber.started)
		__builtin_longjmp(fiber.place, 1);
	fiber.started = true;
	/* switches to the fiber's own stack; other switches need no system call */
	setcontext(&origins[current].start);
	abort();
}

/* wait: let other fibers run until it is this fiber's turn again. */
__attribute__((noinline)) void
wait()
{
	if (__builtin_setjmp(fibers[current].place) == 0)
		go_on();
}

/* A fiber whose thread has ended runs the thread of the same number in the next block. */
void
fiber_main()
{
	for (;;)
	{
		(*thread_body)();
		fibers[current].ended = true;
		ended++;
		wait();
	}
}

/* take_turns: run all fibers whose turn it is, each until it waits. */
__attribute__((noinline)) void
take_turns()
{
	turn = 0;
	if (__builtin_setjmp(scheduler) == 0)
		go_on();
}

void
prepare(int number)
{
	Fiber &fiber = fibers[number];
	Origin &origin = origins[number];

	fiber.shuffles = 0;
	origin.copies.clear();
	origin.commits.clear();
	/* a fiber that a fault has left in the middle starts again */
	if (!fiber.started || !fiber.ended)
	{
		fiber.started = false;
		getcontext(&origin.start);
		origin.start.uc_stack.ss_sp = origin.stack.data();
		/*
		 * stacks start at different offsets within a page, because they would otherwise compete for
		 * the same cache lines
		 */
		origin.start.uc_stack.ss_size = origin.stack.size() - (size_t) number % 64 * 320;
		origin.start.uc_link = nullptr;
		makecontext(&origin.start, fiber_main, 0);
	}
	fiber.ended = false;
}

/* give_way: wait until all threads of the warp are in the same shuffle or product. */
void
give_way(int lanes)
{
	Fiber &self = fibers[current];

	self.lanes = lanes;
	self.shuffles++;
	warps[current / warp_size].in_shuffle++;
	wait();
}

/* bfloat: return the value of one of the two bfloat16 numbers in a register. */
float
bfloat(uint32_t pair, int which)
{
	uint32_t bits = which == 0 ? pair << 16 : pair & 0xffff0000u;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* power: return 2^exponent, which must be a normal number. */
double
power(int exponent)
{
	uint64_t bits = (uint64_t) (1023 + exponent) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * exponent_of: return the least exponent e for which the magnitude of a normal value is below 2^e.
 */
int
exponent_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (int) (bits >> 52 & 2047) - 1022;
}

/* down: round a number of a magnitude below 2^51 down to a whole number. */
double
down(double value)
{
	double whole = (value + 0x1.8p52) - 0x1.8p52;

	return whole > value ? whole - 1 : whole;
}

/*
 * add_up: return the sum of some addends, as the matrix unit computes it.  All addends are floats
 * or products of two floats, so none but 0 is too small to be normal.
 */
float
add_up(const double *addend, int count)
{
	double sum = 0;
	double largest = 0;

	if (!unit_cuts)
	{
		for (int i = 0; i < count; i++)
			sum += addend[i];
		return (float) sum;
	}
	for (int i = 0; i < count; i++)
		largest = std::max(largest, fabs(addend[i]));
	if (largest == 0 || !std::isfinite(largest))
		return (float) largest;
	/* 24 binary places, like fp32 */
	const int places = exponent_of(largest) - 24;
	const double units = power(-places);

	for (int i = 0; i < count; i++)
		sum += down(addend[i] * units);
	/* the sum is a whole number of units; truncate it to 24 places again */
	if (sum == 0)
		return 0;
	const int more = std::max(exponent_of(sum) - 24, 0);

	return (float) (down(sum * power(-more)) * power(places + more));
}

/*
 * release_warp: let a warp continue if nothing holds it, or if all of its threads are in the same
 * shuffle.
 */
void
release_warp(int number)
{
	Warp &warp = warps[number];
	const int first = number * warp_size;

	if (!warp.ready && warp.in_shuffle != warp_size)
		return;
	for (int i = first; i < first + warp_size && !warp.ready; i++)
	{
		if (fibers[i].lanes != fibers[first].lanes || fibers[i].shuffles != fibers[first].shuffles)
		{
			report("the threads of a warp stand in different shuffles");
			return;
		}
	}
	warp.ready = false;
	warp.in_shuffle = 0;
	for (int i = first; i < first + warp_size; i++)
		due.push_back(i);
}

bool
run_block()
{
	const int warp_count = thread_count / warp_size;

	in_barrier = 0;
	ended = 0;
	for (int w = 0; w < warp_count; w++)
	{
		warps[w].in_shuffle = 0;
		warps[w].ready = true;
		/* the warp is delayed by a random factor: 1, 2, 4 or 8 */
		warps[w].slowness = (1u << next_random() % 4) - 1;
	}
	for (int i = 0; i < thread_count; i++)
		prepare(i);
	while (ended < thread_count)
	{
		due.clear();
		for (int w = 0; w < warp_count; w++)
		{
			if ((next_random() & warps[w].slowness) == 0)
				release_warp(w);
		}
		for (int w = 0; w < warp_count && due.empty(); w++)
			release_warp(w);
		if (due.empty())
		{
			report("threads wait for others that never come");
			return false;
		}
		for (size_t i = due.size() - 1; i > 0; i--)
			std::swap(due[i], due[(next_random() >> 32) * (i + 1) >> 32]);
		take_turns();
		if (in_barrier == thread_count)
		{
			in_barrier = 0;
			for (int w = 0; w < warp_count; w++)
				warps[w].ready = true;
		}
	}
	return true;
}
} // namespace

bool
hy_simt::launch(const dim3 &grid, int threads, const std::function<void()> &body, size_t shared)
{
	if (threads <= 0 || threads > 1024 || threads % warp_size != 0 || grid.x == 0 || grid.y == 0 ||
	    grid.z != 1 || grid.x > 2147483647u || grid.y > 65535u)
	{
		report("a grid that no device takes");
		return false;
	}
	if ((int) fibers.size() < threads)
	{
		fibers.resize(threads);
		origins.resize(threads);
		warps.resize(threads / warp_size);
		for (Origin &origin : origins)
			origin.stack.resize(stack_size);
	}
	thread_count = threads;
	thread_body = &body;
	shared_bytes = shared;
	shared_room.resize(shared + shared_alignment);
	shared_memory = shared_room.data();
	shared_memory += shared_alignment - (uintptr_t) shared_memory % shared_alignment;
	gridDim = grid;
	blocks_left.resize((size_t) grid.x * grid.y);
	for (size_t i = 0; i < blocks_left.size(); i++)
		blocks_left[i] = i;
	while (!blocks_left.empty())
	{
		/* random order of blocks: no kernel may depend on it */
		std::swap(blocks_left[next_random() % blocks_left.size()], blocks_left.back());
		blockIdx.x = (unsigned) (blocks_left.back() % grid.x);
		blockIdx.y = (unsigned) (blocks_left.back() / grid.x);
		blockIdx.z = 0;
		blocks_left.pop_back();
		memset(shared_memory, 0xa5, shared);
		if (!run_block() || first_fault != nullptr)
			return false;
	}
	return true;
}

const char *
hy_simt::fault()
{
	const char *text = first_fault;

	first_fault = nullptr;
	return text;
}

void
hy_simt::seed(uint64_t value)
{
	random_state = value | 1;
}

void
hy_simt::sync_threads()
{
	in_barrier++;
	wait();
}

/* No thread sets the vote before all threads have read the previous one. */
bool
hy_simt::sync_threads_or(bool value)
{
	sync_threads();
	any = false;
	sync_threads();
	any |= value;
	sync_threads();
	return any;
}

uint64_t
hy_simt::shuffle_xor(unsigned mask, uint64_t bits, int lanes)
{
	Fiber &self = fibers[current];
	int lane = current % warp_size;
	int source = current - lane + (lane ^ lanes);

	if (mask != 0xffffffffu || lanes < 0 || lanes >= warp_size)
		report("a shuffle beyond the warp, or for a part of it");
	const unsigned parity = self.shuffles % 2;

	self.given[parity] = bits;
	give_way(lanes);
	return fibers[source].given[parity];
}

void
hy_simt::multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	const int lane = current % warp_size;
	Factors &factors = warps[current / warp_size].factors[fibers[current].shuffles % 2];

	if (version < 80)
		report("bfloat16 before 8.0");
	for (int i = 0; i < 8; i++)
		factors.left[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2] =
			bfloat(a[i / 2], i % 2);
	for (int i = 0; i < 4; i++)
		factors.right[lane / 4][i / 2 * 8 + lane % 4 * 2 + i % 2] = bfloat(b[i / 2], i % 2);
	give_way(in_product);
	for (int i = 0; i < 4; i++)
	{
		const float *left = factors.left[lane / 4 + i / 2 * 8];
		const float *right = factors.right[lane % 4 * 2 + i % 2];
		double addend[17];

		for (int k = 0; k < 16; k++)
			addend[k] = (double) left[k] * right[k];
		addend[16] = sum[i];
		sum[i] = add_up(addend, 17);
	}
}

uint4
hy_simt::read_wide(const void *at)
{
	uint4 words = {};

	if ((uintptr_t) at % sizeof(words) != 0)
		report("a read of 16 bytes that is not aligned");
	else
		memcpy(&words, at, sizeof(words));
	return words;
}

void
hy_simt::load_matrices(uint32_t (&words)[4], const void *row)
{
	Fiber &self = fibers[current];
	const int lane = current % warp_size;
	const Fiber *warp = &fibers[current - lane];
	const unsigned parity = self.shuffles % 2;

	self.given[parity] = (uint64_t) (uintptr_t) row;
	if (version < 75)
		report("ldmatrix before 7.5");
	if (!in_shared(row, 16))
		report("matrices that do not lie in shared memory, or are not aligned");
	give_way(in_load);
	for (int i = 0; i < 4 && first_fault == nullptr; i++)
		memcpy(&words[i],
		       (const char *) (uintptr_t) warp[8 * i + lane / 4].given[parity] + lane % 4 * 4, 4);
}

void *
hy_simt::dynamic_shared()
{
	return shared_memory;
}

void
hy_simt::cut_off(bool cuts)
{
	unit_cuts = cuts;
}

void
hy_simt::capability(int is)
{
	version = is;
}

void
hy_simt::copy_async(void *to, const void *from, size_t bytes)
{
	if (version < 80)
		report("asynchronous copies before 8.0");
	if (bytes != 4 && bytes != 8 && bytes != 16)
		report("an asynchronous copy of a size that there is not");
	if (!in_shared(to, bytes) || (uintptr_t) from % bytes != 0)
	{
		report("an asynchronous copy that is not aligned, or goes beyond shared memory");
		return;
	}
	origins[current].copies.push_back({to, from, bytes});
}

void
hy_simt::copies_commit()
{
	origins[current].commits.push_back(origins[current].copies.size());
}

void
hy_simt::copies_wait(size_t prior)
{
	Origin &self = origins[current];

	if (self.commits.size() <= prior)
		return;

	const size_t left = self.commits.size() - prior;
	const size_t end = self.commits[left - 1];

	for (size_t i = 0; i < end; i++)
		memcpy(self.copies[i].to, self.copies[i].from, self.copies[i].bytes);
	self.copies.erase(self.copies.begin(), self.copies.begin() + end);
	self.commits.erase(self.commits.begin(), self.commits.begin() + left);
	for (size_t &commit : self.commits)
		commit -= end;
}
