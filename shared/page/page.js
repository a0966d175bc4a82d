// The operators' page. All data comes from Operations; every text is put on the
// page as a text node (docs/adr/0035-page.md).
'use strict'

const POLL = 5000 // milliseconds between two reads while the page is visible
const SVG = 'http://www.w3.org/2000/svg'
const byID = (id) => document.getElementById(id)

// What the page knows of its user, in memory alone.
const session = { config: null, token: '', key: '' }

class NotSignedIn extends Error {}

// ---- What is shown

// el makes an element. Attributes whose value is undefined or false are left out, and
// links to anything but this page and the web; everything else is text.
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children)
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children)
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') node.addEventListener(name, value)
    else if (value !== undefined && value !== false && (name !== 'href' || /^(#|https?:)/.test(value))) node.setAttribute(name, value)
  }
  node.append(...children.flat(Infinity).filter((c) => c || c === 0))
  return node
}

// show replaces what is in a place, and leaves the focus on what has the same name.
function show(place, ...nodes) {
  const same = (node) => `${node.tagName} ${node.getAttribute('href')} ${node.value} ${node.textContent}`
  const focused = place.contains(document.activeElement) ? same(document.activeElement) : ''
  place.replaceChildren(...nodes.flat(Infinity).filter(Boolean))
  if (focused) [...place.querySelectorAll('a, button, input')].find((n) => same(n) === focused)?.focus()
}

const time = (at) => (at ? new Date(at).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' }) : '')

function moment(at) {
  return at ? el('time', { datetime: at, title: at }, time(at)) : ''
}

// age tells how long something takes, or has lasted, in milliseconds.
function age(ms) {
  const s = Math.max(0, ms) / 1000
  if (s < 1) return `${Math.round(s * 1000)} ms`
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`
  return s < 172800 ? `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min` : `${Math.round(s / 86400)} days`
}

const toTransaction = (id) => el('a', { href: '#/transaction/' + encodeURIComponent(id) }, id)
const toEntry = (q) => el('a', { href: `#/entry/${encodeURIComponent(q.source)}/${encodeURIComponent(q.id)}` }, q.id)

// table makes a table of rows, each a list of cells: texts, numbers, nodes.
function table(caption, heads, rows, none) {
  if (rows.length === 0) return none ? el('p', { class: 'quiet' }, none) : undefined
  const isNumber = (c) => typeof c === 'number'
  const long = (c) => /\S{30}/.test(c?.textContent ?? c) && 'long'
  const cell = (c) => el('td', { class: isNumber(c) ? 'number' : long(c) }, isNumber(c) ? c.toLocaleString() : c)
  return el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
    el('table', {}, el('caption', {}, caption),
      el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', { scope: 'col', class: rows.every((row) => isNumber(row[i])) && 'number' }, h)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, row.map(cell))))))
}

// facts makes a list of what is known; what is empty is left out.
function facts(list) {
  return el('dl', {}, list.filter(([, value]) => (value ?? '') !== '')
    .map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]))
}

// ---- Pictures. Each has a table or a text beside it that says the same.

const width = (place) => Math.max(place.clientWidth, 280)

function picture(label, w, h, ...nodes) {
  return svg('svg', { role: 'img', 'aria-label': label, width: w, height: h, viewBox: `0 0 ${w} ${h}` }, nodes)
}

const write = (x, y, text, kind, anchor) => svg('text', { x, y, class: kind, 'text-anchor': anchor }, text)

// strip draws the flow: boxes with lines of text, from left to right, or one below
// the other where there is no room. A box's level is '', 'warn' or 'bad'.
function strip(place, boxes) {
  const full = width(place)
  const columns = Math.max(1, Math.min(boxes.length, Math.floor(full / 150)))
  const step = full / columns
  const w = step - 18
  const lines = Math.max(...boxes.map((b) => b.lines.length))
  const h = 34 + lines * 17
  const rows = Math.ceil(boxes.length / columns)
  const fits = Math.floor(w / 7.2)
  const cut = (text) => (text.length > fits ? text.slice(0, fits - 1) + '…' : text)
  return picture('The flow: ' + boxes.map((b) => [b.title, ...b.lines].join(', ')).join('; '), full, rows * (h + 14),
    boxes.map((box, i) => {
      const x = (i % columns) * step
      const y = Math.floor(i / columns) * (h + 14) + 1
      return svg('g', {},
        svg('rect', { x: x + 1, y, width: w, height: h, rx: 6, class: 'box ' + box.level }),
        write(x + 10, y + 20, cut(box.title), 'title'),
        box.lines.map((line, n) => write(x + 10, y + 40 + n * 17, cut(line))),
        i + 1 < boxes.length && (i + 1) % columns !== 0 && svg('path', { class: 'arrow', d: `M${x + w + 3} ${y + h / 2} h11 m-4 -4 l4 4 l-4 4` }),
        i + 1 < boxes.length && columns === 1 && svg('path', { class: 'arrow', d: `M${x + w / 2} ${y + h} v12 m-4 -4 l4 4 l4 -4` }))
    }))
}

// curve draws values over the last hour: points of {at, value}, at in milliseconds.
function curve(place, title, points, tell) {
  const w = Math.min(width(place), 560)
  const [h, left, below] = [120, 64, 20]
  const until = Date.now()
  const from = until - 3600e3
  const top = Math.max(1e-3, ...points.map((p) => p.value))
  const x = (at) => left + (w - left - 4) * Math.min(1, Math.max(0, (at - from) / (until - from)))
  const y = (value) => 8 + (h - below - 8) * (1 - value / top)
  const latest = points.at(-1)
  const said = latest ? `now ${tell(latest.value)}, at most ${tell(top)}` : 'nothing yet'
  return el('figure', {}, el('figcaption', {}, `${title}: ${said}`),
    picture(`${title} of the last hour: ${said}`, w, h,
      svg('path', { class: 'grid', d: `M${left} 8 H${w - 4} M${left} ${h - below} H${w - 4}` }),
      write(left - 6, 14, tell(top), 'small', 'end'), write(left - 6, h - below, '0', 'small', 'end'),
      write(left, h - 4, time(from), 'small'), write(w - 4, h - 4, 'now', 'small', 'end'),
      svg('path', { class: 'curve', d: points.map((p, i) => `${i ? 'L' : 'M'}${x(p.at).toFixed(1)} ${y(p.value).toFixed(1)}`).join('') })))
}

// timeline draws a transaction: a row for its states, one for each step.
function timeline(place, t) {
  const at = (text) => new Date(text).getTime()
  const ended = t.endedAt ? at(t.endedAt) : 0
  const history = (t.history ?? []).map((h) => ({ at: at(h.at), name: h.state }))
  const begun = t.steps.filter((s) => s.startedAt)
  const times = [t.acceptedAt, t.endedAt, t.wakeAt, ...begun.flatMap((s) => [s.startedAt, s.endedAt])].filter(Boolean).map(at)
  times.push(...history.map((h) => h.at), ...(ended ? [] : [Date.now()]))
  const [from, until] = [Math.min(...times), Math.max(...times)]
  if (!(until > from)) return undefined
  const [w, left, row] = [width(place), 110, 26]
  const x = (when) => left + (w - left - 8) * (when - from) / (until - from)
  const bar = (n, a, b, kind, label) => svg('rect', { x: x(a), y: 8 + n * row, width: Math.max(3, x(b) - x(a)), height: row - 10, rx: 2, class: 'bar ' + kind },
    svg('title', {}, label))
  const kinds = { Rejected: 'failed', Undoing: 'undo', Undone: 'undo', Pending: 'wait' }
  const rows = begun.length + 1
  const label = `Time line over ${age(until - from)}: ` + [...history.map((h) => h.name), ...begun.map((s) => `${s.name} ${s.state}`)].join(', ')
  return el('figure', {}, el('figcaption', {}, `Time line: ${age(until - from)}`), picture(label, w, rows * row + 32,
    write(0, 22, 'states', 'small'),
    history.map((h, i) => bar(0, h.at, history[i + 1]?.at ?? (ended || until), { Compensating: 'undo', Stuck: 'failed' }[h.name] ?? '', h.name)),
    begun.map((s, i) => [write(0, 22 + (i + 1) * row, s.name.slice(0, 15), 'small'),
      bar(i + 1, at(s.startedAt), s.endedAt ? at(s.endedAt) : until, kinds[s.state] ?? '', `${s.name}: ${s.state}, ${s.attempts} attempts`)]),
    t.operations.map((o) => svg('path', { class: 'mark', d: `M${x(at(o.acceptedAt))} 4 V${rows * row + 8}` }, svg('title', {}, `${o.kind} accepted`))),
    t.wakeAt && svg('path', { class: 'mark wait', d: `M${x(at(t.wakeAt))} 4 V${rows * row + 8}` }, svg('title', {}, 'next wake')),
    write(left, rows * row + 26, time(from), 'small'), write(w - 8, rows * row + 26, time(until), 'small', 'end')))
}

// ---- Calls

// call asks Operations. No cookie goes with it, and nothing is kept.
async function call(path, body) {
  const headers = { Accept: 'application/json' }
  if (session.config.auth !== 'off' && !session.token && !session.key) throw new NotSignedIn('')
  if (session.token) headers.Authorization = 'Bearer ' + session.token
  if (session.key) headers['x-functions-key'] = session.key
  if (body) headers['Content-Type'] = 'application/json'
  const answer = await fetch('operations/' + path, {
    method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body),
    cache: 'no-store', credentials: 'omit', redirect: 'error', signal: AbortSignal.timeout(body ? 60000 : 10000),
  })
  if (answer.status === 401) {
    session.token = session.key = ''
    throw new NotSignedIn('The token or key was not accepted.')
  }
  const text = await answer.text()
  let value
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`answered ${answer.status}, and not in JSON`)
  }
  if (answer.ok) return value
  const faults = (value.errors ?? []).map((e) => `${e.pointer} ${e.detail}`)
  const role = answer.status === 403 ? 'the role Operator is needed' : ''
  throw new Error([value.title ?? `answered ${answer.status}`, value.detail, role, ...faults].filter(Boolean).join(': '))
}

