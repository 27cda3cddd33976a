/*
 * simt.cpp
 *		The scheduler of the fibers.
 */
#include "simt.h"

#include <setjmp.h>
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
const int in_product = -1; /* instead of a shuffle's lanes */
const int in_half_product = -2;
const int in_load = -3;
const size_t shared_alignment = 128;

enum class State
{
	runnable,
	in_shuffle,
	in_barrier,
	ended
};

struct Copy
{
	void *to;
	const void *from;
	size_t bytes;
};

struct Fiber
{
	ucontext_t start;
	jmp_buf context;
	bool started;
	std::vector<char> stack;
	State state;
	/* to the shuffles and products of even and odd number: a reader may be one behind */
	uint64_t given[2];
	uint32_t left[2][4];
	uint32_t right[2][2];
	int lanes; /* of a shuffle, or one of a product's */
	unsigned shuffles;
	std::vector<std::vector<Copy>> copies; /* by commit; the last is not committed yet */
};

std::vector<Fiber> fibers;
ucontext_t unused;
jmp_buf scheduler;
int current;
int thread_count;
uint64_t random_state = 1;
const char *first_fault;
const std::function<void()> *thread_body;
bool unit_cuts;
int version = 90;
uint64_t half_products;
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

/* in_shared: whether so many bytes, aligned to as many, are part of what the launch asked for. */
bool
in_shared(const void *at, size_t bytes)
{
	const char *first = (const char *) at;

	return (uintptr_t) at % bytes == 0 && first >= shared_memory &&
	       first + bytes <= shared_memory + shared_bytes;
}

void
fiber_main()
{
	(*thread_body)();
	fibers[current].state = State::ended;
	_longjmp(scheduler, 1);
}

/* A fiber starts through swapcontext, for its stack; later switches need no system call. */
void
resume(Fiber *fiber)
{
	if (_setjmp(scheduler) != 0)
		return;
	if (fiber->started)
		_longjmp(fiber->context, 1);
	fiber->started = true;
	swapcontext(&unused, &fiber->start);
}

void
wait_as(State state)
{
	Fiber &self = fibers[current];

	self.state = state;
	if (_setjmp(self.context) == 0)
		_longjmp(scheduler, 1);
}

void
prepare(Fiber *fiber)
{
	fiber->state = State::runnable;
	fiber->shuffles = 0;
	fiber->copies.assign(1, {});
	fiber->started = false;
	getcontext(&fiber->start);
	fiber->start.uc_stack.ss_sp = fiber->stack.data();
	fiber->start.uc_stack.ss_size = fiber->stack.size();
	fiber->start.uc_link = nullptr;
	makecontext(&fiber->start, fiber_main, 0);
}

/* give_way: until all of the warp stands in the same shuffle or product; returns whose turn it was. */
unsigned
give_way(int lanes)
{
	Fiber &self = fibers[current];
	unsigned turn = self.shuffles % 2;

	self.lanes = lanes;
	self.shuffles++;
	wait_as(State::in_shuffle);
	return turn;
}

