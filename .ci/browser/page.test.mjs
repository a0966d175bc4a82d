// What an operator does on the page, in Chromium, against a running system whose
// backends refuse every undo until the test mends them.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { opened } from './world.mjs'

const { APP, FAULTS, PICTURES } = process.env
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const ofDelivery = (id, weightKg) => ({
  ownerId: 'owner-1', pickup: { latitude: 47.6, longitude: -122.3 }, dropOff: { latitude: 47.62, longitude: -122.31 },
  pickupTime: new Date(Date.now() + 3600e3).toISOString(), deliverBy: new Date(Date.now() + 6 * 3600e3).toISOString(),
  confirmationRequired: 'None', packageInfo: { packageId: `package-${id}`, size: 'Small', weightKg, tag: '<b>books</b>' },
})

async function put(id, weightKg) {
  const answer = await fetch(`${APP}/api/deliveryrequests/${id}`, {
    method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(ofDelivery(id, weightKg)),
  })
  assert.equal(answer.status, 202, await answer.text())
}

// faulty sets how often what fails; without any, all is mended.
async function faulty(rates) {
  const answer = await fetch(FAULTS, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ seed: 1, rates }) })
  assert.equal(answer.status, 200, await answer.text())
}
const mend = () => faulty({})

// accessible holds what is on the page to axe's rules.
async function accessible(page) {
  // By the protocol, which the page's own policy doesn't hold back.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), [])
}

async function picture(page, name) {
  writeFileSync(`${PICTURES}/${name}.png`, await page.screenshot({ fullPage: true }))
}

test('an operator sees what goes on, finds what is Stuck, retries it, and sees it change', async (t) => {
  for (let n = 0; n < 20; n++) await put(`quick-${n}`, 1.5)
  await put('heavy-1', 90) // no drone carries it, and no undo is taken
  const page = await opened(t)
  await page.getByRole('heading', { name: 'Now' }).waitFor()
  await accessible(page)

  // The list follows by itself.
  await page.getByRole('link', { name: 'Transactions' }).click()
  await page.locator('#filter').getByLabel('State').selectOption('open')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.locator('#filter').getByLabel('State').selectOption('Stuck')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByRole('link', { name: 'heavy-1' }).waitFor()
  await accessible(page)

  await page.getByRole('searchbox').fill('heavy-1')
  await page.getByRole('button', { name: 'Find' }).click()
  const found = page.locator('#list').getByRole('link', { name: 'heavy-1' }) // the only one found is opened by itself
  await page.getByRole('heading', { name: 'heavy-1' }).waitFor()
  assert.equal(await found.isVisible(), false)
  await accessible(page)
  const story = page.locator('#transaction')
  assert.match(await story.innerText(), /Stuck/)
  assert.match(await story.innerText(), /DELETE package/)
  assert.match(await story.getByRole('link', { name: /^[0-9a-f]{32}$/ }).getAttribute('href'), /^https:\/\/traces\.example\.com\/[0-9a-f]{32}$/)

  // What the act is on is shown, and without a name and a reason nothing is sent.
  const act = page.getByRole('dialog')
  let sent = 0
  page.on('request', (request) => { sent += request.method() === 'POST' ? 1 : 0 })
  await story.getByRole('button', { name: 'Retry' }).click()
  await act.getByRole('cell', { name: 'heavy-1' }).waitFor()
  await accessible(page)
  await act.getByRole('button', { name: 'Retry' }).click()
  await act.getByLabel('Your name').fill('ada')
  await act.getByRole('button', { name: 'Retry' }).click()
  assert.equal(sent, 0)
  assert.match(await story.innerText(), /Stuck/)

  await mend()
  await act.getByLabel(/^Why/).fill('the packages are repaired')
  await act.getByRole('button', { name: 'Retry' }).click()
  await act.getByRole('status').filter({ hasText: '1 done, 0 not done' }).waitFor()
  assert.equal(await act.getByRole('button', { name: 'Retry' }).isVisible(), false)
  await act.getByRole('button', { name: 'Close' }).click()
  await story.getByText('Compensated').first().waitFor()
  assert.equal(await story.getByRole('button', { name: 'Retry' }).isVisible(), false)
  assert.match(await story.innerText(), /ada/)
  assert.match(await story.innerText(), /the packages are repaired/)
})