// ---- Signing in

const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)))
const here = () => location.origin + location.pathname

// endpoints are the issuer's, as its configuration names them (OpenID Connect
// Discovery 1.0). One at another place than the issuer's is not trusted.
async function endpoints() {
  const { issuer } = session.config
  const answer = await fetch(issuer.replace(/\/$/, '') + '/.well-known/openid-configuration', { credentials: 'omit' })
  if (!answer.ok) throw new Error(`the issuer's configuration: answered ${answer.status}`)
  const found = await answer.json()
  for (const name of ['authorization_endpoint', 'token_endpoint']) {
    if (new URL(found[name]).origin !== new URL(issuer).origin) throw new Error(`the issuer's ${name} is elsewhere`)
  }
  return found
}

// signIn leaves for the issuer: authorization code with PKCE (RFC 7636). What
// proves that the way back belongs to this way there outlives the page in its
// tab's session storage; it is worth nothing once used.
async function signIn() {
  const found = await endpoints()
  const verifier = random()
  const state = random()
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  sessionStorage.setItem('sign-in', JSON.stringify({ verifier, state, hash: location.hash }))
  const to = new URL(found.authorization_endpoint)
  for (const [name, value] of Object.entries({
    client_id: session.config.clientId, response_type: 'code', response_mode: 'query', redirect_uri: here(), state,
    scope: session.config.clientId + '/.default openid profile', code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
  })) to.searchParams.set(name, value)
  location.assign(to.href)
}

