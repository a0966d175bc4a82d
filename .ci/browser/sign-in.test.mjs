// How operators sign in. The app's side is played where it differs from the
// running system's, which asks for nothing: the configuration, the policy that lets the
// page talk to the issuer, and 401. handlers/auth_test.go has the real one.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { opened, url } from './world.mjs'

// guarded has the app ask for what admits, and notes what came.
async function guarded(page, config, issuer, admits) {
  await page.route(/\/api\/ops([?#]|$)/, async (route) => {
    const answer = await route.fetch()
    const headers = answer.headers()
    headers['content-security-policy'] = headers['content-security-policy'].replace("connect-src 'self'", `connect-src 'self' ${issuer}`)
    await route.fulfill({ response: answer, headers })
  })
  await page.route('**/api/ops/config', (route) => route.fulfill({ json: config }))
  await page.route('**/api/operations/**', (route) => (admits(route.request().headers()) ? route.continue() : route.fulfill({ status: 401, body: '' })))
}

// issuer is one that speaks OpenID Connect, and gives a token for a code and the
// verifier of its challenge.
async function issuer(t) {
  let challenge
  const asked = []
  const server = createServer((request, response) => {
    const body = []
    request.on('data', (part) => body.push(part)).on('end', () => {
      response.setHeader('Access-Control-Allow-Origin', '*')
      response.setHeader('Content-Type', 'application/json')
      if (request.url.endsWith('/.well-known/openid-configuration')) {
        response.end(JSON.stringify({ authorization_endpoint: `${at}/authorize`, token_endpoint: `${at}/token` }))
        return
      }
      const form = new URLSearchParams(Buffer.concat(body).toString())
      asked.push(Object.fromEntries(form))
      const good = form.get('code') === 'code-1' && createHash('sha256').update(form.get('code_verifier')).digest('base64url') === challenge
      const claims = Buffer.from(JSON.stringify({ name: 'Ada Löwe' })).toString('base64url')
      response.statusCode = good ? 200 : 400
      response.end(JSON.stringify(good ? { access_token: 'token-1', id_token: `x.${claims}.y` } : { error: 'invalid_grant', error_description: 'no such code' }))
    })
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  const at = `http://127.0.0.1:${server.address().port}`
  return { at, asked, challenged: (value) => { challenge = value } }
}

test('with tokens, an operator signs in by code and PKCE, and the token goes with the page', async (t) => {
  const login = await issuer(t)
  const config = { name: 'drone-delivery', auth: 'entra', issuer: login.at, clientId: 'client-1' }
  const bearer = (headers) => headers.authorization === 'Bearer token-1' && !headers.cookie
  const page = await opened(t, { hash: '#/transactions', expected: /401|Failed to load/, prepare: async (page) => {
    await guarded(page, config, login.at, bearer)
    await page.route((to) => to.href.startsWith(`${login.at}/authorize`), (route) => route.fulfill({ contentType: 'text/html', body: '<title>issuer</title>' }))
  } })
  await page.getByRole('button', { name: 'Sign in with Entra ID' }).click()
  await page.waitForURL((to) => to.pathname === '/authorize')
  const sent = Object.fromEntries(new URL(page.url()).searchParams)
  assert.deepEqual({ ...sent, state: '', code_challenge: '' }, {
    client_id: 'client-1', response_type: 'code', response_mode: 'query', redirect_uri: url, state: '', scope: 'client-1/.default openid profile',
    code_challenge: '', code_challenge_method: 'S256',
  })
  assert.ok(sent.state.length >= 43 && sent.code_challenge.length === 43, JSON.stringify(sent))
  login.challenged(sent.code_challenge)

  // A way back that belongs to no way there is refused, and uses up the one that was.
  await page.goto(`${url}?code=code-1&state=another`)
  await page.getByRole('alert').filter({ hasText: 'not begun here' }).waitFor()
  assert.deepEqual(login.asked, [])
  await page.getByRole('button', { name: 'Sign in with Entra ID' }).click()
  await page.waitForURL((to) => to.pathname === '/authorize')
  const again = Object.fromEntries(new URL(page.url()).searchParams)
  assert.notEqual(again.state, sent.state)
  assert.notEqual(again.code_challenge, sent.code_challenge)
  login.challenged(again.code_challenge)
  await page.goto(`${url}?code=code-1&state=${again.state}`)
  await page.locator('#now:not([hidden]), #transactions:not([hidden])').first().waitFor()
  assert.equal(new URL(page.url()).search, '')
  assert.equal(await page.locator('#by').inputValue(), 'Ada Löwe')
  assert.equal(login.asked.length, 1)
  assert.equal(login.asked[0].redirect_uri, url)
  const kept = await page.evaluate(() => [document.cookie, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })])
  assert.deepEqual(kept, ['', '{}', '{}'])

  await page.reload()
  await page.getByRole('button', { name: 'Sign in with Entra ID' }).waitFor()
})

test('with keys, a key is typed, goes in its header, and is asked for again when it is refused', async (t) => {
  let good = 'key-1'
  const page = await opened(t, { hash: '#/transactions', expected: /401|Failed to load/, prepare: (page) =>
    guarded(page, { name: 'drone-delivery', auth: 'keys' }, '', (headers) => headers['x-functions-key'] === good) })
  await page.getByLabel(/^Function key/).fill('wrong')
  await page.getByRole('button', { name: 'Use the key' }).click()
  await page.getByText('was not accepted').waitFor()
  await page.getByLabel(/^Function key/).fill('key-1')
  await page.getByRole('button', { name: 'Use the key' }).click()
  await page.getByRole('heading', { name: 'Transactions' }).waitFor()
  assert.equal(await page.locator('#key').inputValue(), '')
  good = 'key-2'
  await page.getByLabel(/^Function key/).waitFor()
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]), ['', 0, 0])
})

// As an issuer does at the end of a sign-in: localhost is another site than 127.0.0.1.
test('another site leads the browser to the page, and to no data', async (t) => {
  const elsewhere = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>elsewhere</title>'))
  await new Promise((listening) => elsewhere.listen(0, 'localhost', listening))
  t.after(() => elsewhere.close())
  const page = await opened(t, { expected: /403|404/ }) // the favicon, too
  const led = async (to) => {
    await page.goto(`http://localhost:${elsewhere.address().port}/`)
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url() === to), page.waitForEvent('load'), page.evaluate((to) => location.assign(to), to),
    ])
    return answer.status()
  }
  assert.equal(await led(`${url}?code=code-1&state=state-1`), 200)
  assert.equal(await led(new URL('operations/status', url).href), 403)
})