// stands waits until transactions are in a state.
async function stands(ids, state) {
  for (const id of ids) {
    for (;;) {
      const { transaction } = await (await fetch(`${APP}/api/operations/transactions/${id}`)).json()
      if (transaction?.state === state) break
      await new Promise((later) => setTimeout(later, 200))
    }
  }
}

test('an act on several names those that were chosen from what is shown, and tells of each', async (t) => {
  await faulty({ 'backend.undorefused': 1 })
  const ids = ['several-1', 'several-2', 'several-3', 'several-4']
  for (const id of ids) await put(id, 90)
  await stands(ids, 'Stuck')
  const bodies = []
  const page = await opened(t, { hash: '#/transactions?state=Stuck' })
  page.on('request', (request) => { if (request.method() === 'POST') bodies.push(request.postDataJSON()) })
  const [list, act] = [page.locator('#transactions'), page.getByRole('dialog')]
  assert.equal(await list.getByRole('button', { name: 'Give up' }).isDisabled(), true) // nothing is chosen
  for (const id of ids.slice(0, 3)) await list.getByRole('checkbox', { name: 'Choose ' + id }).check()
  await list.getByRole('checkbox', { name: 'Choose several-3' }).uncheck()
  await list.getByText('2 chosen').waitFor()
  await page.waitForResponse((answer) => answer.url().includes('state=Stuck')) // what is read anew changes no choice
  await list.getByText('2 chosen').waitFor()
  await accessible(page)
  await list.getByRole('button', { name: 'Give up' }).click()
  await act.getByRole('heading', { name: 'Give up 2 at once' }).waitFor()
  assert.equal(await act.getByRole('row').count(), 3)

  // One that somebody else has given up meanwhile is not done, and says so.
  const other = await fetch(`${APP}/api/operations/transactions/several-2/giveup`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"by":"grace","note":"done by hand"}' })
  assert.equal(other.status, 200)
  await act.getByLabel('Your name').fill('ada')
  await act.getByLabel(/^Why/).fill('taken back by hand')
  await act.getByRole('button', { name: 'Give up' }).click()
  await act.getByRole('status').filter({ hasText: '1 done, 1 not done' }).waitFor()
  assert.deepEqual(bodies, [{ act: 'giveup', ids: ['several-1', 'several-2'], by: 'ada', why: 'taken back by hand' }])
  assert.match(await act.getByRole('row', { name: /several-2/ }).innerText(), /no\s+GivenUp\s+only a transaction that is Stuck/)
  await picture(page, 'act')
  await act.getByRole('button', { name: 'Close' }).click()
  await mend()

  await list.getByRole('button', { name: 'Choose all shown' }).click()
  await list.getByText('2 chosen').waitFor()
  await list.getByRole('button', { name: 'Retry' }).click()
  await act.getByLabel(/^Why/).fill('the packages are repaired')
  await act.getByRole('button', { name: 'Retry' }).click()
  await act.getByRole('status').filter({ hasText: '2 done, 0 not done' }).waitFor()
  await stands(['several-3', 'several-4'], 'Compensated')
  await stands(['several-1', 'several-2'], 'GivenUp')
})

