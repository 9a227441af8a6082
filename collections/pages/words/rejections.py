"""Why reports are rejected, in plain words, by the name that the reason has in counts and answers."""

from collections.abc import Mapping

EXPLANATIONS: Mapping[str, str] = {
    # Recipes with tokens, of whatever trust model.
    "token_missing": "It came without a token.",
    "token_invalid": "Its token is not signed by the recipe's issuer, or is for another report.",
    "token_of_another_recipe": "Its token is for another recipe.",
    # One server: docs/protocol.md.
    "malformed_report": "Not a report: fields are missing, or are not what they should be.",
    "wrong_nonce_size": "Its nonce is not 16 bytes long.",
    "wrong_ciphertext_count": "It has more or fewer ciphertexts than the statistic sends.",
    "invalid_ciphertext": "A ciphertext that cannot be one under the recipe's key.",
    "duplicate_nonce": "It was accepted before; sending again is harmless.",
    "duplicate_ciphertext": "It holds the same ciphertext twice, or those of another report.",
    "duplicate_report": "It was stored twice, as the same report or token came again, and counts once.",
    "invalid_proof": "Its proof that it encrypts 0 or 1 does not hold.",
    # Two servers: the errors of DAP.
    "batch_collected": "It came after the result was computed.",
    "report_replayed": "A report with this identifier was counted or refused before.",
    "report_dropped": "It came when the task took no reports, or outside its time.",
    "hpke_unknown_config_id": "It is encrypted with a key that this server has deleted.",
    "hpke_decrypt_error": "It cannot be decrypted: it was altered on the way, or made for another recipe.",
    "vdaf_verify_error": "The two shares do not add up to 0 or 1, or their proof does not hold.",
    "task_expired": "Its time lies after the end of the collection.",
    "invalid_message": "It does not hold a share.",
    "report_too_early": "Its time lies in the future.",
    "task_not_started": "Its time lies before the beginning of the collection.",
    "outdated_config": "It is encrypted with a key that was replaced; the device can encrypt it again.",
    # Two servers: ours.
    "job_refused": "The helper refused all reports of the request that it was in; the leader's log says why.",
}


def explanation(reason: str) -> str:
    """What a reason means; empty for one that this version does not know."""
    return EXPLANATIONS.get(reason, "")
