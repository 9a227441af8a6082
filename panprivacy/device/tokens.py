"""A device's token of a recipe, from joining to its report (docs/protocol.md, "Tokens").

Every device asks for one, at a random time before the first possible report, whether or not its coin lets it
take part. The attester knows the device and not the recipe, the issuer the recipe and not the device.

All draws are made when a device joins, and every request is stored first and then sent: after a crash the
same bytes are sent, and a device never asks for a second token.
"""

import http
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.oblivious_transport import answer_of
from panprivacy.device.token_answers import OF_ATTESTER, OF_ISSUER, TokenRemedy, remedy
from panprivacy.device.transport import (
    Answer,
    Closable,
    RecipeNotOpenError,
    Transport,
    TransportError,
    WireReport,
    refusal,
)
from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.attestation import sign_capsule
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.oblivious_http import capsules, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import InvalidBinaryHttpError
from panprivacy.protocols.oblivious_http.keys import MEDIA_TYPE, KeyConfig
from panprivacy.protocols.oblivious_http.signed_keys import UnsignedKeysError
from panprivacy.protocols.privacy_pass import blind_rsa, issuance
from panprivacy.protocols.privacy_pass.issuance import InvalidResponseError, PendingToken
from panprivacy.protocols.privacy_pass.rsa_keys import PublicKey
from panprivacy.protocols.privacy_pass.tokens import NONCE_BYTES, TokenResponse
from panprivacy.protocols.token_request import token_request
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import SEED_BYTES, bound_nonce, challenge, token_key, token_shown, tokens_of

TOKEN_TARGET, KEYS_TARGET = "/token", "/issuer-keys"
"""Below the attester's address."""

NOT_ATTESTED = "/problems/not-attested"
NOT_OPEN = "/problems/recipe-not-open"

Store = Callable[["TokenState"], None]


class NotAttestedError(TransportError):
    """The attester does not know this device."""


class TokenLostError(TransportError):
    """This device will never get a token of this recipe: it had another one, or the issuer cannot make it."""


class WrongAnswerError(TransportError):
    """An invalid answer: the attester or the issuer is broken, or cheats."""


@dataclass(frozen=True, kw_only=True)
class TokenState:
    """What a device keeps of its token. Secret: an attacker that has it recognizes the report.

    Attributes:
        asks_at: the earliest time; random, without meaning.
        nonce, salt, factor: the client's draws (32 and 48 bytes, 1 to n - 1).
        capsule, secret: the sealed request and the secret that opens its answer; set when it is about to be
            sent.
        token: 354 bytes, verified, once it came; empty until then.
        seed: of the key with which the device signs its report, 32 bytes; empty if it signs none.
    """

    asks_at: datetime
    nonce: bytes
    salt: bytes
    factor: int
    capsule: bytes = b""
    secret: bytes = b""
    token: bytes = b""
    seed: bytes = b""

    def shown(self, report: WireReport) -> WireReport:
        """The report with the token, which has come: signed by the token's key if it has one."""
        return replace(report, token=token_shown(self.token, self.seed, report.ciphertexts))

    @property
    def report_nonce(self) -> bytes:
        """The nonce of the one report for which the token is valid, 16 bytes."""
        return self.nonce[16:]


def token_drawn(recipe: PublishedRecipe, random_source: random.Random, *, now: datetime) -> TokenState:
    """All draws of a device that joins a recipe with tokens.

    Args:
        random_source: `secrets.SystemRandom()`; seeded ones in simulations only.
        now: the time from which the device may ask, until the first possible report.
    """
    key = token_key(tokens_of(recipe))
    asks_at = _asking_time(recipe, random_source, now)
    seed = random_source.randbytes(SEED_BYTES) if recipe.servers.report_signature_bytes else b""
    return TokenState(
        asks_at=asks_at,
        nonce=bound_nonce(seed) if seed else random_source.randbytes(NONCE_BYTES),
        seed=seed,
        salt=random_source.randbytes(blind_rsa.DETERMINISTIC.salt_bytes),
        factor=_factor_drawn(key, random_source),
    )


def _factor_drawn(key: PublicKey, random_source: random.Random) -> int:
    return random_source.randrange(1, key.n)


def _asking_time(recipe: PublishedRecipe, random_source: random.Random, now: datetime) -> datetime:
    """Evenly between now and the first possible report; at once if that is past, or of a simulation."""
    span = (recipe.opens_at + recipe.steps_duration - now).total_seconds()
    wait = 0 if recipe.simulation else max(0, int(span)) * random_source.random()
    return now.replace(microsecond=0) + timedelta(seconds=int(wait))