test('no more than 500 are chosen, and what waits in the quarantine is decided from there', async (t) => {
  const entry = (n) => ({ id: `q.${n}`, source: 'q', sequenceNumber: String(n), reason: 'Unreadable', detail: 'no JSON', at: '2026-05-04T09:00:00Z', state: n % 20 ? 'Kept' : 'Dropped' })
  const asked = []
  const page = await opened(t, { hash: '#/quarantine', prepare: (page) => page.route('**/api/operations/**', (route) => {
    const [path, query] = route.request().url().split('/api/operations/')[1].split('?')
    asked.push(query)
    if (path === 'acts') {
      const { ids } = route.request().postDataJSON()
      return route.fulfill({ json: { items: ids.map((id) => ({ id, done: true, repeated: false, state: 'Redriven', result: 'wake 2 was sent' })) } })
    }
    if (path !== 'quarantine') return route.fulfill({ json: { ...entry(7), body: '{"a":1}', properties: { k: 'v' } } })
    const from = Number(new URLSearchParams(query).get('continuation') ?? 0)
    return route.fulfill({ json: { items: Array.from({ length: 50 }, (_, n) => entry(from + n)), continuation: String(from + 50) } })
  }) })
  const list = page.locator('#quarantine')
  await list.getByRole('checkbox', { name: 'Choose q/q.1', exact: true }).waitFor()
  assert.equal(asked[0], 'state=Kept')
  assert.equal(await list.getByRole('checkbox', { name: 'Choose q/q.20', exact: true }).count(), 0) // somebody has decided
  for (let n = 0; n < 11; n++) {
    const before = await list.getByRole('row').count()
    await list.getByRole('button', { name: 'More' }).click()
    await page.waitForFunction((rows) => document.querySelectorAll('#quarantine tr').length !== rows || rows > 600, before)
  }
  assert.ok(await list.getByRole('row').count() > 527)
  await list.getByRole('button', { name: 'Choose all shown' }).click()
  await list.getByText('500 chosen, of at most 500').waitFor()
  await list.getByRole('checkbox', { checked: false }).last().check()
  await list.getByText('501 chosen').waitFor()
  assert.equal(await list.getByRole('button', { name: 'Drop' }).isDisabled(), true)
  await list.getByRole('checkbox', { checked: true }).last().uncheck()
  await list.getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('heading', { name: 'Drop 500 at once' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()

  await page.getByRole('link', { name: 'q.7', exact: true }).click()
  const one = page.locator('#entry')
  await one.getByText('{"a":1}').waitFor()
  await accessible(page)
  await one.getByRole('button', { name: 'Redrive' }).click()
  const act = page.getByRole('dialog')
  await act.getByLabel('Your name').fill('ada')
  await act.getByLabel(/^Why/).fill('the reader is repaired')
  await act.getByRole('button', { name: 'Redrive' }).click()
  await act.getByRole('cell', { name: 'wake 2 was sent' }).waitFor()
})

test('what does not exist, and an app that is away, are told', async (t) => {
  const page = await opened(t, { hash: '#/transaction/nobody-knows-this', expected: /Failed to load/ })
  await page.getByRole('alert').filter({ hasText: /no such/i }).waitFor()
  await page.route('**/api/operations/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Quarantine' }).click()
  await page.getByRole('alert').filter({ hasText: /fetch/i }).waitFor()
})

// hostile is what clients and services might have sent, with the name of the field that
// it is in: markup and script in each kind of place, marks that turn the writing around, and
// a word that no line holds.
const hostile = (field) => `«${field}»"'\`><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script><svg onload="globalThis.hit=1">` +
  `</td></table><style>*{display:none}</style><a href="javascript:globalThis.hit=1">\u202e\u2067\u200f&lt;b&gt;{{1+1}}\${1+1}` + 'w'.repeat(3000)

// spoiled is an answer with each text in it, but times, followed by a hostile one.
function spoiled(value, field = '') {
  if (typeof value === 'string') return /^\d{4}-/.test(value) ? value : value + hostile(field)
  if (Array.isArray(value)) return value.map((one) => spoiled(one, field))
  if (!value || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, name === 'continuation' ? one : spoiled(one, field ? `${field}.${name}` : name)]))
}

// An answer of each kind with every field that there can be.
const [at, step] = ['2026-05-04T09:00:00Z', { name: 'drone', state: 'Undoing', effect: 'yes', attempts: 2, startedAt: '2026-05-04T09:00:01Z', endedAt: '2026-05-04T09:00:02Z',
  error: { message: 'm' }, undoError: { message: 'm' } }]
const entry = { id: 'i', source: 's', sequenceNumber: '1', reason: 'r', detail: 'd', body: 'b', encoding: 'e', properties: { k: 'v', [hostile('property')]: 'v' }, transactionId: 't', messageId: 'm', at,
  state: 'Kept', acts: [{ at, act: 'drop', by: 'b', why: 'w', result: 'r' }] }
