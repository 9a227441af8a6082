from pathlib import Path

import pytest

from storage.key_slots import BLOCK_BYTES, KEY_BYTES, KeySlots

FIRST, SECOND, THIRD = (bytes([number]) * KEY_BYTES for number in (1, 2, 3))


@pytest.fixture
def slots(tmp_path: Path) -> KeySlots:
    return KeySlots(tmp_path / "keys" / "stream.keys")


def test_the_last_two_keys_are_there_and_no_other(slots: KeySlots) -> None:
    slots.write(7, FIRST)
    assert (slots.read(7), slots.read(6)) == (FIRST, None)
    assert slots.path.stat().st_mode & 0o777 == 0o600
    assert slots.path.parent.stat().st_mode & 0o777 == 0o700
    slots.write(8, SECOND)
    assert slots.read_all() == {7: FIRST, 8: SECOND}
    slots.write(9, THIRD)
    assert slots.read_all() == {8: SECOND, 9: THIRD}
    assert FIRST not in slots.path.read_bytes()
    slots.erase(8)
    assert slots.read_all() == {9: THIRD}
    assert SECOND not in slots.path.read_bytes()


def test_no_key_is_read_where_there_is_no_file(slots: KeySlots) -> None:
    assert slots.read(1) is None
    slots.erase(1)
    slots.delete()
    assert not slots.path.exists()


def test_erasing_late_leaves_the_key_that_took_the_place(slots: KeySlots) -> None:
    # Whoever committed version 8 erases 7 when 9 is there already.
    slots.write(9, THIRD)
    slots.erase(7)
    assert slots.read(9) == THIRD


def test_a_torn_write_is_taken_for_empty_and_spoils_no_other_key(slots: KeySlots) -> None:
    slots.write(8, SECOND)
    slots.write(9, THIRD)
    with slots.path.open("r+b") as file:
        file.seek(BLOCK_BYTES + 20)
        file.write(FIRST[:8])
    assert slots.read_all() == {8: SECOND}


def test_deleting_overwrites_before_the_name_is_gone(slots: KeySlots) -> None:
    slots.write(7, FIRST)
    kept = slots.path.parent / "kept"
    kept.hardlink_to(slots.path)
    slots.delete()
    assert not slots.path.exists()
    assert set(kept.read_bytes()) == {0}


def test_a_key_of_another_length_is_refused(slots: KeySlots) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        slots.write(7, FIRST + b"1")
    assert not slots.path.exists()
