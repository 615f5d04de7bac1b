/**
 * The console for everybody: screen readers, keyboards, phones, either theme.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stringAt } from '../../console/src/core/json.ts'
import type { CallResultView } from '../../src/web/api-requests.ts'
import { findChromium, newProfile, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { axeFaults, crampedColumns, overhang, PAGES, picture, tabTo, walkTo } from '../console-walk.ts'
import { doors, lamps, rooms, strangers } from '../strange-house.ts'

const chromium = findChromium()
let house: ConsoleHouse
let browser: Browser
let page: Page
/** What opens from the pages. */
const within: string[] = []

describe.skipIf(chromium === undefined)('console accessibility', () => {
  beforeAll(async () => {
    house = await openConsoleHouse([
      doors().service,
      rooms(['Living room', 'Bedroom']).service,
      lamps(12, (index) => `Lamp ${index + 1}`),
      strangers('Kitchen speaker'),
    ])
    browser = await openBrowser()
    page = (await signedInPage(browser, house)).page
    const asked = await call('test.door.open', { door: 'front' })
    const task = stringAt((await call('task_create', { title: 'Sweep the chimney' })).structured, 'data', 'id') ?? ''
    await call('thought_record', { type: 'plan', task_id: task, agent_id: 'ada', content: 'Call the sweep.' })
    within.push(`calls/${asked.traceId}`, `work/${task}`, 'devices/stranger', 'tools/test.door.open', 'nowhere')
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
  })

  // Whatever became of the test before: the others look at a desk.
  beforeEach(() => page.setViewportSize({ width: 1280, height: 860 }))

  it.each(PAGES)('has no serious axe fault on %s', async (id) => {
    await walkTo(page, id)
    expect(await axeFaults(page)).toEqual([])
  })

  it('has no serious axe fault on detail pages and on the sign-in page', async () => {
    for (const place of within) {
      await walkTo(page, place)
      await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
      expect([place, await axeFaults(page)]).toEqual([place, []])
    }
    const stranger = await (await newProfile(browser)).newPage()
    await stranger.goto(house.url)
    await stranger.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await axeFaults(stranger)).toEqual([])
    await stranger.context().close()
  })

  it('has enough contrast in dark mode', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    for (const id of [...PAGES.map(([name]) => name), ...within]) {
      await walkTo(page, id)
      expect([id, await axeFaults(page, ['color-contrast'])]).toEqual([id, []])
      if (id === 'house') await picture(page, 'house-dark')
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('fits the width of a phone', async () => {
    await page.setViewportSize({ width: 380, height: 780 })
    for (const id of [...PAGES.map(([name]) => name), ...within]) {
      await walkTo(page, id)
      await expect.poll(async () => [id, await overhang(page), await crampedColumns(page)]).toEqual([id, 0, []])
      if (id === 'house' || id === 'approvals') await picture(page, `${id}-phone`)
    }
    await page.getByRole('button', { name: /Menu/ }).click()
    await page.getByRole('link', { name: 'Ledger' }).click()
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
  })

  it('fits a width of 320 pixels, also with a long path in a doctor finding', async () => {
    await page.setViewportSize({ width: 320, height: 640 })
    await walkTo(page, 'settings')
    await page.evaluate("document.querySelector('.findings li').append('/' + 'x'.repeat(80))")
    expect(await overhang(page)).toBe(0)
  })

  it('keeps the end of a tool’s name visible on a narrow screen', async () => {
    await page.setViewportSize({ width: 380, height: 780 })
    for (const id of ['tools', 'calls']) {
      await walkTo(page, id)
      await page.locator('.dotted').first().waitFor()
      const cut =
        "[...document.querySelectorAll('.dotted > :last-child')].filter((end) => end.scrollWidth > end.clientWidth)"
      expect([id, await page.evaluate<number>(`${cut}.length`)]).toEqual([id, 0])
    }
  })

  it('closes the phone menu with Escape and on navigation, and names the page in the title', async () => {
    await page.setViewportSize({ width: 380, height: 780 })
    await walkTo(page, 'ledger')
    expect(await page.title()).toMatch(/^(\(\d+\) )?Ledger – Hearthbus$/)
    const menu = page.getByRole('button', { name: /Menu/ })
    await menu.click()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Escape')
    expect(await menu.getAttribute('aria-expanded')).toBe('false')
    expect(await page.evaluate<string>('document.activeElement.className')).toContain('menu')
    // By the browser's own way back, past the menu.
    await menu.click()
    await walkTo(page, 'house')
    await expect.poll(() => menu.getAttribute('aria-expanded')).toBe('false')
  })

  it('names the room on its button, and focuses the dialog’s heading or field, not Close', async () => {
    await walkTo(page, 'house')
    await page.getByRole('button', { name: 'Change Bedroom' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await page.evaluate<string>('document.activeElement.tagName')).toMatch(/^(?:H2|INPUT)$/)
    await page.keyboard.press('Escape')
  })

  it('can be used with the keyboard alone', async () => {
    await walkTo(page, 'house')
    await tabTo(page, 'Tools')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.getByLabel('Search').focus()
    await page.keyboard.type('server_ping')
    await tabTo(page, 'server_ping')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Run it' }).waitFor()
    await tabTo(page, 'Run')
    await page.keyboard.press('Enter')
    await page.getByText('done', { exact: true }).waitFor()
    await walkTo(page, 'calls')
    await page.getByRole('row').nth(1).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'What happened' }).waitFor()
    expect(new URL(page.url()).hash).toMatch(/^#\/calls\/\w+$/)
  })

  it('keeps the focus inside an open dialog, and returns it to the button afterwards', async () => {
    await walkTo(page, 'approvals')
    await tabTo(page, 'Approve more …')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    for (let steps = 0; steps < 12; steps++) await page.keyboard.press('Tab')
    const inside = "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
    expect(await page.evaluate<boolean>(inside)).toBe(true)
    expect(await axeFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Approve more …')
  })

  it('allows deciding, writing a schedule and stopping everything by keyboard alone', async () => {
    await call('test.door.open', { door: 'back' })
    await walkTo(page, 'approvals')
    await press('Deny …')
    await expect.poll(() => page.evaluate<string>('document.activeElement.tagName')).toBe('INPUT')
    await page.keyboard.type('Not now.')
    await press('Deny')
    await page.getByRole('row').filter({ hasText: 'Not now.' }).waitFor()
    await press('Approve once')
    await page.getByText('Nothing waits for you.').waitFor()

    await walkTo(page, 'ebus')
    await press('Edit')
    await press('Write this day')
    await page.locator('dialog .outcome.ok').waitFor()
    await page.keyboard.press('Escape')

    await press('Stop everything')
    await page.getByRole('dialog').waitFor()
    await press('Stop everything')
    await page.getByText('Everything is stopped').waitFor()
    await press('Resume')
    await expect.poll(() => page.getByText('Everything is stopped').count()).toBe(0)
  })
})

async function press(name: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** As an agent on this machine does. */
async function call(tool: string, body: object): Promise<CallResultView> {
  const answer = await house.api('/api/call', { method: 'POST', body: { tool, arguments: body } })
  return (await answer.json()) as CallResultView
}