// signedIn takes the code that the issuer has sent the browser back with, if it
// has, and gets the token for it.
async function signedIn() {
  const back = new URLSearchParams(location.search)
  if (!back.has('code') && !back.has('error')) return
  const begun = JSON.parse(sessionStorage.getItem('sign-in') ?? '{}')
  sessionStorage.removeItem('sign-in')
  history.replaceState(null, '', location.pathname + (begun.hash ?? ''))
  if (!begun.state || back.get('state') !== begun.state) throw new Error('this sign-in was not begun here: sign in again')
  if (back.has('error')) throw new Error(`sign-in: ${back.get('error')}: ${back.get('error_description') ?? ''}`)
  const found = await endpoints()
  const answer = await fetch(found.token_endpoint, {
    method: 'POST', credentials: 'omit',
    body: new URLSearchParams({
      grant_type: 'authorization_code', client_id: session.config.clientId, code: back.get('code'), redirect_uri: here(), code_verifier: begun.verifier,
    }),
  })
  const got = await answer.json()
  if (!answer.ok) throw new Error(`sign-in: ${got.error}: ${got.error_description ?? ''}`)
  session.token = got.access_token
  byID('by').value = nameIn(got.id_token)
}

// nameIn reads the name that the form offers. Nothing depends on it: the record
// has the id that the access token proves.
function nameIn(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    const claims = JSON.parse(new TextDecoder().decode(bytes))
    return claims.name ?? claims.preferred_username ?? ''
  } catch {
    return ''
  }
}

