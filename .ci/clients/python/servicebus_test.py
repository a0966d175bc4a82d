"""Microsoft's Python SDK for Service Bus against the emulators, whose connection
string is in MESSAGING."""

import datetime
import os
import unittest
import uuid

from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiveMode, ServiceBusSubQueue
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType
from azure.servicebus.exceptions import (
    MessageAlreadySettled, MessageLockLostError, MessageNotFoundError, MessageSizeExceededError,
    MessagingEntityNotFoundError, ServiceBusAuthenticationError, ServiceBusError,
)

QUEUE = "transactions"
TEXT = os.environ["MESSAGING"]
DEAD = {"sub_queue": ServiceBusSubQueue.DEAD_LETTER}


def open_client(text=TEXT):
    return ServiceBusClient.from_connection_string(text, retry_total=0)


def later(seconds=600):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)


class ServiceBus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = open_client()
        cls.sender = cls.client.get_queue_sender(QUEUE)
        cls.eyes = {name: cls.client.get_queue_receiver(QUEUE, **options) for name, options in (("active", {}), ("dead", DEAD))}

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def setUp(self):
        for name, options in (("active", {}), ("dead", DEAD)):
            while there := self.look(100, name):
                with self.deleting(**options) as r:
                    r.receive_messages(len(there), max_wait_time=1)
        self.receiver = self.client.get_queue_receiver(QUEUE)
        self.addCleanup(self.receiver.close)

    def look(self, count, name="active"):
        return self.eyes[name].peek_messages(count, sequence_number=1)

    def deleting(self, **options):
        return self.client.get_queue_receiver(QUEUE, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE, **options)

    def one(self, receiver=None):
        got = (receiver or self.receiver).receive_messages(1, max_wait_time=10)
        self.assertEqual(len(got), 1)
        return got[0]

    def sent(self, body=b"x", **options):
        self.sender.send_messages(ServiceBusMessage(body, **options))
        return self.one()

    def dead(self):
        with self.deleting(**DEAD) as r:
            return self.one(r)

    def bodies(self, messages):
        return [b"".join(m.body) for m in messages]

    def test_text_and_bytes(self):
        for body, want in (("text ü", "text ü".encode()), (b"\x00\xff", b"\x00\xff")):
            m = self.sent(body)
            self.assertEqual(b"".join(m.body), want)
            self.receiver.complete_message(m)
        self.assertEqual(self.look(1), [])

    def test_value_and_sequence(self):
        for name, kind, body in (("value_body", AmqpMessageBodyType.VALUE, {"a": "b"}), ("sequence_body", AmqpMessageBodyType.SEQUENCE, [[1, 2], [3]])):
            self.sender.send_messages(AmqpAnnotatedMessage(**{name: body}))
            m = self.one()
            self.assertEqual(m.raw_amqp_message.body_type, kind)
            self.receiver.complete_message(m)

    def test_many_frames(self):
        m = self.sent(bytes(200_000))
        self.assertEqual(b"".join(m.body), bytes(200_000))
        self.receiver.complete_message(m)

    def test_list(self):
        self.sender.send_messages([ServiceBusMessage(str(i)) for i in range(3)])
        self.assertEqual(self.bodies(self.look(10)), [b"0", b"1", b"2"])

    def test_batch(self):
        batch = self.sender.create_message_batch()
        self.assertEqual(batch.max_size_in_bytes, 256 * 1024)
        for i in range(50):
            batch.add_message(ServiceBusMessage(str(i)))
        with self.assertRaises(MessageSizeExceededError):
            batch.add_message(ServiceBusMessage(bytes(300_000)))
        self.sender.send_messages(batch)
        self.assertEqual(len(self.look(100)), 50)

    def test_too_large_and_then_the_next(self):
        with self.assertRaises(MessageSizeExceededError):
            self.sender.send_messages(ServiceBusMessage(bytes(300_000)))
        self.sender.send_messages(ServiceBusMessage("small"))
        self.assertEqual(self.bodies(self.look(5)), [b"small"])

    def test_one_id_is_one_message(self):
        name = str(uuid.uuid4())
        for body in ("1", "2"):
            self.sender.send_messages(ServiceBusMessage(body, message_id=name))
        self.assertEqual(self.bodies(self.look(5)), [b"1"])

    def test_properties(self):
        m = self.sent(application_properties={"text": "s", "int": 1, "real": 1.5, "yes": True}, subject="s", correlation_id="c",
                      content_type="application/json", to="t", reply_to="r", partition_key="p", time_to_live=datetime.timedelta(minutes=1))
        self.assertEqual({k.decode(): v for k, v in m.application_properties.items()}, {"text": b"s", "int": 1, "real": 1.5, "yes": True})
        self.assertEqual((m.subject, m.correlation_id, m.content_type, m.to, m.reply_to, m.partition_key),
                         ("s", "c", "application/json", "t", "r", "p"))
        self.assertEqual(m.expires_at_utc - m.enqueued_time_utc, datetime.timedelta(minutes=1))
        self.receiver.complete_message(m)

    def test_what_the_service_says(self):
        m = self.sent()
        self.assertEqual(m.delivery_count, 0)
        self.assertGreater(m.locked_until_utc, later(0))
        self.assertTrue(m.lock_token)
        self.assertTrue(m.message_id)
        self.receiver.complete_message(m)

    def test_schedule_and_cancel(self):
        numbers = self.sender.schedule_messages([ServiceBusMessage("1"), ServiceBusMessage("2")], later())
        self.assertEqual(len(numbers), 2)
        self.assertEqual(len(self.look(5)), 2)
        self.sender.cancel_scheduled_messages(numbers)
        self.assertEqual(self.look(5), [])

    def test_scheduled_comes_when_due(self):
        self.sender.schedule_messages(ServiceBusMessage("late"), later(1))
        m = self.one()
        self.assertEqual(b"".join(m.body), b"late")
        self.receiver.complete_message(m)

    def test_peek_from_a_number(self):
        self.sender.send_messages([ServiceBusMessage(str(i)) for i in range(3)])
        second = self.receiver.peek_messages(2)[1]
        self.assertEqual(self.bodies(self.receiver.peek_messages(9, sequence_number=second.sequence_number)), [b"1", b"2"])

    def test_nothing(self):
        self.assertEqual(self.receiver.receive_messages(5, max_wait_time=1), [])
        m = self.sent()
        self.receiver.complete_message(m)

    def test_credit_left(self):
        self.sender.send_messages([ServiceBusMessage(str(i)) for i in range(3)])
        got = self.receiver.receive_messages(10, max_wait_time=2)
        while len(got) < 3:
            got += self.receiver.receive_messages(10, max_wait_time=2)
        self.assertEqual(self.bodies(got), [b"0", b"1", b"2"])
        for m in got:
            self.receiver.complete_message(m)

    def test_receive_and_delete(self):
        self.sender.send_messages([ServiceBusMessage("1")])
        with self.deleting() as r:
            self.one(r)
        self.assertEqual(self.look(1), [])

    def test_iterator(self):
        self.sender.send_messages([ServiceBusMessage(str(i)) for i in range(5)])
        got = []
        with self.client.get_queue_receiver(QUEUE, max_wait_time=1) as r:
            for m in r:
                got.append(b"".join(m.body))
                r.complete_message(m)
        self.assertEqual(got, [b"0", b"1", b"2", b"3", b"4"])

    def test_abandon_counts(self):
        self.receiver.abandon_message(self.sent())
        m = self.one()
        self.assertEqual(m.delivery_count, 1)
        self.receiver.complete_message(m)

    def test_defer(self):
        m = self.sent("later")
        self.receiver.defer_message(m)
        got = self.receiver.receive_deferred_messages(m.sequence_number)
        self.assertEqual(self.bodies(got), [b"later"])
        self.receiver.complete_message(got[0])
        with self.assertRaises(MessageNotFoundError):
            self.receiver.receive_deferred_messages(m.sequence_number)

    def test_dead_letter(self):
        self.receiver.dead_letter_message(self.sent(), reason="r", error_description="d")
        m = self.dead()
        self.assertEqual((m.dead_letter_reason, m.dead_letter_error_description), ("r", "d"))

    def test_dead_letter_without_a_reason(self):
        self.receiver.dead_letter_message(self.sent())
        self.assertIsNone(self.dead().dead_letter_reason)

    def test_ten_deliveries_are_enough(self):
        self.sender.send_messages(ServiceBusMessage("x"))
        for _ in range(10):
            self.receiver.abandon_message(self.one())
        self.assertEqual(self.dead().dead_letter_reason, "MaxDeliveryCountExceeded")

    def test_renew_a_lock(self):
        m = self.sent()
        was = m.locked_until_utc
        self.assertGreater(self.receiver.renew_message_lock(m), was)
        self.receiver.complete_message(m)

    def test_settled_twice(self):
        m = self.sent()
        self.receiver.complete_message(m)
        with self.assertRaises(MessageAlreadySettled):
            self.receiver.complete_message(m)

    def test_missing_queue(self):
        # The SDK's error where the service's $cbs says 404.
        missing = (MessagingEntityNotFoundError, ServiceBusAuthenticationError)
        with self.assertRaises(missing):
            self.client.get_queue_sender("nothing").send_messages(ServiceBusMessage("x"))
        with self.assertRaises(missing):
            self.client.get_queue_receiver("nothing").receive_messages(1, max_wait_time=1)

    def test_wrong_key(self):
        text = ";".join("SharedAccessKey=wrong" if p.startswith("SharedAccessKey=") else p for p in TEXT.split(";"))
        with self.assertRaises(ServiceBusAuthenticationError), open_client(text) as c:
            c.get_queue_sender(QUEUE).send_messages(ServiceBusMessage("x"))

    def test_session_is_not_emulated(self):
        with self.assertRaises(ServiceBusError), self.client.get_queue_receiver(QUEUE, session_id="s") as r:
            r.receive_messages(1, max_wait_time=1)


if __name__ == "__main__":
    unittest.main()
