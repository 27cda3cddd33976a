"""The same work by Python's libraries: exact search of 10,000 x 1M x 768, the ten nearest.

	python3 bench/gpu_peers.py [--quick]

Prints lines as bench/gpu.c does.  FAISS is tried first.  If python3 has no FAISS that knows a GPU, PyTorch
multiplies and selects the ten best of each part, as a user without FAISS would.  The rows are on the device, like
the plug-in's resident ones, and distances come from the library's own products.  PyTorch also multiplies two large
matrices, which gives the matrix rate that it reaches with cuBLAS.
"""

import sys
import time

QUICK = "--quick" in sys.argv[1:]
QUERIES, ROWS, DIMS, K = (100, 10000, 768, 10) if QUICK else (10000, 1000000, 768, 10)
PART = 2000 if QUICK else 100000
SIDE = 256 if QUICK else 8192
RUNS = 5


def line(measure, value, unit, reached="", beside=""):
    print(f"{measure},{value},{unit},,{reached},{beside.replace(',', ';')}", flush=True)


def not_available(measure, unit, why):
    line(measure, "", unit, "not available", str(why).splitlines()[0] if str(why) else type(why).__name__)


def median_us(run, wait=lambda: None):
    run()
    wait()
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        run()
        wait()
        times.append((time.perf_counter() - begin) * 1e6)
    return sorted(times)[RUNS // 2]


def faiss_search():
    """Whether FAISS could be asked."""
    name = f"faiss_top{K}_l2_float32_{DIMS}_{QUERIES}x{ROWS}"
    try:
        import faiss
        import numpy
    except (ImportError, OSError) as error:
        not_available(name, "us", f"python3 says: {error}")
        return False
    if not hasattr(faiss, "StandardGpuResources") or faiss.get_num_gpus() < 1:
        not_available(name, "us", "FAISS knows no GPU")
        return False
    random = numpy.random.default_rng(1)
    rows = random.random((ROWS, DIMS), dtype=numpy.float32) * 2 - 1
    queries = random.random((QUERIES, DIMS), dtype=numpy.float32) * 2 - 1
    resources = faiss.StandardGpuResources()
    for half in (False, True):
        kind = "float16" if half else "float32"
        try:
            config = faiss.GpuIndexFlatConfig()
            config.useFloat16 = half
            index = faiss.GpuIndexFlatL2(resources, DIMS, config)
            index.add(rows)
            us = median_us(lambda: index.search(queries, K))
        except RuntimeError as error:
            not_available(f"{name}_{kind}", "us", error)
            continue
        line(f"{name}_{kind}", f"{us:.6g}", "us", beside=f"rows on the device in {kind}")
        del index
    return True


def torch_search(torch):
    """The ten nearest by |x|^2 - 2 <q, x>, part by part of the rows."""
    wait = torch.cuda.synchronize
    for kind in (torch.float32, torch.bfloat16):
        name = f"torch_mm_top{K}_l2_{DIMS}_{QUERIES}x{ROWS}_{str(kind).split('.')[1]}"
        try:
            rows = (torch.rand(ROWS, DIMS, device="cuda") * 2 - 1).to(kind)
            queries = (torch.rand(QUERIES, DIMS, device="cuda") * 2 - 1).to(kind)
            norms = (rows.float() ** 2).sum(1).to(kind)

            def search():
                best = None
                for first in range(0, ROWS, PART):
                    part = rows[first:first + PART]
                    near = torch.addmm(norms[first:first + PART], queries, part.T, alpha=-2)
                    found = torch.topk(near, K, dim=1, largest=False)
                    distances, numbers = found.values, found.indices + first
                    if best is not None:
                        distances = torch.cat((best[0], distances), 1)
                        numbers = torch.cat((best[1], numbers), 1)
                        found = torch.topk(distances, K, dim=1, largest=False)
                        distances, numbers = found.values, numbers.gather(1, found.indices)
                    best = distances, numbers
                return best

            line(name, f"{median_us(search, wait):.6g}", "us", beside=f"PyTorch {torch.__version__}; not exact")
        except RuntimeError as error:
            not_available(name, "us", error)
        rows = queries = norms = None
        torch.cuda.empty_cache()


def torch_rate(torch):
    matrix = torch.rand(SIDE, SIDE, device="cuda").to(torch.bfloat16)
    us = median_us(lambda: torch.mm(matrix, matrix), torch.cuda.synchronize)
    line("torch_matrix_rate_bfloat16", f"{2 * SIDE ** 3 / us / 1e6:.6g}", "TFLOP/s", beside=f"{SIDE} x {SIDE}")


def main():
    if faiss_search():
        return
    measure = "torch_matrix_rate_bfloat16"
    try:
        import torch
    except (ImportError, OSError) as error:
        not_available(measure, "TFLOP/s", f"python3 says: {error}")
        return
    if not torch.cuda.is_available():
        not_available(measure, "TFLOP/s", "PyTorch knows no GPU")
        return
    try:
        torch_rate(torch)
    except RuntimeError as error:
        not_available(measure, "TFLOP/s", error)
    torch_search(torch)


if __name__ == "__main__":
    main()