function askToSignIn(why) {
  const { auth, clientId } = session.config
  for (const view of document.querySelectorAll('main > section')) view.hidden = view.id !== 'sign-in'
  byID('with-key').hidden = auth !== 'keys'
  byID('with-token').hidden = auth !== 'entra' || !clientId
  show(byID('sign-in-why'), why + (auth === 'entra' && !clientId ? ' AUTH_AUDIENCE names no client id, so that nobody can sign in here.' : ''))
}

// ---- Views

const views = {
  now: { read: () => call('status'), render: renderNow },
  transactions: { read: (v) => pages('transactions', v.query), render: renderList },
  transaction: { read: (v) => call('transactions/' + encodeURIComponent(v.id)), render: renderStory },
  quarantine: { read: (v) => pages('quarantine', v.query ? v.query.replace('state=any', '') : 'state=Kept'), render: renderEntries },
  entry: { read: (v) => call(`quarantine/${encodeURIComponent(v.id)}/${encodeURIComponent(v.entry)}`), render: renderEntry },
}

let wanted = 1 // how often more of a list was asked for, and once

// pages reads some 50 items of a list for each time that they are wanted, in at most
// 8 calls: a page may have few items, or none.
async function pages(path, query) {
  const items = []
  let continuation
  for (let n = 0; n === 0 || (continuation && n < 8 * wanted && items.length < 50 * wanted); n++) {
    const asked = new URLSearchParams(query)
    if (continuation) asked.set('continuation', continuation)
    const page = await call(`${path}?${asked}`)
    items.push(...page.items)
    continuation = page.continuation
  }
  return { items, more: Boolean(continuation) }
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch { // somebody has typed it
    return text
  }
}

// where reads the address: "#/transactions?state=Stuck", "#/transaction/ID", "#/entry/SOURCE/ID".
function where() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?')
  const [name, id, entry] = path.split('/').map(decoded)
  return { name: Object.hasOwn(views, name) ? name : 'now', id, entry, query: query ?? '' }
}

const rate = (n) => `${n < 10 ? +n.toFixed(1) : Math.round(n).toLocaleString()}/s`
const many = (count) => (count ? `${count.more ? 'more than ' : ''}${count.count.toLocaleString()}` : '0')
const since = (at) => (at ? age(Date.now() - new Date(at)) : '')
const sum = (list, field) => list.reduce((all, one) => all + one[field], 0)

