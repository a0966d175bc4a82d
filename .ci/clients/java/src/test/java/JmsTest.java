import static org.junit.jupiter.api.Assertions.*;

import jakarta.jms.*;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.apache.qpid.jms.policy.JmsDefaultDeserializationPolicy;
import org.junit.jupiter.api.*;

/** JMS over AMQP, as Apache Qpid speaks it, against the emulators, whose connection string is in MESSAGING. */
@Timeout(60)
class JmsTest {
    static final String QUEUE = "transactions";
    static Connection connection;
    Session session;
    Queue queue;

    @BeforeAll
    static void connect() throws Exception {
        connection = factory(part("SharedAccessKey")).createConnection();
        connection.start();
    }

    @AfterAll
    static void close() throws Exception {
        connection.close();
    }

    static String part(String name) {
        for (String part : System.getenv("MESSAGING").split(";")) {
            if (part.startsWith(name + "=")) return part.substring(name.length() + 1);
        }
        throw new IllegalArgumentException(name);
    }

    static JmsConnectionFactory factory(String key) {
        String address = part("Endpoint").replace("sb://", "amqp://");
        return new JmsConnectionFactory(part("SharedAccessKeyName"), key, address + "?jms.requestTimeout=20000&jms.localMessageExpiry=false");
    }

    @BeforeEach
    void open() throws Exception {
        session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        queue = session.createQueue(QUEUE);
        for (String name : new String[] {QUEUE, QUEUE + "/$DeadLetterQueue"}) {
            try (Session s = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
                    MessageConsumer c = s.createConsumer(s.createQueue(name))) {
                while (c.receive(150) != null) {}
            }
        }
    }

    @AfterEach
    void end() throws Exception {
        session.close();
    }

    void send(Message m) throws Exception {
        try (MessageProducer p = session.createProducer(queue)) {
            p.send(m);
        }
    }

    Message receive(String name) throws Exception {
        try (Session s = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
                MessageConsumer c = s.createConsumer(s.createQueue(name))) {
            return c.receive(10_000);
        }
    }

    void assertEmpty() throws Exception {
        try (Session s = connection.createSession(false, Session.AUTO_ACKNOWLEDGE); MessageConsumer c = s.createConsumer(queue)) {
            assertNull(c.receive(300));
        }
    }

    @Test
    void text() throws Exception {
        send(session.createTextMessage("text ü"));
        assertEquals("text ü", ((TextMessage) receive(QUEUE)).getText());
    }

    @Test
    void bytes() throws Exception {
        BytesMessage m = session.createBytesMessage();
        m.writeBytes(new byte[100_000]);
        send(m);
        assertEquals(100_000, ((BytesMessage) receive(QUEUE)).getBodyLength());
    }

    @Test
    void map() throws Exception {
        MapMessage m = session.createMapMessage();
        m.setString("text", "s");
        m.setLong("long", 1L << 40);
        m.setChar("char", 'ü');
        send(m);
        MapMessage got = (MapMessage) receive(QUEUE);
        assertEquals("s", got.getString("text"));
        assertEquals(1L << 40, got.getLong("long"));
        assertEquals('ü', got.getChar("char"));
    }

    @Test
    void stream() throws Exception {
        StreamMessage m = session.createStreamMessage();
        m.writeInt(1);
        m.writeString("two");
        send(m);
        StreamMessage got = (StreamMessage) receive(QUEUE);
        assertEquals(1, got.readInt());
        assertEquals("two", got.readString());
    }

    @Test
    void object() throws Exception {
        send(session.createObjectMessage(UUID.fromString("00000000-0000-0001-0000-000000000002")));
        JmsConnectionFactory trusting = factory(part("SharedAccessKey"));
        JmsDefaultDeserializationPolicy policy = new JmsDefaultDeserializationPolicy();
        policy.setAllowList("java.util");
        trusting.setDeserializationPolicy(policy);
        try (Connection c = trusting.createConnection()) {
            c.start();
            Session s = c.createSession(false, Session.AUTO_ACKNOWLEDGE);
            ObjectMessage got = (ObjectMessage) s.createConsumer(s.createQueue(QUEUE)).receive(10_000);
            assertEquals(new UUID(1, 2), got.getObject());
        }
    }

    @Test
    void properties() throws Exception {
        Message m = session.createTextMessage("x");
        m.setStringProperty("text", "s");
        m.setByteProperty("b", (byte) 1);
        m.setShortProperty("s", (short) 2);
        m.setFloatProperty("f", 1.5f);
        m.setBooleanProperty("yes", true);
        m.setJMSCorrelationID("c");
        m.setJMSType("subject");
        m.setJMSReplyTo(session.createQueue("answers"));
        send(m);
        Message got = receive(QUEUE);
        assertEquals("s", got.getStringProperty("text"));
        assertEquals(1, got.getByteProperty("b"));
        assertEquals(2, got.getShortProperty("s"));
        assertEquals(1.5f, got.getFloatProperty("f"));
        assertTrue(got.getBooleanProperty("yes"));
        assertEquals("c", got.getJMSCorrelationID());
        assertEquals("subject", got.getJMSType());
        assertEquals(m.getJMSMessageID(), got.getJMSMessageID());
        assertEquals("answers", ((Queue) got.getJMSReplyTo()).getQueueName());
        assertEquals(1, got.getIntProperty("JMSXDeliveryCount"));
    }

