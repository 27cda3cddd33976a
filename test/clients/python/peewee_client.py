"""peewee, with a field for each type."""
import os

from peewee import BigAutoField, Expression, Field, Model, PostgresqlDatabase, SQL, Value, fn

from check import BY_INDEX, DISTANCES, NEAR, NEAR_BITS, ORDER, OPERATORS, ROWS, dense_from_text, dense_text, done, equal, sparse_from_text, sparse_text

database = PostgresqlDatabase(os.environ["PGDATABASE"], autorollback=True)


class VectorField(Field):
    field_type = "vector"

    def __init__(self, dims, *arguments, **options):
        self.dims = dims
        super().__init__(*arguments, **options)

    def get_modifiers(self):
        return [self.dims]

    def db_value(self, value):
        return value if value is None or isinstance(value, str) else dense_text(value)

    def python_value(self, value):
        return value if value is None else dense_from_text(value)

    def distance(self, operator, values):
        return Expression(self, operator, Value(self.db_value(values), converter=False)).converter(float)


class HalfVectorField(VectorField):
    field_type = "halfvec"


class SparseVectorField(VectorField):
    field_type = "sparsevec"

    def db_value(self, value):
        return value if value is None else sparse_text(value)

    def python_value(self, value):
        return value if value is None else sparse_from_text(value)


class BitsField(VectorField):
    field_type = "bit"

    def python_value(self, value):
        return value


class Item(Model):
    id = BigAutoField()
    dense = VectorField(3, null=True)
    half = HalfVectorField(3, null=True)
    bits = BitsField(3, null=True)
    sparse = SparseVectorField(3, null=True)

    class Meta:
        database = database
        table_name = "item"


Item.add_index(SQL("CREATE INDEX item_dense ON item USING hnsw (dense vector_l2_ops) WITH (m = 16, ef_construction = 64)"))
Item.add_index(SQL("CREATE INDEX item_half ON item USING hnsw (half halfvec_cosine_ops)"))
Item.add_index(SQL("CREATE INDEX item_bits ON item USING hnsw (bits bit_hamming_ops)"))

database.connect()
database.execute_sql("CREATE EXTENSION IF NOT EXISTS vector")
database.create_tables([Item])
Item.insert_many([{key: row[key] for key in ("dense", "half", "bits", "sparse")} for row in ROWS]).execute()


def ids(field, operator, values):
    return [item.id for item in Item.select().order_by(field.distance(operator, values)).limit(5)]


item = Item.get_by_id(2)
equal("peewee: the types come back", (item.dense, item.half, item.bits, item.sparse), ([2, 2, 1], [2, 2, 1], "101", {0: 2, 1: 2, 2: 1}))
for name, operator in OPERATORS.items():
    equal(f"peewee: {name}", lambda: ids(Item.dense, operator, NEAR), ORDER[name])
    if name in DISTANCES:
        equal(f"peewee: the distances of {name}", lambda: [item.distance for item in Item.select(
            Item.dense.distance(operator, NEAR).alias("distance")).order_by(Item.id)], DISTANCES[name])
equal("peewee: where", lambda: [item.id for item in Item.select().where(Item.dense.distance("<->", NEAR) < 1.2).order_by(Item.id)], [1, 3])
equal("peewee: averages", lambda: dense_from_text(Item.select(fn.AVG(Item.dense).coerce(False)).where(Item.id > 1).scalar()), [1.5, 1.5, 1.5])
equal("peewee: sums", lambda: dense_from_text(Item.select(fn.SUM(Item.half).coerce(False)).where(Item.id > 1).scalar()), [3, 3, 3])
equal("peewee: get_or_create", lambda: [Item.get_or_create(id=4, defaults={"dense": [9, 9, 9]})[0].dense for _ in range(2)], [[9, 9, 9], [9, 9, 9]])
Item.delete_by_id(4)
database.execute_sql(BY_INDEX)
equal("peewee: hnsw", lambda: ids(Item.dense, "<->", NEAR), ORDER["l2"])
equal("peewee: hnsw of halfvec", lambda: ids(Item.half, "<=>", NEAR), ORDER["cosine"])
equal("peewee: hnsw of bits", lambda: ids(Item.bits, "<~>", NEAR_BITS), ORDER["hamming"])
equal("peewee: its indexes are there", lambda: sorted(index.name for index in database.get_indexes("item")),
      ["item_bits", "item_dense", "item_half", "item_pkey"])
database.close()
done()