function renderNow(s) {
  const { accepting, survey, steps, breakers, history } = s
  const { states, partitions, queues } = survey
  const oldest = partitions.map((p) => p.oldestUnreadAt).filter(Boolean).sort()[0]
  const dead = sum(queues, 'dead')
  const failing = sum(steps, 'failedPerSecond')
  const level = (bad, warn) => (bad ? 'bad' : warn ? 'warn' : '')
  show(byID('as-of'), `As of ${time(s.at)}, shard ${s.shard}, told by ${s.instances.length} instances; counts `,
    survey.at ? `of ${time(survey.at)}.` : 'not made yet.', (survey.failed ?? []).map((f) => el('span', { class: 'bad' }, ` Not found out: ${f}.`)))
  show(byID('unusual'), s.unusual.length === 0 ? el('p', { class: 'good' }, 'Nothing is unusual.')
    : el('ul', { 'aria-label': 'Unusual' }, s.unusual.map((u) => el('li', { class: u.urgent && 'urgent' }, el('strong', {}, u.says), ` ${u.do} `,
      el('span', { class: 'quiet' }, `Since ${time(u.since)} (${since(u.since)}); docs/operations.md, “${u.about}”.`)))))
  show(byID('strip'), strip(byID('strip'), [
    { title: 'Accepted', level: level(accepting.failedPerSecond + accepting.refusedPerSecond > 0, accepting.fullest > 0.5),
      lines: [rate(accepting.perSecond), `failed ${rate(accepting.failedPerSecond + accepting.refusedPerSecond)}`, `waiting ${accepting.buffer} of ${accepting.room}`] },
    { title: 'Hub', level: level(false, oldest && Date.now() - new Date(oldest) > 60000),
      lines: [`lag ${sum(partitions, 'lag').toLocaleString()}`, oldest ? `oldest ${since(oldest)}` : 'nothing unread', `partitions ${partitions.length}`] },
    { title: 'Queues', level: level(dead > 0, false),
      lines: [`active ${sum(queues, 'active').toLocaleString()}`, `scheduled ${sum(queues, 'scheduled').toLocaleString()}`, `dead ${dead.toLocaleString()}`] },
    { title: 'Steps', level: level(breakers.length > 0, failing > 0),
      lines: [`in flight ${sum(steps, 'inFlight')}`, `failed ${rate(failing)}`, `breakers open ${breakers.length}`] },
    { title: 'Undo', level: level(states.Stuck?.count > 0, states.Compensating?.count > 0),
      lines: [`begun ${rate(s.undosBegun)}`, `undoing ${many(states.Compensating)}`, `Stuck ${many(states.Stuck)}`] },
    { title: 'Quarantine', level: level(false, survey.quarantine.count > 0), lines: [`to decide ${many(survey.quarantine)}`] },
    { title: 'Notices', level: level(false, survey.overdue.count > 0), lines: [`to deliver ${many(survey.notices)}`, `wakes overdue ${many(survey.overdue)}`] },
  ]))
  const begun = new Date(history.from).getTime()
  const points = (values) => values.map((value, i) => ({ at: begun + i * 60000, value }))
  show(byID('pictures'), curve(byID('pictures'), 'Backlog', points(history.backlog), (n) => Math.round(n).toLocaleString()),
    curve(byID('pictures'), 'Latency', points(history.latency).filter((p) => p.value > 0), (n) => age(n * 1000)))
  const toState = (state) => el('a', { href: '#/transactions?state=' + encodeURIComponent(state) }, state)
  show(byID('details'),
    table('Transactions by state', ['State', 'Count', 'Oldest'], Object.entries(states).map(([state, c]) => [toState(state), many(c), since(c.oldestAt)])),
    table('Ends', ['State', 'Rate'], Object.entries(s.ends).map(([state, n]) => [toState(state), rate(n)])),
    table('Steps', ['Step', 'Backend', 'In flight', 'Calls', 'Failed', 'Last failure', 'Breaker'], steps.map((f) => {
      const open = breakers.find((b) => b.backend === f.backend)
      return [f.step, f.backend, f.inFlight, rate(f.perSecond), rate(f.failedPerSecond), f.error ?? '', open ? `open for ${since(open.since)}, in ${open.instances} instances` : '']
    })),
    table('Queues', ['Queue', 'Active', 'Scheduled', 'Dead'], queues.map((q) => [q.queue, q.active, q.scheduled, q.dead])),
    table('Partitions of the hub', ['Partition', 'Lag', 'Oldest unread', 'Reader last seen, before the count'],
      partitions.map((p) => [p.partition, p.lag, since(p.oldestUnreadAt), p.renewedAt ? age(new Date(survey.at) - new Date(p.renewedAt)) : 'nobody reads'])))
}

