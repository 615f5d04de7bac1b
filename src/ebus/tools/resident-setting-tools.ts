/**
 * Resident setting tools: what a resident can set, in the words of a resident, with what was there before and how to
 * put it back.
 *
 * Pure, given its house.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { PlaneFieldReader } from '../semantic/plane-reader.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { ZONE_SETTING_NAMES } from '../semantic/resident-setting-request.ts'
import { resolveZoneNumber } from '../semantic/zone-choice.ts'
import { readZoneName } from '../semantic/zones-plane.ts'
import { ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createEbusArgumentFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { resolveBusLockKey, findHeatingBus } from './ebus-tool-context.ts'
import type { ScheduleChangeRequest } from './schedule-setting.ts'
import { assessScheduleChange, planScheduleChange, setScheduleDays } from './schedule-setting.ts'
import { DHW_PROGRAM_ID } from './day-schedule-write.ts'
import type { DayWriteContext, DayWritePlan } from './day-schedule-write.ts'
import { readMissingPlaneValues } from './missing-plane-values.ts'
import { SET_RESIDENT_SETTING_TOOL_NAME } from './resident-setting-view.ts'
import type { ResolvedRegisterSetting } from './register-setting.ts'
import {
  writeRegisterSetting,
  resolveRegisterSetting,
  assessRegisterSetting,
  isRegisterBackedSetting,
} from './register-setting.ts'
import type { ResidentSettingToolInput } from './resident-setting-arguments.ts'
import { residentSettingInputSchema, residentSettingChangeOutputSchema } from './resident-setting-arguments.ts'

/** Time for seven days of a program, or six registers. */
const TIMEOUT_SECONDS = 300

/** The writes of a setting: registers, or days of a program. */
type SettingChange =
  | { readonly kind: 'registers'; readonly resolved: ResolvedRegisterSetting }
  | { readonly kind: 'schedule'; readonly schedule: ScheduleChangeRequest; readonly days: readonly DayWritePlan[] }

export function createResidentSettingTools(
  context: EbusToolContext,
  pause: (ms: number) => Promise<void>,
): readonly Capability[] {
  const carryOut = (change: SettingChange, request: ResidentSettingToolInput, call: Call): Promise<Outcome> =>
    change.kind === 'registers'
      ? writeRegisterSetting(context, request, { resolved: change.resolved, call })
      : setSchedule(change, request, { context, call, pause })
  return [
    defineChange({
      name: SET_RESIDENT_SETTING_TOOL_NAME,
      title: 'Set the heating, in words',
      description:
        'Sets a room to a temperature for good or for some hours, its night temperature or mode, a holiday from one date to another, hot water now or its temperature, or heating on and off. Rooms by name. Reads back what was set, says what it was before, and gives the call that undoes it. Also the weekly program of a room or of the hot water, for several days at once.',
      input: residentSettingInputSchema,
      output: residentSettingChangeOutputSchema,
      effect: 'writes',
      idempotent: true,
      family: ebusFamilyEnvelope,
      timeoutSeconds: TIMEOUT_SECONDS,
      lock: (body: JsonObject): string => resolveBusLockKey(context, body),
      plan: async (request, call): Promise<Result<SettingChange, Fault>> => {
        await readMissingPlaneValues(context, { planes: [planeOf(request.setting)], bus: request.bus }, call)
        const schedule = scheduleOf(context, request)
        if (schedule === undefined) {
          const resolved = resolveRegisterSetting(context, request)
          return resolved.ok ? ok({ kind: 'registers', resolved: resolved.value }) : resolved
        }
        if (!schedule.ok) return schedule
        const days = await planScheduleChange(schedule.value, { context, call, pause })
        return days.ok ? ok({ kind: 'schedule', schedule: schedule.value, days: days.value }) : days
      },
      assess: (change, request) =>
        change.kind === 'registers'
          ? assessRegisterSetting(change.resolved, request)
          : assessScheduleChange(change.days),
      act: carryOut,
      rehearse: carryOut,
    }),
  ]
}

/** Rooms are found by their names, which have to be read first. */
function planeOf(setting: ResidentSettingToolInput['setting']): SemanticPlaneName {
  if (setting === 'heating') return 'system'
  return setting === 'schedule' || (isRegisterBackedSetting(setting) && ZONE_SETTING_NAMES.has(setting))
    ? 'zones'
    : 'dhw'
}

/** Returns `undefined` if no program is meant. */
function scheduleOf(
  context: EbusToolContext,
  request: ResidentSettingToolInput,
): Result<ScheduleChangeRequest, Fault> | undefined {
  const { setting, value } = request
  if (setting !== 'schedule' && setting !== 'hot_water_schedule') return undefined
  if (typeof value !== 'object' || !('weekdays' in value))
    return fail(
      createEbusArgumentFault(
        'value',
        'weekdays and slots, such as {"weekdays":["monday"],"slots":[{"from":"06:00","to":"22:00"}]}',
      ),
    )
  const requested = {
    days: value,
    ...(request.dryRun === undefined ? {} : { dryRun: request.dryRun }),
    ...(request.idempotency_key === undefined ? {} : { idempotency_key: request.idempotency_key }),
    ...(request.bus === undefined ? {} : { bus: request.bus }),
  }
  if (setting === 'hot_water_schedule') return ok({ ...requested, id: DHW_PROGRAM_ID })
  const heating = findHeatingBus(context, request.bus)
  if (!heating.ok) return heating
  const zone = resolveZoneNumber(new PlaneFieldReader(heating.value.installation), request.zone)
  return zone.ok
    ? ok({ ...requested, id: { zone: zone.value, channel: 'heating' } })
    : fail(createEbusArgumentFault('zone', zone.fault))
}

async function setSchedule(
  { schedule, days }: Extract<SettingChange, { readonly kind: 'schedule' }>,
  request: ResidentSettingToolInput,
  job: DayWriteContext,
): Promise<Outcome> {
  const [first] = days
  const ofZone = request.setting === 'schedule' && first !== undefined
  const zone = ofZone ? readZoneName(new PlaneFieldReader(first.heating.installation), schedule.id.zone) : undefined
  const named = { setting: request.setting, ...(zone === undefined ? {} : { zone }) }
  const undoCall = (value: JsonObject): JsonObject => ({
    tool: SET_RESIDENT_SETTING_TOOL_NAME,
    arguments: { ...named, value, ...busOnly(request) },
  })
  const outcome = await setScheduleDays(days, schedule.days, { ...job, undoCall })
  if (!outcome.ok || !isJsonObject(outcome.value.data)) return outcome
  const { data, ...beside } = outcome.value.data
  return ok({ ...outcome.value, data: { ...beside, data: { ...named, ...(isJsonObject(data) ? data : {}) } } })
}

function busOnly({ bus }: ResidentSettingToolInput): JsonObject {
  return bus === undefined ? {} : { bus }
}