/* bfloat: one of the two bfloat16 of a register. */
double
bfloat(uint32_t pair, int which)
{
	uint32_t bits = which == 0 ? pair << 16 : pair & 0xffff0000u;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* half: one of the two of fp16. */
double
half(uint32_t pair, int which)
{
	uint32_t bits = which == 0 ? pair & 0xffffu : pair >> 16;
	int exponent = bits >> 10 & 31;
	int fraction = bits & 1023;
	double size;

	if (exponent == 31)
		size = fraction == 0 ? INFINITY : NAN;
	else
		size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
	return bits & 0x8000u ? -size : size;
}

/* floor_to: down to a multiple of 2^exponent. */
double
floor_to(double value, int exponent)
{
	return ldexp(floor(ldexp(value, -exponent)), exponent);
}

/* add_up: what the unit makes of some addends. */
float
add_up(const double *addend, int count)
{
	double sum = 0;
	double largest = 0;
	int exponent;

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
	/* 24 places: those of fp32 */
	frexp(largest, &exponent);
	const double unit = ldexp(1, exponent - 24);
	const double units = ldexp(1, 24 - exponent);
	for (int i = 0; i < count; i++)
		sum += floor(addend[i] * units);
	sum *= unit;
	if (sum == 0)
		return 0;
	frexp(sum, &exponent);
	return (float) floor_to(sum, exponent - 24);
}

/* release_warp: lets a warp go on when all of it stands in one shuffle. */
bool
release_warp(int first)
{
	for (int i = first; i < first + warp_size; i++)
	{
		if (fibers[i].state != State::in_shuffle)
			return false;
		if (fibers[i].lanes != fibers[first].lanes || fibers[i].shuffles != fibers[first].shuffles)
		{
			report("the threads of a warp stand in different shuffles");
			return false;
		}
	}
	for (int i = first; i < first + warp_size; i++)
		fibers[i].state = State::runnable;
	return true;
}

bool
release_block()
{
	int waiting = 0;

	for (int i = 0; i < thread_count; i++)
	{
		if (fibers[i].state != State::in_barrier)
			return false;
		waiting++;
	}
	for (int i = 0; i < thread_count; i++)
		fibers[i].state = State::runnable;
	return waiting > 0;
}

bool
run_block()
{
	std::vector<int> order(thread_count);
	/* a warp is kept waiting in shuffles: no longer, or twice, four or eight times as long */
	std::vector<int> slowness(thread_count / warp_size);

	for (int &slow : slowness)
		slow = (1 << next_random() % 4) - 1;
	for (int i = 0; i < thread_count; i++)
	{
		order[i] = i;
		prepare(&fibers[i]);
	}
	for (;;)
	{
		bool moved = false;
		int ended = 0;

		for (int i = thread_count - 1; i > 0; i--)
			std::swap(order[i], order[next_random() % (i + 1)]);
		for (int i : order)
		{
			if (fibers[i].state != State::runnable)
				continue;
			current = i;
			threadIdx.x = i;
			threadIdx.y = threadIdx.z = 0;
			resume(&fibers[i]);
			moved = true;
		}
		for (int i = 0; i < thread_count; i++)
			ended += fibers[i].state == State::ended;
		if (ended == thread_count)
			return true;
		for (int i = 0; i < thread_count; i += warp_size)
		{
			if ((next_random() & slowness[i / warp_size]) == 0)
				moved |= release_warp(i);
		}
		moved |= release_block();
		for (int i = 0; i < thread_count && !moved; i += warp_size)
			moved = release_warp(i);
		if (!moved)
		{
			report("threads wait for others that never come");
			return false;
		}
	}
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
		for (Fiber &fiber : fibers)
			fiber.stack.resize(stack_size);
	}
	thread_count = threads;
	thread_body = &body;
	shared_bytes = shared;
	shared_room.resize(shared + shared_alignment);
	shared_memory = shared_room.data();
	shared_memory += shared_alignment - (uintptr_t) shared_memory % shared_alignment;
	gridDim = grid;
	for (unsigned y = 0; y < grid.y; y++)
	{
		for (unsigned x = 0; x < grid.x; x++)
		{
			blockIdx.x = x;
			blockIdx.y = y;
			blockIdx.z = 0;
			memset(shared_memory, 0xa5, shared);
			if (!run_block() || first_fault != nullptr)
				return false;
		}
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
	wait_as(State::in_barrier);
}

uint64_t
hy_simt::shuffle_xor(unsigned mask, uint64_t bits, int lanes)
{
	Fiber &self = fibers[current];
	int lane = current % warp_size;
	int source = current - lane + (lane ^ lanes);

	if (mask != 0xffffffffu || lanes < 0 || lanes >= warp_size)
		report("a shuffle beyond the warp, or for a part of it");
	self.given[self.shuffles % 2] = bits;
	return fibers[source].given[give_way(lanes)];
}

void
hy_simt::multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	Fiber &self = fibers[current];
	int lane = current % warp_size;
	const Fiber *warp = &fibers[current - lane];

	if (version < 80)
		report("bfloat16 before 8.0");
	memcpy(self.left[self.shuffles % 2], a, sizeof(a));
	memcpy(self.right[self.shuffles % 2], b, sizeof(b));

	const unsigned turn = give_way(in_product);

	for (int i = 0; i < 4; i++)
	{
		int row = lane / 4 + (i < 2 ? 0 : 8);
		int column = lane % 4 * 2 + i % 2;
		double addend[17];

		for (int k = 0; k < 16; k++)
		{
			const Fiber &left = warp[row % 8 * 4 + k % 8 / 2];
			const Fiber &right = warp[column * 4 + k % 8 / 2];

			addend[k] = bfloat(left.left[turn][row / 8 + 2 * (k / 8)], k % 2) *
			            bfloat(right.right[turn][k / 8], k % 2);
		}
		addend[16] = sum[i];
		sum[i] = add_up(addend, 17);
	}
}

