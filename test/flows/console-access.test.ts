/**
 * The console for everybody: screen readers, keyboards, phones, either theme.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { axeFaults, overhang, PAGES, picture, tabTo, walkTo } from '../console-walk.ts'
import { doors, lamps, rooms, strangers } from '../strange-house.ts'

const chromium = findChromium()
let house: ConsoleHouse
let browser: Browser
let page: Page

describe.skipIf(chromium === undefined)('access', () => {
  beforeAll(async () => {
    house = await openConsoleHouse([
      doors().service,
      rooms(['Living room', 'Bedroom']).service,
      lamps(12, (index) => `Lamp ${index + 1}`),
      strangers('Kitchen speaker'),
    ])
    browser = await openBrowser()
    page = (await signedInPage(browser, house)).page
    const body = { tool: 'test.door.open', arguments: { door: 'front' } }
    await house.api('/api/call', { method: 'POST', body })
  })
  afterAll(async () => {
    await browser.close()
    await house.stop()
  })

  it.each(PAGES)('on %s has no serious fault', async (id) => {
    await walkTo(page, id)
    expect(await axeFaults(page)).toEqual([])
  })

  it('has enough contrast in the dark', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    for (const [id] of PAGES) {
      await walkTo(page, id)
      expect([id, await axeFaults(page, ['color-contrast'])]).toEqual([id, []])
      if (id === 'house') await picture(page, 'house-dark')
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('fits a phone', async () => {
    await page.setViewportSize({ width: 380, height: 780 })
    for (const [id] of PAGES) {
      await walkTo(page, id)
      expect([id, await overhang(page)]).toEqual([id, 0])
      if (id === 'house' || id === 'approvals') await picture(page, `${id}-phone`)
    }
    await page.getByRole('button', { name: /Menu/ }).click()
    await page.getByRole('link', { name: 'Ledger' }).click()
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    await page.setViewportSize({ width: 1280, height: 860 })
  })

  it('needs no mouse', async () => {
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

  it('keeps the focus in a dialog, and gives it back', async () => {
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
})
