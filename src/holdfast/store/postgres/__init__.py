"""The PostgreSQL engine: any number of processes on one database, four lanes each."""

from holdfast.store.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
