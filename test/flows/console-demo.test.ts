/**
 * The virtual house in a browser: the real gateway and its real families, with a heating system, a HomeSeer and devices
 * at the far end of real sockets.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDeviceSimulator } from '../../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../../src/sim/devices/identity.ts'
import type { SimulatedDevice } from '../../src/sim/devices/simulated-device.ts'
import { startEbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import type { EbusSimulator } from '../../src/sim/ebus/simulator-server.ts'
import { startHomeseerSimulator } from '../../src/sim/homeseer/homeseer-server.ts'
import type { HomeseerSimulator } from '../../src/sim/homeseer/homeseer-server.ts'
import type { CallResultView } from '../../src/web/api-requests.ts'
import type { CallTraceView } from '../../src/web/views.ts'
import { findChromium, openBrowser, openConsoleHouse, signedInPage } from '../console-house.ts'
import { freePort } from '../local-port.ts'
import type { ConsoleHouse } from '../console-house.ts'
import { PAGES, picture, walkTo } from '../console-walk.ts'

const chromium = findChromium()
const HOST = '127.0.0.1'
const FRONT_DOOR_LOCK = 141
/** Heated from 07:30 to 23:00: at night a regulator lets rooms cool, whatever time it is where the test runs. */
const SATURDAY_MORNING = Date.UTC(2026, 0, 3, 8)
/** A room in which one can see it getting warmer. */
const COLD_CELSIUS = 15
/** A regulator tells at the speed of its wire, and these machines are shared. */
const PATIENT = { timeout: 600_000 }

let heating: EbusSimulator
let homeseer: HomeseerSimulator
let house: ConsoleHouse
let browser: Browser
let page: Page
let complaints: string[]
let ota: string
const devices: SimulatedDevice[] = []

