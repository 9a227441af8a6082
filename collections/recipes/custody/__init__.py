"""Who gets the private keys of a recipe, and how: one file per trust model; this is the registry."""

from collections.abc import Mapping

from panprivacy.trust import Trust
from recipes.custody.curator import CuratorCustody
from recipes.custody.interface import Custody
from recipes.custody.shuffler import ShufflerCustody
from recipes.custody.single_server import SingleServerCustody
from recipes.custody.two_server import TwoServerCustody

CUSTODIES: Mapping[Trust, Custody] = {
    custody.trust: custody
    for custody in (SingleServerCustody(), TwoServerCustody(), ShufflerCustody(), CuratorCustody())
}