/* Four products and the sum so far at a time: exact, they are rounded once. */
void
hy_simt::multiply_half(float (&sum)[4], const uint32_t (&a)[2], uint32_t b)
{
	Fiber &self = fibers[current];
	int lane = current % warp_size;
	const Fiber *warp = &fibers[current - lane];

	if (version < 75)
		report("fp16 by 16 x 8 before 7.5");
	half_products++;
	memcpy(self.left[self.shuffles % 2], a, sizeof(a));
	self.right[self.shuffles % 2][0] = b;

	const unsigned turn = give_way(in_half_product);

	for (int i = 0; i < 4; i++)
	{
		int row = lane / 4 + (i < 2 ? 0 : 8);
		int column = lane % 4 * 2 + i % 2;
		double addend[9];

		for (int k = 0; k < 8; k++)
		{
			const Fiber &left = warp[row % 8 * 4 + k / 2];
			const Fiber &right = warp[column * 4 + k / 2];

			addend[k] = half(left.left[turn][row / 8], k % 2) * half(right.right[turn][0], k % 2);
		}
		addend[8] = sum[i];
		if (!unit_cuts)
			sum[i] = add_up(addend, 9);
		else
		{
			double last[5] = {addend[4], addend[5], addend[6], addend[7], 0};

			addend[4] = sum[i];
			last[4] = add_up(addend, 5);
			sum[i] = add_up(last, 5);
		}
	}
}

void
hy_simt::load_matrices(uint32_t (&words)[4], const void *row)
{
	Fiber &self = fibers[current];
	const int lane = current % warp_size;
	const Fiber *warp = &fibers[current - lane];

	self.given[self.shuffles % 2] = (uint64_t) (uintptr_t) row;
	if (version < 75)
		report("ldmatrix before 7.5");
	if (!in_shared(row, 16))
		report("matrices that do not lie in shared memory, or are not aligned");

	const unsigned turn = give_way(in_load);

	for (int i = 0; i < 4 && first_fault == nullptr; i++)
		memcpy(&words[i],
		       (const char *) (uintptr_t) warp[8 * i + lane / 4].given[turn] + lane % 4 * 4, 4);
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

uint64_t
hy_simt::halves()
{
	return half_products;
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
	fibers[current].copies.back().push_back({to, from, bytes});
}

void
hy_simt::copies_commit()
{
	fibers[current].copies.push_back({});
}

void
hy_simt::copies_wait(size_t prior)
{
	auto &copies = fibers[current].copies;

	while (copies.size() > prior + 1)
	{
		for (const Copy &copy : copies.front())
			memcpy(copy.to, copy.from, copy.bytes);
		copies.erase(copies.begin());
	}
}
