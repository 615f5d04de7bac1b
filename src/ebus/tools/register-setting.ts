/**
 * Register setting: a setting that takes one or more registers, resolved, shown to whoever approves it, written and
 * read back.
 *
 * Pure, given its house.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { formatBusAddress } from '../observe/observation.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'
import { PlaneFieldReader } from '../semantic/plane-reader.ts'
import { toRegisterReadKey } from '../semantic/read-key.ts'
import type { DecodedRegisterValue } from '../semantic/register.ts'
import {
  decodeRegisterValue,
  encodeDateRegisterValue,
  encodeNumericRegisterValue,
  isWrittenValueReadBack,
  formatRegisterActuator,
  extractRegisterBytes,
  encodeRegisterTelegramData,
} from '../semantic/register.ts'
import type {
  ResidentSettingPlan,
  ResidentSettingRequest,
  SettingRegisterWrite,
  ResidentSettingName,
} from '../semantic/resident-setting-request.ts'
import {
  RESIDENT_SETTING_NAMES,
  ZONE_SETTING_NAMES,
  planResidentSetting,
} from '../semantic/resident-setting-request.ts'
import { resolveZoneNumber } from '../semantic/zone-choice.ts'
import { readZoneName } from '../semantic/zones-plane.ts'
import {
  createEbusArgumentFault,
  createEbusArgumentsFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus, createLiveOutcome } from './ebus-tool-context.ts'
import { SET_RESIDENT_SETTING_TOOL_NAME } from './resident-setting-view.ts'
import type { ResidentSettingToolInput } from './resident-setting-arguments.ts'
import { toAssessmentConfirmation } from './change-confirmation-arguments.ts'

/** The limit for one telegram; a setting takes up to twelve. */
const TELEGRAM_MS = 4_000

export interface ResolvedRegisterSetting {
  readonly heating: HeatingBusClient
  readonly address: number
  readonly zone: string | undefined
  readonly plan: ResidentSettingPlan
}

export function resolveRegisterSetting(
  context: EbusToolContext,
  input: ResidentSettingToolInput,
): Result<ResolvedRegisterSetting, Fault> {
  const found = findHeatingBus(context, input.bus)
  if (!found.ok) return found
  const heating = found.value
  const { topology } = heating.installation
  const address = topology.regulator?.address
  if (address === undefined)
    return fail({ kind: 'offline', code: 'BUS_UNAVAILABLE', message: 'No regulator has answered on this bus yet.' })
  const reader = new PlaneFieldReader(heating.installation)
  const { setting, value } = input
  if (!isRegisterBackedSetting(setting) || (typeof value === 'object' && 'weekdays' in value))
    return fail(createEbusArgumentFault('value', `not for ${setting}`))
  const ofZone = ZONE_SETTING_NAMES.has(setting)
  const zone = ofZone ? resolveZoneNumber(reader, input.zone) : ok(undefined)
  if (!zone.ok) return fail(createEbusArgumentFault('zone', zone.fault))
  const timed = { ...(input.hours === undefined ? {} : { hours: input.hours }), ...untilOf(input) }
  const request: ResidentSettingRequest = { setting, zone: zone.value, value: valueOf(value), ...timed }
  const plan = planResidentSetting(reader, request, context.clock.now())
  if (!plan.ok) return fail(createEbusArgumentsFault(plan.fault))
  const name = zone.value === undefined ? undefined : readZoneName(reader, zone.value)
  return ok({ heating, address, zone: name, plan: plan.value })
}

function untilOf({ until }: ResidentSettingToolInput): { readonly until?: string } {
  return until === undefined ? {} : { until }
}

export function isRegisterBackedSetting(setting: ResidentSettingToolInput['setting']): setting is ResidentSettingName {
  return (RESIDENT_SETTING_NAMES as readonly string[]).includes(setting)
}

/** Some clients send numbers as text. */
function valueOf(value: ResidentSettingRequest['value']): ResidentSettingRequest['value'] {
  return typeof value === 'string' && value !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}

