"""Devices that send at the same moment: exactly n of them come in, each once."""

from functools import partial

import msgpack
import pytest

from panprivacy.signed_count import ReleasedCount
from peers.shuffler_calls import ShuffledBatch, batch_ask
from shuffler.models import Submission
from storage.signing_key import signing_key
from tests.collections.shuffler.scene import Collection, at_once, peer


@pytest.mark.django_db(transaction=True)
def test_more_devices_than_fit_at_once_fill_the_batch_exactly_and_nobody_counts_twice() -> None:
    collection = Collection(cohort_size=4).registered()
    ciphertexts = collection.encrypted(collection.messages())
    bodies = [msgpack.packb({"nonce": bytes([n // 2]) * 16, "messages": ciphertexts}) for n in range(12)]
    answers = at_once(*(partial(collection.post, body) for body in bodies))
    # Six devices, each of which sends twice at once: whatever one is answered, the other is answered too.
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [201] * 8 + [409] * 4
    assert statuses[::2] == statuses[1::2]
    assert Submission.objects.count() == collection.batch.users == 4


@pytest.mark.django_db(transaction=True)
def test_batch_asked_for_by_several_workers_at_once_is_shuffled_once() -> None:
    collection = Collection(cohort_size=2).registered()
    sent = collection.fill()
    ask = partial(batch_ask, peer(), identifier=collection.identifier)
    signature = ReleasedCount(collection.identifier, 2).sign(signing_key())
    assert at_once(*[ask] * 4) == [ShuffledBatch(2, len(sent), 1, signature, {})] * 4
    assert not Submission.objects.exists()
