/**
 * Sessions that ended and sessions that were stolen, in a real browser before a real gateway.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, newProfile, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { rooms } from '../strange-house.ts'

const chromium = findChromium()
const IDLE_SECONDS = 4
const KEY = 'hearthbus-key'

let house: ConsoleHouse
let hasty: ConsoleHouse
let browser: Browser

describe.skipIf(chromium === undefined)('a session', () => {
  beforeAll(async () => {
    house = await openConsoleHouse([rooms(['Living room']).service])
    hasty = await openConsoleHouse([rooms(['Living room']).service], {
      console: { idleSeconds: IDLE_SECONDS, lifeSeconds: 600 },
    })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
    await hasty.stop()
  })

  it('ends when nobody touches the page, although the page reads the house all the while', async () => {
    const { page } = await signedInPage(browser, hasty)
    await page.getByText('Living room').first().waitFor()
    const halves = await halvesOf(page, hasty)
    const busy = setInterval(() => hasty.gateway.bus.announceResource('ebus://main/zones'), 200)
    try {
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    } finally {
      clearInterval(busy)
    }
    expect(await page.locator('body').innerText()).toContain('You are signed out')
    expect(await page.locator('body').innerText()).not.toContain('Living room')
    expect((await hasty.api('/api/status', { headers: halves })).status).toBe(401)
    expect((await hasty.api('/api/events', { headers: halves })).status).toBe(401)
    // Nothing of it is left in the browser, and going back shows nothing.
    expect(await storedKey(page)).toBe('')
    await page.goBack()
    expect(await page.locator('body').innerText()).not.toContain('Living room')
    await page.context().close()
  })

  it('goes on while somebody is there', async () => {
    const { page } = await signedInPage(browser, hasty)
    for (let elapsedMs = 0; elapsedMs < IDLE_SECONDS * 2_000; elapsedMs += 1_000) {
      await page.getByRole('link', { name: elapsedMs % 2_000 === 0 ? 'eBUS' : 'House' }).click()
      await page.waitForTimeout(1_000)
    }
    expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(0)
    await page.context().close()
  })

  it('ends after its time however busy it is', async () => {
    const brief = await openConsoleHouse([], { console: { idleSeconds: 600, lifeSeconds: 3 } })
    const { page } = await signedInPage(browser, brief)
    const halves = await halvesOf(page, brief)
    await expect.poll(() => status(brief, halves), { timeout: 30_000 }).toBe(401)
    await page.getByRole('link', { name: 'Bus', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().close()
    await brief.stop()
  })

  it('does not open to a stolen cookie', async () => {
    const { page } = await signedInPage(browser, house)
    const thief = await newThief()
    await thief.addCookies(await page.context().cookies(`${house.url}/api/`))
    const stolen = await thief.newPage()
    await stolen.goto(`${house.url}/#/house`)
    await stolen.getByRole('button', { name: 'Sign in' }).waitFor()
    // Asked by hand, with the cookie that the browser adds.
    expect(await stolen.evaluate<number>("fetch('/api/status').then((answer) => answer.status)")).toBe(401)
    await thief.close()
    await page.context().close()
  })

  it('does not open to a stolen key', async () => {
    const { page } = await signedInPage(browser, house)
    const key = await storedKey(page)
    const thief = await newThief()
    const stolen = await thief.newPage()
    await stolen.goto(`${house.url}/`)
    await stolen.evaluate(`localStorage.setItem('${KEY}', '${key}')`)
    await stolen.goto(`${house.url}/#/approvals`)
    await stolen.reload()
    await stolen.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await status(house, { 'x-hearthbus-key': key })).toBe(401)
    await thief.close()
    await page.context().close()
  })

  it('that was stolen whole ends for the thief, too, when its owner signs out', async () => {
    const { page } = await signedInPage(browser, house)
    const halves = await halvesOf(page, house)
    expect(await status(house, halves)).toBe(200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await status(house, halves)).toBe(401)
    // The other session of the same person is another one.
    const other = await signedInPage(browser, house)
    expect(await status(house, await halvesOf(other.page, house))).toBe(200)
    expect(await status(house, halves)).toBe(401)
    await other.page.context().close()
    await page.context().close()
  })

  it('that an admin ends leaves its page at once', async () => {
    const admin = await signedInPage(browser, house)
    const guest = await signedInPage(browser, house, { role: 'observer' })
    await admin.page.goto(`${house.url}/#/settings`)
    const row = admin.page.getByRole('table', { name: 'Sessions' }).getByRole('row').filter({ hasText: 'observer' })
    await row.first().getByRole('button', { name: 'Sign out' }).click()
    await guest.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await guest.page.locator('body').innerText()).not.toContain('Living room')
    await guest.page.context().close()
    await admin.page.context().close()
  })
})

function newThief(): Promise<BrowserContext> {
  return newProfile(browser)
}

function storedKey(page: Page): Promise<string> {
  return page.evaluate<string>(`localStorage.getItem('${KEY}') ?? ''`)
}

/** What a thief with hands in the browser would carry away. */
async function halvesOf(page: Page, of: ConsoleHouse): Promise<Record<string, string>> {
  const cookies = await page.context().cookies(`${of.url}/api/`)
  return {
    cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
    'x-hearthbus-key': await storedKey(page),
    'x-hearthbus-quiet': '1',
  }
}

async function status(of: ConsoleHouse, headers: Record<string, string>): Promise<number> {
  return (await of.api('/api/status', { headers })).status
}
