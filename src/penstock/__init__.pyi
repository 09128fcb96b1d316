from penstock.client.client import connect as connect
from penstock.engines.spark.engine import Engine as Engine
from penstock.errors import PenstockError as PenstockError
from penstock.sql.builder import stream as stream

__version__: str
__all__ = ["Engine", "PenstockError", "__version__", "connect", "stream"]
