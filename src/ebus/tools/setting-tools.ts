/**
 * Setting tools: what a resident can set, in the words of a resident, with what was there before and how to put it back.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'
import { PlaneReader } from '../semantic/plane-reader.ts'
import { toRegisterReadKey } from '../semantic/read-key.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import type { RegulatorValue } from '../semantic/register.ts'
import { decodeRegisterValue, encodeDate, encodeNumber, isWrittenValueReadBack } from '../semantic/register.ts'
import type { SettingPlan, SettingRequest, SettingRegisterWrite, SettingName } from '../semantic/setting-request.ts'
import { SETTING_NAMES, ZONE_SETTINGS, planSetting } from '../semantic/setting-request.ts'
import { resolveZoneNumber } from '../semantic/zone-choice.ts'
import { readZoneName } from '../semantic/zones.ts'
import { busArgument, ebusKeyArgument } from './arguments.ts'
import { createEbusOutputSchema, ebusFamily } from './ebus-envelope.ts'
import {
  createEbusArgumentFault,
  createEbusArgumentsFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tools.ts'
import { createLiveMeta, resolveBusLockKey, findBus } from './ebus-tools.ts'
import type { ScheduleChange } from './schedule-setting.ts'
import { assessScheduleChange, planScheduleChange, scheduleDaysSchema, setScheduleDays } from './schedule-setting.ts'
import { DHW_PROGRAM } from './schedule-tools.ts'
import type { DayWriteJob, DayWritePlan } from './schedule-tools.ts'
import { makePlanesReady } from './plane-readiness.ts'
import { SET_SETTING_TOOL_NAME } from './setting-view.ts'

/** For one telegram; a setting takes up to twelve. */
const TELEGRAM_MS = 4_000
/** Seven days of a program, or six registers. */
const TIMEOUT_SECONDS = 300
const REGISTER_HEADER = 4

const holidayDates = z.strictObject({
  from: z.string().describe('The first day, as 2026-12-20.'),
  to: z.string().describe('The last day.'),
  temperature_c: z.number().exactOptional(),
})

const SCHEDULES = ['schedule', 'hot_water_schedule'] as const

const input = z.strictObject({
  setting: z.enum([...SETTING_NAMES, ...SCHEDULES]),
  zone: z
    .union([z.string().trim().min(1).max(64), z.int().min(1).max(16)])
    .exactOptional()
    .describe('The room: its name, or its number as in zone-1. Can be left out where there is one.'),
  value: z
    .union([z.number(), z.string().trim().max(32), holidayDates, scheduleDaysSchema])
    .describe(
      'Temperatures in °C. mode, hot_water_mode: off, auto, manual. heating: on, off. hot_water: now, stop. quick_veto: off. holiday: from and to, or none. schedule, hot_water_schedule: weekdays and their slots.',
    ),
  hours: z.number().min(0.5).max(12).exactOptional().describe('room_temperature: only for so long.'),
  until: z.string().max(16).exactOptional().describe('room_temperature: only until then, as 22:30.'),
  dryRun: z.boolean().exactOptional().describe('Say what would be changed, and change nothing.'),
  idempotency_key: ebusKeyArgument.exactOptional(),
  bus: busArgument,
})
type Wish = z.output<typeof input>

const shownValue = z.union([z.number(), z.string(), z.boolean(), z.array(z.record(z.string(), z.unknown()))])
const change = z.object({
  name: z.string(),
  before: shownValue.nullable(),
  after: shownValue.nullable().describe('As it was read back; null if it was not.'),
  wanted: shownValue,
})

