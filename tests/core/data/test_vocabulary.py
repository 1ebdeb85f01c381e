import copy
import gc
import io
import pickle
import sys
import tracemalloc
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.core.data import Vocabulary
from instar.core.data.vocabulary import IntegerVocabulary, RangeVocabulary, SortedVocabulary
from instar.core.typing import Label, ParticleId, SystemId

SAMPLES = [
    Vocabulary.range(0, 5, SystemId),
    Vocabulary.range(3, 3, ParticleId),
    Vocabulary.of((SystemId(2), SystemId(5), SystemId(9))),
    Vocabulary.of(("C", "O"), Label),
    Vocabulary.of(("C", "O")),
    Vocabulary.of((0.5, 1.5)),
    Vocabulary.of(((0, "a"), (1, "b"))),
    Vocabulary.of((2**70, 2**70 + 5)),
    Vocabulary.of((), str),
]


@pytest.mark.parametrize("vocabulary", SAMPLES, ids=repr)
def test_equal_vocabularies_are_one_object(vocabulary):
    assert Vocabulary.of(vocabulary.keys, vocabulary.cls) is vocabulary
    assert Vocabulary.of(list(vocabulary.keys), vocabulary.cls) is vocabulary
    assert copy.copy(vocabulary) is vocabulary
    assert copy.deepcopy({"v": vocabulary})["v"] is vocabulary
    assert pickle.loads(pickle.dumps(vocabulary)) is vocabulary
    assert hash(vocabulary) == hash(Vocabulary.of(vocabulary.keys, vocabulary.cls))


@pytest.mark.parametrize(
    "vocabulary", [v for v in SAMPLES if v.cls is not tuple and 2**70 not in v], ids=repr
)
def test_the_array_that_files_hold_reads_back(vocabulary):
    file = io.BytesIO()
    np.save(file, np.asarray(vocabulary), allow_pickle=False)
    file.seek(0)
    assert Vocabulary.of(np.load(file, allow_pickle=False), vocabulary.cls) is vocabulary


@pytest.mark.parametrize("vocabulary", SAMPLES, ids=repr)
def test_sequence_manners(vocabulary):
    assert type(vocabulary.keys) is tuple
    assert len(vocabulary) == len(vocabulary.keys)
    assert all(type(key) is vocabulary.cls for key in vocabulary.keys)
    assert [vocabulary[i] for i in range(len(vocabulary))] == list(vocabulary)
    assert all(key in vocabulary for key in vocabulary.keys)
    assert object() not in vocabulary


def test_kinds_are_chosen_by_content():
    assert isinstance(Vocabulary.of((3, 4, 5)), RangeVocabulary)
    assert isinstance(Vocabulary.of((3, 5)), IntegerVocabulary)
    assert isinstance(Vocabulary.of(np.array([1, 2, 3], np.uint8)), RangeVocabulary)
    assert isinstance(Vocabulary.of(range(2, 4)), RangeVocabulary)
    assert isinstance(Vocabulary.of((False, True)), SortedVocabulary)


def test_classes_keep_vocabularies_apart():
    assert Vocabulary.range(0, 2, SystemId) is not Vocabulary.range(0, 2, ParticleId)
    assert Vocabulary.of(((1, 2),)) is not Vocabulary.of(((1.0, 2.0),))
    assert ParticleId(0) not in Vocabulary.range(0, 2, SystemId)
    assert 0 in Vocabulary.range(0, 2, SystemId)


def test_an_empty_vocabulary_has_a_class_too():
    nobody, someone = Vocabulary.range(0, 0, SystemId), Vocabulary.range(0, 2, ParticleId)
    for first, second in ((nobody, someone), (someone, nobody)):
        with pytest.raises(ValueError, match="One index holds keys of class"):
            first.merge(second)
    pairs = Vocabulary.product(someone, someone)
    empty = Vocabulary.product(nobody, someone)
    assert empty.positions_in(pairs).tolist() == []
    assert pairs.merge(empty) is pairs


def test_pairs_are_one_object_however_they_are_made():
    pairs = Vocabulary.product(Vocabulary.range(0, 2), Vocabulary.of(("a", "b")))
    assert Vocabulary.of(((0, "a"), (0, "b"), (1, "a"), (1, "b"))) is pairs
    assert pickle.loads(pickle.dumps(pairs)) is pairs
    assert pairs.slice(0, 2) is Vocabulary.of(((0, "a"), (0, "b")))
    assert ((1, "a") in pairs, (2, "a") in pairs) == (True, False)
    other = Vocabulary.of(((1, "b"), (2, "a")))
    assert pairs.merge(other).keys == ((0, "a"), (0, "b"), (1, "a"), (1, "b"), (2, "a"))
    with pytest.raises(ValueError, match=r"Some are keys of class tuple\[int, str\], others"):
        Vocabulary.of(((0, "a"), (1.5, "a")))