const answers = {
  status: { at, shard: 1, unusual: [{ key: 'k', says: 's', do: 'd', about: 'a', since: at, urgent: true }],
    accepting: { perSecond: 1, failedPerSecond: 1, buffer: 1, room: 2, fullest: 1 },
    steps: [{ step: 's', backend: 'b', inFlight: 1, perSecond: 1, failedPerSecond: 1, error: 'e' }], breakers: [{ backend: 'b', since: at, instances: 1 }],
    ends: { [hostile('ends')]: 1 }, undosBegun: 1, instances: [{ instance: 'i', at }],
    survey: { at, states: { Stuck: { count: 1, oldestAt: at } }, quarantine: { count: 1 }, notices: { count: 1 }, overdue: { count: 1 }, charge: 1, failed: ['f'],
      partitions: [{ partition: 'p', lag: 1, oldestUnreadAt: at, renewedAt: at }], queues: [{ queue: 'q', active: 1, scheduled: 1, dead: 1 }] },
    history: { from: at, backlog: [1], accepted: [1], completed: [1], latency: [1] } },
  transactions: { items: ['a', 'b'].map((id) => ({ id, state: 'Stuck', cause: 'c', reason: 'r', caller: 'c', unusual: ['u'], since: at, step: 's', attempts: 1, lastError: 'l', wakeAt: at })) },
  'transactions/t': { transaction: { id: 't', state: 'Stuck', cause: 'c', reason: 'r', caller: 'c', acceptedAt: at, startedAt: at, wakeAt: at, steps: [step],
    operations: [{ id: 'o', kind: 'cancel', state: 'Refused', reason: 'r', acceptedAt: at, endedAt: at }], history: [{ at, state: 'Stuck' }] },
    traceId: 't', traceUrl: 'javascript:globalThis.hit=1//', timeline: [{ at, kind: 'k', step: 's', by: 'b', what: 'w' }],
    remaining: [{ step: 's', effect: 'yes', backend: 'b', method: 'DELETE', path: 'p', attempts: 1, error: { message: 'm' } }], next: [{ at, what: 'w' }],
    acts: ['retry'], quarantine: [entry] },
  quarantine: { items: [entry] },
  'quarantine/s/i': entry,
}

// What of them is shown, by the address.
const shown = {
  '#/': ['status', 'unusual.says', 'unusual.do', 'unusual.about', 'ends', 'steps.step', 'steps.backend', 'steps.error', 'survey.failed', 'survey.partitions.partition', 'survey.queues.queue'],
  '#/transactions?state=any': ['transactions', 'items.id', 'items.state', 'items.cause', 'items.unusual', 'items.step', 'items.lastError'],
  '#/transaction/t': ['transactions/t', 'transaction.id', 'transaction.state', 'transaction.cause', 'transaction.reason', 'transaction.caller', 'traceId', 'timeline.kind',
    'timeline.step', 'timeline.by', 'timeline.what', 'remaining.step', 'remaining.effect', 'remaining.backend', 'remaining.method', 'remaining.path', 'remaining.error.message',
    'next.what', 'acts', 'quarantine.id', 'quarantine.reason', 'quarantine.detail', 'quarantine.state', 'transaction.steps.name', 'transaction.steps.state',
    'transaction.steps.effect', 'transaction.steps.undoError.message', 'transaction.operations.id', 'transaction.operations.kind', 'transaction.operations.state',
    'transaction.operations.reason', 'transaction.history.state'],
  '#/quarantine': ['quarantine', 'items.source', 'items.id', 'items.reason', 'items.detail', 'items.transactionId'],
  '#/entry/s/i': ['quarantine/s/i', 'id', 'source', 'reason', 'detail', 'transactionId', 'messageId', 'acts.act', 'acts.by', 'acts.why', 'acts.result', 'properties.k', 'property',
    'encoding', 'body'],
}