const output = createEbusOutputSchema(
  z.object({
    setting: z.string(),
    zone: z.string().exactOptional(),
    confirmed: z.boolean().describe('Whether everything reads back as it was set.'),
    changes: z.array(change),
    undo: z
      .array(z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .describe('The calls that put it back to what it was; none where that is not known.'),
    dry_run: z.literal(true).exactOptional(),
  }),
)

/** What is written: registers, or days of a program. */
type SettingChange =
  | { readonly kind: 'registers'; readonly resolved: Resolved }
  | { readonly kind: 'schedule'; readonly schedule: ScheduleChange; readonly days: readonly DayWritePlan[] }

export function createSettingTools(
  house: EbusToolContext,
  pause: (ms: number) => Promise<void>,
): readonly Capability[] {
  const carryOut = (change: SettingChange, wish: Wish, call: Call): Promise<Outcome> =>
    change.kind === 'registers'
      ? setSetting(house, wish, { resolved: change.resolved, call })
      : setSchedule(change, wish, { house, call, pause })
  return [
    defineChange({
      name: SET_SETTING_TOOL_NAME,
      title: 'Set the heating, in words',
      description:
        'Sets a room to a temperature for good or for some hours, its night temperature or mode, a holiday from one date to another, hot water now or its temperature, or heating on and off. Rooms by name. Reads back what was set, says what it was before, and gives the call that undoes it. Also the weekly program of a room or of the hot water, for several days at once.',
      input,
      output,
      effect: 'writes',
      idempotent: true,
      family: ebusFamily,
      timeoutSeconds: TIMEOUT_SECONDS,
      lock: (body: JsonObject): string => resolveBusLockKey(house, body),
      plan: async (wish, call): Promise<Result<SettingChange, Fault>> => {
        await makePlanesReady(house, { planes: [planeOf(wish.setting)], bus: wish.bus }, call)
        const schedule = scheduleOf(house, wish)
        if (schedule === undefined) {
          const resolved = resolve(house, wish)
          return resolved.ok ? ok({ kind: 'registers', resolved: resolved.value }) : resolved
        }
        if (!schedule.ok) return schedule
        const days = await planScheduleChange(schedule.value, { house, call, pause })
        return days.ok ? ok({ kind: 'schedule', schedule: schedule.value, days: days.value }) : days
      },
      assess: (change, wish) =>
        change.kind === 'registers' ? assess(change.resolved, wish) : assessScheduleChange(change.days),
      act: carryOut,
      rehearse: carryOut,
    }),
  ]
}

/** Rooms are found by their names, which have to be read first. */
function planeOf(setting: Wish['setting']): SemanticPlaneName {
  if (setting === 'heating') return 'system'
  return setting === 'schedule' || (isPlain(setting) && ZONE_SETTINGS.has(setting)) ? 'zones' : 'dhw'
}

/** `undefined` where no program is meant. */
function scheduleOf(house: EbusToolContext, wish: Wish): Result<ScheduleChange, Fault> | undefined {
  const { setting, value } = wish
  if (setting !== 'schedule' && setting !== 'hot_water_schedule') return undefined
  if (typeof value !== 'object' || !('weekdays' in value))
    return fail(
      createEbusArgumentFault(
        'value',
        'weekdays and slots, such as {"weekdays":["monday"],"slots":[{"from":"06:00","to":"22:00"}]}',
      ),
    )
  const asked = {
    days: value,
    ...(wish.dryRun === undefined ? {} : { dryRun: wish.dryRun }),
    ...(wish.idempotency_key === undefined ? {} : { idempotency_key: wish.idempotency_key }),
    ...(wish.bus === undefined ? {} : { bus: wish.bus }),
  }
  if (setting === 'hot_water_schedule') return ok({ ...asked, id: DHW_PROGRAM })
  const heating = findBus(house, wish.bus)
  if (!heating.ok) return heating
  const zone = resolveZoneNumber(new PlaneReader(heating.value.installation), wish.zone)
  return zone.ok
    ? ok({ ...asked, id: { zone: zone.value, channel: 'heating' } })
    : fail(createEbusArgumentFault('zone', zone.fault))
}

async function setSchedule(
  { schedule, days }: Extract<SettingChange, { readonly kind: 'schedule' }>,
  wish: Wish,
  job: DayWriteJob,
): Promise<Outcome> {
  const [first] = days
  const ofZone = wish.setting === 'schedule' && first !== undefined
  const zone = ofZone ? readZoneName(new PlaneReader(first.heating.installation), schedule.id.zone) : undefined
  const named = { setting: wish.setting, ...(zone === undefined ? {} : { zone }) }
  const undoCall = (value: JsonObject): JsonObject => ({
    tool: SET_SETTING_TOOL_NAME,
    arguments: { ...named, value, ...busOnly(wish) },
  })
  const outcome = await setScheduleDays(days, schedule.days, { ...job, undoCall })
  if (!outcome.ok || !isJsonObject(outcome.value.data)) return outcome
  const { data, ...beside } = outcome.value.data
  return ok({ ...outcome.value, data: { ...beside, data: { ...named, ...(isJsonObject(data) ? data : {}) } } })
}

function busOnly({ bus }: Wish): JsonObject {
  return bus === undefined ? {} : { bus }
}

interface Resolved {
  readonly heating: HeatingBusClient
  readonly address: number
  readonly zone: string | undefined
  readonly plan: SettingPlan
}

function resolve(house: EbusToolContext, wish: Wish): Result<Resolved, Fault> {
  const found = findBus(house, wish.bus)
  if (!found.ok) return found
  const heating = found.value
  const { topology } = heating.installation
  const address = topology.regulator?.address
  if (address === undefined)
    return fail({ kind: 'offline', code: 'BUS_UNAVAILABLE', message: 'No regulator has answered on this bus yet.' })
  const reader = new PlaneReader(heating.installation)
  const { setting, value } = wish
  if (!isPlain(setting) || (typeof value === 'object' && 'weekdays' in value))
    return fail(createEbusArgumentFault('value', `not for ${setting}`))
  const ofZone = ZONE_SETTINGS.has(setting)
  const zone = ofZone ? resolveZoneNumber(reader, wish.zone) : ok(undefined)
  if (!zone.ok) return fail(createEbusArgumentFault('zone', zone.fault))
  const timed = { ...(wish.hours === undefined ? {} : { hours: wish.hours }), ...untilOf(wish) }
  const request: SettingRequest = { setting, zone: zone.value, value: valueOf(value), ...timed }
  const plan = planSetting(reader, request, house.clock.now())
  if (!plan.ok) return fail(createEbusArgumentsFault(plan.fault))
  const name = zone.value === undefined ? undefined : readZoneName(reader, zone.value)
  return ok({ heating, address, zone: name, plan: plan.value })
}

function untilOf({ until }: Wish): { readonly until?: string } {
  return until === undefined ? {} : { until }
}

function isPlain(setting: Wish['setting']): setting is SettingName {
  return (SETTING_NAMES as readonly string[]).includes(setting)
}

/** Numbers are sometimes sent as text. */
function valueOf(value: SettingRequest['value']): SettingRequest['value'] {
  return typeof value === 'string' && value !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}

/** The register that is changed last is the actuator: the same as when it is written by its number. */
function assess({ address, zone, plan, heating }: Resolved, wish: Wish): CallAssessment {
  const busId = heating.id
  const asked = {
    reasons: [],
    ...(wish.dryRun === undefined ? {} : { dryRun: wish.dryRun }),
    ...(wish.idempotency_key === undefined ? {} : { idempotencyKey: wish.idempotency_key }),
  }
  const targets = plan.steps.map((step) => `ebus:${busId}:${formatBusAddress(address)}/${actuatorOf(step)}`)
  const reader = new PlaneReader(heating.installation)
  const named = (value: (step: SettingRegisterWrite) => Json): JsonObject =>
    Object.fromEntries(plan.steps.map((step) => [step.name, value(step)]))
  return {
    ...asked,
    effect: 'writes',
    target: targets.at(-1) ?? '',
    touches: targets.slice(0, -1),
    label: `${zone === undefined ? '' : `${zone}: `}${wish.setting.replaceAll('_', ' ')}`,
    keyedChange: { bus: busId, writes: plan.steps.map((step) => [actuatorOf(step), step.value]) },
    preview: {
      before: named(({ register, instance }) => reader.reading(register, instance)?.value ?? null),
      after: named(({ value }) => value),
    },
  }
}

/** As a write by the number of the register names it, so that limits and the owner's overrides are the same. */
function actuatorOf({ register: { opcode, group, number }, instance }: SettingRegisterWrite): string {
  const place = [opcode, group, instance].map((part) => part.toString(16).padStart(2, '0'))
  return `b524/${place.join('.')}.${number.toString(16).padStart(4, '0')}`
}

async function setSetting(
  house: EbusToolContext,
  wish: Wish,
  { resolved, call }: { readonly resolved: Resolved; readonly call: Call },
): Promise<Outcome> {
  const { heating, address, zone, plan } = resolved
  const telegram = { deadlineMs: TELEGRAM_MS, caller: toAccountKey(call.caller) }
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before: (RegulatorValue | undefined)[] = []
    for (const step of plan.steps) {
      const key = toRegisterReadKey(address, step.register, step.instance)
      const read = await heating.read(key, { ...telegram, maxAgeMs: 0, source: 'write_confirm' })
      // What is not known beforehand cannot be put back: nothing is changed then.
      if (!read.ok) return fail(createBusReadFault(read.fault, address))
      before.push(decodeRegisterValue(step.register.type, read.value.entry.payload.subarray(REGISTER_HEADER)))
    }
    const undo = undoOf(plan, before, wish.bus)
    const answer = (
      confirmed: boolean,
      after: readonly (RegulatorValue | undefined)[],
      more: JsonObject,
    ): JsonObject => ({
      setting: wish.setting,
      ...(zone === undefined ? {} : { zone }),
      confirmed,
      changes: plan.steps.map(({ name, value }, index) => ({
        name,
        wanted: value,
        before: before[index] ?? null,
        after: after[index] ?? null,
      })),
      ...undo,
      ...more,
    })
    const reply = (data: JsonObject): Outcome =>
      ok({ data: { data, ...createLiveMeta(house, heating, house.clock.now()) } })
    if (call.rehearsal) return reply(answer(false, [], { dry_run: true }))
    const written: Uint8Array[] = []
    for (const step of plan.steps) {
      const bytes = bytesOf(step)
      const sent = await heating.send(writeOf(address, step, bytes), { ...telegram, repeatable: false })
      if (!sent.ok) {
        const fault = createBusWriteFault(sent.fault, address)
        // A change of several registers that stops half-way says how far it got, and how to put it back.
        const data = written.length === 0 ? {} : { data: answer(false, [], {}) }
        return fail({ ...fault, details: { ...fault.details, ...data } })
      }
      written.push(bytes)
    }
    const after: (RegulatorValue | undefined)[] = []
    let confirmed = true
    for (const [index, step] of plan.steps.entries()) {
      const key = toRegisterReadKey(address, step.register, step.instance)
      const read = await heating.read(key, { ...telegram, maxAgeMs: 0, source: 'write_confirm' })
      const found = read.ok ? read.value.entry.payload.subarray(REGISTER_HEADER) : new Uint8Array()
      after.push(decodeRegisterValue(step.register.type, found))
      confirmed &&= isWrittenValueReadBack(step.register, written[index] ?? new Uint8Array(), found)
    }
    return reply(answer(confirmed, after, {}))
  })
}

function undoOf(
  plan: SettingPlan,
  before: readonly (RegulatorValue | undefined)[],
  bus: string | undefined,
): JsonObject {
  const ofBus = bus === undefined ? {} : { bus }
  return { undo: plan.undo(before).map((call) => ({ tool: SET_SETTING_TOOL_NAME, arguments: { ...call, ...ofBus } })) }
}

/** Throws for what does not fit: a plan holds nothing else. */
function bytesOf({ register, value, name }: SettingRegisterWrite): Uint8Array {
  const bytes = typeof value === 'string' ? encodeDate(value) : encodeNumber(register.type, value)
  if (bytes === undefined) throw new RangeError(`${name} does not take ${value}`)
  return bytes
}

function writeOf(
  target: number,
  { register: { opcode, group, number }, instance }: SettingRegisterWrite,
  bytes: Uint8Array,
): { readonly target: number; readonly primary: number; readonly secondary: number; readonly data: Uint8Array } {
  const data = Uint8Array.of(opcode, 0x01, group, instance, number & 0xff, number >> 8, ...bytes)
  return { target, primary: VAILLANT_MANUFACTURER_CODE, secondary: 0x24, data }
}
