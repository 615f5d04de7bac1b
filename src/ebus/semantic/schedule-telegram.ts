/**
 * Schedule telegram: what a telegram says about a weekly program, in either of the two ways to write one down.
 */
import type { DecodedField, DecodedTelegram } from '../definitions/decoded-telegram.ts'
import {
  TIMER_PROGRAM_LIMITS_OPCODE,
  TIMER_SLOT_COUNTS_OPCODE,
  TIMER_SLOT_READ_OPCODE,
  TIMER_SLOT_WRITE_OPCODE,
} from './read-key.ts'
import type { TimerSlot } from './timer-program.ts'
import {
  TIMER_PROGRAM_CHANNELS,
  WEEKDAYS,
  decodeTimerProgramLimits,
  decodeB524Day,
  decodeTimerSlot,
  decodeTimerSlotCounts,
  decodeB524ProgramChannel,
  formatMinuteOfDay,
} from './timer-program.ts'

/** B555: A3 what a program can hold, A4 slots per day, A5 read a slot, A6 write one. */
export function decodeB555TimerTelegram(data: Uint8Array, response: Uint8Array): DecodedTelegram | undefined {
  const [operation = 0, zone = 0, channel = 0, day = 0, index = 0] = data
  const program = TIMER_PROGRAM_CHANNELS[channel]
  if (program === undefined || data.length < 3) return undefined
  const head = { instance: zone, act: operation === TIMER_SLOT_WRITE_OPCODE ? 'write' : 'read' } as const
  const which: readonly DecodedField[] = [{ name: 'program', value: program }]
  const where = [...which, { name: 'weekday', value: WEEKDAYS[day] }, { name: 'slot', value: index }]
  switch (operation) {
    case TIMER_PROGRAM_LIMITS_OPCODE: {
      const config = decodeTimerProgramLimits(response)
      const most = [
        { name: 'max_slots', value: config?.maxSlots },
        { name: 'time_resolution', value: config?.resolutionMinutes, unit: 'min' },
      ]
      return { ...head, name: 'timer.config', fields: [...which, ...most] }
    }
    case TIMER_SLOT_COUNTS_OPCODE: {
      const counts = decodeTimerSlotCounts(response)
      const days = WEEKDAYS.map((name, at) => ({ name, value: counts?.[at] }))
      return { ...head, name: 'timer.slots_per_day', fields: [...which, ...days] }
    }
    case TIMER_SLOT_READ_OPCODE:
      return { ...head, name: 'timer.slot', fields: [...where, ...slotFields(decodeTimerSlot(response))] }
    case TIMER_SLOT_WRITE_OPCODE: {
      // Index and count in front, then what a slot looks like when it is read.
      const slot = decodeTimerSlot(Uint8Array.from([0x00, ...data.subarray(6)]))
      const accepted = { name: 'accepted', value: response.length === 0 ? undefined : response[0] === 0x00 }
      return { ...head, name: 'timer.slot', fields: [...where, ...slotFields(slot), accepted] }
    }
    default:
      return undefined
  }
}

const SELECTOR_LENGTH = 5

/** B524 03 and 04: the pairs of a day, in the answer or behind the selector. */
export function decodeB524ProgramDayTelegram(data: Uint8Array, response: Uint8Array): DecodedTelegram | undefined {
  const [opcode, first = 0, zone = 0, last = 0, day = 0] = data
  const program = decodeB524ProgramChannel([first, zone, last])
  const writes = opcode === 0x04
  if (program === undefined || (writes ? data.length <= SELECTOR_LENGTH : data.length !== SELECTOR_LENGTH))
    return undefined
  const slots = decodeB524Day(writes ? data.subarray(SELECTOR_LENGTH) : response)
  return {
    name: 'timer.day',
    act: writes ? 'write' : 'read',
    instance: zone,
    fields: [
      { name: 'program', value: program },
      { name: 'weekday', value: WEEKDAYS[day] },
      ...(slots ?? []).flatMap((slot, index) =>
        slotFields(slot).map((field) => ({ ...field, name: `${field.name}_${index + 1}` })),
      ),
    ],
  }
}

function slotFields(slot: TimerSlot | undefined): readonly DecodedField[] {
  const celsius = slot?.celsius
  return [
    { name: 'start', value: slot === undefined ? undefined : formatMinuteOfDay(slot.startMinute) },
    { name: 'end', value: slot === undefined ? undefined : formatMinuteOfDay(slot.endMinute) },
    ...(celsius === undefined ? [] : [{ name: 'temperature', value: celsius, unit: '°C' }]),
  ]
}
