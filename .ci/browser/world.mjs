// The browser, and the page in it.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { chromium } from 'playwright-core'

const { APP, CHROMIUM } = process.env
export const url = `${APP}/api/ops`

// The sign-in's page is answered by the test, so that Chromium can't tell that it comes from
// this machine, and would ask whether it may call the issuer, which does.
const flags = ['--disable-features=LocalNetworkAccessChecks', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])]

let browser
before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: flags })
})
after(() => browser.close())

// opened opens the page, after it was prepared, and fails the test over anything that the browser
// complains about, refused content included.
export async function opened(t, { hash = '', prepare = () => {}, expected = /^$/, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const complaints = []
  page.on('pageerror', (e) => complaints.push(String(e)))
  page.on('console', (m) => { if (m.type() === 'error' && !expected.test(m.text())) complaints.push(m.text()) })
  t.after(async () => {
    await context.close()
    assert.deepEqual(complaints, [])
  })
  page.setDefaultTimeout(20000)
  await prepare(page)
  await page.goto(url + hash)
  return page
}

