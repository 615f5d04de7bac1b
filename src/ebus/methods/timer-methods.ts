/**
 * Timer methods: weekly programs over B555, one telegram at a time. `schedules.set_…` writes a whole day, and reads it
 * back.
 */
import { z } from 'zod'
import { toHex } from '../../core/bytes.ts'
import {
  TIMER_PROGRAM_CHANNELS,
  decodeTimerProgramLimits,
  decodeTimerSlot,
  decodeTimerSlotCounts,
  encodeTimerSlotWrite,
  formatTimerWriteRefusal,
} from '../semantic/timer-program.ts'
import type { DeviceMethod, MethodAnswer } from './device-method.ts'
import { CONFIG_VALUE_MAX_AGE_MS, byteSchema, commonMethodParams, defineMethod } from './device-method.ts'

/**
 *   A3 Z H                                       config    status, slots, minutes …, °C from and to
 *   A4 Z H                                       counts    status, slots of the seven days
 *   A5 Z H D S                                   slot      status, begin, end, temperature in tenths, low byte first
 *   A6 Z H D S N hh mm hh mm Tlo Thi             write     00 taken, else why not
 *
 * Z: zone 0 to 2, FF for hot water and circulation. H: 0 heating, 1 cooling, 2 hot water, 3 circulation, 4 silence.
 * D: 0 is Monday. FFFF: no temperature of its own.
 */
const NO_TEMPERATURE = 0xffff

const program = z.strictObject({ ...commonMethodParams, zone: byteSchema, hc: z.int().min(0).max(4) })
// No known program has more than twelve slots.
const place = z.strictObject({ ...program.shape, weekday: z.int().min(0).max(6), slot: z.int().min(0).max(11) })

const TIMER_READ = { plane: 'timer', secondary: 0x55, readOnly: true, maxAgeMs: CONFIG_VALUE_MAX_AGE_MS } as const

const readTimerConfig = defineMethod({
  ...TIMER_READ,
  name: 'read_timer_config',
  params: program,
  prepare: ({ zone, hc }) => ({
    data: Uint8Array.of(0xa3, zone, hc),
    effect: 'reads',
    actuator: actuator(zone, hc),
    decode: (response) => {
      const config = decodeTimerProgramLimits(response)
      return {
        available: config !== undefined,
        status: response[0],
        max_slots: config?.maxSlots,
        time_resolution: config?.resolutionMinutes,
        min_duration: config?.minMinutes,
        has_temperature: config?.hasTemperature,
        temp_slots: config?.temperatureSlots,
        min_temp_c: config?.minCelsius,
        max_temp_c: config?.maxCelsius,
      }
    },
  }),
})

const readTimerSlots = defineMethod({
  ...TIMER_READ,
  name: 'read_timer_slots',
  params: program,
  prepare: ({ zone, hc }) => ({
    data: Uint8Array.of(0xa4, zone, hc),
    effect: 'reads',
    actuator: actuator(zone, hc),
    decode: (response) => {
      const counts = decodeTimerSlotCounts(response)
      return {
        status: response[0],
        slots_per_day: counts,
      }
    },
  }),
})

const readTimer = defineMethod({
  ...TIMER_READ,
  name: 'read_timer',
  params: place,
  prepare: ({ zone, hc, weekday, slot }) => ({
    data: Uint8Array.of(0xa5, zone, hc, weekday, slot),
    effect: 'reads',
    actuator: actuator(zone, hc),
    decode: (response) => slotValues(response),
  }),
})

/** The temperature as it is on the wire and as a number; a slot that is unavailable has neither. */
function slotValues(response: Uint8Array): MethodAnswer {
  const slot = decodeTimerSlot(response)
  const clock = (minutes: number | undefined): readonly [number | undefined, number | undefined] =>
    minutes === undefined ? [undefined, undefined] : [Math.floor(minutes / 60), minutes % 60]
  const [startHour, startMinute] = clock(slot?.startMinute)
  const [endHour, endMinute] = clock(slot?.endMinute)
  return {
    status: response[0],
    start_hour: startHour,
    start_minute: startMinute,
    end_hour: endHour,
    end_minute: endMinute,
    temperature_raw: slot === undefined ? undefined : (response[5] ?? 0) + 256 * (response[6] ?? 0),
    temperature_c: slot?.celsius,
  }
}

/** 24:00 is valid here, as the end of the day; the regulator refuses later times. */
const hour = z.int().min(0).max(24)
const minute = z.int().min(0).max(59)

const writeTimer = defineMethod({
  plane: 'timer',
  name: 'write_timer',
  secondary: 0x55,
  readOnly: false,
  params: z.strictObject({
    ...place.shape,
    slot_count: z.int().min(1).max(12),
    start_hour: hour,
    start_minute: minute,
    end_hour: hour,
    end_minute: minute,
    temperature: z.int().min(0).max(NO_TEMPERATURE),
  }),
  prepare: (params) => {
    const { zone, hc, weekday, slot: index, slot_count: count, temperature } = params
    const channel = TIMER_PROGRAM_CHANNELS[hc] ?? 'heating'
    const slot = {
      startMinute: params.start_hour * 60 + params.start_minute,
      endMinute: params.end_hour * 60 + params.end_minute,
      celsius: temperature === NO_TEMPERATURE ? undefined : temperature / 10,
    }
    const data = encodeTimerSlotWrite({ zone, channel }, { weekday, index, count }, slot)
    return {
      // The zone byte as it was given, because this method sends exactly its parameters.
      data: data.with(1, zone),
      effect: 'writes',
      actuator: actuator(zone, hc),
      decode: (response) => {
        // Some regulators acknowledge without any data.
        const code = response.length === 0 ? 0 : (response[0] ?? 0)
        return {
          error_code: code,
          accepted: code === 0,
          ...(code === 0 ? {} : { error_description: formatTimerWriteRefusal(code) }),
        }
      },
      confirm: {
        data: Uint8Array.of(0xa5, zone, hc, weekday, index),
        holds: (response) => {
          const found = decodeTimerSlot(response)
          if (found?.startMinute !== slot.startMinute || found.endMinute !== slot.endMinute) return false
          // FFFF requests no temperature, so any shown one is right.
          return slot.celsius === undefined || found.celsius === slot.celsius
        },
        decode: (response) => slotValues(response),
      },
    }
  },
})

function actuator(zone: number, hc: number): string {
  return `b555/${toHex(Uint8Array.of(zone, hc))}`
}

export const TIMER_METHODS: readonly DeviceMethod[] = [readTimerConfig, readTimerSlots, readTimer, writeTimer]
