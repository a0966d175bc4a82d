// Microsoft's JavaScript SDK for Event Hubs against the emulators, whose
// connection string is in MESSAGING.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EventHubBufferedProducerClient, EventHubConsumerClient, EventHubProducerClient, earliestEventPosition, latestEventPosition } from '@azure/event-hubs'

const hub = 'requests'
const retryOptions = { maxRetries: 1, retryDelayInMs: 10, timeoutInMs: 15_000 }
const text = process.env.MESSAGING
let producer, consumer

const id = () => crypto.randomUUID()
const group = '$Default'
const opened = [] // what is left open keeps Node.js from ending
const openedHere = (client) => (opened.push(client), client)
const open = (g = group, h = hub) => openedHere(new EventHubConsumerClient(g, text, h, { retryOptions }))
const produce = (h = hub) => openedHere(new EventHubProducerClient(text, h, { retryOptions }))
const end = async (partition) => (await producer.getPartitionProperties(partition)).lastEnqueuedSequenceNumber

// read gives count events of a partition from a position.
const read = (partition, count, startPosition, options = {}, client = consumer) => new Promise((resolve, reject) => {
  const events = []
  const s = client.subscribe(partition, {
    processEvents: async (batch, context) => {
      events.push(...batch)
      if (events.length >= count) {
        await s.close()
        resolve(Object.assign(events, { context }))
      }
    },
    processError: async (e) => { await s.close(); reject(e) },
  }, { startPosition, maxWaitTimeInSeconds: 1, maxBatchSize: 50, ...options })
})
// sent sends events to a partition and reads them.
const sent = async (partition, events, options) => {
  const last = await end(partition)
  await producer.sendBatch(events, { partitionId: partition })
  return read(partition, events.length, { sequenceNumber: last, isInclusive: false }, options)
}

