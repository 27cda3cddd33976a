"""SQLAlchemy, with a type for each of pgvector's: its ORM by psycopg2, and its asynchronous engine by asyncpg."""
import asyncio

from sqlalchemy import BigInteger, Column, Float, Index, MetaData, cast, create_engine, func, inspect, select, text
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.types import UserDefinedType

from check import DISTANCES, NEAR, NEAR_BITS, ORDER, OPERATORS, ROWS, dense_from_text, dense_text, done, equal, message, sparse_from_text, sparse_text


class VECTOR(UserDefinedType):
    cache_ok = True
    name = "VECTOR"
    to_text = staticmethod(dense_text)
    from_text = staticmethod(dense_from_text)

    def __init__(self, dims=None):
        super().__init__()
        self.dims = dims

    def get_col_spec(self, **_):
        return self.name if self.dims is None else f"{self.name}({self.dims})"

    def bind_processor(self, dialect):
        return lambda value: value if value is None or isinstance(value, str) else self.to_text(value)

    def result_processor(self, dialect, coltype):
        return lambda value: value if value is None else self.from_text(value)

    class comparator_factory(UserDefinedType.Comparator):
        def distance(self, operator, other):
            return self.op(operator, return_type=Float)(other)


class HALFVEC(VECTOR):
    cache_ok = True
    name = "HALFVEC"


class SPARSEVEC(VECTOR):
    cache_ok = True
    name = "SPARSEVEC"
    to_text = staticmethod(sparse_text)
    from_text = staticmethod(sparse_from_text)


class BITS(VECTOR):
    cache_ok = True
    name = "BIT"
    from_text = staticmethod(str)


# the classes that reflection uses for the columns
ischema_names.update({"vector": VECTOR, "halfvec": HALFVEC, "sparsevec": SPARSEVEC})
Base = declarative_base()


class Item(Base):
    __tablename__ = "item"
    id = Column(BigInteger, primary_key=True)
    dense = Column(VECTOR(3))
    half = Column(HALFVEC(3))
    bits = Column(BITS(3))
    sparse = Column(SPARSEVEC(3))


Index("item_dense", Item.dense, postgresql_using="hnsw", postgresql_with={"m": 16, "ef_construction": 64}, postgresql_ops={"dense": "vector_l2_ops"})
Index("item_half", cast(Item.dense, HALFVEC(3)).label("as_half"), postgresql_using="hnsw", postgresql_ops={"as_half": "halfvec_l2_ops"})
Index("item_lists", Item.dense, postgresql_using="ivfflat", postgresql_with={"lists": 1}, postgresql_ops={"dense": "vector_ip_ops"})

# host, port, user and database come from environment variables
engine = create_engine("postgresql+psycopg2://")
with Session(engine) as session:
    session.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    session.commit()
Base.metadata.create_all(engine)


def scalars(statement, *before):
    with Session(engine) as session:
        for setting in before:
            session.execute(text(setting))
        return session.execute(statement).scalars().all()


with Session(engine) as session:
    session.add_all(Item(**row) for row in ROWS)
    session.commit()
    item = session.get(Item, 2)
    equal("sqlalchemy: the types come back", (item.dense, item.half, item.bits, item.sparse), ([2, 2, 1], [2, 2, 1], "101", {0: 2, 1: 2, 2: 1}))
    item.half = [2, 2, 1]
    session.commit()
for name, operator in OPERATORS.items():
    distance = Item.dense.distance(operator, NEAR)
    equal(f"sqlalchemy: {name}", lambda: scalars(select(Item.id).order_by(distance)), ORDER[name])
    if name in DISTANCES:
        equal(f"sqlalchemy: the distances of {name}", lambda: scalars(select(distance).order_by(Item.id)), DISTANCES[name])
for name, operator in (("hamming", "<~>"), ("jaccard", "<%>")):
    equal(f"sqlalchemy: {name}", lambda: scalars(select(Item.id).order_by(Item.bits.distance(operator, NEAR_BITS))), ORDER[name])
equal("sqlalchemy: sparsevec", lambda: scalars(select(Item.id).order_by(Item.sparse.distance("<=>", ROWS[0]["sparse"]))), ORDER["cosine"])
equal("sqlalchemy: where", lambda: scalars(select(Item.id).where(Item.dense.distance("<->", NEAR) < 1.2).order_by(Item.id)), [1, 3])
equal("sqlalchemy: averages", lambda: scalars(select(func.avg(Item.dense, type_=VECTOR)).where(Item.id > 1)), [[1.5, 1.5, 1.5]])
equal("sqlalchemy: sums", lambda: scalars(select(func.sum(Item.half, type_=HALFVEC)).where(Item.id > 1)), [[3, 3, 3]])
off = "SET LOCAL enable_seqscan = off"
equal("sqlalchemy: hnsw", lambda: scalars(select(Item.id).order_by(Item.dense.distance("<->", NEAR)).limit(5), off), ORDER["l2"])
equal("sqlalchemy: hnsw of a cast", lambda: scalars(select(Item.id).order_by(
    cast(Item.dense, HALFVEC(3)).distance("<->", NEAR)).limit(5), off, "SET LOCAL hnsw.ef_search = 100"), ORDER["l2"])
equal("sqlalchemy: ivfflat", lambda: scalars(select(Item.id).order_by(Item.dense.distance("<#>", NEAR)).limit(5), off), ORDER["ip"])
equal("sqlalchemy: another number of dimensions", lambda: message(lambda: scalars(
    text("INSERT INTO item (dense) VALUES ('[1,2]') RETURNING id"))), "expected 3 dimensions, not 2")

found = MetaData()
found.reflect(engine)
equal("sqlalchemy: reflected columns", lambda: [str(column.type) for column in found.tables["item"].columns][1:], ["VECTOR(3)", "HALFVEC(3)", "BIT", "SPARSEVEC(3)"])
equal("sqlalchemy: reflected indexes", lambda: sorted(
    (index["name"], index["dialect_options"]["postgresql_using"]) for index in inspect(engine).get_indexes("item")),
    [("item_dense", "hnsw"), ("item_lists", "ivfflat")])
Mapped = automap_base()
Mapped.prepare(autoload_with=engine)
equal("sqlalchemy: automap", lambda: scalars(select(Mapped.classes.item.dense).where(Mapped.classes.item.id == 3)), [[1, 1, 2]])
engine.dispose()


async def asynchronous():
    other = create_async_engine("postgresql+asyncpg://", connect_args={"server_settings": {"enable_seqscan": "off"}})
    async with other.connect() as connection:
        found = (await connection.execute(select(Item.id).order_by(Item.dense.distance("<->", NEAR)).limit(5))).scalars().all()
        back = (await connection.execute(select(Item.dense, Item.half).where(Item.id == 2))).one()
    await other.dispose()
    return found, tuple(back)

equal("sqlalchemy: asynchronous", lambda: asyncio.run(asynchronous()), (ORDER["l2"], ([2, 2, 1], [2, 2, 1])))
done()
