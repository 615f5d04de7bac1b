/**
 * Sessions that ended and sessions that were stolen, in a real browser before a real gateway.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { findChromium, newProfile, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { settled } from '../console-walk.ts'
import { rooms } from '../strange-house.ts'

const chromium = findChromium()
const LIMITS = { console: { idleSeconds: 600, lifeSeconds: 3_600 } }
/** So often that nobody has been idle for too long in between. */
const STEP_SECONDS = 200
const KEY = 'hearthbus-key'

let house: ConsoleHouse
let hasty: ConsoleHouse
const heating = rooms(['Living room'])
let browser: Browser
/** To the gateway, which is in this process, time passes when the test says so; the browser does not notice. */
let leaptMs = 0
const leap = (seconds: number): void => {
  leaptMs += seconds * 1_000
}

describe.skipIf(chromium === undefined)('a console session', () => {
  beforeAll(async () => {
    house = await openConsoleHouse([rooms(['Living room']).service])
    hasty = await openConsoleHouse([heating.service], LIMITS)
    browser = await openBrowser()
    vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() + leaptMs)
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
    await hasty.stop()
    vi.restoreAllMocks()
  })

  it('ends when nobody uses the page, although the page itself sends requests', async () => {
    const { page } = await signedInPage(browser, hasty)
    await page.getByText('Living room').first().waitFor()
    const halves = await halvesOf(page, hasty)
    for (const celsius of [11, 12, 13]) {
      heating.set(0, celsius)
      hasty.gateway.bus.announceResource('ebus://main/zones')
      await page.getByText(`${celsius}.0`).first().waitFor()
      leap(STEP_SECONDS)
    }
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
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

  it('continues while the page is used', async () => {
    const { page } = await signedInPage(browser, hasty)
    const halves = await halvesOf(page, hasty)
    for (const place of ['eBUS', 'House', 'eBUS', 'House', 'eBUS', 'House']) {
      await page.getByRole('link', { name: place }).click()
      await page.getByRole('heading', { level: 1, name: place }).waitFor()
      await settled(page)
      leap(STEP_SECONDS)
      expect(await status(hasty, halves)).toBe(200)
    }
    expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(0)
    await page.context().close()
  })

  it('ends after its maximum lifetime however much it is used', async () => {
    const { page } = await signedInPage(browser, hasty)
    const halves = await halvesOf(page, hasty)
    const { 'x-hearthbus-quiet': _, ...busy } = halves
    for (let seconds = 0; seconds < 3_600; seconds += STEP_SECONDS) {
      expect(await status(hasty, busy)).toBe(200)
      leap(STEP_SECONDS)
    }
    expect(await status(hasty, busy)).toBe(401)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().close()
  })

  it('is not opened by a stolen cookie alone', async () => {
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

  it('is not opened by a stolen key alone', async () => {
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

  it('stolen with cookie and key ends for the thief, too, when its owner signs out', async () => {
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

  it('ended by an admin leaves its page at once', async () => {
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
