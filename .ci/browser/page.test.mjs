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

async function mend() {
  const answer = await fetch(FAULTS, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{"seed":1,"rates":{}}' })
  assert.equal(answer.status, 200, await answer.text())
}

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
  await page.getByRole('button', { name: 'Show' }).click()
  await page.locator('#filter').getByLabel('State').selectOption('Stuck')
  await page.getByRole('button', { name: 'Show' }).click()
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

  // Without a name and a reason nothing is sent.
  await page.getByRole('button', { name: 'Retry' }).click()
  assert.match(await story.innerText(), /Stuck/)

  await mend()
  await page.getByLabel('Your name').fill('ada')
  await page.getByLabel(/^Why/).fill('the packages are repaired')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('status').filter({ hasText: 'heavy-1' }).waitFor()
  await story.getByText('Compensated').first().waitFor()
  assert.equal(await page.locator('#act').isVisible(), false)
  assert.match(await story.innerText(), /ada/)
  assert.match(await story.innerText(), /the packages are repaired/)
})

test('what does not exist, and an app that is away, are told', async (t) => {
  const page = await opened(t, { hash: '#/transaction/nobody-knows-this', expected: /Failed to load/ })
  await page.getByRole('alert').filter({ hasText: /no such/i }).waitFor()
  await page.route('**/api/operations/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Quarantine' }).click()
  await page.getByRole('alert').filter({ hasText: /fetch/i }).waitFor()
})

test('no text becomes markup or script, whatever field it is in', async (t) => {
  const hostile = `"'><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script><svg onload="globalThis.hit=1">javascript:globalThis.hit=1`
  const spoil = (value) => {
    if (typeof value === 'string') return value + hostile
    if (Array.isArray(value)) return value.map(spoil)
    return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === 'continuation' ? v : spoil(v)])) : value
  }
  await put('spoiled-1', 90)
  const page = await opened(t, { hash: '#/quarantine' })
  await page.route('**/api/operations/**', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, json: spoil(await answer.json()) })
  })
  for (const [hash, seen] of [['#/', '#now'], ['#/transactions?state=Compensated', '#transactions'], ['#/transaction/heavy-1', '#transaction']]) {
    await page.evaluate((to) => { location.hash = to }, hash)
    await page.locator(seen).getByText('<img src=x').first().waitFor()
    const found = await page.evaluate(() => ({
      hit: globalThis.hit, scripts: document.scripts.length, foreign: document.querySelectorAll('img, iframe, object, embed, main script, [onerror], [onload]').length,
      links: [...document.querySelectorAll('a')].filter((a) => !/^(#|https?:)/.test(a.getAttribute('href'))).length,
    }))
    assert.deepEqual(found, { hit: undefined, scripts: 1, foreign: 0, links: 0 }, hash)
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
