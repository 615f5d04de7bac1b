import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { manualClock, type ManualClock } from '../../../test/manual-clock.ts'
import { JsonClient, type JsonClientOptions } from '../wire/json-client.ts'
import { DeviceMirrorClient } from '../wire/device-mirror-client.ts'
import { HomeseerCatalogClient } from './catalog-client.ts'

const LAMP = 7
const [FRONT, BOLT] = [1_000, 1_001]
/** A hundred sensors, a lamp that belongs to nothing, and a lock that only its controls give away. */
const DEVICES = [
  { ref: LAMP, name: 'Lamp', relationship: 3 },
  ...Array.from({ length: 100 }, (_, at) => ({ ref: 100 + at, name: `Sensor ${at}`, relationship: 3 })),
  { ref: FRONT, name: 'Front', relationship: 2, associated_devices: [BOLT] },
  { ref: BOLT, name: 'Front', relationship: 4, associated_devices: [FRONT] },
]
const PAIRS: Readonly<Record<number, readonly object[]>> = {
  [LAMP]: [{ Label: 'On', ControlUse: 1, ControlValue: 255, Ref: LAMP }],
  [BOLT]: [{ Label: 'x', ControlUse: 19, ControlValue: 0, Ref: BOLT }],
}

/** What the HomeSeer at the far end does with a question about controls. */
type Mood = 'answers' | 'too-long' | 'silent' | 'refuses'

let mood: { everything: Mood; parts: Mood }
let requested: string[]
let clock: ManualClock
const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

async function catalogOf(everything: Mood, json: Partial<JsonClientOptions> = {}): Promise<HomeseerCatalogClient> {
  mood = { everything, parts: 'answers' }
  requested = []
  clock = manualClock()
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://homeseer').searchParams
    if (query.get('request') === 'getstatus') return response.end(JSON.stringify({ Devices: DEVICES }))
    const ref = query.get('ref')
    requested.push(ref ?? 'all')
    const answers = ref === null ? mood.everything : mood.parts
    if (answers === 'silent') return undefined
    if (answers === 'refuses') return response.end('error\r\n')
    const refs = ref?.split(',').map(Number) ?? DEVICES.map((device) => device.ref)
    const Devices = refs.map((one) => ({ ref: one, ControlPairs: PAIRS[one] ?? [] }))
    const alone = { ...Devices[0] }
    const text = JSON.stringify(refs.length === 1 ? alone : { Devices })
    return response.end(answers === 'too-long' ? text.padEnd(200_000) : text)
  })
  const client = new JsonClient({
    baseUrl: `http://127.0.0.1:${await listenLocally(server)}`,
    credentials: undefined,
    authentication: 'basic',
    timeoutMs: 30_000,
    readRetries: 0,
    readRetryBackoffMs: 10,
    allTriesMs: 30_000,
    restMs: 0,
    maxReplyBytes: 100_000,
    ...json,
  })
  const mirror = new DeviceMirrorClient({ json: client, clock, rules: { pollMs: 1e9, resyncMs: 1e9 } })
  open.push(() => closeAll(server, client))
  return new HomeseerCatalogClient({ json: client, mirror, clock, listsHoldMs: 1_000, controlsHoldMs: 1_000 })
}

function closeAll(server: Server, client: JsonClient): void {
  client.close()
  server.close()
  server.closeAllConnections()
}

async function deviceOf(house: ReturnType<HomeseerCatalogClient['devices']>, ref: number) {
  const known = await house
  return known.ok ? known.value.byRef.get(ref) : known.fault
}

describe('controls of HomeSeer devices', () => {
  it('are requested in one request where HomeSeer answers it', async () => {
    const catalog = await catalogOf('answers')
    expect(await deviceOf(catalog.devices(), BOLT)).toMatchObject({ controlsKnown: true, sensitivity: ['lock'] })
    expect(await deviceOf(catalog.devicesFor([LAMP]), LAMP)).toMatchObject({
      capabilities: ['on_off'],
      sensitivity: [],
    })
    expect(requested).toEqual(['all'])
  })

  it.each(['too-long', 'silent'] as const)(
    'are requested in parts where the answer for all devices is %s',
    async (everything) => {
      const catalog = await catalogOf(everything, everything === 'silent' ? { timeoutMs: 4_000 } : {})
      const unknown = { controlsKnown: false, controls: [], capabilities: [], sensitivity: ['controls-unknown'] }
      expect(await deviceOf(catalog.devices(), LAMP)).toMatchObject(unknown)
      await expect.poll(() => deviceOf(catalog.devices(), BOLT)).toMatchObject({ controlsKnown: true })
      expect(await deviceOf(catalog.devices(), LAMP)).toMatchObject({ controlsKnown: true, sensitivity: [] })
      // Never again all at once.
      clock.advance(2_000)
      await catalog.devices()
      expect(requested.filter((refs) => refs === 'all')).toEqual(['all'])
    },
  )

  it('are read for the whole physical device before a change to one of its members is assessed', async () => {
    const catalog = await catalogOf('too-long')
    mood.parts = 'refuses'
    await catalog.devices()
    // The walk through the parts ends with the first no.
    await expect.poll(() => requested.length).toBe(2)
    expect((await catalog.devicesFor([FRONT])).ok).toBe(false)
    mood.parts = 'answers'
    expect(await deviceOf(catalog.devicesFor([FRONT]), FRONT)).toMatchObject({ sensitivity: ['relative'] })
    expect(requested.at(-1)).toBe(`${FRONT},${BOLT}`)
    expect(await deviceOf(catalog.devices(), LAMP)).toMatchObject({ sensitivity: ['controls-unknown'] })
  })

  it('that are out of date are shown, but not used to assess a change', async () => {
    const catalog = await catalogOf('answers')
    await catalog.devices()
    mood = { everything: 'too-long', parts: 'refuses' }
    clock.advance(2_000)
    expect(await deviceOf(catalog.devices(), LAMP)).toMatchObject({ controls: [{ label: 'On' }] })
    expect(await catalog.devicesFor([LAMP])).toMatchObject({ ok: false, fault: { kind: 'refused' } })
  })

  it('are not shown where HomeSeer refuses to list them', async () => {
    const catalog = await catalogOf('refuses')
    expect(await catalog.devices()).toMatchObject({ ok: false, fault: { kind: 'refused' } })
  })
})
