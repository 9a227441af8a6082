"""Why a sign-in at the provider opened no session."""


class SignInRefusedError(Exception):
    """The message names the check that failed, in words of ours: it is logged, and holds nothing that came
    from outside."""


class ProviderSilentError(SignInRefusedError):
    """The provider did not answer, or not as a provider does."""


class ProviderRefusedError(SignInRefusedError):
    """The provider sent the browser back with an error, or the person cancelled there."""

    def __init__(self) -> None:
        super().__init__("the provider's own refusal")


class NoRoleError(SignInRefusedError):
    """None of the person's groups has a role."""

    def __init__(self) -> None:
        super().__init__("no role")


class SwitchedOffError(SignInRefusedError):
    """The account is switched off.

    Attributes:
        account: its name.
    """

    def __init__(self, account: str) -> None:
        super().__init__("switched off")
        self.account = account
