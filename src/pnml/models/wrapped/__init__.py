"""Models of other libraries inside model files: their own formats, checked, and no pickle."""

from pnml.models.wrapped.dispatch import WRAPPED_CODECS as WRAPPED_CODECS
from pnml.models.wrapped.dispatch import stored_form as stored_form
from pnml.models.wrapped.fingerprint import CloneOf as CloneOf
from pnml.models.wrapped.fingerprint import Fingerprint as Fingerprint
from pnml.models.wrapped.fingerprint import RowsOf as RowsOf
from pnml.models.wrapped.fingerprint import UnfittedModel as UnfittedModel
from pnml.models.wrapped.fingerprint import WrappedModel as WrappedModel
