/**
 * Strange house: services that answer in the shapes of the families' contracts, in a house where every name was chosen
 * by somebody hostile. For what a browser must do with it, and for houses larger than a simulator wants to be.
 */
import { z } from 'zod'
import type { Capability, FamilyEnvelope, Service } from '../src/bus/capability.ts'
import { defineChange, defineTool } from '../src/bus/capability-definition.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { ok } from '../src/core/result.ts'

/** Markup, script, a link, text that runs backwards, invisible letters, a terminal escape, piled-up marks. */
export const HOSTILE =
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script><a href="javascript:alert(1)">x</a>' +
  '\u202Egnp.exe\u202C\u200B\u001B[31m' +
  `Z${'\u0301'.repeat(40)}`

const family = (name: string, success: FamilyEnvelope['success']): FamilyEnvelope => ({
  name,
  success,
  failure: ({ message }) => ({ structured: { error: { message } }, isError: true }),
  outputSchema: () => ({ type: 'object' }),
})

const heatingFamily = family('ebus', (data) => ({
  meta: { contract: 'ebus.v1', consistency: { mode: 'LIVE' }, data_timestamp: new Date().toISOString(), data_hash: '' },
  data,
  error: null,
}))
const homeseerFamilyEnvelope = family('homeseer', (data) => ({ result: data }))
const deviceFamily = family('devices', (data) => data)

export function service(name: string, prefixes: readonly string[], capabilities: readonly Capability[]): Service {
  return {
    name,
    prefixes,
    capabilities: () => capabilities,
    start: async () => undefined,
    stop: async () => undefined,
    health: () => ({ status: 'ok', details: {} }),
  }
}

function reading(name: string, of: FamilyEnvelope, answer: (body: JsonObject) => Json): Capability {
  return defineTool({
    name,
    title: HOSTILE,
    description: `${HOSTILE} ${HOSTILE}`,
    family: of,
    effect: 'reads',
    input: z.record(z.string(), z.json()).describe(HOSTILE),
    output: z.json(),
  }).handledBy(async (input) => ok({ data: answer(input) }))
}

/** What the sensitive tool of `doors` did, and how often. */
export interface Doors {
  readonly service: Service
  readonly opened: JsonObject[]
}

/** A door that only a person can have opened. */
export function doors(title = 'Open a door', label = 'Front door'): Doors {
  const opened: JsonObject[] = []
  const open = defineChange({
    name: 'test.door.open',
    title,
    description: 'Opens a door for so many seconds.',
    family: family('test', (data) => ({ ok: true, data })),
    effect: 'sensitive',
    input: z.strictObject({
      door: z.string().max(2_000),
      seconds: z.int().min(1).max(600).default(5),
      pin: z.string().exactOptional(),
    }),
    output: z.json(),
    secrets: ['pin'],
    plan: (wanted) => ok(wanted),
    assess: ({ door, seconds }) => ({
      effect: 'sensitive',
      reasons: [],
      target: `test:door:${door.slice(0, 20).replaceAll(/[^a-z]/gi, '')}`,
      label,
      preview: { before: { bolt: 'locked', [label]: label }, after: { bolt: `open for ${seconds} s`, [label]: label } },
    }),
    act: async (input) => {
      opened.push(input)
      return ok({ data: { door: input.door, opened: true } })
    },
  })
  return { service: service('doors', ['test'], [open]), opened }
}

export interface Rooms {
  readonly service: Service
  readonly set: (zone: number, celsius: number) => void
  /** Days that were written. */
  readonly written: JsonObject[]
}

/** A whole telegram from a regulator to a boiler. */
function telegram(secondary: number): JsonObject {
  return {
    scope: 'passive',
    family: 'B5',
    frame_type: 'initiator_target',
    outcome: 'success',
    observed_at: new Date().toISOString(),
    source_address: 16,
    target_address: 8,
    primary: 0xb5,
    secondary,
  }
}

