/** Day schedule write: one day of a weekly program, planned, shown to whoever approves it, written and reported. */
import type { Call, Outcome } from '../../bus/call.ts'
import { toAccountKey } from '../../bus/caller.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { PlaneFieldReader } from '../semantic/plane-reader.ts'
import type { RegisterReadKey } from '../semantic/read-key.ts'
import { HOT_WATER_REGISTERS } from '../semantic/regulator-register-map.ts'
import type { TimerSlot, TimerProgramLimits, TimerProgramId } from '../semantic/timer-program.ts'
import {
  NO_ZONE_NUMBER,
  WEEKDAYS,
  decodeTimerProgramLimits,
  formatTimerWriteRefusal,
} from '../semantic/timer-program.ts'
import { toTimerProgramLimitsReadKey, readPartlyKnownTimerProgram } from '../semantic/schedule-reads.ts'
import { toTimerSlotJson } from '../semantic/schedules-plane.ts'
import type {
  DayWriteOutcome,
  ProgramDayLocation,
  TimerSlotWriteResult,
  RegulatorAccess,
} from '../semantic/schedule-writer.ts'
import { readProgramDay, writeProgramDay } from '../semantic/schedule-writer.ts'
import type { KnownRegulator } from '../semantic/topology.ts'
import { findDaySetpointRegister } from '../semantic/zones-plane.ts'
import {
  createEbusArgumentsFault,
  createEbusNotFoundFault,
  createBusReadFault,
  createCancelledBusCallFault,
  createBusWriteFault,
} from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { findHeatingBus, createLiveOutcome } from './ebus-tool-context.ts'
import type { TimerSlotInput } from './schedule-request.ts'
import { parseTimerSlots } from './schedule-request.ts'
import { toAssessmentConfirmation } from './change-confirmation-arguments.ts'

/** For one telegram; a day takes up to forty. */
const TELEGRAM_MS = 4_000

/** What a writer is asked for. */
export interface DayScheduleRequest {
  readonly weekday: number
  readonly slots: readonly TimerSlotInput[]
  readonly dryRun?: boolean
  readonly idempotency_key?: string
  readonly bus?: string
}

/** Hot water has no zone of its own. */
export const DHW_PROGRAM_ID: TimerProgramId = { zone: NO_ZONE_NUMBER, channel: 'dhw' }

/** What the day is and would be, for whoever has to approve it; from memory, the bus is not asked for that. */
export function assessDayScheduleWrite({ heating, regulator, id, request }: DayWritePlan): CallAssessment {
  const busId = heating.id
  const program = readPartlyKnownTimerProgram(regulator, id, heating.installation.shadow)
  const what = id.channel === 'dhw' ? 'dhw' : `zone-${id.zone + 1}`
  return {
    effect: 'writes',
    reasons: [],
    target: `ebus:${busId}:schedule/${what}/${WEEKDAYS[request.weekday] ?? ''}`,
    label: `${id.channel === 'dhw' ? 'Hot water' : `Zone ${id.zone + 1}`} schedule, ${WEEKDAYS[request.weekday] ?? ''}`,
    ...toAssessmentConfirmation(request),
    keyedChange: {
      bus: busId,
      program: what,
      weekday: request.weekday,
      slots: request.slots.map((slot) => ({ ...slot })),
    },
    preview: {
      weekday: WEEKDAYS[request.weekday] ?? '',
      before: (program?.days[request.weekday] ?? []).map(toTimerSlotJson),
      after: request.slots.map((slot) => ({ ...slot })),
    },
  }
}

/** Which day of which program shall be what. */
export interface ProgramDayScheduleRequest {
  readonly id: TimerProgramId
  readonly request: DayScheduleRequest
}

export interface DayWriteContext {
  readonly context: EbusToolContext
  readonly call: Call
  readonly pause: (ms: number) => Promise<void>
}

