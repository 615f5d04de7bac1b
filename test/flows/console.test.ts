/**
 * The console in a real browser: signs in, walks every page, decides about an agent's calls, runs a tool, writes a
 * schedule, and notices when the gateway is gone.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenLocally } from '../local-port.ts'
import { stringAt } from '../../console/src/core/json.ts'
import type { CallResultView } from '../../src/web/api-requests.ts'
import { findChromium, newProfile, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { PAGES, picture, walkTo } from '../console-walk.ts'
import { doors, lamps, rooms, strangers } from '../strange-house.ts'

const chromium = findChromium()
const front = doors()
const heating = rooms(['Living room', 'Bedroom', 'Bath'])
let house: ConsoleHouse
let browser: Browser

describe.skipIf(chromium === undefined)('the console', () => {
  beforeAll(async () => {
    house = await openConsoleHouse(
      [front.service, heating.service, lamps(60, (index) => `Lamp ${index + 1}`), strangers('Kitchen speaker')],
      // A door that rests between two openings would tell nothing about grants.
      { guard: { actuatorIntervalMs: 0, maxPendingPerPrincipal: 32 } },
    )
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
  })

  it('signs in with the link, and shows every page without a browser error', async () => {
    const { page, complaints } = await signedInPage(browser, house)
    expect(new URL(page.url()).hash).toBe('#/house')
    await agentAsks('porch')
    await agentCalls('task_create', { title: 'Have the bath warm by seven' })
    for (const [id, title] of PAGES) {
      await walkTo(page, id)
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
    }
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('shows nothing but the sign-in page without a session', async () => {
    const page = await (await newProfile(browser)).newPage()
    await page.goto(`${house.url}/#/house`)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.locator('body').innerText()).not.toContain('Living room')
    await page.goto(`${house.url}/#/sign-in/${'x'.repeat(43)}`)
    await page.reload()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('used already')
    // The code does not stay in the address.
    expect(page.url()).not.toContain('xxx')
    await page.context().close()
  })

  it('lets a person approve an agent’s sensitive call, which then runs once and is proven', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'approvals')
    const denied = await agentAsks('north gate')
    expect(denied.outcome).toBe('denied')
    const request = page.getByRole('article').filter({ hasText: 'north gate' })
    await request.waitFor()
    await expect.poll(() => page.title()).toMatch(/^\(\d+\) [A-Z][a-z]+ – Hearthbus$/)
    expect(await request.innerText()).toContain('open for 30 s')
    await request.getByRole('button', { name: 'Approve once' }).click()
    await request.getByText('Approved by console.').waitFor()

    const before = front.opened.length
    const done = await agentAsks('north gate')
    expect([done.outcome, front.opened.length]).toEqual(['ok', before + 1])
    expect((await agentAsks('north gate')).outcome).toBe('denied')
    expect(front.opened).toHaveLength(before + 1)

    await walkTo(page, `calls/${done.traceId}`)
    await page.getByText('approval.used').first().waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save proof' }).last().click()
    const saved = await (await download).path()
    expect(readFileSync(saved, 'utf8')).toMatch(/^c2sp\.org\/tlog-proof@v1\n/)
    await page.context().close()
  })

  it('shows an approval request that is made while the page loads', async () => {
    const page = await (await newProfile(browser)).newPage()
    // An agent asks between the answer to what waits and its arrival: only the stream tells of it.
    await page.route(
      '**/api/approvals?*',
      async (route) => {
        const answer = await route.fetch()
        await agentAsks('side gate')
        await page.waitForTimeout(1_000)
        await route.fulfill({ response: answer })
      },
      { times: 1 },
    )
    await page.goto(await house.link())
    await page.getByRole('heading', { name: 'House' }).waitFor()
    await walkTo(page, 'approvals')
    await page.getByRole('article').filter({ hasText: 'side gate' }).waitFor()
    expect(await page.getByRole('article').filter({ hasText: 'side gate' }).count()).toBe(1)
    await page.context().close()
  })

  it('shows the reasons of a refused call as sentences', async () => {
    const { page } = await signedInPage(browser, house)
    const { traceId } = await agentAsks('west gate')
    await walkTo(page, `calls/${traceId}`)
    const reasons = page.getByRole('region', { name: 'What happened' }).getByRole('listitem')
    expect(await reasons.allInnerTexts()).toEqual(['A person has to approve Front door first. approval'])
    await page.context().close()
  })

  it('lets a person deny a request, with a reason that the agent receives', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'approvals')
    await agentAsks('cellar')
    const request = page.getByRole('article').filter({ hasText: 'cellar' })
    await request.getByRole('button', { name: 'Deny …' }).click()
    await request.getByLabel(/Why not/).fill('Nobody is at home.')
    await request.getByRole('button', { name: 'Deny', exact: true }).click()
    await request.getByText('Denied by console: Nobody is at home.').waitFor()
    await page.getByRole('row').filter({ hasText: 'Nobody is at home.' }).waitFor()
    const again = await agentAsks('cellar')
    expect([again.outcome, again.fault?.message]).toEqual(['denied', expect.stringContaining('Nobody is at home.')])
    await page.context().close()
  })

  it('lets a person withdraw an approval before the call is made', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'approvals')
    await agentAsks('west gate')
    const request = page.getByRole('article').filter({ hasText: 'west gate' })
    await request.getByRole('button', { name: 'Approve once' }).click()
    await request.getByRole('button', { name: 'Take it back …' }).click()
    await request.getByLabel(/Why not/).fill('I meant the other gate.')
    await request.getByRole('button', { name: 'Deny', exact: true }).click()
    await request.getByText('Denied by console: I meant the other gate.').waitFor()
    expect(await request.getByRole('button').count()).toBe(0)
    expect((await agentAsks('west gate')).fault?.message).toContain('I meant the other gate.')
    await page.context().close()
  })

  it('keeps the order of approval requests when one is answered and others arrive', async () => {
    const [mine, theirs] = [await signedInPage(browser, house), await signedInPage(browser, house)]
    const gates = ['first gate', 'second gate', 'third gate']
    const request = (page: Page, gate: string): Locator => page.getByRole('article').filter({ hasText: gate })
    const places = async (): Promise<readonly string[]> => {
      const texts = await mine.page.getByRole('article').allInnerTexts()
      return texts.flatMap((text) => gates.filter((gate) => text.includes(gate)))
    }
    for (const { page } of [mine, theirs]) await walkTo(page, 'approvals')
    for (const gate of gates.slice(0, 2)) await agentAsks(gate)
    await request(mine.page, 'second gate').waitFor()
    await request(mine.page, 'first gate').getByRole('button', { name: 'Approve more …' }).press('Enter')
    await mine.page.getByRole('dialog').waitFor()

    await request(theirs.page, 'first gate').getByRole('button', { name: 'Deny …' }).click()
    await request(theirs.page, 'first gate')
      .getByLabel(/Why not/)
      .fill('Not today.')
    await request(theirs.page, 'first gate').getByRole('button', { name: 'Deny', exact: true }).click()
    const answer = request(mine.page, 'first gate').getByText('Denied by console: Not today.')
    await answer.waitFor()
    expect(await mine.page.getByRole('dialog').count()).toBe(0)
    expect(await mine.page.evaluate<string>('document.activeElement.textContent')).toBe('Denied by console: Not today.')
    await agentAsks('third gate')
    await request(mine.page, 'third gate').waitFor()
    expect(await places()).toEqual(gates)
    for (const { page } of [mine, theirs]) await page.context().close()
  })

  it('computes ages and remaining times by the gateway’s clock, not the browser’s', async () => {
    const page = await (await browser.newContext()).newPage()
    await page.clock.install({ time: Date.now() + 3_600_000 })
    await page.goto(await house.link())
    await page
      .getByRole('article', { name: 'Bedroom' })
      .getByText(/just now| s ago/)
      .waitFor()
    await walkTo(page, 'approvals')
    await agentAsks('tower')
    const request = page.getByRole('article').filter({ hasText: 'tower' })
    await expect.poll(() => request.innerText()).toMatch(/\d min left/)
    await page.context().close()
  })

  it('grants a bounded number of later calls with an approval', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'approvals')
    await agentAsks('garage')
    const request = page.getByRole('article').filter({ hasText: 'garage' })
    await request.getByRole('button', { name: 'Approve more …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Times, beyond this one').fill('2')
    await dialog.getByLabel(/may vary/).check()
    await dialog.getByLabel('from').fill('10')
    await dialog.getByLabel('to', { exact: true }).fill('60')
    await dialog.getByRole('button', { name: 'Approve and grant' }).click()
    await page.getByRole('table', { name: 'Grants in force' }).waitFor()
    const outcomes = []
    for (const seconds of [30, 10, 60, 61, 20])
      outcomes.push((await agentCalls('test.door.open', { door: 'garage', seconds })).outcome)
    // The approved one, two within the bounds, one beyond them, and none left.
    expect(outcomes).toEqual(['ok', 'ok', 'ok', 'denied', 'denied'])
    await page.context().close()
  })

  it('does not redraw a trend when an age is updated', async () => {
    const { page } = await signedInPage(browser, house)
    const room = page.getByRole('article', { name: 'Bedroom' })
    await room.getByRole('button', { name: /^Trend of Bedroom/ }).click()
    await page.locator('dialog canvas').waitFor()
    await page.evaluate("document.querySelector('dialog canvas').id = 'drawn'")
    const age = (): Promise<string | null> => room.locator('.source').textContent()
    const before = await age()
    await expect.poll(age).not.toBe(before)
    expect(await page.locator('dialog canvas').getAttribute('id')).toBe('drawn')
    await page.context().close()
  })

  it('runs a tool from the form of its schema, and shows the call as a CLI command', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'tools/task_create')
    await page.getByLabel('title').fill('Sweep the chimney')
    await page.getByLabel('priority').selectOption({ label: 'high' })
    expect(await page.getByLabel('As a command').textContent()).toBe(
      `hearthbus call task_create '{"title":"Sweep the chimney","priority":"high"}'`,
    )
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('done', { exact: true }).waitFor()
    await walkTo(page, 'work')
    await page.getByRole('link', { name: /Sweep the chimney/ }).click()
    await page.getByText(/chain of 0 verified/).waitFor()
    await page.context().close()
  })

  it('shows open and sealed audit sessions, with root and proof', async () => {
    const { page } = await signedInPage(browser, house)
    const begun = await agentCalls('audit_session_start', { intent: 'Look after the chimney' })
    const session = stringAt(begun.structured, 'data', 'session_id') ?? ''
    await walkTo(page, 'work')
    const row = page.getByRole('table', { name: 'Sessions' }).getByRole('row').filter({ hasText: 'chimney' })
    await row.getByText('open', { exact: true }).waitFor()
    const task = stringAt((await agentCalls('task_create', { title: 'Chimney' })).structured, 'data', 'id') ?? ''
    const thought = { type: 'plan', task_id: task, agent_id: 'ada', content: 'Call the sweep.', session_id: session }
    await agentCalls('thought_record', thought)
    const sealed = await agentCalls('merkle_finalize', { session_id: session })
    // Without anybody asking for it again.
    await row.getByText('sealed', { exact: true }).waitFor()
    await picture(page, 'work')
    const reputation = page.getByRole('table', { name: 'Reputation' }).getByRole('row').filter({ hasText: 'execution' })
    await reputation.first().click()
    await page.getByRole('dialog').getByRole('table', { name: 'Evidence' }).getByText('record-done').first().waitFor()
    await page.keyboard.press('Escape')
    await row.click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('The root').textContent()).toBe(stringAt(sealed.structured, 'data', 'root'))
    const download = page.waitForEvent('download')
    await dialog.getByRole('button', { name: /Save the proof/ }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toMatch(/^c2sp\.org\/tlog-proof@v1\n/)
    await page.context().close()
  })

  it('shows known telegrams decoded, unknown ones in hex, and unmeasured values as unknown', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'ebus')
    const telegrams = page.getByRole('table', { name: 'Telegrams', exact: true })
    const known = telegrams.getByRole('row').filter({ hasText: 'boiler status' })
    expect(await known.innerText()).toContain('flow 41.5 °C, return no value')
    const unknown = telegrams.getByRole('row').filter({ hasText: 'nobody knows this yet' })
    expect(await unknown.innerText()).toContain('10 15 b5 24 06 02 00 03 00')
    await unknown.click()
    expect(await page.getByRole('dialog').innerText()).toContain('02 0f')
    const signal = await page.getByRole('region', { name: 'Signal' }).innerText()
    expect(signal).toMatch(/Symbols\s+unknown\s+Busy\s+unknown/)
    await page.context().close()
  })

  it('writes a day of a heating schedule', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'ebus')
    await page.getByRole('button', { name: 'Edit Tuesday' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('To').fill('21:30')
    await dialog.getByRole('button', { name: 'Write this day' }).click()
    await dialog.getByText('done', { exact: true }).waitFor()
    expect(heating.written.at(-1)).toEqual({
      zone: 0,
      weekday: 1,
      slots: [{ start_hour: 6, start_minute: 0, end_hour: 21, end_minute: 30, temperature_c: 21 }],
    })
    await page.context().close()
  })

  it('verifies the ledger with visible progress', async () => {
    const { page } = await signedInPage(browser, house)
    await walkTo(page, 'ledger')
    await page.getByRole('button', { name: 'Verify now' }).click()
    await page.getByText('All of it is in order').waitFor()
    expect(await page.getByText(/^\d+ of \d+ entries/).textContent()).toMatch(/^(\d+) of \1 entries/)
    await page.context().close()
  })

  it('shows an observer the pages without any button to decide', async () => {
    await agentAsks('attic')
    const { page } = await signedInPage(browser, house, { role: 'observer' })
    await walkTo(page, 'approvals')
    const request = page.getByRole('article').filter({ hasText: 'attic' })
    await request.waitFor()
    expect(await request.getByRole('button').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Stop everything' }).count()).toBe(0)
    await walkTo(page, 'settings')
    expect(await page.getByRole('heading', { name: 'Tokens' }).count()).toBe(0)
    await page.context().close()
  })

  it('shows a secret in an approval request to an admin, and redacted to an observer', async () => {
    const pages = { admin: 'annex pwd = "s3cr3t-1"', observer: 'annex pwd = "[redacted]"' }
    for (const [role, text] of Object.entries(pages)) {
      const { page } = await signedInPage(browser, house, { role })
      await walkTo(page, 'approvals')
      await agentAsks('annex pwd = "s3cr3t-1"')
      const request = page.getByRole('article').filter({ hasText: 'annex' })
      await expect.poll(() => request.innerText()).toContain(text)
      await page.reload()
      await expect.poll(() => request.innerText()).toContain(text)
      await request.getByRole('link', { name: 'The call' }).click()
      await page.getByText('approval.requested').first().waitFor()
      expect(await page.locator('main').innerText()).not.toContain('s3cr3t-1')
      await page.context().close()
    }
  })

  it('cannot be framed or called by a page of another origin', async () => {
    const elsewhere = createHttpServer((_, response) => {
      response.setHeader('content-type', 'text/html').end(`<iframe src="${house.url}/"></iframe>`)
    })
    const port = await listenLocally(elsewhere)
    const { page } = await signedInPage(browser, house)
    await page.goto(`http://127.0.0.1:${port}/`)
    expect(await page.frameLocator('iframe').getByRole('heading', { name: 'Hearthbus' }).count()).toBe(0)
    // On the same host even SameSite cookies go along; the key does not, and the origin gives it away.
    const forged = (init: string) =>
      page.evaluate<string>(`fetch('${house.url}/api/stop', ${init}).then((answer) => String(answer.status), String)`)
    const body = `method: 'POST', credentials: 'include', body: '{"reason":"forged"}'`
    expect(await forged(`{ ${body} }`)).toContain('TypeError')
    expect(await forged(`{ ${body}, mode: 'no-cors' }`)).toBe('0')
    expect(house.gateway.guard.stop.state()).toBeUndefined()
    await page.context().close()
    elsewhere.close()
  })

  it('reports a lost gateway, and reconnects when it is back', async () => {
    const line = await openLine(Number(new URL(house.url).port))
    const page = await (await newProfile(browser)).newPage()
    await page.goto((await house.link()).replace(house.url, line.url))
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('.device-row').first().waitFor()
    line.cut()
    const banner = page.getByRole('alert').filter({ hasText: 'the page comes back by itself' })
    await banner.waitFor()
    // A machine that hangs lets one in and says nothing: trying is not being there.
    await line.hang()
    expect(await banner.count()).toBe(1)
    // Heard after the fact: what happened while nobody could listen.
    await agentAsks('roof')
    // As if for so long that nobody knows any more what there was to be heard: then everything is read again.
    await page.route('**/api/events', (route) =>
      route.continue({ headers: { ...route.request().headers(), 'last-event-id': 'long-ago-1' } }),
    )
    const read = page.waitForRequest((request) => request.postData()?.includes('hs4.devices.list') === true)
    line.mend()
    await page.getByText('Live', { exact: true }).waitFor()
    await read
    await walkTo(page, 'approvals')
    await page.getByRole('article').filter({ hasText: 'roof' }).waitFor()
    expect(await page.getByText('the page comes back by itself').count()).toBe(0)
    await page.context().close()
    line.close()
  })
})

/** A cable between page and gateway that can be cut. */
async function openLine(port: number) {
  let isCut = false
  let onHung: (() => void) | undefined
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    if (onHung !== undefined) {
      sockets.add(socket)
      return socket.on('error', () => undefined).once('data', onHung)
    }
    if (isCut) return void socket.destroy()
    const far = connect(port, '127.0.0.1')
    for (const one of [socket, far]) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        socket.destroy()
        far.destroy()
      })
    }
    socket.pipe(far).pipe(socket)
  })
  const ownPort = await listenLocally(server)
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${ownPort}`,
    cut,
    /** Until somebody has tried. */
    hang: () =>
      new Promise<void>((resolve) => {
        onHung = resolve
      }),
    mend: () => {
      cut()
      onHung = undefined
      isCut = false
    },
    close: () => {
      cut()
      server.close()
    },
  }
}

async function agentCalls(tool: string, body: object): Promise<CallResultView> {
  const answer = await house.api('/api/call', { method: 'POST', body: { tool, arguments: body } })
  return (await answer.json()) as CallResultView
}

/** As an agent on this machine does, without a credential. */
function agentAsks(door: string): Promise<CallResultView> {
  return agentCalls('test.door.open', { door, seconds: 30 })
}