describe.skipIf(chromium === undefined)('the console over the virtual house', () => {
  beforeAll(async () => {
    heating = await startEbusSimulator({
      listen: { host: HOST, port: 0 },
      seed: 7,
      speed: 4,
      house: { speed: 40, startMs: SATURDAY_MORNING },
    })
    homeseer = await startHomeseerSimulator({ host: HOST, httpPort: 0, asciiPort: 0 })
    const [port, mqttPort] = [await freePort(), await freePort()]
    house = await openConsoleHouse([], {
      ebus: {
        buses: [{ adapter: `enh:${HOST}:${heating.port}`, warmUpTransactions: 5 }],
        pollSeconds: 5,
      },
      homeseer: {
        url: `http://${HOST}:${homeseer.httpPort}`,
        user: 'default',
        password: 'default',
        push: { asciiPort: homeseer.asciiPort },
        eventsFrom: 'adapter',
      },
      devices: { enabled: true, host: HOST, port, mqtt: { enabled: true, port: mqttPort, udpPort: mqttPort } },
    })
    ota = `http://${HOST}:${port}/xiaozhi/ota/`
    browser = await openBrowser()
    ;({ page, complaints } = await signedInPage(browser, house))
  })
  afterAll(async () => {
    for (const device of devices) device.stop()
    await browser.close()
    await house.stop()
    await homeseer.stop()
    await heating.stop()
  })

  it('shows rooms as soon as the regulator is read, and a room that warms up', PATIENT, async () => {
    const room = page.getByRole('article', { name: 'Living' })
    await room.waitFor({ timeout: 90_000 })
    const shown = async (): Promise<number> => Number.parseFloat((await room.locator('.big').textContent()) ?? '')
    const chilled = (): Promise<number> => {
      heating.changeHouse((now) => ({
        ...now,
        zones: now.zones.map((zone, index) => (index === 0 ? { ...zone, roomCelsius: COLD_CELSIUS } : zone)),
      }))
      return shown()
    }
    // Kept cold until it was seen cold: the house lives fast, and a busy machine reads it slowly.
    await expect.poll(chilled, { timeout: 60_000 }).toBeLessThan(19)
    const cold = await shown()
    await room.getByRole('button', { name: 'Change' }).click()
    const dialog = page.getByRole('dialog')
    const target = dialog.getByLabel('Target by day, °C (15 to 30)')
    expect([await target.getAttribute('min'), await target.getAttribute('max')]).toEqual(['15', '30'])
    await target.fill('24')
    await dialog.getByRole('button', { name: 'Set' }).click()
    await dialog.getByText('done', { exact: true }).waitFor({ timeout: 90_000 })
    await page.keyboard.press('Escape')
    expect(heating.house().zones[0]?.dayCelsius).toBe(24)
    await expect.poll(shown, { timeout: 90_000 }).toBeGreaterThan(cold + 0.2)
    await expect.poll(() => room.textContent(), { timeout: 60_000 }).toContain('Target 24.0°')
    await picture(page, 'house')
  })

  it('switches a lamp through the same guard as an agent’s call', async () => {
    await walkTo(page, 'house')
    await page.getByText('Hall, Ground').click()
    const lamp = page.getByRole('button', { name: 'Hall Lamp: On' }).first()
    await lamp.click()
    await page.getByText('Done.').waitFor()
    expect(homeseer.house.hardware(101)?.value).toBe(99)
    const traces = (await (
      await house.api('/api/traces?limit=50', { token: house.owner })
    ).json()) as readonly CallTraceView[]
    expect(traces.find(({ capability }) => capability === 'hs4.devices.set')).toMatchObject({ caller: 'console' })
  })

  it('lists device classes, and applies the owner’s correction in one step', async () => {
    await walkTo(page, 'homeseer')
    const classes = page.getByRole('region', { name: 'What devices are taken for' })
    const kitchen = classes.getByLabel('What Kitchen Lamp (Kitchen, Ground) is')
    await kitchen.waitFor()
    expect(await kitchen.inputValue()).toBe('light')
    await kitchen.selectOption('door')
    await expect
      .poll(() => classes.getByRole('row').filter({ hasText: 'Kitchen Lamp' }).textContent())
      .toContain('asks')
    const lock = classes.getByRole('row').filter({ hasText: 'Front Door Lock' }).first()
    expect(await lock.textContent()).toMatch(/asks/)
    await kitchen.selectOption('as recognised')
    await expect.poll(() => kitchen.inputValue()).toBe('light')
    await picture(page, 'homeseer')
  })

  it('asks a person before an agent’s call unlocks a door, runs it once, and proves it', async () => {
    const asked = await unlock()
    expect([asked.outcome, asked.fault?.kind]).toEqual(['denied', 'approval-required'])
    await walkTo(page, 'approvals')
    const request = page.getByRole('article').filter({ hasText: 'Let the postman in' })
    await request.waitFor()
    await picture(page, 'approvals')
    await request.getByRole('button', { name: 'Approve once' }).click()
    await request.getByText('Approved by console.').waitFor()
    const done = await unlock()
    expect([done.outcome, homeseer.house.hardware(FRONT_DOOR_LOCK)?.value]).toEqual(['ok', 0])
    expect((await unlock()).outcome).toBe('denied')
    await walkTo(page, `calls/${done.traceId}`)
    await page.getByText('approval.used').first().waitFor()
    await picture(page, 'call')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save proof' }).last().click()
    expect((await download).suggestedFilename()).toMatch(/\.tlog-proof$/)
  })

  it('denies an agent’s call with a reason that the agent receives', async () => {
    await walkTo(page, 'approvals')
    expect((await unlock('Let the neighbour in')).fault?.kind).toBe('approval-required')
    // Other words for the same call are the same question: the one that is open since the last try.
    const request = page.getByRole('article').filter({ hasText: 'Front Door Lock' }).first()
    await request.getByRole('button', { name: 'Deny …' }).click()
    await request.getByLabel(/Why not/).fill('The neighbour has a key.')
    await request.getByRole('button', { name: 'Deny', exact: true }).click()
    await page.getByRole('row').filter({ hasText: 'The neighbour has a key.' }).waitFor()
    const again = await unlock('Let the neighbour in')
    expect([again.outcome, again.fault?.message]).toEqual([
      'denied',
      expect.stringContaining('The neighbour has a key.'),
    ])
  })

  it('writes a day of the heating schedule into the regulator', PATIENT, async () => {
    await walkTo(page, 'ebus')
    const edit = page.getByRole('button', { name: 'Edit Tuesday' })
    await expect.poll(() => edit.isEnabled(), { timeout: 90_000 }).toBe(true)
    await edit.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('To').last().fill('21:30')
    await dialog.getByRole('button', { name: 'Write this day' }).click()
    await dialog.locator('.outcome.ok').waitFor({ timeout: 60_000 })
    await page.keyboard.press('Escape')
    await expect
      .poll(() => page.getByRole('listitem').filter({ hasText: 'Tuesday' }).textContent(), { timeout: 60_000 })
      .toContain('21:30')
  })

  it('decodes telegrams, and shows symbol rate and bus load', PATIENT, async () => {
    await walkTo(page, 'ebus')
    const telegrams = page.getByRole('table', { name: 'Telegrams', exact: true })
    await expect.poll(() => telegrams.innerText(), { timeout: 60_000 }).toMatch(/\d °C/)
    const signal = page.getByRole('region', { name: 'Signal' })
    await expect.poll(() => signal.innerText(), { timeout: 60_000 }).toMatch(/Symbols\s+\d+ a second/)
    expect(await signal.innerText()).toMatch(/Busy\s+\d+\.\d % in 10s/)
    await picture(page, 'ebus')
    await page.evaluate("document.querySelector('[aria-label=Telegrams]').scrollIntoView()")
    await picture(page, 'telegrams')
  })

  it('enrols a device by its code, and runs one of its tools from the form', async () => {
    const code = Promise.withResolvers<string>()
    await walkTo(page, 'devices')
    void startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'lamp',
      identity: createNumberedIdentity(1),
      ota,
      awake: true,
      timing: { activateMs: 50, reconnectMs: 200, rebootMs: 50, helloMs: 60_000 },
      onCode: code.resolve,
    }).then((device) => devices.push(device))
    const digits = await code.promise
    // Somebody looks at the page already: the code appears by itself.
    await page.getByText(digits).waitFor()
    await page.getByLabel('Code').fill(digits)
    await page.getByLabel('Name (optional)').fill('Desk lamp')
    await page.getByRole('button', { name: 'Let it in' }).click()
    await page.getByText('Desk lamp is let in.').waitFor()
    await page.getByRole('link', { name: 'Desk lamp' }).click()
    await page.getByText('self.lamp.turn_on').click({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Run' }).click()
    await page.locator('.outcome.ok').waitFor()
    await expect.poll(() => JSON.stringify(devices[0]?.state())).toContain('"power":true')
  })

  it('shows every page without a browser error', async () => {
    for (const [place, title] of PAGES) {
      await walkTo(page, place)
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
      if (place === 'ledger') await picture(page, place)
    }
    expect(complaints).toEqual([])
  })
})

/** As an agent on this machine does. */
async function unlock(reason = 'Let the postman in'): Promise<CallResultView> {
  const body = {
    tool: 'hs4.devices.set',
    arguments: {
      ref: FRONT_DOOR_LOCK,
      value: 0,
      confirm: true,
      intent: 'Unlock the front door',
      reason,
    },
  }
  return (await (await house.api('/api/call', { method: 'POST', body })).json()) as CallResultView
}
