/** Whatever a bus says, every plane keeps the shape that clients were promised, and no store grows without end. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listeningInstallation, situationAt } from '../../../test/listening-installation.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import type { EbusEvent } from '../adapter/ebus-connection.ts'
import { HEATING_PLANE_NAMES } from '../semantic/planes.ts'
import { planReads } from '../semantic/read-plan.ts'
import {
  CIRCUIT_REGISTERS,
  CYLINDER_REGISTERS,
  HOT_WATER_REGISTERS,
  REMOTE_REGISTER_GROUP_NUMBERS,
  SOLAR_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
} from '../semantic/regulator-register-map.ts'
import type { RegulatorRegister } from '../semantic/register.ts'
import {
  busMessagesSchema,
  busPeriodicitySchema,
  busSpecimensSchema,
  busSummarySchema,
  registerShadowSummarySchema,
} from './bus-traffic-schemas.ts'
import { toBusDeviceJson, busDeviceOutputSchema } from './device-view.ts'
import { PLANE_SCHEMAS } from './plane-schemas.ts'
import { createLiveEbusView } from './ebus-view.ts'

const AT = Date.UTC(2026, 0, 5)
const REGISTERS: readonly RegulatorRegister[] = [
  SYSTEM_REGISTERS,
  HOT_WATER_REGISTERS,
  CIRCUIT_REGISTERS,
  ZONE_REGISTERS,
  SOLAR_REGISTERS,
  CYLINDER_REGISTERS,
  ...REMOTE_REGISTER_GROUP_NUMBERS.map(requireRemoteDeviceRegisters),
].flatMap((group) => Object.values<RegulatorRegister>(group))

const installation = listeningInstallation

/** What does not fit its schema. */
function misshapen(heating: HeatingInstallation): readonly unknown[] {
  const view = createLiveEbusView({
    busId: 'main',
    installation: heating,
    bus: {
      transport: 'enh',
      connected: true,
      signal: true,
      source: 'admitted',
      address: 0xff,
      passive: 'symbols',
      queued: 0,
      symbols: 0,
      reconnects: 0,
      initiators: [],
    },
    info: undefined,
    version: '1',
    plan: () => planReads(heating.topology, heating.shadow, AT + 30_000),
    toolReads: new Set(),
    atMs: AT + 30_000,
    nowMs: 30_000,
  })
  const list = { status: view.status(), count: 0, capacity: 0 }
  return [
    ...HEATING_PLANE_NAMES.map((name) => PLANE_SCHEMAS[name].safeParse(view.plane(name).data)),
    ...view.devices().map((device) => busDeviceOutputSchema.safeParse(toBusDeviceJson(device))),
    busSummarySchema.safeParse(view.summary()),
    busMessagesSchema.safeParse({ ...list, items: view.messages() }),
    busSpecimensSchema.safeParse({ count: 0, items: view.specimens() }),
    busPeriodicitySchema.safeParse({ ...list, items: view.periodicity() }),
    registerShadowSummarySchema.safeParse(view.watch()),
  ].flatMap(({ error }) => error?.issues ?? [])
}

const exchange = (
  target: number,
  service: readonly [number, number],
  data: readonly number[],
  response: Uint8Array | undefined,
): EbusEvent => ({
  kind: 'exchange',
  own: false,
  atMs: AT,
  exchange: {
    telegram: { source: 0xf1, target, primary: service[0], secondary: service[1], data: Uint8Array.from(data) },
    response,
    commandRepeats: 0,
    responseRepeats: 0,
  },
})

const answer = fc
  .tuple(fc.constantFrom(...REGISTERS), fc.nat(10), fc.uint8Array({ maxLength: 8 }))
  .map(([{ opcode, group, number }, instance, value]) => {
    const place = [number & 0xff, number >> 8]
    return exchange(
      0x15,
      [0xb5, 0x24],
      [opcode, 0, group, instance, ...place],
      Uint8Array.from([0x01, group, ...place, ...value]),
    )
  })

const anything = fc
  .tuple(
    fc.nat(0xfe),
    fc.constantFrom<readonly [number, number]>(
      [0xb5, 0x09],
      [0xb5, 0x55],
      [0xb5, 0x16],
      [0xb5, 0x11],
      [0x07, 0x00],
      [0x07, 0x04],
      [0xb5, 0x24],
    ),
    fc.array(fc.nat(255), { maxLength: 14 }),
    fc.option(fc.uint8Array({ maxLength: 14 }), { nil: undefined }),
  )
  .map(([target, service, data, response]) => exchange(target, service, data, response))

const happening = fc.constantFrom<EbusEvent>(
  { kind: 'connected', atMs: AT },
  { kind: 'disconnected', reason: 'gone', atMs: AT },
  { kind: 'signal', present: false, atMs: AT },
  { kind: 'adapter-reset', atMs: AT },
  { kind: 'decode-fault', detail: 'x', atMs: AT },
  { kind: 'missed', count: 3, atMs: AT },
  { kind: 'broken', reason: 'silence', command: new Uint8Array(), response: new Uint8Array(), own: false, atMs: AT },
)

describe('a hostile bus', () => {
  it('cannot change the shape of a plane', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 8, arbitrary: answer }, anything, happening), { maxLength: 120 }),
        (events) => {
          const heating = installation()
          for (const [index, event] of events.entries())
            heating.handleEvent({ ...event, atMs: AT + index }, situationAt(index))
          heating.tick(situationAt(10_000, 0), AT)
          expect(misshapen(heating)).toEqual([])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('cannot make a store grow beyond its limits', () => {
    const heating = installation()
    for (let turn = 0; turn < 30_000; turn++) {
      const data = [0x02, 0x00, turn & 0xff, (turn >> 8) & 0x0f, (turn >> 3) & 0xff, turn % 7]
      const [, , group = 0, , low = 0, high = 0] = data
      heating.handleEvent(
        {
          ...exchange(turn % 0xfe, [0xb5, 0x24], data, Uint8Array.from([1, group, low, high, turn & 0xff])),
          atMs: AT + turn,
        },
        situationAt(turn),
      )
    }
    expect(heating.shadow.size).toBeLessThanOrEqual(4_096)
    expect(heating.observatory.messages.size).toBe(1_024)
    expect(heating.observatory.periodicity.size).toBeLessThanOrEqual(256)
    expect(heating.specimens.all().length).toBeLessThanOrEqual(64 * 32)
    expect(heating.registry.slots().length).toBeLessThanOrEqual(256)
    expect(misshapen(heating)).toEqual([])
  })
})
