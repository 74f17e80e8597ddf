"""How problems are divided: every one once, within caches, cores and memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from preimage._engine.memory import limited_memory
from preimage.descent import WORK_OF_A_ROUGH_STEP, for_query_blocks, target_parts, tiles
from preimage.descent._blocks import ARRAYS_OF_INPUTS, ARRAYS_OF_POINTS, BLOCK_BYTES, FEWEST, MOST, plan_blocks

GIGABYTES = 10**10


def covered(blocks, size):
    return np.concatenate([np.arange(size)[block] for block in blocks]).tolist() == list(range(size))


def test_blocks_cover_all_queries_once(xp):
    queries = xp.asarray(np.zeros((5000, 3)))
    for n in (10, 10_000, 1_000_000):
        points = np.broadcast_to(np.zeros((1, 3)), (n, 3))
        assert covered(target_parts(queries, points), 5000)
        assert covered(for_query_blocks(lambda block: block, 5000, points, queries), 5000)
        assert covered(tiles(300, n, queries), 300)


def test_results_come_in_the_order_of_the_queries_where_memory_is_scarce():
    queries, points = np.zeros((500, 3)), np.zeros((20_000, 3))
    with limited_memory("60MB", queries):
        starts = for_query_blocks(lambda block: block.start, 500, points, queries)
    assert len(starts) > 5 and starts == sorted(starts)


def test_a_few_dozen_rows_are_one_block_in_any_memory():
    queries, points = np.zeros((40, 4)), np.zeros((40, 4))
    with limited_memory(10, queries):
        assert for_query_blocks(lambda block: block, 40, points, queries) == [slice(0, 40)]
        assert target_parts(queries, points) == [slice(0, 40)]


problems, points, columns = st.integers(1, 10**5), st.integers(1, 10**6), st.integers(1, 10**5)


@given(problems, points, columns, st.integers(1, 64), st.integers(10**6, 10**11))
def test_plans_keep_within_their_means(q, n, d, threads, budget):
    plan = plan_blocks(q, n, d, threads=threads, budget=budget)
    each = 8 * (ARRAYS_OF_POINTS * n + ARRAYS_OF_INPUTS * d)
    assert 1 <= plan.rows <= max(q, 1) and plan.rows <= MOST
    assert 1 <= plan.workers <= threads
    # Where not even one narrow block fits, problems are solved one by one.
    assert plan.rows == 1 or plan.rows * plan.workers * each <= budget
    assert plan.rows <= FEWEST or plan.rows * max(n, d) * 8 <= BLOCK_BYTES


def test_a_core_gets_one_block_where_the_caches_hold_it():
    assert plan_blocks(500, 1000, 64, threads=1, budget=GIGABYTES).rows == 500


def test_many_queries_are_spread_evenly_over_all_cores():
    for threads in (2, 4, 8, 16):
        plan = plan_blocks(20_000, 1000, 64, threads=threads, budget=GIGABYTES, work_of_a_step=WORK_OF_A_ROUGH_STEP)
        n_blocks = -(-20_000 // plan.rows)
        assert plan.workers == threads and n_blocks % threads == 0


def test_few_queries_do_not_wake_cores_that_would_wait_for_the_interpreter():
    blocks = [-(-800 // plan_blocks(800, 1000, 64, threads=t, budget=GIGABYTES).rows) for t in (1, 2, 4, 8, 16, 64)]
    assert blocks == sorted(blocks) and 2 <= blocks[-1] <= 8
    assert plan_blocks(1, 1000, 64, threads=16, budget=GIGABYTES).rows == 1


def test_scarce_memory_means_fewer_blocks_at_a_time():
    plenty = plan_blocks(4000, 50_000, 10, threads=16, budget=GIGABYTES)
    scarce = plan_blocks(4000, 50_000, 10, threads=16, budget=2 * 10**8)
    assert plenty.workers == 16 and scarce.workers < 4 and scarce.rows >= FEWEST // 2
