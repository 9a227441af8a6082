"""Why reports are rejected, in plain words, by the name that the reason has in counts and answers."""

from collections.abc import Mapping

EXPLANATIONS: Mapping[str, str] = {
    # One server: docs/protocol.md.
    "malformed_report": "Not a report: members are missing, or are not what they should be.",
    "wrong_nonce_size": "Its nonce is not 16 bytes long.",
    "wrong_ciphertext_count": "It has more or fewer ciphertexts than the statistic sends.",
    "invalid_ciphertext": "A ciphertext that cannot be one under the recipe's key.",
    "duplicate_nonce": "It was accepted before; sending again is harmless.",
    "value_out_of_range": "Decrypted, it says what no honest device says.",
    "wrong_length": "Decrypted, it has more or fewer values than the statistic sends.",
    # Two servers: the errors of DAP.
    "batch_collected": "It came when the sum had been taken.",
    "report_replayed": "A report with this identifier was counted or refused before.",
    "report_dropped": "It came when the task took no reports, or outside its time.",
    "hpke_unknown_config_id": "It is sealed under a key that this server does not have any more.",
    "hpke_decrypt_error": "It does not open: altered on the way, or made for another recipe.",
    "vdaf_verify_error": "The two shares do not add up to 0 or 1, or their proof does not hold.",
    "task_expired": "Its time lies after the end of the collection.",
    "invalid_message": "What was sealed is not a share.",
    "report_too_early": "Its time lies in the future.",
    "task_not_started": "Its time lies before the beginning of the collection.",
    "outdated_config": "It is sealed under a key that was replaced; the device can seal it anew.",
    # Two servers: ours.
    "job_refused": "The helper refused the whole job that it was part of; the leader's log has its words.",
}


def explanation(reason: str) -> str:
    """What a reason means; empty for one that this version does not know."""
    return EXPLANATIONS.get(reason, "")
