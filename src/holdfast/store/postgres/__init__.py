"""The PostgreSQL engine: any number of processes on one database, four lanes each.

What each method promises is said in `store.engine`; here it is said what is particular to PostgreSQL.
"""

from holdfast.store.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