const wrong = (s) => s.lastError ?? s.reason ?? ''
const listed = (s, box) => [box, toTransaction(s.id), s.state, s.cause ?? '', (s.unusual ?? []).join(', '), moment(s.since ?? s.changedAt), s.step ?? '',
  s.attempts ?? '', wrong(s), moment(s.wakeAt)]

// filled puts the filter of the address into its form.
function filled(form, query, state) {
  for (const field of form.elements) {
    if (field.name) field.value = query.get(field.name) ?? (field.name === 'state' ? state : '')
  }
}

function renderList(page, view) {
  const query = new URLSearchParams(view.query)
  const search = query.get('search')
  if (search && page.items.length === 1 && !page.more) {
    location.replace('#/transaction/' + encodeURIComponent(page.items[0].id))
    return
  }
  filled(byID('filter'), query, query.has('caller') ? '' : 'Stuck')
  const boxes = choosing(byID('chosen'), ['retry', 'giveup', 'wake'],
    page.items.map((s) => ({ name: s.id, state: s.state, what: [s.step, wrong(s)].filter(Boolean).join(': ') })))
  show(byID('list'), search && el('p', {}, 'Found by ', el('q', {}, search), ', as an id or a key:'),
    table('Transactions', ['Choose', 'Id', 'State', 'Cause', 'Unusual', 'Since', 'Step', 'Attempts', 'Last error', 'Next wake'],
      page.items.map((s, i) => listed(s, boxes[i])), page.more ? 'none on this page; there are more pages' : 'none'))
  byID('more').hidden = !page.more
}

function renderStory(story) {
  const t = story.transaction
  show(byID('transaction-title'), 'Transaction ' + t.id)
  show(byID('story'),
    facts([['State', t.state], ['Cause', t.cause], ['Reason', t.reason], ['Accepted', moment(t.acceptedAt)], ['Started', moment(t.startedAt)],
      ['Ended', moment(t.endedAt)], ['Next wake', moment(t.wakeAt)], ['Caller', t.caller],
      ['Trace', story.traceUrl ? el('a', { href: story.traceUrl, target: '_blank', rel: 'noreferrer' }, story.traceId) : story.traceId]]),
    table('What comes next', ['When', 'What'], story.next.map((n) => [moment(n.at), n.what])),
    table('What is left', ['Step', 'Effect', 'Call that removes it', 'Attempts', 'Last error'],
      story.remaining.map((r) => [r.step, r.effect, r.method ? `${r.method} ${r.backend} ${r.path}` : '', r.attempts, r.error?.message ?? ''])))
  buttons(byID('acts'), story.acts, () => [{ name: t.id, state: t.state, what: story.remaining.map((r) => r.error?.message).join(' ') || t.reason }])
  show(byID('past'), timeline(byID('past'), t),
    table('Steps', ['Step', 'State', 'Effect', 'Attempts', 'Began', 'Took', 'Last error'], t.steps.map((s) => [
      s.name, s.state, s.effect, s.attempts, moment(s.startedAt), s.endedAt && s.startedAt ? age(new Date(s.endedAt) - new Date(s.startedAt)) : '',
      (s.undoError ?? s.error)?.message ?? ''])),
    table('Operations', ['Operation', 'State', 'Reason', 'Accepted', 'Ended', 'Id'],
      t.operations.map((o) => [o.kind, o.state, o.reason ?? '', moment(o.acceptedAt), moment(o.endedAt), o.id])),
    table('What has happened', ['When', 'About', 'What', 'Who'],
      story.timeline.map((e) => [moment(e.at), e.step ? `${e.kind} ${e.step}` : e.kind, e.what, e.by ?? ''])),
    table('In the quarantine', ['When', 'Entry', 'Reason', 'Detail', 'State'],
      story.quarantine.map((q) => [moment(q.at), toEntry(q), q.reason, q.detail ?? '', q.state])))
}