/** Not withdrawn when the caller leaves: a day that is half written has to be finished or put back. */
export async function writeDaySchedule(plan: DayWritePlan, job: DayWriteContext): Promise<Outcome> {
  const { heating, regulator, slots } = plan
  return heating.exclusively(async () => {
    if (job.call.signal.aborted) return fail(createCancelledBusCallFault())
    const written = await writeProgramDay(talkOf(heating, job), placeOf(plan), slots)
    if (!written.ok) return fail(createBusReadFault(written.fault, regulator.address))
    if (written.value.kind === 'unchanged' && written.value.restored)
      heating.installation.observatory.incidents.note(
        'restored',
        `schedule of ${WEEKDAYS[plan.request.weekday] ?? ''} put back`,
        job.context.clock.now(),
      )
    return reported(job.context, heating, { regulator, outcome: written.value })
  })
}

export async function dryRunDayScheduleWrite(plan: DayWritePlan, job: DayWriteContext): Promise<Outcome> {
  const { heating, regulator, slots } = plan
  return heating.exclusively(async () => {
    if (job.call.signal.aborted) return fail(createCancelledBusCallFault())
    const before = await readProgramDay(talkOf(heating, job), placeOf(plan))
    return before.ok
      ? toDryRunOutcome(job.context, heating, { before: before.value, slots })
      : fail(createBusReadFault(before.fault, regulator.address))
  })
}

function placeOf({ regulator, config, id, request }: DayWritePlan): ProgramDayLocation {
  return { regulator, id, weekday: request.weekday, idleCelsius: idleCelsius(id, config) }
}

/**
 * A day without slots is one slot of no length. A room's still has to say a temperature that the program takes; hot
 * water's is the one setpoint for all days, which stays as it is when none is said.
 */
function idleCelsius({ channel }: TimerProgramId, { minCelsius }: TimerProgramLimits): number | undefined {
  return channel === 'dhw' ? undefined : minCelsius
}

/** Reads come from the bus, never from memory: what is there now is the whole point. */
function talkOf(heating: HeatingBusClient, { call, pause }: DayWriteContext): RegulatorAccess {
  const caller = toAccountKey(call.caller)
  return {
    pause,
    read: async (key: RegisterReadKey) => {
      const served = await heating.read(key, { maxAgeMs: 0, source: 'write_confirm', deadlineMs: TELEGRAM_MS, caller })
      return served.ok ? ok(served.value.entry.payload) : served
    },
    write: (request) => heating.send(request, { deadlineMs: TELEGRAM_MS, caller, repeatable: false }),
  }
}

/** One day as it would be written, and where. */
export interface DayWritePlan extends ProgramDayScheduleRequest {
  readonly heating: HeatingBusClient
  readonly regulator: KnownRegulator
  readonly config: TimerProgramLimits
  readonly slots: readonly TimerSlot[]
}

/** Everything that can be refused is refused here, before the first telegram that changes something. */
export async function planDayScheduleWrite(
  { id, request }: ProgramDayScheduleRequest,
  job: DayWriteContext,
): Promise<Result<DayWritePlan, Fault>> {
  const found = findHeatingBus(job.context, request.bus)
  if (!found.ok) return found
  const heating = found.value
  const { topology, shadow } = heating.installation
  const { regulator } = topology
  // In this order: no regulator yet is worth trying again, one without programs is not.
  if (regulator?.timers === undefined || regulator.timers === 'none') return fail(noPrograms(regulator))
  if (id.channel === 'heating' && topology.zonesKnown && !topology.zones().includes(id.zone))
    return fail(createEbusNotFoundFault(`There is no zone ${id.zone}; there are ${topology.zones().join(', ')}.`))
  const config =
    readPartlyKnownTimerProgram(regulator, id, shadow)?.config ??
    (await readLimits(talkOf(heating, job), regulator, id))
  if (config === undefined) return fail(createEbusNotFoundFault('The regulator has no such program.'))
  const checked = parseTimerSlots(request.slots, { id, config, setpoint: setpointOf(heating, id) })
  return checked.ok
    ? ok({ id, request, heating, regulator, config, slots: checked.value })
    : fail(createEbusArgumentsFault(checked.fault))
}

function noPrograms(regulator: KnownRegulator | undefined): Fault {
  if (regulator === undefined)
    return { kind: 'offline', code: 'BUS_UNAVAILABLE', message: 'No regulator has answered on this bus yet.' }
  return {
    kind: 'unsupported',
    code: 'UNSUPPORTED',
    message: `How ${regulator.deviceId ?? 'this regulator'} keeps its weekly programs is not known.`,
  }
}