test('no text becomes markup or script, whatever field it is in', async (t) => {
  let refused = false
  const page = await opened(t, { viewport: { width: 400, height: 800 }, expected: /Failed to load/, prepare: (page) => page.route('**/api/operations/**', (route) => {
    if (refused) return route.fulfill({ status: 409, json: { title: hostile('title'), detail: hostile('detail'), errors: [{ pointer: hostile('pointer'), detail: hostile('fault') }] } })
    const path = decodeURIComponent(route.request().url().split('/api/operations/')[1].split('?')[0])
    if (path === 'acts') return route.fulfill({ json: { items: [{ id: hostile('id'), done: false, state: hostile('state'), result: hostile('result') }] } })
    // What the page is to act on needs the words that it knows.
    const answer = spoiled(answers[path] ?? answers[path.startsWith('transactions/') ? 'transactions/t' : 'transactions'])
    for (const one of [answer, ...(answer.items ?? [])]) if (path.startsWith('quarantine')) one.state = one.state && 'Kept'
    return route.fulfill({ json: answer })
  }) })
  const harmless = async (where, fields) => {
    const found = await page.evaluate(() => {
      const texts = [...document.querySelectorAll('*')].flatMap((n) => [...n.childNodes].filter((c) => c.nodeType === 3).map((c) => c.data)
        .concat([...n.attributes].map((a) => a.value)))
      // A mark that turns the writing around does so for its own element alone.
      const isAlone = (n) => n instanceof SVGElement || getComputedStyle(n).unicodeBidi.includes('isolate') || getComputedStyle(n).display !== 'inline'
      return {
        hit: globalThis.hit, scripts: document.scripts.length, foreign: document.querySelectorAll('img, iframe, object, embed, style, main script, svg svg, [onerror], [onload]').length,
        links: [...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((to) => to && !/^(#|https?:)/.test(to)),
        turned: [...document.querySelectorAll('body *')].filter((n) => [...n.childNodes].some((c) => c.nodeType === 3 && c.data.includes('\u202e')) && !isAlone(n)).length,
        wider: Math.max(0, document.documentElement.scrollWidth - innerWidth),
        fields: [...new Set(texts.flatMap((text) => [...text.matchAll(/«([^«»]*)»/g)].map((m) => m[1])))],
      }
    })
    const missing = fields.filter((field) => !found.fields.includes(field))
    assert.deepEqual({ ...found, fields: missing }, { hit: undefined, scripts: 1, foreign: 0, links: [], turned: 0, wider: 0, fields: [] }, where)
  }
  for (const [hash, [, ...fields]] of Object.entries(shown)) {
    await page.evaluate((to) => { location.hash = to }, hash)
    await page.locator('main > section:not([hidden])').getByText('<img src=x').first().waitFor()
    const view = hash.match(/\w+/)?.[0] ?? 'now'
    await page.locator(`#${view}:not([hidden])`).waitFor()
    await harmless(hash, fields)
  }
  // The dialog, what it tells of an act, and a refusal.
  const act = page.getByRole('dialog')
  await page.locator('#entry-acts').getByRole('button', { name: 'Drop' }).click()
  await harmless('dialog', ['source', 'id', 'reason', 'detail'])
  await act.getByLabel('Your name').fill('ada')
  await act.getByLabel(/^Why/).fill('rubbish')
  await act.getByRole('button', { name: 'Drop' }).click()
  await act.getByRole('status').filter({ hasText: '0 done, 1 not done' }).waitFor()
  await harmless('results', ['id', 'state', 'result'])
  refused = true
  await act.getByRole('button', { name: 'Drop' }).click()
  await act.getByRole('status').filter({ hasText: '«detail»' }).waitFor()
  await harmless('refusal', ['title', 'detail', 'pointer', 'fault'])
  await act.getByRole('button', { name: 'Close' }).click()
  // What is in the address, and what is searched for.
  refused = false
  for (const hash of [`#/transactions?${new URLSearchParams({ search: hostile('search') })}`, `#/${hostile('view')}`, `#/transaction/${encodeURIComponent(hostile('id'))}`, '#/entry/%']) {
    await page.evaluate((to) => { location.hash = to }, hash)
    await page.waitForResponse((answer) => answer.url().includes('/api/operations/'))
    await page.waitForFunction(() => document.querySelector('main > section:not([hidden])'))
    await harmless(hash.slice(0, 40), hash.includes('search') ? ['search'] : [])
  }
})

test('light, dark and narrow', async (t) => {
  for (const [name, options] of Object.entries({
    light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, narrow: { colorScheme: 'light', viewport: { width: 400, height: 800 } },
  })) {
    const page = await opened(t, options)
    for (const [view, hash] of Object.entries({ now: '#/', list: '#/transactions?state=Completed', story: '#/transaction/heavy-1' })) {
      await page.evaluate((to) => { location.hash = to }, hash)
      await page.locator('main > section:not([hidden]) table').first().waitFor()
      await accessible(page)
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wider <= 0, `${name} ${view}: ${wider} pixels wider than the window`)
      await picture(page, `${name}-${view}`)
    }
  }
})