    @Test
    void clientAcknowledge() throws Exception {
        for (int i = 0; i < 3; i++) send(session.createTextMessage("" + i));
        try (MessageConsumer c = session.createConsumer(queue)) {
            c.receive(10_000);
            c.receive(10_000);
            c.receive(10_000).acknowledge(); // and all before it
        }
        assertEmpty();
    }

    @Test
    void notAcknowledgedComesAgain() throws Exception {
        send(session.createTextMessage("x"));
        try (MessageConsumer c = session.createConsumer(queue)) {
            assertNotNull(c.receive(10_000));
            session.recover();
            Message again = c.receive(10_000);
            assertTrue(again.getJMSRedelivered());
            assertEquals(2, again.getIntProperty("JMSXDeliveryCount"));
            again.acknowledge();
        }
        assertEmpty();
    }

    @Test
    void deadLetterByRejecting() throws Exception {
        send(session.createTextMessage("bad"));
        try (MessageConsumer c = session.createConsumer(queue)) {
            Message m = c.receive(10_000);
            m.setIntProperty("JMS_AMQP_ACK_TYPE", 2); // rejected
            m.acknowledge();
        }
        assertEquals("bad", ((TextMessage) receive(QUEUE + "/$DeadLetterQueue")).getText());
    }

    @Test
    void listener() throws Exception {
        try (Session s = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            CountDownLatch all = new CountDownLatch(20);
            s.createConsumer(queue).setMessageListener(m -> all.countDown());
            for (int i = 0; i < 20; i++) send(session.createTextMessage("" + i));
            assertTrue(all.await(20, TimeUnit.SECONDS));
        }
        assertEmpty();
    }

    @Test
    void asynchronousSend() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        try (MessageProducer p = session.createProducer(queue)) {
            p.send(session.createTextMessage("x"), new CompletionListener() {
                public void onCompletion(Message m) { done.countDown(); }
                public void onException(Message m, Exception e) {}
            });
            assertTrue(done.await(10, TimeUnit.SECONDS));
        }
        assertNotNull(receive(QUEUE));
    }

    @Test
    void delayIsRefused() throws Exception { // by the client, to which nobody offers it
        try (MessageProducer p = session.createProducer(queue)) {
            p.setDeliveryDelay(800);
            assertThrows(JMSException.class, () -> p.send(session.createTextMessage("late")));
        }
    }

    @Test
    void timeToLive() throws Exception {
        try (MessageProducer p = session.createProducer(queue)) {
            p.setTimeToLive(200);
            p.send(session.createTextMessage("short"));
        }
        Message dead = receive(QUEUE + "/$DeadLetterQueue");
        assertEquals("TTLExpiredException", dead.getStringProperty("DeadLetterReason"));
    }

    @Test
    void tooLargeAndThenTheNext() throws Exception {
        try (MessageProducer p = session.createProducer(queue)) {
            BytesMessage m = session.createBytesMessage();
            m.writeBytes(new byte[300_000]);
            JMSException e = assertThrows(JMSException.class, () -> p.send(m));
            assertTrue(e.getMessage().contains("amqp:link:message-size-exceeded"), e.getMessage());
            p.send(session.createTextMessage("small"));
        }
        assertEquals("small", ((TextMessage) receive(QUEUE)).getText());
    }

    @Test
    void browserIsRefused() throws Exception {
        send(session.createTextMessage("x"));
        try (QueueBrowser b = session.createBrowser(queue)) {
            JMSException e = assertThrows(JMSException.class, () -> b.getEnumeration().hasMoreElements());
            assertTrue(e.getMessage().contains("amqp:not-implemented"), e.getMessage());
        }
        assertNotNull(receive(QUEUE));
    }

    @Test
    void selectorIsRefused() throws Exception {
        JMSException e = assertThrows(JMSException.class, () -> session.createConsumer(queue, "colour = 'red'"));
        assertTrue(e.getMessage().contains("amqp:not-implemented"), e.getMessage());
    }

    @Test
    void transactionIsRefused() throws Exception {
        JMSException e = assertThrows(JMSException.class, () -> connection.createSession(true, Session.SESSION_TRANSACTED));
        assertTrue(e.getMessage().contains("not-implemented"), e.getMessage());
    }

    @Test
    void temporaryQueueIsRefused() throws Exception {
        JMSException e = assertThrows(JMSException.class, () -> session.createTemporaryQueue());
        assertTrue(e.getMessage().contains("not-implemented"), e.getMessage());
    }

    @Test
    void missingQueue() throws Exception {
        assertThrows(InvalidDestinationException.class, () -> session.createConsumer(session.createQueue("nothing")));
        assertThrows(InvalidDestinationException.class, () -> session.createProducer(session.createQueue("nothing")));
    }

    @Test
    void wrongKey() throws Exception {
        assertThrows(JMSSecurityException.class, () -> {
            try (Connection c = factory("wrong").createConnection()) {
                c.start();
            }
        });
    }

    @Test
    void noKey() throws Exception {
        assertThrows(JMSException.class, () -> {
            try (Connection c = new JmsConnectionFactory(part("Endpoint").replace("sb://", "amqp://")).createConnection()) {
                c.start();
                c.createSession().createConsumer(queue);
            }
        });
    }
}