/** The last changed register is the actuator, as when it is written by its number. */
export function assessRegisterSetting(
  { address, zone, plan, heating }: ResolvedRegisterSetting,
  input: ResidentSettingToolInput,
): CallAssessment {
  const busId = heating.id
  const targets = plan.steps.map(
    (step) => `ebus:${busId}:${formatBusAddress(address)}/${formatRegisterActuator(step.register, step.instance)}`,
  )
  const reader = new PlaneFieldReader(heating.installation)
  const named = (value: (step: SettingRegisterWrite) => Json): JsonObject =>
    Object.fromEntries(plan.steps.map((step) => [step.name, value(step)]))
  return {
    ...toAssessmentConfirmation(input),
    effect: 'writes',
    reasons: [],
    target: targets.at(-1) ?? '',
    touches: targets.slice(0, -1),
    label: `${zone === undefined ? '' : `${zone}: `}${input.setting.replaceAll('_', ' ')}`,
    keyedChange: {
      bus: busId,
      writes: plan.steps.map((step) => [formatRegisterActuator(step.register, step.instance), step.value]),
    },
    preview: {
      before: named(({ register, instance }) => reader.reading(register, instance)?.value ?? null),
      after: named(({ value }) => value),
    },
  }
}

export async function writeRegisterSetting(
  context: EbusToolContext,
  input: ResidentSettingToolInput,
  { resolved, call }: { readonly resolved: ResolvedRegisterSetting; readonly call: Call },
): Promise<Outcome> {
  const { heating, address, zone, plan } = resolved
  const telegram = { deadlineMs: TELEGRAM_MS, caller: toAccountKey(call.caller) }
  return heating.exclusively(async () => {
    if (call.signal.aborted) return fail(createCancelledBusCallFault())
    const before: (DecodedRegisterValue | undefined)[] = []
    for (const step of plan.steps) {
      const key = toRegisterReadKey(address, step.register, step.instance)
      const read = await heating.read(key, { ...telegram, maxAgeMs: 0, source: 'write_confirm' })
      // If the former value is unknown, it could not be restored, so nothing is changed.
      if (!read.ok) return fail(createBusReadFault(read.fault, address))
      before.push(decodeRegisterValue(step.register.type, extractRegisterBytes(read.value.entry.payload)))
    }
    const undo = undoOf(plan, before, input.bus)
    const answer = (
      confirmed: boolean,
      after: readonly (DecodedRegisterValue | undefined)[],
      more: JsonObject,
    ): JsonObject => ({
      setting: input.setting,
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
    if (call.rehearsal) return createLiveOutcome(context, heating, answer(false, [], { dry_run: true }))
    const written: Uint8Array[] = []
    for (const step of plan.steps) {
      const bytes = bytesOf(step)
      const data = encodeRegisterTelegramData(step.register, step.instance, bytes)
      const request = { target: address, primary: VAILLANT_MANUFACTURER_CODE, secondary: 0x24, data }
      const sent = await heating.send(request, { ...telegram, repeatable: false })
      if (!sent.ok) {
        const fault = createBusWriteFault(sent.fault, address)
        // A change of several registers that stops half-way reports how far it got, and how to restore the rest.
        const known = written.length === 0 ? {} : { data: answer(false, [], {}) }
        return fail({ ...fault, details: { ...fault.details, ...known } })
      }
      written.push(bytes)
    }
    const after: (DecodedRegisterValue | undefined)[] = []
    let confirmed = true
    for (const [index, step] of plan.steps.entries()) {
      const key = toRegisterReadKey(address, step.register, step.instance)
      const read = await heating.read(key, { ...telegram, maxAgeMs: 0, source: 'write_confirm' })
      const found = read.ok ? extractRegisterBytes(read.value.entry.payload) : new Uint8Array()
      after.push(decodeRegisterValue(step.register.type, found))
      confirmed &&= isWrittenValueReadBack(step.register, written[index] ?? new Uint8Array(), found)
    }
    return createLiveOutcome(context, heating, answer(confirmed, after, {}))
  })
}

function undoOf(
  plan: ResidentSettingPlan,
  before: readonly (DecodedRegisterValue | undefined)[],
  bus: string | undefined,
): JsonObject {
  const ofBus = bus === undefined ? {} : { bus }
  return {
    undo: plan.undo(before).map((call) => ({ tool: SET_RESIDENT_SETTING_TOOL_NAME, arguments: { ...call, ...ofBus } })),
  }
}

/** Throws for values that do not fit, which a plan never contains. */
function bytesOf({ register, value, name }: SettingRegisterWrite): Uint8Array {
  const bytes =
    typeof value === 'string' ? encodeDateRegisterValue(value) : encodeNumericRegisterValue(register.type, value)
  if (bytes === undefined) throw new RangeError(`${name} does not take ${value}`)
  return bytes
}
