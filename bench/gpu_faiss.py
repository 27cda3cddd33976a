"""FAISS on a GPU beside ours: exact search of 10,000 x 1M x 768, float32, the ten nearest.

	python3 bench/gpu_faiss.py [--quick]

Lines as those of bench/gpu.c; where python3 has no FAISS that knows a GPU, one that says so.  Its index
holds its rows on the device, as our resident ones do; its distances are those of its own products.
"""

import sys
import time

MEASURE = "faiss_top10_l2_float32_768_{}x{}"
RUNS = 5


def not_available(why):
    print(MEASURE.format(10000, 1000000) + ",,us,,not available," + why.replace(",", ";"))


def median_us(run):
    run()
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e6)
    return sorted(times)[RUNS // 2]


def main():
    try:
        import faiss
        import numpy
    except ImportError as error:
        return not_available(f"python3 says: {error}")
    if not hasattr(faiss, "StandardGpuResources") or faiss.get_num_gpus() < 1:
        return not_available("FAISS knows no GPU")
    quick = "--quick" in sys.argv[1:]
    queries, rows = (100, 10000) if quick else (10000, 1000000)
    random = numpy.random.default_rng(1)
    data = random.random((rows, 768), dtype=numpy.float32) * 2 - 1
    asked = random.random((queries, 768), dtype=numpy.float32) * 2 - 1
    resources = faiss.StandardGpuResources()
    name = MEASURE.format(queries, rows)
    for half in (False, True):
        kind = "float16" if half else "float32"
        try:
            config = faiss.GpuIndexFlatConfig()
            config.useFloat16 = half
            index = faiss.GpuIndexFlatL2(resources, 768, config)
            index.add(data)
            us = median_us(lambda: index.search(asked, 10))
        except RuntimeError as error:
            why = str(error).splitlines()[0].replace(",", ";")
            print(f"{name}_{kind},,us,,not available,{why}", flush=True)
            continue
        print(f"{name}_{kind},{us:.6g},us,,,rows on the device in {kind}", flush=True)
        del index
    return None


if __name__ == "__main__":
    main()
