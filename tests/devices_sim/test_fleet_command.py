import base64
import json

import pytest

from devices_sim.__main__ import main
from tests.panprivacy.device.server import VERIFICATION_KEY, listening

KEY = base64.b64encode(VERIFICATION_KEY).decode()


def fleet(url, server, *options):
    return main(["fleet", "--server", url, "--recipe", server.recipe.identifier, *options])


FLEET = ("--devices", "30", "--rate", "0.5", "--processes", "1")


def test_main_fleet_reports_for_every_device_and_prints_what_it_did(make_server, capsys):
    server = make_server()
    with listening(server) as url:
        assert fleet(url, server, *FLEET, "--seed", "7", "--verification-key", KEY) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["devices"], printed["sampled"]) == (30, 30)
    assert printed["reports"] == {"accepted": 30, "rejected": {}}
    assert len(server.decrypted()) == 30


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--devices", "0", "devices"), ("--rate", "1.5", "rate"), ("--processes", "0", "processes")],
)
def test_main_fleet_out_of_range_says_which_and_what_is_allowed(make_server, capsys, option, value, message):
    server = make_server()
    with listening(server) as url:
        assert fleet(url, server, *FLEET, "--verification-key", KEY, option, value) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "at least" in error
    assert server.decrypted() == []


def test_main_fleet_of_randomized_values_reads_their_file_and_no_rate(make_server, tmp_path, capsys):
    server = make_server(statistic="categories", steps=None, k=4, epsilon=20)
    values = tmp_path / "values.csv"
    values.write_text("device,value\na,1\nb,1\nc,3\n")
    with listening(server) as url:
        key = ("--verification-key", KEY)
        assert fleet(url, server, *key, *FLEET) == 2
        assert "devices: must be left out" in capsys.readouterr().err
        assert fleet(url, server, *key) == 2
        assert "values: is missing" in capsys.readouterr().err
        assert fleet(url, server, *key, "--values", str(values), "--processes", "1") == 0
    assert json.loads(capsys.readouterr().out)["reports"] == {"accepted": 3, "rejected": {}}
    # A flip of any of twelve places by ε = 20: below 1e-7.
    assert sorted(server.decrypted()) == [(0, 0, 0, 1), (0, 1, 0, 0), (0, 1, 0, 0)]
