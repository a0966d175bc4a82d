"""Microsoft's Python SDK for Cosmos DB against the emulators, whose connection
string is in COSMOS."""

import os
import unittest
import uuid

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError, CosmosBatchOperationError, CosmosHttpResponseError, CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)

TEXT = os.environ["COSMOS"]


class Cosmos(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = CosmosClient.from_connection_string(TEXT)
        cls.database = cls.client.create_database(f"py-{uuid.uuid4()}")
        cls.container = cls.database.create_container("items", PartitionKey("/pk"))
        for i in range(12):
            cls.container.create_item({"id": f"n{i}", "pk": f"k{i}", "n": i, "all": True})

    @classmethod
    def tearDownClass(cls):
        cls.client.delete_database(cls.database.id)
        cls.client.close()

    def test_items(self):
        self.container.create_item({"id": "a", "pk": "p", "n": 1})
        self.assertEqual(self.container.read_item("a", "p")["n"], 1)
        self.container.replace_item("a", {"id": "a", "pk": "p", "n": 2})
        self.assertEqual(self.container.upsert_item({"id": "a", "pk": "p", "n": 3})["n"], 3)
        self.container.delete_item("a", "p")
        with self.assertRaises(CosmosResourceNotFoundError):
            self.container.read_item("a", "p")

    def test_twice(self):
        with self.assertRaises(CosmosResourceExistsError):
            self.container.create_item({"id": "n0", "pk": "k0"})

    def test_condition(self):
        first = self.container.upsert_item({"id": "c", "pk": "p"})
        self.container.upsert_item({"id": "c", "pk": "p", "n": 1})
        with self.assertRaises(CosmosAccessConditionFailedError):
            self.container.replace_item("c", first, etag=first["_etag"], match_condition=MatchConditions.IfNotModified)

    def test_patch(self):
        self.container.upsert_item({"id": "d", "pk": "p"})
        got = self.container.patch_item("d", "p", [{"op": "add", "path": "/n", "value": 1}, {"op": "incr", "path": "/n", "value": 2}])
        self.assertEqual(got["n"], 3)

    def test_ids(self):
        for name in ("a b", "ü€😀", "a%b", "a+b", "it's", "a&b=c"):
            with self.subTest(name):
                self.container.upsert_item({"id": name, "pk": "p"})
                self.assertEqual(self.container.read_item(name, "p")["id"], name)
                self.container.delete_item(name, "p")

    def test_batch(self):
        results = self.container.execute_item_batch([("create", ({"id": "b1", "pk": "p"},)), ("delete", ("b1",))], "p")
        self.assertEqual([r["statusCode"] for r in results], [201, 204])
        with self.assertRaises(CosmosBatchOperationError):
            self.container.execute_item_batch([("create", ({"id": "b2", "pk": "p"},)), ("delete", ("nothing",))], "p")

    def test_query(self):
        got = self.container.query_items("SELECT VALUE c.n FROM c WHERE c.n > @n", parameters=[{"name": "@n", "value": 2}], partition_key="k3")
        self.assertEqual(list(got), [3])

    def test_query_across_partitions(self):
        got = self.container.query_items("SELECT VALUE c.n FROM c WHERE c.all", enable_cross_partition_query=True)
        self.assertEqual(sorted(got), list(range(12)))

    def test_query_across_partitions_in_order_is_not_emulated(self):
        with self.assertRaises(CosmosHttpResponseError) as e:
            list(self.container.query_items("SELECT * FROM c ORDER BY c.n", enable_cross_partition_query=True))
        self.assertEqual(e.exception.status_code, 400)

    def test_pages(self):
        pages = self.container.query_items("SELECT VALUE c.n FROM c WHERE c.all", enable_cross_partition_query=True, max_item_count=5).by_page()
        self.assertEqual(sorted(n for page in pages for n in page), list(range(12)))

    def test_read_many(self):
        got = self.container.read_items([(f"n{i}", f"k{i}") for i in range(12)])
        self.assertEqual(sorted(i["n"] for i in got), list(range(12)))

    def test_read_many_without_a_version(self):
        old = self.database.create_container("old", PartitionKey("/pk", version=1))
        for i in range(12):
            old.create_item({"id": f"n{i}", "pk": f"k{i}"})
        self.assertEqual(len(list(old.read_items([(f"n{i}", f"k{i}") for i in range(12)]))), 12)

    def test_all_items(self):
        self.assertGreaterEqual(len(list(self.container.read_all_items())), 12)

    def test_feed_ranges(self):
        got = []
        for r in self.container.read_feed_ranges():
            got += self.container.query_items("SELECT VALUE c.n FROM c WHERE c.all", feed_range=r)
        self.assertEqual(sorted(got), list(range(12)))

    def test_throughput(self):
        self.assertEqual(self.container.get_throughput().offer_throughput, 400)

    def test_catalog(self):
        self.assertEqual(self.container.read()["id"], "items")
        self.assertIn(self.database.id, [d["id"] for d in self.client.list_databases()])
        with self.assertRaises(CosmosResourceNotFoundError):
            self.database.get_container_client("nothing").read()

    def test_wrong_key(self):
        text = ";".join("AccountKey=d3Jvbmc=" if p.startswith("AccountKey=") else p for p in TEXT.split(";"))
        with self.assertRaises(CosmosHttpResponseError) as e:
            CosmosClient.from_connection_string(text)
        self.assertEqual(e.exception.status_code, 401)


if __name__ == "__main__":
    unittest.main()