def test_an_enumeration_can_be_a_key_class():
    class Kind(IntEnum):
        GAS = 1
        SOLID = 4

    assert Vocabulary.of((Kind.GAS, Kind.SOLID)).keys == (Kind.GAS, Kind.SOLID)


@pytest.mark.parametrize(
    ("keys", "cls", "first_line"),
    [
        ((1, 1), None, "Duplicate key: 1."),
        (("b", "b"), None, "Duplicate key: 'b'."),
        ((2, 1), None, "Keys are not sorted: 2 stands before 1."),
        (("b", "a"), None, "Keys are not sorted: 'b' stands before 'a'."),
        (
            np.array([2**63 - 1, -(2**63)]),
            None,
            f"Keys are not sorted: {2**63 - 1} stands before {-(2**63)}.",
        ),
        ((), None, "Without keys the key class is unknown."),
        ((1, "a"), None, "Key 'a' is of class str, but the key class is int."),
        (
            (ParticleId(1),),
            SystemId,
            "Key 1 is of class ParticleId, but the key class is SystemId.",
        ),
        ((float("nan"),), None, "Keys must be comparable, and nan is not equal to itself."),
        (
            np.zeros((2, 2), int),
            None,
            "Keys must be a flat sequence, not an array of shape (2, 2).",
        ),
        ((1, 2), str, "Key 1 is of class int, but the key class is str."),
        (np.array([1]), str, "The keys are integers, but the key class is str."),
        (
            Vocabulary.range(0, 2, SystemId),
            ParticleId,
            "These are keys of class SystemId, asked for are keys of class ParticleId.",
        ),
    ],
)
def test_bad_keys_are_named(keys, cls, first_line):
    with raises(ValueError, first_line):
        Vocabulary.of(keys, cls)


def test_only_integers_can_be_counted_on():
    assert Vocabulary.of((2, 5)).extended(2).keys == (2, 5, 6, 7)
    assert Vocabulary.range(0, 0).extended(2).keys == (0, 1)
    with pytest.raises(ValueError, match=r"^Keys of class str can't be continued\."):
        Vocabulary.of(("a",)).extended(1)
    with pytest.raises(ValueError, match="it is not an integer class"):
        Vocabulary.range(0, 2, str)


def test_more_keys_than_indices_can_number_are_refused():
    with raises(ValueError, f"{2**31} keys are more than 32-bit indices can number."):
        Vocabulary.range(0, 2**31)


def test_repr_of_long_vocabularies_is_short():
    assert repr(Vocabulary.range(0, 10**6)) == "0-999999"
    assert len(repr(Vocabulary.of(range(0, 10**4, 2)))) < 100


key_sets = st.sets(st.integers(-30, 30), min_size=1, max_size=12)
word_sets = st.sets(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8)


@given(st.one_of(st.tuples(key_sets, key_sets), st.tuples(word_sets, word_sets)))
def test_merge_find_and_positions_agree_with_python_sets(sets):
    a, b = (Vocabulary.of(sorted(s)) for s in sets)
    merged = a.merge(b)
    assert merged.keys == tuple(sorted(sets[0] | sets[1]))
    assert merged is b.merge(a)
    assert [merged[int(i)] for i in a.positions_in(merged)] == list(a.keys)
    found = b.find(a)
    assert [key in sets[1] for key in a] == [bool(i >= 0) for i in found]
    assert all(b[int(i)] == key for i, key in zip(found, a, strict=True) if i >= 0)


@given(key_sets, st.integers(-5, 15), st.integers(-5, 15))
def test_slice_is_the_slice_of_the_tuple(keys, start, stop):
    vocabulary = Vocabulary.of(sorted(keys))
    assert vocabulary.slice(start, stop).keys == vocabulary.keys[start:stop]


def test_range_keys_take_no_memory_until_the_tuple_is_read():
    gc.collect()
    tracemalloc.start()
    vocabulary = Vocabulary.range(7, 10**6 + 7, SystemId)
    before, _ = tracemalloc.get_traced_memory()
    assert before < 10_000
    assert len(vocabulary.keys) == 10**6
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after > 8 * 10**6


def test_vocabularies_nobody_uses_are_forgotten():
    from instar.core.data.vocabulary import _interned

    vocabulary = Vocabulary.of((123456, 123458))
    before = len(_interned)
    del vocabulary
    gc.collect()
    assert len(_interned) == before - 1


def test_equality_and_hash_do_not_look_at_the_keys():
    class Counted(int):
        looked = 0

        def __eq__(self, other):
            Counted.looked += 1
            return int(self) == int(other)

        def __hash__(self):
            Counted.looked += 1
            return int(self)

    vocabulary = Vocabulary.of(tuple(Counted(i) for i in (1, 3, 8)))
    other = Vocabulary.of(tuple(Counted(i) for i in (1, 3, 9)))
    Counted.looked = 0
    assert vocabulary == vocabulary  # noqa: PLR0124
    assert vocabulary != other
    hash(vocabulary)
    assert Counted.looked == 0
    assert sys.getsizeof(vocabulary) < 200
