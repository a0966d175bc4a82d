// Microsoft's JavaScript SDK for Service Bus against the emulators, whose
// connection string is in MESSAGING.

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { ServiceBusClient, delay } from '@azure/service-bus'

const queue = 'transactions'
const retryOptions = { maxRetries: 1, retryDelayInMs: 10, timeoutInMs: 15_000 }
let client, sender, receiver

const open = (text = process.env.MESSAGING) => new ServiceBusClient(text, { retryOptions })
const id = () => crypto.randomUUID()
const one = async (from = receiver) => {
  const [m] = await from.receiveMessages(1, { maxWaitTimeInMs: 10_000 })
  assert.ok(m, 'a message')
  return m
}
const dead = (mode) => client.createReceiver(queue, { subQueueType: 'deadLetter', receiveMode: mode })
// look peeks at what is there: with a client of its own, since a client peeks at
// each message once.
const look = async (n, options) => {
  const c = open()
  try { return await c.createReceiver(queue, options).peekMessages(n) } finally { await c.close() }
}
const empty = async (options) => {
  const r = client.createReceiver(queue, { receiveMode: 'receiveAndDelete', ...options })
  while ((await look(1, options)).length > 0) await r.receiveMessages(100, { maxWaitTimeInMs: 500 })
  await r.close()
}
// sent sends one message and receives it.
const sent = async (message) => {
  const messageId = message.messageId ?? id()
  await sender.sendMessages(message.bodyType ? { ...message, properties: { messageId } } : { ...message, messageId })
  for (;;) {
    const m = await one()
    if (m.messageId === messageId) return m
    await receiver.completeMessage(m)
  }
}
// refused waits for an error of the code; one that was tried again comes with all tries.
const refused = (promise, code) => assert.rejects(promise, (e) => (assert.equal((e.errors?.[0] ?? e).code, code, e.message), true))

