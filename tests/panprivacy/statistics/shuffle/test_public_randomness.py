import itertools

import pytest

from panprivacy.statistics.shuffle.public_randomness import hashed_place, partition


def test_hashed_place_is_the_same_for_everybody_for_good():
    # A change would let devices of one recipe hash to different places.
    assert [hashed_place(7, text, 1_000) for text in ("", "N107US", "Zürich")] == [338, 864, 459]


def test_hashed_place_of_two_texts_is_shared_by_few_seeds():
    # 2-universal: at most 1/10 of seeds on average; Pr[Bin(2000, 0.1) > 290] < 1e-9 for each of three pairs.
    for first, second in itertools.combinations(("a", "b", "c"), 2):
        shared = sum(hashed_place(seed, first, 10) == hashed_place(seed, second, 10) for seed in range(2_000))
        assert shared <= 290


def test_partition_of_another_seed_is_another():
    assert partition(1, 12, 4) != partition(2, 12, 4)
    assert sorted(partition(1, 12, 4)) == [group for group in range(4) for _ in range(3)]


def test_partition_into_groups_of_two_sizes_is_refused():
    with pytest.raises(ValueError, match="one size"):
        partition(1, 10, 4)
