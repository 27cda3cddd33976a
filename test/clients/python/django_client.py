"""Django: a migration that creates the extension, a model with a field for each type, and indexes."""
import os

import django
from django.conf import settings

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"], "OPTIONS": {"options": "-c enable_seqscan=off"}}},
    INSTALLED_APPS=["django.contrib.postgres"], DEFAULT_AUTO_FIELD="django.db.models.BigAutoField")
django.setup()

# Django's settings must be set before these imports
from django.contrib.postgres.indexes import OpClass, PostgresIndex
from django.contrib.postgres.operations import CreateExtension
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState
from django.db.models import Avg, F, FloatField, Func, Sum, Value
from django.db.models.functions import Cast

from check import DISTANCES, NEAR, NEAR_BITS, ORDER, OPERATORS, ROWS, dense_from_text, dense_text, done, equal, message, sparse_from_text, sparse_text


class VectorField(models.Field):
    type_name = "vector"
    to_text = staticmethod(dense_text)
    from_text = staticmethod(dense_from_text)

    def __init__(self, *arguments, dims=None, **options):
        self.dims = dims
        super().__init__(*arguments, **options)

    def deconstruct(self):
        name, path, arguments, options = super().deconstruct()
        return name, path, arguments, {**options, "dims": self.dims}

    def db_type(self, connection):
        return self.type_name if self.dims is None else f"{self.type_name}({self.dims})"

    def get_prep_value(self, value):
        return value if value is None or isinstance(value, str) else self.to_text(value)

    def from_db_value(self, value, expression, connection):
        return value if value is None or not isinstance(value, str) else self.from_text(value)


class HalfVectorField(VectorField):
    type_name = "halfvec"


class SparseVectorField(VectorField):
    type_name = "sparsevec"
    to_text = staticmethod(sparse_text)
    from_text = staticmethod(sparse_from_text)


class BitsField(VectorField):
    type_name = "bit"
    from_text = staticmethod(str)


class HnswIndex(PostgresIndex):
    suffix = "hnsw"

    def get_with_params(self):
        return ["m = 16", "ef_construction = 64"]


class IvfflatIndex(PostgresIndex):
    suffix = "ivfflat"

    def get_with_params(self):
        return ["lists = 1"]


class Distance(Func):
    output_field = FloatField()

    def __init__(self, column, operator, value, field):
        super().__init__(F(column) if isinstance(column, str) else column, Value(value, output_field=field), template="(%(expressions)s)",
                         arg_joiner=f" {operator} ")


class Item(models.Model):
    dense = VectorField(dims=3, null=True)
    half = HalfVectorField(dims=3, null=True)
    bits = BitsField(dims=3, null=True)
    sparse = SparseVectorField(dims=3, null=True)

    class Meta:
        app_label = "shop"


class Migration(migrations.Migration):
    operations = [
        CreateExtension("vector"),
        migrations.CreateModel("Item", [(field.name, field.clone()) for field in Item._meta.fields]),
        migrations.AddIndex("item", HnswIndex(fields=["dense"], name="item_dense", opclasses=["vector_l2_ops"])),
        migrations.AddIndex("item", IvfflatIndex(fields=["dense"], name="item_lists", opclasses=["vector_ip_ops"])),
        migrations.AddIndex("item", HnswIndex(fields=["bits"], name="item_bits", opclasses=["bit_hamming_ops"])),
        migrations.AddIndex("item", HnswIndex(OpClass(Cast("dense", HalfVectorField(dims=3)), name="halfvec_cosine_ops"), name="item_half")),
    ]


# the state of the project must know the application before an index with an expression is added; CreateModel sees to this
with connection.schema_editor() as editor:
    Migration("first", "shop").apply(ProjectState(), editor)
Item.objects.bulk_create(Item(**row) for row in ROWS)


def ids(column, operator, value, field):
    return list(Item.objects.order_by(Distance(column, operator, value, field)).values_list("id", flat=True)[:5])


item = Item.objects.get(pk=2)
equal("django: the types come back", (item.dense, item.half, item.bits, item.sparse), ([2, 2, 1], [2, 2, 1], "101", {0: 2, 1: 2, 2: 1}))
item.save()
for name, operator in OPERATORS.items():
    equal(f"django: {name}", lambda: ids("dense", operator, NEAR, VectorField()), ORDER[name])
    if name in DISTANCES:
        equal(f"django: the distances of {name}", lambda: list(Item.objects.order_by("id").values_list(
            Distance("dense", operator, NEAR, VectorField()), flat=True)), DISTANCES[name])
equal("django: hnsw of a cast", lambda: ids(Cast("dense", HalfVectorField(dims=3)), "<=>", NEAR, HalfVectorField()), ORDER["cosine"])
equal("django: hnsw of bits", lambda: ids("bits", "<~>", NEAR_BITS, BitsField(dims=3)), ORDER["hamming"])
equal("django: sparsevec", lambda: ids("sparse", "<->", ROWS[0]["sparse"], SparseVectorField()), ORDER["l2"])
equal("django: filter", lambda: list(Item.objects.annotate(distance=Distance("dense", "<->", NEAR, VectorField())).filter(
    distance__lt=1.2).order_by("id").values_list("id", flat=True)), [1, 3])
equal("django: averages and sums", lambda: Item.objects.filter(pk__gt=1).aggregate(
    mean=Avg("dense", output_field=VectorField()), total=Sum("half", output_field=HalfVectorField())), {"mean": [1.5, 1.5, 1.5], "total": [3, 3, 3]})
equal("django: another number of dimensions", lambda: message(lambda: Item.objects.create(dense=[1, 2])), "expected 3 dimensions, not 2")
with connection.cursor() as cursor:
    equal("django: its indexes are there", lambda: sorted(name for name, one in connection.introspection.get_constraints(
        cursor, "shop_item").items() if one["index"] and not one["primary_key"]), ["item_bits", "item_dense", "item_half", "item_lists"])
connection.close()
done()
