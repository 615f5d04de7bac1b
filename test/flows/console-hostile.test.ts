/**
 * A house in which every name was chosen by somebody hostile, in a browser.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CallResultView } from '../../src/web/api-requests.ts'
import { stringAt } from '../../console/src/core/json.ts'
import { findChromium, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { overhang, PAGES, settled, walkTo } from '../console-walk.ts'
import { doors, HOSTILE, lamps, rooms, strangers } from '../strange-house.ts'

/** What an HTTP header can carry of it. */
const HOSTILE_ASCII = HOSTILE.replaceAll(/[^ -~]/g, '')

const chromium = findChromium()
let house: ConsoleHouse
let browser: Browser
let page: Page
let complaints: string[]
const places: string[] = []
let refused = ''

describe.skipIf(chromium === undefined)('HTML in foreign text', () => {
  beforeAll(async () => {
    house = await openConsoleHouse([
      doors(HOSTILE, HOSTILE).service,
      rooms([HOSTILE]).service,
      lamps(9, () => HOSTILE),
      strangers(HOSTILE),
    ])
    browser = await openBrowser()
    ;({ page, complaints } = await signedInPage(browser, house))
    const asked = await call('test.door.open', { door: HOSTILE })
    await call(HOSTILE_ASCII.slice(0, 200), {})
    const made = await call('task_create', {
      title: HOSTILE.slice(0, 180),
      description: HOSTILE,
      assignee: HOSTILE_ASCII.slice(0, 60),
    })
    const task = stringAt(made.structured, 'data', 'id') ?? ''
    await call('thought_record', { type: 'plan', task_id: task, agent_id: 'x', content: HOSTILE })
    await call('audit_session_start', { intent: HOSTILE, task_id: task })
    refused = asked.traceId
    places.push(
      ...PAGES.map(([id]) => id),
      `calls/${asked.traceId}`,
      `calls/${made.traceId}`,
      `work/${task}`,
      'devices/stranger',
      'tools/test.door.open',
      `tools/${encodeURIComponent(HOSTILE_ASCII)}`,
    )
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
  })

  it('is shown as text on every page', async () => {
    for (const place of places) {
      await walkTo(page, place)
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
      await settled(page)
      const text = await page.locator('body').innerText()
      const made = 'main script, main img[src="x"], main a[href^="javascript"], main iframe, main [onerror]'
      expect([place, await page.locator(made).count()]).toEqual([place, 0])
      expect([place, await page.title()]).toEqual([
        place,
        expect.stringMatching(
          /^(\(\d+\) )?(House|Approvals|Calls|Bus|Ledger|eBUS|HomeSeer|Devices|Work|Tools|Settings) – Hearthbus$/,
        ),
      ])
      // Nothing is left that reorders, hides or piles up text.
      // oxlint-disable-next-line no-control-regex -- the escape is what must not be there
      expect([place, /[\u202A-\u202E\u2066-\u2069\u200B-\u200F\u001B]|\p{M}{6}/u.test(text)]).toEqual([place, false])
      expect([place, await overhang(page)]).toEqual([place, 0])
    }
    expect(complaints).toEqual([])
  })

  it('occurs on the pages, so the test is not vacuous', async () => {
    const shown = ['house', 'approvals', 'ebus', 'homeseer', 'devices', 'devices/stranger', 'work', 'tools']
    for (const place of [...shown, `calls/${refused}`]) {
      await walkTo(page, place)
      expect([place, await page.locator('main').innerText()]).toEqual([place, expect.stringContaining('<img src=x')])
    }
  })
})

async function call(tool: string, body: object): Promise<CallResultView> {
  const headers = { 'user-agent': HOSTILE_ASCII }
  const answer = await house.api('/api/call', { method: 'POST', body: { tool, arguments: body }, headers })
  return (await answer.json()) as CallResultView
}