/** Spec 1's surface, as far as the console reads it. */
export function rooms(names: readonly string[]): Rooms {
  const temperatures = names.map((_, index) => 18.5 + index)
  const written: JsonObject[] = []
  const day = (weekday: string) => ({
    weekday,
    slots: [{ start_hour: 6, start_minute: 0, end_hour: 22, end_minute: 0, temperature_c: 21 }],
  })
  const planes = (): JsonObject => ({
    zones: names.map((name, index) => ({
      id: `zone-${index + 1}`,
      name,
      state: { current_temp_c: temperatures[index] ?? 0, current_humidity_pct: 44, hvac_action: 'heating' },
      config: { operating_mode: 'auto', preset: 'schedule', target_temp_c: 21, quick_veto: false },
    })),
    dhw: { state: { current_temp_c: 48.5 }, config: { operating_mode: 'auto', preset: 'schedule', target_temp_c: 50 } },
    boiler_status: {
      state: { flame_active: true, modulation_pct: 42, flow_temperature_c: 51.5, water_pressure_bar: 1.6 },
    },
    system: { state: { outdoor_temperature: 3.5, system_water_pressure: 1.6 } },
  })
  const status = {
    transport_class: 'enh',
    capability: { passive_state: 'available', tap_connected: true },
    warmup: { state: 'available', completed_transactions: 20, required_transactions: 20 },
    timing_quality: { busy: 'estimated' },
    degraded: { active: true, reasons: [HOSTILE] },
  }
  const setDay = defineChange({
    name: 'ebus.v1.semantic.schedules.set_zone_time_program',
    title: 'Write a day of a zone',
    description: 'Replaces one weekday.',
    family: heatingFamily,
    effect: 'writes',
    input: z.strictObject({
      zone: z.int().min(0).max(2),
      weekday: z.int().min(0).max(6),
      slots: z.array(z.record(z.string(), z.number())),
    }),
    output: z.json(),
    plan: (input) => ok(input),
    assess: () => ({ effect: 'writes', reasons: [] }),
    act: async (input) => {
      written.push(input)
      return ok({ data: { success: true, slot_results: [] } })
    },
  })
  const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
  const capabilities = [
    reading('ebus.v1.semantic.snapshot.get', heatingFamily, () => ({ completed_planes: [], planes: planes() })),
    reading('ebus.v1.bus.summary.get', heatingFamily, () => ({ status, messages: { count: 1, capacity: 1024 } })),
    reading('ebus.v1.bus.messages.list', heatingFamily, () => ({
      items: [
        {
          scope: 'passive',
          family: HOSTILE,
          frame_type: HOSTILE,
          outcome: HOSTILE,
          observed_at: new Date().toISOString(),
          source_address: 16,
          target_address: 8,
          known: true,
          decoded: { name: HOSTILE, act: HOSTILE, fields: [{ name: HOSTILE, value: HOSTILE, unit: HOSTILE }] },
          request_hex: HOSTILE,
        },
        { ...telegram(0x24), known: false, request_hex: '1015b5240602000300', response_hex: '020f' },
        {
          ...telegram(0x11),
          known: true,
          decoded: {
            name: 'boiler_status',
            act: 'read',
            fields: [
              { name: 'flow', value: 41.5, unit: '°C' },
              { name: 'return', value: null, unit: '°C' },
            ],
          },
        },
      ],
    })),
    reading('ebus.v1.bus.periodicity.list', heatingFamily, () => ({
      items: [
        { source_bucket: HOSTILE, target_bucket: '0x08', family: HOSTILE, mean_interval: HOSTILE, sample_count: 4 },
      ],
    })),
    reading('ebus.v1.bus.protocol_specimens.list', heatingFamily, () => ({
      items: [{ family: HOSTILE, request_hex: HOSTILE, response_hex: HOSTILE, count: 3 }],
    })),
    reading('ebus.v1.adapter_info.get', heatingFamily, () => ({ firmware_version: HOSTILE, [HOSTILE]: HOSTILE })),
    reading('ebus.v1.semantic.schedules.get', heatingFamily, () => ({
      programs: [{ zone: 0, hc: 'heating', config: { max_slots: 12, has_temperature: true }, days: weekdays.map(day) }],
    })),
    setDay,
  ]
  return {
    service: service('heating', ['ebus'], capabilities),
    set: (zone, celsius) => {
      temperatures[zone] = celsius
    },
    written,
  }
}

/** Spec 4's devices, as many as one likes. */
export function lamps(count: number, name: (index: number) => string): Service {
  const items = Array.from({ length: count }, (_, index) => ({
    ref: index + 1,
    name: name(index),
    location: `Room ${index % 40}`,
    location2: name(index % 3),
    status: index % 2 === 0 ? 'On' : name(index),
    value: index % 2 === 0 ? 100 : 0,
    lastChange: new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString(),
    ageMs: 1_000,
    interfaceName: name(index),
    capabilities: ['on_off'],
    controlPairs: [
      { label: 'On', value: 100 },
      { label: 'Off', value: 0 },
    ],
  }))
  return service(
    'lamps',
    ['hs4'],
    [
      reading('hs4.devices.list', homeseerFamilyEnvelope, ({ limit, cursor }) => {
        const from = typeof cursor === 'string' ? Number(cursor) : 0
        const to = from + (typeof limit === 'number' ? limit : 100)
        return { total: count, items: items.slice(from, to), nextCursor: to < count ? String(to) : null }
      }),
      reading('hs4.classes.list', homeseerFamilyEnvelope, () => ({
        kinds: ['lock', HOSTILE],
        devices: [{ ref: 1, name: name(0), kind: 'lock', asks: true, because: [HOSTILE], corrected: true }],
      })),
      reading('hs4.events.list', homeseerFamilyEnvelope, () => ({ items: [{ id: 1, group: name(0), name: name(0) }] })),
      reading('hs4.cameras.list', homeseerFamilyEnvelope, () => ({ cameras: [{ camId: 1, name: name(0) }] })),
    ],
  )
}

/** Spec 3's devices, one of them, in its own words. */
export function strangers(name: string): Service {
  const device = {
    device: 'stranger',
    id: '00:00:00:00:00:01',
    name,
    online: true,
    phase: 'ready',
    transport: 'websocket',
    board: name,
    firmware: name,
    tools: 1,
    withheld: 1,
    last_seen: new Date().toISOString(),
  }
  const tool = {
    tool: name,
    capability: 'device.stranger.tool',
    description: name,
    effect: 'writes',
    reason: 'changed',
    input_schema: { type: 'object', properties: { [name]: { type: 'string', description: name, enum: [name] } } },
  }
  return service(
    'strangers',
    ['devices'],
    [
      reading('devices.list', deviceFamily, () => ({ devices: [device], total: 1, next: null })),
      reading('devices.get', deviceFamily, () => ({ ...device, address: name, warnings: [name] })),
      reading('devices.tools.list', deviceFamily, () => ({
        device: 'stranger',
        online: true,
        tools: [tool],
        withheld: [tool],
        digest: 'd',
      })),
      reading('devices.enrolment.list', deviceFamily, () => ({
        pending: [{ code: name, board: name, address: name, since: new Date().toISOString(), replaces: true }],
        devices: [],
        ota: name,
      })),
    ],
  )
}
