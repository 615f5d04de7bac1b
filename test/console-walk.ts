/** Console walk: how a test finds its way through the console, and what it looks at on the way. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

export const PAGES = [
  ['house', 'House'],
  ['approvals', 'Approvals'],
  ['calls', 'Calls'],
  ['bus', 'Bus'],
  ['ledger', 'Ledger'],
  ['ebus', 'eBUS'],
  ['homeseer', 'HomeSeer'],
  ['devices', 'Devices'],
  ['work', 'Work'],
  ['tools', 'Tools'],
  ['settings', 'Settings'],
] as const

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Until all that the page fetches is there. */
export async function walkTo(page: Page, place: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/#/${place}`)
  await page.locator('main h1').waitFor()
  await settled(page)
}

/** Nothing is being fetched any more. Not `waitForFunction`: it evaluates text, which the page's policy forbids. */
export async function settled(page: Page): Promise<void> {
  while ((await page.locator('.loading').count()) > 0) await page.waitForTimeout(20)
}

export async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = []
  for (let steps = 0; steps < 120; steps++) {
    const focused = await page.evaluate<string>("document.activeElement?.textContent?.trim().slice(0, 40) ?? ''")
    if (focused === name) return
    passed.push(focused)
    await page.keyboard.press('Tab')
  }
  throw new Error(`${name} cannot be reached with the keyboard, only ${[...new Set(passed)].join(' | ')}`)
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe-core calls serious or critical, as lines. */
export async function axeFaults(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  if (await page.evaluate<boolean>('globalThis.axe === undefined')) await page.evaluate(AXE)
  const only = rules === undefined ? '' : `, runOnly: ${JSON.stringify(rules)}`
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run({ resultTypes: ['violations'], elementRef: false${only} })`,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

const SCREENSHOTS = fileURLToPath(new URL('../docs/screenshots/', import.meta.url))

/** For the documents, when they are wanted (HEARTHBUS_SCREENSHOTS=1): no test run changes files of the repository. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env['HEARTHBUS_SCREENSHOTS'] === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` })
}

/** By how many pixels something sticks out sideways. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
}

/** Columns of a table that are too narrow to say anything, as `table: column`. */
export function crampedColumns(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`[...document.querySelectorAll('.table')].flatMap((table) =>
    [...table.querySelectorAll('[role="columnheader"]')]
      .filter((head) => head.clientWidth < 44 || head.getBoundingClientRect().right > table.getBoundingClientRect().right + 1)
      .map((head) => table.getAttribute('aria-label') + ': ' + head.textContent))`)
}