/** Only 720 controllers can be asked; the 700 family's limits are known beforehand or not at all. */
async function readLimits(
  talk: RegulatorAccess,
  regulator: KnownRegulator,
  id: TimerProgramId,
): Promise<TimerProgramLimits | undefined> {
  if (regulator.timers !== 'b555') return undefined
  const answer = await talk.read(toTimerProgramLimitsReadKey(regulator.address, id))
  return answer.ok ? decodeTimerProgramLimits(answer.value) : undefined
}

/** What slots without a temperature of their own heat to. */
function setpointOf(heating: HeatingBusClient, { zone, channel }: TimerProgramId): number | undefined {
  const reader = new PlaneFieldReader(heating.installation)
  return channel === 'dhw'
    ? reader.peek(HOT_WATER_REGISTERS.target)
    : reader.peek(findDaySetpointRegister(reader, zone), zone)
}

function toDryRunOutcome(
  context: EbusToolContext,
  heating: HeatingBusClient,
  { before, slots }: { readonly before: readonly TimerSlot[]; readonly slots: readonly TimerSlot[] },
): Outcome {
  return createLiveOutcome(context, heating, {
    success: true,
    dry_run: true,
    slot_results: [],
    before: before.map(toTimerSlotJson),
    would_write: slots.map(toTimerSlotJson),
  })
}

/** Written, as it was, or nobody knows: there is no fourth way to come out of it. */
function reported(
  context: EbusToolContext,
  heating: HeatingBusClient,
  { regulator, outcome }: { readonly regulator: KnownRegulator; readonly outcome: DayWriteOutcome },
): Outcome {
  const results = outcome.results.map(resultJson)
  const before = outcome.before.map(toTimerSlotJson)
  if (outcome.kind === 'written')
    return createLiveOutcome(context, heating, {
      success: true,
      slot_results: results,
      before,
      read_back: outcome.readBack.map(toTimerSlotJson),
    })
  const cause = outcome.results.find(({ accepted }) => !accepted)
  const why = whyNot(cause)
  const found = outcome.found === undefined ? {} : { read_back: outcome.found.map(toTimerSlotJson) }
  if (outcome.kind === 'unchanged') {
    const data = { success: false, slot_results: results, before, ...found, restored: outcome.restored, error: why }
    const message = `The day is as it was${outcome.restored ? ', after it was put back' : ''}: ${why}.`
    // Only where not a single slot went out may the same call simply be made again (docs/adr/0004).
    const untouched = cause?.index === 0 && cause.fault !== undefined && !outcome.restored
    const fault = untouched ? createBusWriteFault(cause.fault, regulator.address) : undefined
    const kind = fault === undefined || fault.kind === 'unknown-outcome' ? 'failed' : fault.kind
    return fail({ kind, code: fault?.code ?? 'PROTOCOL_ERROR', message, details: { source_layer: 'bus', data } })
  }
  const data = { success: false, slot_results: results, before, ...found, restored: false, error: why }
  return fail({
    kind: 'unknown-outcome',
    code: 'UNKNOWN_OUTCOME',
    message: `The day is neither as asked nor as it was, and could not be put back: ${why}. Read it before trying again.`,
    details: { source_layer: 'bus', data },
  })
}

function whyNot(result: TimerSlotWriteResult | undefined): string {
  if (result === undefined) return 'the regulator took every slot, but keeps something else'
  if (result.fault !== undefined) return `slot ${result.index}: ${result.fault.kind}`
  return `slot ${result.index}: ${formatTimerWriteRefusal(result.code ?? 0)}`
}

/** Refused with a code of the regulator's, or not answered: then there is no code. */
function resultJson({ index, accepted, code, fault }: TimerSlotWriteResult): JsonObject {
  const description = accepted
    ? undefined
    : fault === undefined
      ? formatTimerWriteRefusal(code ?? 0)
      : `no answer (${fault.kind})`
  return {
    slot_index: index,
    accepted,
    error_code: code ?? null,
    ...(description === undefined ? {} : { error_description: description }),
  }
}
