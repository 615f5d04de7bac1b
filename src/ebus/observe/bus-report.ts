/**
 * Bus report: the stores of a bus observer as the `ebus.v1.bus.*` tools show them.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import { formatDuration } from './duration.ts'
import type { DecodedTelegram } from '../definitions/decoded-telegram.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import type { BusObservation } from './observation.ts'
import { TELEGRAM_PHASE_BY_ERROR_CLASS, formatBusAddress, toObservationHex } from './observation.ts'
import type { BusObserver } from './bus-observer.ts'
import type { MessageIntervalRecord } from './periodicity.ts'
import { MIN_PERIODICITY_SAMPLES, computeMedianIntervalAndJitter } from './periodicity.ts'
import type { UnknownTelegramSpecimen } from './unknown-telegram-specimen.ts'

/** Enough to see who sends; the others are counted. */
const SHOWN_FRAMES = 24

export function toBusSummaryJson(
  observatory: BusObserver,
  status: JsonObject,
  now: { readonly atMs: number; readonly symbols: number },
): JsonObject {
  const { messages, periodicity, updatedAtMs, repeats, incidents, busy } = observatory
  const rate = observatory.symbols.rate()
  const ratios = busy.ratios(now.atMs)
  return {
    ...(updatedAtMs === undefined ? {} : { last_updated_at: formatIsoTime(updatedAtMs) }),
    status,
    messages: { count: messages.size, capacity: messages.capacity },
    periodicity: { count: periodicity.size, capacity: periodicity.capacity },
    counters: {
      series_budget_overflow_total: observatory.seriesOverflow,
      periodicity_budget_overflow_total: periodicity.evictions,
    },
    frames: observatory.frames(SHOWN_FRAMES).map(({ scope, family, frameType, source, target, count }) => ({
      scope,
      family,
      frame_type: frameType,
      ...(source === undefined ? {} : { source: formatBusAddress(source) }),
      ...(target === undefined ? {} : { target: formatBusAddress(target) }),
      count,
    })),
    errors: observatory.errors().map(({ scope, errorClass, count }) => ({
      scope,
      class: errorClass,
      phase: TELEGRAM_PHASE_BY_ERROR_CLASS[errorClass],
      count,
    })),
    repeats: { commands: repeats.command, responses: repeats.response },
    reconstructor: { recoveries: Array.from(observatory.recoveries, ([reason, count]) => ({ reason, count })) },
    ...(ratios.length === 0
      ? {}
      : {
          busy: {
            total_seconds: Number((busy.totalMs / 1_000).toFixed(1)),
            windows: ratios.map((each) => ({ ...each })),
          },
        }),
    ...(rate === undefined
      ? {}
      : {
          symbols: {
            total: now.symbols,
            per_second: rate.perSecond,
            max_per_second: rate.maxPerSecond,
            window_seconds: Math.round(rate.windowMs / 1_000),
          },
        }),
    incidents: {
      counts: Object.fromEntries(incidents.counts()),
      recent: incidents
        .recent()
        .map(({ atMs: incidentMs, ...incident }) => ({ at: formatIsoTime(incidentMs), ...incident })),
    },
  }
}

/** Decodes a telegram. */
type Decode = (exchange: TelegramExchange) => DecodedTelegram | undefined

export function toBusMessagesJson(observatory: BusObserver, decode: Decode): readonly JsonObject[] {
  return observatory.messages.newest().map((observation) => messageJson(observation, decode))
}

function messageJson(observation: BusObservation, decode: Decode): JsonObject {
  const { source, target, primary, secondary, content } = observation
  const whole = 'telegram' in content
  const decoded = whole ? decode(content) : undefined
  return {
    scope: observation.scope,
    family: observation.family,
    frame_type: observation.frameType,
    outcome: observation.outcome,
    observed_at: formatIsoTime(observation.atMs),
    ...(source === undefined ? {} : { source_address: source }),
    ...(target === undefined ? {} : { target_address: target }),
    ...(primary === undefined ? {} : { primary }),
    ...(secondary === undefined ? {} : { secondary }),
    request_len: observation.requestLength,
    response_len: observation.responseLength,
    ...(whole ? { known: decoded !== undefined } : {}),
    ...(decoded === undefined ? {} : { decoded: decodedJson(decoded) }),
    ...(decoded?.secret === true ? {} : bytesJson(observation)),
  }
}

function decodedJson({ name, act, instance, fields }: DecodedTelegram): JsonObject {
  return {
    name,
    act,
    ...(instance === undefined ? {} : { instance }),
    fields: fields.map((field) => ({
      name: field.name,
      value: field.value ?? null,
      ...(field.unit === undefined ? {} : { unit: field.unit }),
    })),
  }
}

function bytesJson(observation: BusObservation): JsonObject {
  const { request, response } = toObservationHex(observation)
  return { request_hex: request, ...(response === undefined ? {} : { response_hex: response }) }
}

export function toSpecimenJson({ family, firstSeenMs, times, newest }: UnknownTelegramSpecimen): JsonObject {
  const { source, target } = newest
  return {
    family,
    ...(source === undefined ? {} : { source }),
    ...(target === undefined ? {} : { target }),
    frame_type: newest.frameType,
    outcome: newest.outcome,
    ...bytesJson(newest),
    request_len: newest.requestLength,
    response_len: newest.responseLength,
    first_seen_at: formatIsoTime(firstSeenMs),
    last_seen_at: formatIsoTime(newest.atMs),
    count: times,
  }
}

export function toPeriodicityJson({ periodicity, warmUp }: BusObserver): readonly JsonObject[] {
  return periodicity.tuples().map((tuple) => tupleJson(tuple, warmUp.state === 'available'))
}

function tupleJson(tuple: MessageIntervalRecord, pathAvailable: boolean): JsonObject {
  const { samples, lastMs, minMs, maxMs, sumMs } = tuple
  const regular = computeMedianIntervalAndJitter(tuple)
  const intervals: Record<string, Json> =
    lastMs === undefined || regular === undefined
      ? {}
      : {
          last_interval: formatDuration(lastMs),
          mean_interval: formatDuration(sumMs / samples),
          min_interval: formatDuration(minMs),
          max_interval: formatDuration(maxMs),
          median_interval: formatDuration(regular.medianMs),
          jitter: formatDuration(regular.jitterMs),
        }
  return {
    source_bucket: formatBusAddress(tuple.source),
    target_bucket: formatBusAddress(tuple.target),
    primary: tuple.primary,
    secondary: tuple.secondary,
    family: tuple.family,
    state: pathAvailable && samples >= MIN_PERIODICITY_SAMPLES ? 'available' : 'warming_up',
    last_seen: formatIsoTime(tuple.lastSeenMs),
    sample_count: samples,
    ...intervals,
  }
}