const ofEntry = (q) => ({ name: `${q.source}/${q.id}`, state: q.state, what: `${q.reason}: ${q.detail ?? ''}` })

function renderEntries(page, view) {
  filled(byID('entry-filter'), new URLSearchParams(view.query), view.query ? 'any' : 'Kept')
  const boxes = choosing(byID('chosen-entries'), ['redrive', 'drop'], page.items.map((q) => q.state === 'Kept' && ofEntry(q)))
  show(byID('entries'), table('Entries', ['Choose', 'When', 'Source', 'Id', 'Reason', 'Detail', 'Transaction', 'State'], page.items.map((q, i) => [
    boxes[i], moment(q.at), q.source, toEntry(q), q.reason, q.detail ?? '', q.transactionId ? toTransaction(q.transactionId) : '', q.state]), 'none'))
  byID('more-entries').hidden = !page.more
}

function renderEntry(q) {
  show(byID('entry-title'), 'Entry ' + q.id)
  buttons(byID('entry-acts'), q.state === 'Kept' ? ['redrive', 'drop'] : [], () => [ofEntry(q)])
  show(byID('about'),
    facts([['State', q.state], ['Kept', moment(q.at)], ['Source', q.source], ['Reason', q.reason], ['Detail', q.detail],
      ['Transaction', q.transactionId && toTransaction(q.transactionId)], ['Message', q.messageId]]),
    table('What was made of it', ['When', 'Act', 'Who', 'Why', 'Result'], (q.acts ?? []).map((a) => [moment(a.at), a.act, a.by, a.why, a.result ?? 'begun'])),
    table('Properties', ['Name', 'Value'], Object.entries(q.properties ?? {}).map(([name, value]) => [name, `${value}`])),
    el('h3', {}, 'Body' + (q.encoding ? ', in ' + q.encoding : '')), el('pre', { tabindex: 0 }, q.body))
}

// ---- Acts. What they are to act on is shown as it was chosen, and they name its ids.

const MOST = 500 // of what one act can name
const ACTS = { retry: 'Retry', giveup: 'Give up', wake: 'Wake now', redrive: 'Redrive', drop: 'Drop' }
let chosen = new Map() // of the list that is shown, by name: {name, state, what}
let asked = {} // by the dialog: {act, ids}

function buttons(place, acts, items, ...more) {
  const n = items().length
  show(place, acts.map((act) => el('button', { type: 'button', disabled: n === 0 || n > MOST, click: () => ask(act, items()) }, ACTS[act] ?? act)), ...more)
}

// choosing returns a box for each item, and puts the acts on the chosen ones into a
// place. What is no longer shown is no longer chosen.
function choosing(place, acts, items) {
  chosen = new Map(items.filter((item) => chosen.has(item.name)).map((item) => [item.name, item]))
  const boxes = items.map((item) => item && el('input', {
    type: 'checkbox', value: item.name, 'aria-label': 'Choose ' + item.name, checked: chosen.has(item.name),
    change: (e) => { e.target.checked ? chosen.set(item.name, item) : chosen.delete(item.name); tell() },
  }))
  const all = () => boxes.forEach((box) => { if (box && !box.checked && chosen.size < MOST) box.click() })
  const tell = () => buttons(place, acts, () => [...chosen.values()],
    el('button', { type: 'button', click: all }, 'Choose all shown'), `${chosen.size} chosen, of at most ${MOST}`)
  tell()
  return boxes
}

