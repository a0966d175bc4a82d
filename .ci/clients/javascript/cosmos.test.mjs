// Microsoft's JavaScript SDK for Cosmos DB against the emulators, whose
// connection string is in COSMOS.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CosmosClient } from '@azure/cosmos'

const client = new CosmosClient(process.env.COSMOS)
const refused = (promise, code) => assert.rejects(promise, (e) => (assert.equal(e.code, code, e.message), true))
let database, container

describe('Cosmos DB', { timeout: 120_000 }, () => {
  const test = (name, run) => it(name, { timeout: 20_000 }, run)

  before(async () => {
    database = (await client.databases.createIfNotExists({ id: `js-${crypto.randomUUID()}` })).database
    container = (await database.containers.createIfNotExists({ id: 'items', partitionKey: { paths: ['/pk'], version: 2 } })).container
    for (let i = 0; i < 12; i++) await container.items.create({ id: `n${i}`, pk: `k${i}`, n: i, all: true })
  })
  after(async () => {
    await database.delete()
    client.dispose()
  })

  describe('items', () => {
    test('create, read, replace, upsert, delete', async () => {
      await container.items.create({ id: 'a', pk: 'p', n: 1 })
      assert.equal((await container.item('a', 'p').read()).resource.n, 1)
      await container.item('a', 'p').replace({ id: 'a', pk: 'p', n: 2 })
      const { resource } = await container.items.upsert({ id: 'a', pk: 'p', n: 3 })
      assert.equal(resource.n, 3)
      await container.item('a', 'p').delete()
      assert.equal((await container.item('a', 'p').read()).statusCode, 404)
    })
    test('twice', () => refused(container.items.create({ id: 'n0', pk: 'k0' }), 409))
    test('a condition that does not hold', async () => {
      const { resource } = await container.items.upsert({ id: 'c', pk: 'p' })
      await container.items.upsert({ id: 'c', pk: 'p', n: 1 })
      await refused(container.item('c', 'p').replace(resource, { accessCondition: { type: 'IfMatch', condition: resource._etag } }), 412)
    })
    test('a patch', async () => {
      await container.items.upsert({ id: 'd', pk: 'p' })
      const { resource } = await container.item('d', 'p').patch([{ op: 'add', path: '/n', value: 1 }, { op: 'incr', path: '/n', value: 2 }])
      assert.equal(resource.n, 3)
    })
    test('a patch with a condition', async () => {
      await container.items.upsert({ id: 'e', pk: 'p', n: 1 })
      const patch = { condition: 'from c where c.n = 2', operations: [{ op: 'set', path: '/n', value: 3 }] }
      await refused(container.item('e', 'p').patch(patch), 412)
    })
    for (const id of ['a?b', 'a b', 'ü€😀', 'a%b', 'a+b', "it's", 'a&b=c']) {
      test(`the id ${id}`, async () => {
        await container.items.upsert({ id, pk: 'p' })
        assert.equal((await container.item(id, 'p').read()).resource?.id, id)
        await container.item(id, 'p').delete()
      })
    }
    test('a batch', async () => {
      const { result } = await container.items.batch([
        { operationType: 'Create', resourceBody: { id: 'b1', pk: 'p' } }, { operationType: 'Delete', id: 'b1' },
      ], 'p')
      assert.deepEqual(result.map((r) => r.statusCode), [201, 204])
    })
    test('a batch that fails as a whole', async () => {
      const { result } = await container.items.batch([
        { operationType: 'Create', resourceBody: { id: 'b2', pk: 'p' } }, { operationType: 'Delete', id: 'nothing' },
      ], 'p')
      assert.deepEqual(result.map((r) => r.statusCode), [424, 404])
      assert.equal((await container.item('b2', 'p').read()).statusCode, 404)
    })
  })

  describe('queries', () => {
    test('in one partition', async () => {
      const { resources } = await container.items.query({
        query: 'SELECT VALUE c.n FROM c WHERE c.n > @n', parameters: [{ name: '@n', value: 2 }],
      }, { partitionKey: 'k3' }).fetchAll()
      assert.deepEqual(resources, [3])
    })
    test('ordered in one partition', async () => {
      for (const n of [2, 1, 3]) await container.items.upsert({ id: `o${n}`, pk: 'order', n })
      const { resources } = await container.items.query('SELECT VALUE c.n FROM c ORDER BY c.n DESC', { partitionKey: 'order' }).fetchAll()
      assert.deepEqual(resources, [3, 2, 1])
    })
    test('page by page, going on', async () => {
      const seen = []
      let continuationToken
      do {
        const page = await container.items.query('SELECT * FROM c', { partitionKey: 'order', maxItemCount: 1, continuationToken }).fetchNext()
        seen.push(...page.resources.map((r) => r.n))
        continuationToken = page.continuationToken
      } while (continuationToken)
      assert.deepEqual(seen.sort(), [1, 2, 3])
    })
    test('across partitions', async () => {
      const { resources } = await container.items.query('SELECT VALUE c.n FROM c WHERE c.all').fetchAll()
      assert.deepEqual(resources.sort((a, b) => a - b), Array.from({ length: 12 }, (_, i) => i))
    })
    test('across partitions in order: not emulated', () => refused(container.items.query('SELECT * FROM c ORDER BY c.n').fetchAll(), 400))
    test('all items', async () => assert.ok((await container.items.readAll().fetchAll()).resources.length >= 12))
    test('index metrics', async () => {
      const { indexMetrics } = await container.items.query('SELECT * FROM c', { partitionKey: 'k1', populateIndexMetrics: true }).fetchAll()
      assert.ok('Utilized' in JSON.parse(indexMetrics), indexMetrics)
    })
  })

  describe('the catalog', () => {
    test('read and list', async () => {
      assert.equal((await container.read()).resource.id, 'items')
      assert.deepEqual((await database.containers.readAll().fetchAll()).resources.map((c) => c.id), ['items'])
      assert.ok((await client.databases.readAll().fetchAll()).resources.some((d) => d.id === database.id))
    })
    test('throughput', async () => assert.equal((await container.readOffer()).resource.content.offerThroughput, 400))
    test('partition key ranges', async () => assert.ok((await container.readPartitionKeyRanges().fetchAll()).resources.length >= 1))
    test('without a version', async () => {
      const { container: old } = await database.containers.create({ id: 'old', partitionKey: { paths: ['/pk'] } })
      for (let i = 0; i < 12; i++) await old.items.create({ id: `n${i}`, pk: `k${i}` })
      assert.equal((await old.items.query('SELECT * FROM c').fetchAll()).resources.length, 12)
      await old.delete()
    })
    test('a missing container', () => refused(database.container('nothing').read(), 404))
    test('a wrong key', async () => {
      const stranger = new CosmosClient(process.env.COSMOS.replace(/AccountKey=[^;]*/, 'AccountKey=d3Jvbmc='))
      await refused(stranger.databases.readAll().fetchAll(), 401)
      stranger.dispose()
    })
  })
})