class TokenClient(Closable):
    """Asks an attester for tokens of one recipe, and verifies them. Not safe to share between threads.

    Args:
        recipe: verified, with tokens.
        transport: for requests to other servers; stays open. The device asks the attester, which knows its
            devices, directly.
    """

    def __init__(self, recipe: PublishedRecipe, transport: Transport) -> None:
        self._admission = tokens_of(recipe)
        self._key, self._challenge_digest = token_key(self._admission), challenge(recipe).digest
        self._identifier, self._kem = recipe.identifier, recipe.hpke
        self._attester = transport.at(self._admission.attester_url)
        self._issuer_config: KeyConfig | None = None

    def close(self) -> None:
        self._attester.close()

    def obtained(
        self,
        state: TokenState,
        signing_key: Ed25519PrivateKey,
        store: Store,
        *,
        random_source: random.Random,
        created: int,
    ) -> TokenState:
        """The state with its token. Repeat until it returns: no second token is issued.

        Args:
            state: as drawn, or as last stored.
            signing_key: by which the attester knows this device.
            store: keeps the state; called ahead of every request, and with the token.
            random_source: `secrets.SystemRandom()`; seeded ones in simulations only.
            created: the current time, in seconds since 1970.

        Raises:
            NotAttestedError: the attester does not know the device.
            TokenLostError: no further attempt can succeed.
            RecipeNotOpenError: the recipe has closed, so the issuer signs nothing for it.
            WrongAnswerError: the attester or the issuer gave an invalid answer.
            TransportError: no token for another reason; another attempt may bring it.
        """
        pending = issuance.ask_with(self._key, self._challenge_digest, state.nonce, state.salt, state.factor)
        sealed = state if state.capsule else self._sealed(state, pending, store, random_source)
        answer = self._posted(sealed, signing_key, created)
        if answer.status != http.HTTPStatus.OK and _remedy(answer) is TokenRemedy.SEAL:
            # The issuer has not read the request, so sealing it to a newer key requests no second token.
            self._issuer_config = None
            sealed = self._sealed(state, pending, store, random_source)
            answer = self._posted(sealed, signing_key, created)
        if answer.status != http.HTTPStatus.OK:
            if _remedy(answer) is TokenRemedy.BLIND:
                # The token stays the same, whatever hides it from the issuer.
                factor = _factor_drawn(self._key, random_source)
                store(replace(sealed, factor=factor, capsule=b"", secret=b""))
            raise _refused(refusal(answer, TOKEN_TARGET), OF_ATTESTER)
        response = _opened(sealed, answer)
        if response.status != http.HTTPStatus.OK:
            # Nothing was issued; the same capsule would only bring the same answer.
            store(replace(sealed, capsule=b"", secret=b""))
            raise _refused(refusal(response, "the issuer"), OF_ISSUER)
        try:
            token = pending.finish(TokenResponse.decode(response.body))
        except (InvalidMessageError, InvalidResponseError) as error:
            # The same request gets the same signature, and a second one is not allowed.
            raise TokenLostError(f"the issuer's answer gives no token: {error}") from error
        done = replace(sealed, salt=b"", factor=0, capsule=b"", secret=b"", token=token.encode())
        store(done)
        return done

    def _sealed(
        self, state: TokenState, pending: PendingToken, store: Store, random_source: random.Random
    ) -> TokenState:
        """With a capsule to the issuer, stored."""
        request = token_request(self._admission.issuer_name, self._identifier, pending.request.encode())
        if self._issuer_config is None:
            self._issuer_config = self._fetched()
        try:
            capsule, context = capsules.seal(
                self._issuer_config, padding.padded(request.encode()), random_source
            )
        except InvalidMessageError as error:
            raise WrongAnswerError(f"the issuer's key cannot be used: {error}") from error
        sealed = replace(state, capsule=capsule, secret=context.secret)
        store(sealed)
        return sealed

    def _fetched(self) -> KeyConfig:
        answer = self._attester.get(KEYS_TARGET, accept=MEDIA_TYPE)
        signature = answer.headers.get(signed_keys.HEADER.lower(), "")
        issuer = public_key_of(self._admission.issuer_key)
        try:
            return signed_keys.verified(answer.body, signature, issuer, self._kem)[0]
        except UnsignedKeysError as error:
            raise WrongAnswerError(f"no token was asked for: {error}") from error

    def _posted(self, state: TokenState, signing_key: Ed25519PrivateKey, created: int) -> Answer:
        url = self._admission.attester_url + TOKEN_TARGET
        fields = sign_capsule(url, state.capsule, signing_key, created)
        return self._attester.exchange(
            *("POST", TOKEN_TARGET),
            body=state.capsule,
            content_type=fields.pop("Content-Type"),
            accept=capsules.RESPONSE_MEDIA_TYPE,
            fields=fields,
        )


def _opened(state: TokenState, answer: Answer) -> Answer:
    """The issuer's answer, which only this device can read."""
    try:
        opened = capsules.resumed(state.capsule, state.secret).open(answer.body)
        return answer_of(opened)
    except (capsules.CapsuleError, InvalidBinaryHttpError) as error:
        raise WrongAnswerError(f"the attester's answer is not the issuer's: {error}") from error


def _remedy(answer: Answer) -> TokenRemedy:
    return remedy(refusal(answer, TOKEN_TARGET).problem.get("type"), OF_ATTESTER)


def _refused(error: TransportError, answers: Mapping[str, TokenRemedy]) -> TransportError:
    """The same answer as an error that shows whether another attempt is useful."""
    kind = error.problem.get("type")
    if remedy(kind, answers) is TokenRemedy.FINAL:
        return error.as_type(RecipeNotOpenError if kind == NOT_OPEN else TokenLostError)
    return error.as_type(NotAttestedError) if kind == NOT_ATTESTED else error