describe('Service Bus', { timeout: 300_000 }, () => {
  const test = (name, run) => it(name, { timeout: 30_000 }, run)

  before(() => {
    client = open()
    sender = client.createSender(queue)
  })
  after(() => client.close())
  beforeEach(async () => {
    await empty()
    await empty({ subQueueType: 'deadLetter' })
    receiver = client.createReceiver(queue)
  })

  describe('bodies', () => {
    for (const [name, body] of Object.entries({
      'a text': 'text', 'an object': { a: 1, b: [true, null] }, 'a number': 42, 'a list': [1, 'two'], 'nothing': null, 'ü€😀': 'ü€😀',
    })) {
      test(name, async () => {
        const m = await sent({ body })
        assert.deepEqual(m.body, body)
        await receiver.completeMessage(m)
      })
    }
    test('bytes', async () => {
      const m = await sent({ body: Buffer.from([0, 1, 255]) })
      assert.deepEqual([...m.body], [0, 1, 255])
      await receiver.completeMessage(m)
    })
    test('an AMQP value', async () => {
      const m = await sent({ bodyType: 'value', body: { a: 'b' } })
      assert.deepEqual(m.body, { a: 'b' })
      assert.equal(m._rawAmqpMessage.bodyType, 'value')
      await receiver.completeMessage(m)
    })
    test('an AMQP sequence', async () => {
      const m = await sent({ bodyType: 'sequence', body: [[1, 2], [3]] })
      assert.equal(m._rawAmqpMessage.bodyType, 'sequence')
      await receiver.completeMessage(m)
    })
    test('many frames', async () => {
      const m = await sent({ body: Buffer.alloc(200_000, 7) })
      assert.equal(m.body.length, 200_000)
      await receiver.completeMessage(m)
    })
  })

  describe('sending', () => {
    test('a list of messages', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }, { body: 3 }])
      assert.deepEqual((await look(10)).map((m) => m.body), [1, 2, 3])
    })
    test('a batch', async () => {
      const batch = await sender.createMessageBatch()
      for (let i = 0; i < 100; i++) assert.ok(batch.tryAddMessage({ body: i }))
      await sender.sendMessages(batch)
      assert.equal((await look(200)).length, 100)
    })
    test('a batch has a limit', async () => {
      const batch = await sender.createMessageBatch()
      assert.equal(batch.maxSizeInBytes, 256 * 1024)
      assert.equal(batch.tryAddMessage({ body: Buffer.alloc(300_000) }), false)
      assert.ok(batch.tryAddMessage({ body: 'small' }))
    })
    test('too large, and then the next', async () => {
      for (let i = 0; i < 2; i++) {
        await refused(sender.sendMessages({ body: Buffer.alloc(300_000) }), 'MessageSizeExceeded')
        assert.equal((await look(5)).length, i)
        await sender.sendMessages({ body: i })
      }
    })
    test('an id twice is one message', async () => {
      const messageId = id()
      await sender.sendMessages({ body: 1, messageId })
      await sender.sendMessages({ body: 2, messageId })
      assert.deepEqual((await look(10)).map((m) => m.body), [1])
    })
    test('a missing queue', () => refused(client.createSender('nothing').sendMessages({ body: 1 }), 'MessagingEntityNotFound'))
    test('a wrong key', async () => {
      const stranger = open(process.env.MESSAGING.replace(/SharedAccessKey=[^;]*/, 'SharedAccessKey=wrong'))
      await refused(stranger.createSender(queue).sendMessages({ body: 1 }), 'UnauthorizedAccess')
      await stranger.close()
    })
    test('many at once', async () => {
      await Promise.all(Array.from({ length: 50 }, (_, i) => sender.sendMessages({ body: i })))
      assert.equal((await look(100)).length, 50)
    })
  })

  describe('properties', () => {
    test('of the application, of every type', async () => {
      const at = new Date(1_700_000_000_000)
      const m = await sent({ body: 1, applicationProperties: { text: 's', int: 1, large: 2 ** 40, real: 1.5, yes: true, no: false, at, none: null } })
      const p = m.applicationProperties
      assert.deepEqual({ ...p, at: +p.at }, { text: 's', int: 1, large: 2 ** 40, real: 1.5, yes: true, no: false, at: +at, none: null })
      await receiver.completeMessage(m)
    })
    test('of the message', async () => {
      const sentOnes = {
        messageId: id(), correlationId: 'c', subject: 's', contentType: 'application/json', to: 't', replyTo: 'r',
        replyToSessionId: 'rs', partitionKey: 'p', timeToLive: 60_000,
      }
      const m = await sent({ body: 1, ...sentOnes })
      for (const [name, value] of Object.entries(sentOnes)) assert.equal(m[name], value, name)
      assert.equal(+m.expiresAtUtc, +m.enqueuedTimeUtc + 60_000)
      await receiver.completeMessage(m)
    })
    test('of the service', async () => {
      const a = await sent({ body: 1 })
      const b = await sent({ body: 2 })
      assert.equal(a.deliveryCount, 0)
      assert.ok(b.sequenceNumber.subtract(a.sequenceNumber).isPositive())
      assert.ok(Math.abs(Date.now() - a.enqueuedTimeUtc) < 60_000)
      assert.ok(a.lockedUntilUtc > new Date() && a.lockToken && a.messageId)
      assert.equal(a.state, 'active')
      await receiver.completeMessage(a)
      await receiver.completeMessage(b)
    })
  })

  describe('scheduling', () => {
    test('schedule, and cancel', async () => {
      const at = new Date(Date.now() + 600_000)
      const numbers = await sender.scheduleMessages([{ body: 1 }, { body: 2 }], at)
      assert.equal(numbers.length, 2)
      const peeked = await look(10)
      assert.deepEqual(peeked.map((m) => [m.body, m.state, +m.scheduledEnqueueTimeUtc]), [[1, 'scheduled', +at], [2, 'scheduled', +at]])
      await sender.cancelScheduledMessages(numbers)
      assert.equal((await look(10)).length, 0)
    })
    test('it comes when it is due', async () => {
      await sender.scheduleMessages({ body: 'late' }, new Date(Date.now() + 1000))
      const m = await one()
      assert.equal(m.body, 'late')
      await receiver.completeMessage(m)
    })
    test('by a property', async () => {
      await sender.sendMessages({ body: 1, scheduledEnqueueTimeUtc: new Date(Date.now() + 600_000) })
      const [m] = await look(1)
      assert.equal(m.state, 'scheduled')
      await sender.cancelScheduledMessages(m.sequenceNumber)
    })
  })

  describe('peeking', () => {
    test('an empty queue', async () => assert.deepEqual(await receiver.peekMessages(5), []))
    test('in order, from a number', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }, { body: 3 }])
      const [, second] = await receiver.peekMessages(2)
      const again = client.createReceiver(queue)
      assert.deepEqual((await again.peekMessages(9, { fromSequenceNumber: second.sequenceNumber })).map((m) => m.body), [2, 3])
    })
    test('goes on where it was', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }])
      assert.equal((await receiver.peekMessages(1))[0].body, 1)
      assert.equal((await receiver.peekMessages(1))[0].body, 2)
    })
  })

  describe('receiving', () => {
    test('nothing', async () => assert.deepEqual(await receiver.receiveMessages(5, { maxWaitTimeInMs: 300 }), []))
    test('what is there, with credit left', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }, { body: 3 }])
      const got = await receiver.receiveMessages(10, { maxWaitTimeInMs: 2000 })
      assert.deepEqual(got.map((m) => m.body), [1, 2, 3])
      for (const m of got) await receiver.completeMessage(m)
    })
    test('nothing, and then something', async () => {
      await receiver.receiveMessages(5, { maxWaitTimeInMs: 200 })
      const m = await sent({ body: 'now' })
      assert.equal(m.body, 'now')
      await receiver.completeMessage(m)
    })
    test('and deleting', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }])
      const r = client.createReceiver(queue, { receiveMode: 'receiveAndDelete' })
      assert.equal((await one(r)).body, 1)
      await delay(100)
      assert.deepEqual((await look(5)).map((m) => m.body), [2])
      await r.close()
    })
    test('by an iterator', async () => {
      await sender.sendMessages([{ body: 1 }, { body: 2 }])
      const bodies = []
      for await (const m of receiver.getMessageIterator()) {
        bodies.push(m.body)
        await receiver.completeMessage(m)
        if (bodies.length === 2) break
      }
      assert.deepEqual(bodies, [1, 2])
    })
    test('by subscribing', async () => {
      await sender.sendMessages(Array.from({ length: 20 }, (_, i) => ({ body: i })))
      const seen = await new Promise((resolve, reject) => {
        const bodies = []
        receiver.subscribe({
          processMessage: async (m) => { if (bodies.push(m.body) === 20) resolve(bodies) },
          processError: async (e) => reject(e.error),
        }, { maxConcurrentCalls: 5 })
      })
      assert.equal(new Set(seen).size, 20)
      await receiver.close()
    })
    test('a handler that throws gives back', async () => {
      await sender.sendMessages({ body: 1 })
      const counts = await new Promise((resolve) => {
        const seen = []
        receiver.subscribe({
          processMessage: async (m) => {
            if (seen.push(m.deliveryCount) === 3) resolve(seen)
            else throw new Error('again')
          },
          processError: async () => {},
        })
      })
      assert.deepEqual(counts, [0, 1, 2])
      await receiver.close()
    })
    test('a session: not emulated', () => assert.rejects(client.acceptSession(queue, 's')))
    test('from a missing queue', () => refused(client.createReceiver('nothing').receiveMessages(1), 'MessagingEntityNotFound'))
  })

  describe('settling', () => {
    test('complete', async () => {
      await receiver.completeMessage(await sent({ body: 1 }))
      assert.deepEqual(await look(1), [])
    })
    test('abandon counts', async () => {
      await receiver.abandonMessage(await sent({ body: 1 }))
      const m = await one()
      assert.equal(m.deliveryCount, 1)
      await receiver.completeMessage(m)
    })
    test('abandon changes properties', async () => {
      await receiver.abandonMessage(await sent({ body: 1, applicationProperties: { a: 1, b: 1 } }), { b: 2, c: 'x' })
      const m = await one()
      assert.deepEqual({ ...m.applicationProperties }, { a: 1, b: 2, c: 'x' })
      await receiver.completeMessage(m)
    })
    test('defer', async () => {
      const m = await sent({ body: 1 })
      await receiver.deferMessage(m, { why: 'later' })
      assert.equal((await look(1))[0].state, 'deferred')
      const [again] = await receiver.receiveDeferredMessages(m.sequenceNumber)
      assert.equal(again.body, 1)
      assert.equal(again.applicationProperties.why, 'later')
      await receiver.completeMessage(again)
      assert.deepEqual(await look(1), [])
    })
    test('a deferred one that is gone', async () => {
      const m = await sent({ body: 1 })
      await receiver.completeMessage(m)
      await refused(receiver.receiveDeferredMessages(m.sequenceNumber), 'MessageNotFound')
    })
    test('dead-letter without a reason', async () => {
      await receiver.deadLetterMessage(await sent({ body: 1 }))
      const r = dead()
      const m = await one(r)
      assert.equal(m.body, 1)
      assert.equal(m.deadLetterReason, undefined)
      await r.completeMessage(m)
    })
    test('dead-letter with a reason', async () => {
      await receiver.deadLetterMessage(await sent({ body: 1 }), { deadLetterReason: 'r', deadLetterErrorDescription: 'd', mine: 7 })
      const r = dead('receiveAndDelete')
      const m = await one(r)
      assert.deepEqual([m.deadLetterReason, m.deadLetterErrorDescription, m.applicationProperties.mine, m.deadLetterSource], ['r', 'd', 7, queue])
    })
    test('peek at dead letters', async () => {
      await receiver.deadLetterMessage(await sent({ body: 1 }), { deadLetterReason: 'r' })
      const [m] = await look(5, { subQueueType: 'deadLetter' })
      assert.equal(m.deadLetterReason, 'r')
    })
    test('ten deliveries are enough', async () => {
      await sender.sendMessages({ body: 1 })
      for (let i = 0; i < 10; i++) await receiver.abandonMessage(await one())
      assert.equal((await one(dead('receiveAndDelete'))).deadLetterReason, 'MaxDeliveryCountExceeded')
    })
    test('what expires is a dead letter', async () => {
      await sender.sendMessages({ body: 1, timeToLive: 300 })
      assert.equal((await one(dead('receiveAndDelete'))).deadLetterReason, 'TTLExpiredException')
    })
    test('renew a lock', async () => {
      const m = await sent({ body: 1 })
      const was = m.lockedUntilUtc
      await delay(50)
      assert.ok(await receiver.renewMessageLock(m) > was)
      await receiver.completeMessage(m)
    })
    test('twice', async () => {
      const m = await sent({ body: 1 })
      await receiver.completeMessage(m)
      await assert.rejects(receiver.completeMessage(m))
      await refused(receiver.renewMessageLock(m), 'MessageLockLost')
    })
  })

  test('a client that is made again', async () => {
    const second = open()
    await second.createSender(queue).sendMessages({ body: 'second' })
    await second.close()
    const m = await one()
    assert.equal(m.body, 'second')
    await receiver.completeMessage(m)
  })
})
