/**
 * Console bench: the page in a real browser before a house of 5,000 devices with 50 calls a second.
 *
 *   first paint            from the address to something on the screen, cold, over loopback
 *   5,000 devices          from the click to the table; a frame while scrolling through it
 *   under load             how long the page's thread is kept from answering, worst and usual
 *   memory                 the page's heap after each garbage collection, over minutes (BENCH_MINUTES, default 2)
 *
 * Does I/O.
 */
import type { Page } from 'playwright-core'
import { findChromium, openBrowser, openConsoleHouse, signedInPage } from '../test/console-house.ts'
import { walkTo } from '../test/console-walk.ts'
import { lamps, rooms } from '../test/strange-house.ts'

const DEVICES = 5_000
const CALLS_PER_SECOND = 50
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
say('first paint', `${await paintMs(page)} ms`)

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

await walkTo(page, 'calls')
const enough = new AbortController()
const load = callOften()
await page.waitForTimeout(3_000)
const first = await heapBytes(page)
const samples: number[] = []
for (let minute = 1; minute <= minutes; minute++) {
  const lag = await lagMs(page, 20_000)
  await page.waitForTimeout(40_000)
  const heap = await heapBytes(page)
  samples.push(heap)
  say(
    `minute ${minute}`,
    `heap ${mega(heap)}, kept waiting ${lag.median.toFixed(1)} ms usually, ${lag.worst.toFixed(0)} ms at worst`,
  )
}
enough.abort()
const made = await load
const growth = (samples.at(-1) ?? first) / first
say(
  'under load',
  `${Math.round(made / (minutes * 60 + 3))} calls/s, heap ${mega(first)} ▸ ${mega(samples.at(-1) ?? first)} (× ${growth.toFixed(2)})`,
)
if (complaints.length > 0) say('complaints', complaints.slice(0, 3).join(' | '))
await browser.close()
await house.stop()
process.exitCode = growth > 1.5 || complaints.length > 0 ? 1 : 0

function say(what: string, how: string): void {
  process.stdout.write(`${what.padEnd(16)} ${how}\n`)
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

/** How late a timer of 20 ms comes: what a click would have had to wait. */
function lagMs(on: Page, forMs: number): Promise<{ readonly median: number; readonly worst: number }> {
  return on.evaluate(`new Promise((resolve) => {
    const late = []
    let last = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      late.push(Math.max(0, now - last - 20))
      last = now
    }, 20)
    setTimeout(() => {
      clearInterval(timer)
      late.sort((a, b) => a - b)
      resolve({ median: late[late.length >> 1], worst: late.at(-1) })
    }, ${forMs})
  })`)
}

async function heapBytes(on: Page): Promise<number> {
  const session = await on.context().newCDPSession(on)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number }
  await session.detach()
  return usedSize
}

async function callOften(): Promise<number> {
  let made = 0
  while (!enough.signal.aborted) {
    const next = Promise.all(
      Array.from({ length: CALLS_PER_SECOND / 10 }, () =>
        house
          .api('/api/call', { method: 'POST', body: { tool: 'server_ping', arguments: {} } })
          .then((answer) => answer.text()),
      ),
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    made += (await next).length
  }
  return made
}
