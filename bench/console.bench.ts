/**
 * Console bench: the page in a real browser before a house of 5,000 devices with 50 calls a second.
 *
 *   first paint            from the address to something on the screen, cold, over loopback
 *   5,000 devices          from the click to the table; a frame while scrolling through it
 *   under load             what the page's thread does, page by page: its longest task, and how busy it is
 *   memory                 the page's heap after each garbage collection, over minutes (BENCH_MINUTES, default 2)
 */
import type { Page } from 'playwright-core'
import { findChromium, openBrowser, openConsoleHouse, signedInPage } from '../test/console-house.ts'
import { walkTo } from '../test/console-walk.ts'
import { lamps, rooms } from '../test/strange-house.ts'
import { watchMainThread } from './main-thread.ts'
import type { MainThread } from './main-thread.ts'

const DEVICES = 5_000
const CALLS_PER_SECOND = 50
const MAX_UNDER_WAY = 100
/** What a person notices (RAIL): a click that is answered later than this. */
const MOST_TASK_MS = 100
const minutes = Number(process.env['BENCH_MINUTES'] ?? 2)

if (findChromium() === undefined) process.exit(0)
const house = await openConsoleHouse(
  [lamps(DEVICES, (index) => `Lamp ${index}`), rooms(['Living room', 'Bedroom', 'Bath']).service],
  { guard: { callsPerMinute: 100_000 } },
)
const browser = await openBrowser()
const { page, complaints } = await signedInPage(browser, house)

await page.goto(`${house.url}/?cold=${Date.now()}#/house`)
await page.locator('h1').waitFor()
const painted = await paintMs(page)
say('first paint', `${painted} ms`)

let began = performance.now()
await walkTo(page, 'homeseer')
await page.getByText(`${DEVICES.toLocaleString('en-GB')} of`).waitFor()
say(
  `${DEVICES} devices`,
  `${Math.round(performance.now() - began)} ms to the table, ${await rowsInPage(page)} rows in the page`,
)
say('scrolling', `${(await scrollFrameMs(page)).toFixed(1)} ms a frame`)
began = performance.now()
await page.getByLabel('Search').first().fill('Lamp 4999')
await page.getByText('1 of').waitFor()
say('search', `${Math.round(performance.now() - began)} ms`)

const enough = new AbortController()
const load = callOften()
const worst: MainThread[] = []
for (const place of ['calls', 'homeseer', 'house', 'bus', 'settings']) {
  await walkTo(page, place)
  const seen = await watchMainThread(page, 15_000, () => lookAround(page))
  worst.push(seen)
  say(`load: ${place}`, threadText(seen))
}

await walkTo(page, 'calls')
await page.waitForTimeout(5_000)
const first = await heapBytes(page)
const samples: number[] = []
for (let minute = 1; minute <= minutes; minute++) {
  const seen = await watchMainThread(page, 10_000, () => lookAround(page))
  worst.push(seen)
  await page.waitForTimeout(50_000)
  const heap = await heapBytes(page)
  samples.push(heap)
  say(`minute ${minute}`, `heap ${mega(heap)}, ${threadText(seen)}`)
}
enough.abort()
const { perSecond } = await load
const growth = (samples.at(-1) ?? first) / first
const longest = Math.max(...worst.map(({ longestMs }) => longestMs))
say('under load', `${perSecond.toFixed(1)} calls/s, longest task ${longest.toFixed(0)} ms of processor`)
say('memory', `${mega(first)} ▸ ${mega(samples.at(-1) ?? first)} (× ${growth.toFixed(2)})`)
if (complaints.length > 0) say('complaints', complaints.slice(0, 3).join(' | '))
await browser.close()
await house.stop()
process.exitCode = growth > 1.5 || longest > MOST_TASK_MS || complaints.length > 0 ? 1 : 0

function say(what: string, how: string): void {
  process.stdout.write(`${what.padEnd(16)} ${how}\n`)
}

function threadText({ busyShare, longestMs, longTasks, longestWallMs }: MainThread): string {
  const long = longTasks === 0 ? 'none' : String(longTasks)
  return `thread ${(busyShare * 100).toFixed(0)} % busy, longest task ${longestMs.toFixed(0)} ms (${longestWallMs.toFixed(0)} ms by the clock), ${long} over 50 ms`
}

function mega(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

async function paintMs(on: Page): Promise<number> {
  return Math.round(
    await on.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"),
  )
}

function rowsInPage(on: Page): Promise<number> {
  return on.locator('[aria-label="HomeSeer devices"] [role="row"]').count()
}

/** The usual time between two frames while the table is pulled from top to bottom. */
function scrollFrameMs(on: Page): Promise<number> {
  return on.evaluate<number>(`new Promise((resolve) => {
    const table = document.querySelector('[aria-label="HomeSeer devices"]')
    const times = []
    let last = performance.now()
    const step = (now) => {
      times.push(now - last)
      last = now
      table.scrollTop += 400
      if (times.length < 120) requestAnimationFrame(step)
      else resolve(times.sort((a, b) => a - b)[60])
    }
    requestAnimationFrame(step)
  })`)
}

/** What somebody does who looks: scrolls, and types into a search where there is one. */
async function lookAround(on: Page): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await on.mouse.wheel(0, 600)
    await on.waitForTimeout(300)
  }
  const search = on.getByLabel('Search').first()
  if ((await search.count()) === 0) return
  await search.pressSequentially('lamp 1', { delay: 60 })
  await search.fill('')
}

async function heapBytes(on: Page): Promise<number> {
  const session = await on.context().newCDPSession(on)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number }
  await session.detach()
  return usedSize
}

/** By the clock, so that a slow answer does not thin the load out; and a house that announces changes all the time. */
async function callOften(): Promise<{ readonly perSecond: number }> {
  const from = performance.now()
  let [made, underWay] = [0, 0]
  while (!enough.signal.aborted) {
    const due = ((performance.now() - from) / 1_000) * CALLS_PER_SECOND
    while (made < due && underWay < MAX_UNDER_WAY) {
      made++
      underWay++
      house
        .api('/api/call', { method: 'POST', body: { tool: 'server_ping', arguments: {} } })
        .then((answer) => answer.text())
        .finally(() => underWay--)
        .catch((error: unknown) => complaints.push(String(error)))
    }
    house.gateway.bus.announceResource('hs4://devices')
    house.gateway.bus.announceResource('ebus://main/zones')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { perSecond: (made - underWay) / ((performance.now() - from) / 1_000) }
}
