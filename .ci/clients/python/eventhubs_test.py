"""Microsoft's Python SDK for Event Hubs against the emulators, whose connection
string is in MESSAGING."""

import os
import threading
import unittest

from azure.eventhub import EventData, EventHubConsumerClient, EventHubProducerClient
from azure.eventhub.exceptions import AuthenticationError, ConnectError, EventDataSendError, EventHubError

HUB = "requests"
TEXT = os.environ["MESSAGING"]


class EventHubs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.producer = EventHubProducerClient.from_connection_string(TEXT, eventhub_name=HUB, retry_total=1)

    @classmethod
    def tearDownClass(cls):
        cls.producer.close()

    def end(self, partition):
        return self.producer.get_partition_properties(partition)["last_enqueued_sequence_number"]

    def read(self, partition, count, position, group="$Default", **options):
        events, done, problem = [], threading.Event(), []

        def take(context, event):
            if event is not None:
                events.append(event)
            if len(events) >= count:
                self.last = context.last_enqueued_event_properties
                done.set()

        def fail(_, error):
            problem.append(error)
            done.set()

        client = EventHubConsumerClient.from_connection_string(TEXT, group, eventhub_name=HUB, retry_total=1)
        thread = threading.Thread(target=client.receive, args=(take,), daemon=True, kwargs={
            "partition_id": partition, "starting_position": position, "on_error": fail, "max_wait_time": 1, **options})
        thread.start()
        self.assertTrue(done.wait(20), "no event came")
        client.close()
        thread.join(10)
        if problem:
            raise problem[0]
        return events

    def sent(self, partition, *events, **options):
        last = self.end(partition)
        self.producer.send_batch(list(events), partition_id=partition)
        return self.read(partition, len(events), last, **options)

    def test_partitions(self):
        self.assertEqual(self.producer.get_partition_ids(), ["0", "1", "2", "3"])

    def test_hub(self):
        self.assertEqual(self.producer.get_eventhub_properties()["eventhub_name"], HUB)

    def test_partition(self):
        e = self.sent("0", EventData("x"))[0]
        p = self.producer.get_partition_properties("0")
        self.assertEqual((p["last_enqueued_sequence_number"], p["last_enqueued_offset"], p["is_empty"]), (e.sequence_number, e.offset, False))

    def test_text_and_bytes(self):
        a, b = self.sent("1", EventData("text ü"), EventData(b"\x00\xff"))
        self.assertEqual((a.body_as_str(), b"".join(b.body)), ("text ü", b"\x00\xff"))

    def test_properties(self):
        e = EventData("x")
        e.properties = {"text": "s", "int": 1, "real": 1.5, "none": None}
        got = self.sent("2", e)[0].properties
        self.assertEqual({k.decode(): v for k, v in got.items()}, {"text": b"s", "int": 1, "real": 1.5, "none": None})

    def test_batch(self):
        last = self.end("3")
        batch = self.producer.create_batch(partition_id="3")
        for i in range(50):
            batch.add(EventData(str(i)))
        self.producer.send_batch(batch)
        self.assertEqual([e.body_as_str() for e in self.read("3", 50, last)], [str(i) for i in range(50)])

    def test_batch_has_a_limit(self):
        batch = self.producer.create_batch()
        self.assertEqual(batch.max_size_in_bytes, 1024 * 1024)
        with self.assertRaises(ValueError):
            batch.add(EventData(b"x" * 1_100_000))

    def test_key(self):
        before = [self.end(p) for p in "0123"]
        for _ in range(3):
            self.producer.send_batch([EventData("x")], partition_key="k")
        grew = [self.end(p) - b for p, b in zip("0123", before)]
        self.assertEqual(sorted(grew), [0, 0, 0, 3])
        p = grew.index(3)
        self.assertEqual(self.read(str(p), 1, before[p])[0].partition_key, b"k")

    def test_earliest(self):
        self.sent("0", EventData("x"))
        first = self.producer.get_partition_properties("0")["beginning_sequence_number"]
        self.assertEqual(self.read("0", 1, "-1")[0].sequence_number, first)

    def test_offset(self):
        a, b = self.sent("1", EventData("a"), EventData("b"))
        self.assertEqual(self.read("1", 1, a.offset)[0].sequence_number, b.sequence_number)
        self.assertEqual(self.read("1", 1, a.offset, starting_position_inclusive=True)[0].sequence_number, a.sequence_number)

    def test_time(self):
        e = self.sent("2", EventData("x"))[0]
        self.assertGreaterEqual(self.read("2", 1, e.enqueued_time)[0].enqueued_time, e.enqueued_time)

    def test_group(self):
        e = self.sent("3", EventData("x"), group="relay")[0]
        self.assertEqual(e.body_as_str(), "x")

    def test_last_enqueued(self):
        e = self.sent("0", EventData("x"), track_last_enqueued_event_properties=True)[0]
        self.assertEqual(self.last["sequence_number"], e.sequence_number)

    def test_owner_level(self):
        self.assertEqual(self.sent("1", EventData("x"), owner_level=2)[0].body_as_str(), "x")

    def test_missing_hub(self):
        with self.assertRaises(EventHubError):
            with EventHubProducerClient.from_connection_string(TEXT, eventhub_name="nothing", retry_total=0) as p:
                p.send_batch([EventData("x")])

    def test_wrong_key(self):
        text = ";".join("SharedAccessKey=wrong" if p.startswith("SharedAccessKey=") else p for p in TEXT.split(";"))
        with self.assertRaises((AuthenticationError, ConnectError)):
            with EventHubProducerClient.from_connection_string(text, eventhub_name=HUB, retry_total=0) as p:
                p.send_batch([EventData("x")])

    def test_too_large_and_then_the_next(self):
        with self.assertRaises((EventDataSendError, ValueError)):
            self.producer.send_event(EventData(b"x" * 1_100_000), partition_id="2")
        self.assertEqual(self.sent("2", EventData("small"))[0].body_as_str(), "small")


if __name__ == "__main__":
    unittest.main()