describe('Event Hubs', { timeout: 300_000 }, () => {
  const test = (name, run) => it(name, { timeout: 30_000 }, run)

  before(() => {
    producer = produce()
    consumer = open()
  })
  after(() => Promise.all(opened.map((client) => client.close())))

  describe('what is there', () => {
    test('the partitions', async () => assert.deepEqual(await consumer.getPartitionIds(), ['0', '1', '2', '3']))
    test('the hub', async () => {
      const p = await producer.getEventHubProperties()
      assert.equal(p.name, hub)
      assert.equal(p.partitionIds.length, 4)
      assert.ok(p.createdOn instanceof Date)
    })
    test('a partition', async () => {
      const [e] = await sent('0', [{ body: 1 }])
      const p = await consumer.getPartitionProperties('0')
      assert.equal(p.lastEnqueuedSequenceNumber, e.sequenceNumber)
      assert.equal(String(p.lastEnqueuedOffset), e.offset)
      assert.equal(p.isEmpty, false)
    })
    test('no such partition', () => assert.rejects(producer.getPartitionProperties('9')))
    test('no such hub', () => assert.rejects(produce('nothing').getPartitionIds(), { code: 'MessagingEntityNotFoundError' }))
    test('no such group', () => assert.rejects(read('0', 1, earliestEventPosition, {}, open('nobody')), { code: 'MessagingEntityNotFoundError' }))
  })

  describe('sending', () => {
    for (const [name, body] of Object.entries({ 'a text': 'text', 'an object': { a: [1, null] }, 'a number': 7 })) {
      test(name, async () => assert.deepEqual((await sent('1', [{ body }]))[0].body, body))
    }
    test('bytes', async () => assert.deepEqual([...(await sent('1', [{ body: Buffer.from([0, 255]) }]))[0].body], [0, 255]))
    test('a batch', async () => {
      const last = await end('2')
      const batch = await producer.createBatch({ partitionId: '2' })
      for (let i = 0; i < 100; i++) assert.ok(batch.tryAdd({ body: i }))
      await producer.sendBatch(batch)
      const got = await read('2', 100, { sequenceNumber: last })
      assert.deepEqual(got.map((e) => e.body), Array.from({ length: 100 }, (_, i) => i))
    })
    test('a batch has a limit', async () => {
      const batch = await producer.createBatch()
      assert.equal(batch.maxSizeInBytes, 1024 * 1024)
      assert.equal(batch.tryAdd({ body: Buffer.alloc(1_100_000) }), false)
    })
    test('too large, and then the next', async () => {
      await assert.rejects(producer.sendBatch([{ body: Buffer.alloc(1_100_000) }], { partitionId: '3' }))
      assert.equal((await sent('3', [{ body: 'small' }]))[0].body, 'small')
    })
    test('by key', async () => {
      const partitionKey = id()
      const before = await Promise.all(['0', '1', '2', '3'].map(end))
      for (let i = 0; i < 3; i++) await producer.sendBatch([{ body: i }], { partitionKey })
      const after = await Promise.all(['0', '1', '2', '3'].map(end))
      const grew = after.findIndex((n, i) => n > before[i])
      assert.deepEqual(after.map((n, i) => n - before[i]).sort(), [0, 0, 0, 3])
      const [e] = await read(String(grew), 1, { sequenceNumber: before[grew] })
      assert.equal(e.partitionKey, partitionKey)
    })
    test('to any partition', async () => {
      const before = await Promise.all(['0', '1', '2', '3'].map(end))
      await producer.sendBatch([{ body: 1 }])
      const after = await Promise.all(['0', '1', '2', '3'].map(end))
      assert.equal(after.reduce((a, b) => a + b) - before.reduce((a, b) => a + b), 1)
    })
    test('buffered', async () => {
      const last = await end('1')
      const p = new EventHubBufferedProducerClient(text, hub, { retryOptions, onSendEventsErrorHandler: async () => {} })
      await p.enqueueEvents([{ body: 'a' }, { body: 'b' }], { partitionId: '1' })
      await p.close({ flush: true })
      assert.deepEqual((await read('1', 2, { sequenceNumber: last })).map((e) => e.body), ['a', 'b'])
    })
    test('properties', async () => {
      const at = new Date(1_700_000_000_000)
      const [e] = await sent('0', [{
        body: 1, contentType: 'text/plain', correlationId: 'c', messageId: 'm',
        properties: { text: 's', int: 1, real: 1.5, yes: true, at, none: null },
      }])
      assert.deepEqual([e.contentType, e.correlationId, e.messageId], ['text/plain', 'c', 'm'])
      assert.deepEqual({ ...e.properties, at: +e.properties.at }, { text: 's', int: 1, real: 1.5, yes: true, at: +at, none: null })
    })
  })

  describe('receiving', () => {
    test('what the service says', async () => {
      const [a, b] = await sent('2', [{ body: 1 }, { body: 2 }])
      assert.equal(b.sequenceNumber, a.sequenceNumber + 1)
      assert.equal(typeof a.offset, 'string')
      assert.ok(Math.abs(Date.now() - a.enqueuedTimeUtc) < 60_000)
    })
    test('from the earliest', async () => {
      await sent('0', [{ body: 1 }])
      const [e] = await read('0', 1, earliestEventPosition)
      assert.equal(e.sequenceNumber, (await consumer.getPartitionProperties('0')).beginningSequenceNumber)
    })
    test('from the latest', async () => {
      const wait = read('1', 1, latestEventPosition)
      const mine = id()
      const timer = setInterval(() => producer.sendBatch([{ body: mine }], { partitionId: '1' }).catch(() => {}), 200)
      try { assert.equal((await wait)[0].body, mine) } finally { clearInterval(timer) }
    })
    test('from an offset', async () => {
      const [a, b] = await sent('3', [{ body: 'a' }, { body: 'b' }])
      assert.equal((await read('3', 1, { offset: a.offset }))[0].sequenceNumber, b.sequenceNumber)
      assert.equal((await read('3', 1, { offset: a.offset, isInclusive: true }))[0].sequenceNumber, a.sequenceNumber)
    })
    test('from a sequence number', async () => {
      const [a, b] = await sent('3', [{ body: 'a' }, { body: 'b' }])
      assert.equal((await read('3', 1, { sequenceNumber: a.sequenceNumber }))[0].sequenceNumber, b.sequenceNumber)
      assert.equal((await read('3', 1, { sequenceNumber: a.sequenceNumber, isInclusive: true }))[0].sequenceNumber, a.sequenceNumber)
    })
    test('from a time', async () => {
      const at = Date.now() - 1
      await sent('2', [{ body: 'now' }])
      const [e] = await read('2', 1, { enqueuedOn: at })
      assert.ok(+e.enqueuedTimeUtc >= at)
    })
    test('in another group', async () => {
      const other = open('relay')
      const [e] = await sent('0', [{ body: id() }])
      const [again] = await read('0', 1, { sequenceNumber: e.sequenceNumber, isInclusive: true }, {}, other)
      assert.equal(again.body, e.body)
    })
    test('by two at once', async () => {
      const last = await end('1')
      const second = open()
      const reads = [read('1', 1, { sequenceNumber: last }), read('1', 1, { sequenceNumber: last }, {}, second)]
      await producer.sendBatch([{ body: 'both' }], { partitionId: '1' })
      assert.deepEqual((await Promise.all(reads)).map(([e]) => e.body), ['both', 'both'])
    })
    test('with what was enqueued last', async () => {
      const got = await sent('2', [{ body: 1 }, { body: 2 }], { trackLastEnqueuedEventProperties: true })
      const last = got.context.lastEnqueuedEventProperties
      assert.equal(last.sequenceNumber, got[1].sequenceNumber)
      assert.equal(String(last.offset), got[1].offset)
      assert.ok(last.enqueuedOn && last.retrievedOn)
    })
    test('a higher owner level takes over', async () => {
      const first = open()
      await sent('3', [{ body: 1 }])
      let reading
      const reads = new Promise((resolve) => { reading = resolve })
      const lost = new Promise((resolve) => first.subscribe('3', {
        processEvents: async (events) => { if (events.length > 0) reading() }, processError: async (e) => resolve(e),
      }, { ownerLevel: 1, startPosition: earliestEventPosition, maxWaitTimeInSeconds: 1 }))
      await reads
      await read('3', 1, earliestEventPosition, { ownerLevel: 2 })
      assert.equal((await lost).code, 'ReceiverDisconnectedError')
    })
  })
})