function ask(act, items) {
  asked = { act, ids: items.map((item) => item.name) }
  show(byID('act-title'), `${ACTS[act]} ${items.length === 1 ? items[0].name : items.length + ' at once'}`)
  show(byID('act-on'), table('What this acts on', ['Id', 'State', 'Why it is here'], items.map((item) => [item.name, item.state, item.what])))
  show(byID('act-said'))
  show(byID('do'), ACTS[act])
  byID('do').hidden = false
  byID('act').showModal()
}

// act does what was asked for. What is not done can be asked for once more.
async function act(event) {
  event.preventDefault()
  const { by, why } = event.target.elements
  byID('do').disabled = true
  try {
    const { items } = await call('acts', { ...asked, by: by.value, why: why.value })
    const open = items.filter((item) => !item.done)
    show(byID('act-said'), `${items.length - open.length} done, ${open.length} not done.`)
    show(byID('act-on'), table('What has become of it', ['Id', 'Done', 'State', 'Result'], items.map((item) => [
      item.id, item.done ? (item.repeated ? 'before' : 'yes') : 'no', item.state ?? '', (item.result ?? '') + (item.shard ? ` (shard ${item.shard})` : '')])))
    asked.ids = open.map((item) => item.id)
    byID('do').hidden = open.length === 0
    if (open.length === 0) why.value = ''
  } catch (e) {
    if (e instanceof NotSignedIn) byID('act').close()
    troubled(e)
    show(byID('act-said'), e.message)
    return
  } finally {
    byID('do').disabled = false
  }
  await refresh()
}

// ---- What goes on

function troubled(e) {
  if (e instanceof NotSignedIn) {
    askToSignIn(e.message)
    return
  }
  show(byID('trouble'), `${time(Date.now())}: ${e.message}`)
  byID('trouble').hidden = false
}

let reading = 0 // the number of the latest read: an answer that was overtaken is dropped
let shown = '' // what is on the page: the same again changes nothing

async function refresh() {
  const mine = ++reading
  const view = where()
  try {
    const value = await views[view.name].read(view)
    if (mine !== reading) return
    byID('trouble').hidden = true
    for (const section of document.querySelectorAll('main > section')) section.hidden = section.id !== view.name
    const text = location.hash + JSON.stringify(value)
    if (text !== shown) views[view.name].render(value, view)
    shown = text
  } catch (e) {
    if (mine === reading) troubled(e)
  }
}

function navigate() {
  const { name } = where()
  for (const link of document.querySelectorAll('nav a')) {
    const own = link.getAttribute('href').replace(/^#\/?/, '') || 'now'
    if (own === name) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  byID('act').close()
  chosen.clear()
  wanted = 1
  refresh()
}

async function start() {
  for (const [form, view] of [['find', 'transactions'], ['filter', 'transactions'], ['entry-filter', 'quarantine']]) {
    byID(form).addEventListener('submit', (e) => {
      e.preventDefault()
      const said = [...new FormData(e.currentTarget)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value)
      if (said.length > 0) location.hash = `#/${view}?` + new URLSearchParams(said)
    })
  }
  for (const id of ['more', 'more-entries']) byID(id).addEventListener('click', () => { wanted++; refresh() })
  addEventListener('resize', () => { shown = ''; refresh() })
  byID('act').addEventListener('submit', act)
  byID('close').addEventListener('click', () => byID('act').close())
  byID('with-key').addEventListener('submit', (e) => {
    e.preventDefault()
    session.key = byID('key').value
    byID('key').value = ''
    refresh()
  })
  byID('with-token').addEventListener('click', () => signIn().catch(troubled))
  addEventListener('hashchange', () => { navigate(); byID('main').focus() })
  document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh() })
  try {
    session.config = await (await fetch('ops/config', { credentials: 'omit' })).json()
    show(byID('name'), session.config.name)
    await signedIn()
  } catch (e) {
    troubled(e)
    if (!session.config) return
  }
  navigate()
  setInterval(() => { if (!document.hidden && byID('sign-in').hidden) refresh() }, POLL)
}

start()
