"""Janus' own test vectors of its messages, and its own example of a file of tasks.

They are read from a checkout of github.com/divviup/janus, which no registry has: JANUS_CHECKOUT names it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dap.task_files import task_file_read
from panprivacy.formats import base64_text
from panprivacy.formats.tls_messages import Message
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
)
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareReq,
    CollectionJobReq,
    CollectionJobResp,
)
from panprivacy.protocols.dap.dialects import JANUS

CHECKOUT = Path(os.environ.get("JANUS_CHECKOUT", "/nowhere"))

pytestmark = pytest.mark.skipif(
    not CHECKOUT.is_dir(), reason="JANUS_CHECKOUT names no checkout of github.com/divviup/janus at 4ab28a36"
)

VECTORS: list[tuple[str, str, type[Message], int]] = [
    ("aggregation", "AggregationJobInitializeReq", AggregationJobInitReq, 2),
    ("aggregation", "AggregationJobContinueReq", AggregationJobContinueReq, 1),
    ("aggregation", "AggregationJobResp", AggregationJobResp, 1),
    ("collection", "CollectionJobReq", CollectionJobReq, 5),
    ("collection", "CollectionJobResp", CollectionJobResp, 2),
    ("collection", "AggregateShareReq", AggregateShareReq, 4),
    ("collection", "AggregateShare", AggregateShare, 2),
]


@pytest.mark.parametrize(("file", "name", "message", "count"), VECTORS)
def test_message_of_janus_is_read_and_written_byte_for_byte(
    file: str, name: str, message: type[Message], count: int
) -> None:
    vectors = list(vectors_of(CHECKOUT / f"messages/src/tests/{file}.rs", name))
    assert len(vectors) >= count
    for spoken in vectors:
        encoded = JANUS.read(message, spoken)
        assert JANUS.write(message, message.decode(encoded).encode()) == spoken


def vectors_of(file: Path, name: str) -> Iterator[bytes]:
    """The encodings that stand behind values of this type, as lists of hexadecimal texts."""
    source = re.sub(r"//.*", "", file.read_text())
    for match in re.finditer(rf"^( {{8}}| {{12}}){name}(?:::<\w+>)? \{{$", source, re.MULTILINE):
        start = source.index(f"\n{match[1]}concat!(", match.end())
        end = source.index(f"\n{match[1][4:]})", start)
        yield bytes.fromhex("".join(re.findall(r'"([0-9A-Fa-f]*)"', source[start:end])))


class _WithTags(yaml.SafeLoader):
    """Leaves the names of variants out."""


_WithTags.add_multi_constructor("!", lambda loader, _, node: loader.construct_mapping(node))


@pytest.mark.parametrize("index", [0, 1])
def test_example_file_of_janus_is_read(index: int) -> None:
    """One task of the two; its keys are shorter than those of VDAF draft 20."""
    source = (CHECKOUT / "docs/samples/tasks.yaml").read_text()
    key = base64_text.encode_url(bytes(32))
    source = re.sub(r'vdaf_verify_key: ".*"', f'vdaf_verify_key: "{key}"', source)
    one = re.split(r"^-", source, flags=re.MULTILINE)[1 + index]
    written: dict[str, Any] = yaml.load(source, Loader=_WithTags)[index]  # noqa: S506  # a safe one
    read = task_file_read(f"-{one}".encode())
    assert base64_text.encode_url(read.task_id) == written["task_id"]
    assert read.role == written["role"]
    assert read.configuration.time_precision == written["time_precision"]
    assert f"{read.peer_url}/" == written["peer_aggregator_endpoint"]
    assert read.collector_config.id == written["collector_hpke_config"]["id"]
