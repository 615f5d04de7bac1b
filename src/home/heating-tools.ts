/**
 * Heating tools: set the temperature of a room, now or for a time, its weekly program, a holiday, and hot water. Each
 * is one call of `ebus.v1.settings.set`, which knows the limits of this house, reads back and returns the call that
 * undoes it.
 *
 * Reads and writes through the family's own tool.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import type { Capability } from '../bus/capability.ts'
import { defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { omitUndefined, type JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { previewCallAsAnswer } from './call-preview.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  previewArgument,
  createSentenceAnswer,
  reasonForChangeArgument,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import type { HomeZone } from './home-heating.ts'
import { findRoomsByName } from './place-search.ts'
import { normaliseText } from './normalised-text.ts'
import { readJsonValueAt } from './json-path.ts'
import { parseWeekdays } from './weekday-words.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { formatLocalDate, capitaliseSentence, quoteForSentence, formatDegrees, formatList } from './sentence-text.ts'
import { chooseThermostat, setThermostat, listThermostatRooms } from './thermostat-setting.ts'
import type { ThermostatChangeRequest } from './thermostat-setting.ts'

const SET = 'ebus.v1.settings.set'
const zone = z.string().min(1).max(60).exactOptional().describe('The room or zone; can be left out where there is one.')
const HEATS = { ...DELEGATING_HOME_TOOL_DEFAULTS, timeoutSeconds: 120 } as const
const NO_HEATING = 'There is no heating here that could be set.'

export function createHeatingTools(parts: HomeDependencies): readonly Capability[] {
  return [
    defineChange({
      ...HEATS,
      name: 'heating_set',
      title: 'Set a room’s temperature',
      description: 'Sets how warm a room shall be: `to` or `by` degrees, for `hours` or `until` a time, or its mode.',
      input: z.strictObject({
        zone,
        to: z.number().min(5).max(35).exactOptional().describe('°C.'),
        by: z
          .number()
          .min(-5)
          .max(5)
          .exactOptional()
          .describe('Degrees warmer or, below zero, cooler than now wanted.'),
        hours: z.number().min(0.5).max(12).exactOptional(),
        until: z
          .string()
          .regex(/^\d{1,2}:\d{2}$/, 'such as 22:30')
          .exactOptional(),
        mode: z.enum(['off', 'auto', 'manual']).exactOptional(),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, wish, context) => {
        const contrary = findContraryArguments(wish)
        if (contrary !== undefined) return createSentenceAnswer(contrary)
        const picture = await readHomeSnapshot(parts, context)
        const thermostat = chooseThermostat(picture, wish.zone)
        if (thermostat !== undefined) return setThermostat(parts, thermostat, { wish, context })
        const chosen = chooseZone(picture, wish.zone)
        if (!('zone' in chosen)) return chosen.answer
        const { zone: one } = chosen
        if (wish.mode !== undefined)
          return setHeating(
            parts,
            { setting: 'mode', zone: one.name, value: wish.mode },
            { wish, context, what: `${quoteForSentence(one.name)} to ${wish.mode}` },
          )
        const celsius =
          wish.to ?? (wish.by === undefined || one.wanted === undefined ? undefined : one.wanted + wish.by)
        if (celsius === undefined)
          return createSentenceAnswer(
            'Say how warm it shall be: `to` in °C, or `by` where it is known how warm it shall be now. Nothing was done.',
          )
        const timed = omitUndefined({ hours: wish.hours, until: wish.until })
        const span =
          wish.hours === undefined ? (wish.until === undefined ? '' : ` until ${wish.until}`) : ` for ${wish.hours} h`
        const what = `${quoteForSentence(one.name)} to ${formatDegrees(celsius)}${span}`
        return setHeating(
          parts,
          { setting: 'room_temperature', zone: one.name, value: celsius, ...timed },
          { wish, context, what },
        )
      },
    }),
    defineChange({
      ...HEATS,
      timeoutSeconds: 300,
      name: 'heating_program',
      title: 'Set a weekly program',
      description: 'Replaces the heating times of some weekdays of a room.',
      input: z.strictObject({
        zone,
        days: z.array(z.string().max(12)).min(1).max(7).describe('Weekdays by name, such as monday.'),
        times: z
          .array(
            z.strictObject({
              from: z.string().max(5),
              to: z.string().max(5),
              temperature_c: z.number().exactOptional(),
            }),
          )
          .max(12)
          .describe('Such as {from: "06:00", to: "22:00"}.'),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, wish, context) => {
        const chosen = chooseZone(await readHomeSnapshot(parts, context), wish.zone)
        if (!('zone' in chosen)) return chosen.answer
        const unknown = wish.days.find((day) => parseWeekdays(day) === undefined)
        if (unknown !== undefined)
          return createSentenceAnswer(`${quoteForSentence(unknown)} is not a day of the week. Nothing was done.`, {
            ask: 'Which days?',
          })
        const weekdays = [...new Set(wish.days.flatMap((day) => parseWeekdays(day) ?? []))]
        const value = { weekdays, slots: wish.times }
        const what = `the program of ${quoteForSentence(chosen.zone.name)} on ${formatList(weekdays)}`
        return setHeating(parts, { setting: 'schedule', zone: chosen.zone.name, value }, { wish, context, what })
      },
    }),
    defineChange({
      ...HEATS,
      name: 'heating_holiday',
      title: 'Set a holiday',
      description: 'Lowers a room from one day to another (2026-12-20), or cancels that.',
      input: z.strictObject({
        zone,
        from: z.iso.date().exactOptional(),
        to: z.iso.date().exactOptional(),
        temperature: z.number().min(5).max(30).exactOptional(),
        cancel: z.boolean().default(false),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, wish, context) => {
        const chosen = chooseZone(await readHomeSnapshot(parts, context), wish.zone)
        if (!('zone' in chosen)) return chosen.answer
        const { from, to, temperature, cancel } = wish
        if (!cancel && (from === undefined || to === undefined))
          return createSentenceAnswer('Say `from` and `to` as dates, or `cancel`. Nothing was done.')
        if (cancel && (from ?? to ?? temperature) !== undefined)
          return createSentenceAnswer('Say either `cancel` or a new holiday. Nothing was done.')
        if (to !== undefined && to < formatLocalDate(parts.clock.now()))
          return createSentenceAnswer(`That holiday would be over already on ${to}. Nothing was done.`, {
            ask: 'From when to when?',
          })
        const value = cancel
          ? 'none'
          : { from: from ?? '', to: to ?? '', ...omitUndefined({ temperature_c: temperature }) }
        const what = `the holiday of ${quoteForSentence(chosen.zone.name)}${cancel ? ' to none' : ` to ${from} until ${to}`}`
        return setHeating(parts, { setting: 'holiday', zone: chosen.zone.name, value }, { wish, context, what })
      },
    }),
    defineChange({
      ...HEATS,
      name: 'hot_water',
      title: 'Set the hot water',
      description: 'Makes hot water now, or sets how hot it is kept.',
      input: z.strictObject({
        now: z.boolean().default(false),
        target: z.number().min(30).max(70).exactOptional(),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, wish, context) => {
        if (!wish.now && wish.target === undefined)
          return createSentenceAnswer('Say `now`, or a `target` in °C. Nothing was done.')
        if (wish.now && wish.target !== undefined)
          return createSentenceAnswer('Say `now` and `target` in two calls. Nothing was done.')
        const body: JsonObject = wish.now
          ? { setting: 'hot_water', value: 'now' }
          : { setting: 'hot_water_temperature', value: wish.target ?? 0 }
        const what = wish.now ? 'hot water to be made now' : `hot water to ${formatDegrees(wish.target ?? 0)}`
        return setHeating(parts, body, { wish, context, what })
      },
    }),
  ]
}

/** Finds arguments that exclude each other, so that neither is ignored silently. */
function findContraryArguments({
  to,
  by,
  hours,
  until,
  mode,
}: Pick<ThermostatChangeRequest['wish'], 'to' | 'by' | 'hours' | 'until' | 'mode'>): string | undefined {
  const both = [
    ['`to` and `by`', to, by],
    ['`hours` and `until`', hours, until],
    ['`mode` and `to`', mode, to],
    ['`mode` and `by`', mode, by],
    ['`mode` and `hours`', mode, hours],
    ['`mode` and `until`', mode, until],
  ].find(([, one, other]) => one !== undefined && other !== undefined)
  return both === undefined ? undefined : `Say only one of ${String(both[0])} in one call. Nothing was done.`
}

function chooseZone(
  picture: HomeSnapshot,
  name: string | undefined,
): { readonly zone: HomeZone } | { readonly answer: Outcome } {
  const { heating, rooms } = picture
  const zones = heating?.zones ?? []
  const [first] = zones
  const named = [
    ...zones.map((each) => quoteForSentence(each.name)),
    ...listThermostatRooms(picture).map(quoteForSentence),
  ].slice(0, MAX_ZONES)
  if (first === undefined && named.length === 0) return { answer: createSentenceAnswer(NO_HEATING) }
  if (name === undefined && first !== undefined && named.length === 1) return { zone: first }
  if (name === undefined)
    return { answer: createSentenceAnswer('Which room? Nothing was done.', { ask: 'Which room?', zones: named }) }
  const keys = new Set(findRoomsByName(name, rooms.all()).map(({ key }) => key))
  const meant = zones.filter(
    (each) =>
      each.id === name ||
      `zone:${each.id}` === name ||
      normaliseText(each.name) === normaliseText(name) ||
      (each.room !== undefined && keys.has(each.room)),
  )
  const [only] = meant
  if (meant.length === 1 && only !== undefined) return { zone: only }
  return {
    answer: createSentenceAnswer(`No zone of the heating is called ${quoteForSentence(name)}. Nothing was done.`, {
      ask: 'Which zone?',
      zones: named,
    }),
  }
}

const MAX_ZONES = 30

interface HeatingChange {
  readonly wish: { readonly preview: boolean }
  readonly context: HandlerContext
  /** What is set, as a phrase for the sentence. */
  readonly what: string
}

async function setHeating(
  parts: HomeDependencies,
  body: JsonObject,
  { wish, context, what }: HeatingChange,
): Promise<Outcome> {
  if (parts.bus.offer(SET) === undefined) return createSentenceAnswer(NO_HEATING)
  if (wish.preview)
    return previewCallAsAnswer(parts, { tool: SET, arguments: body }, { context, sentence: `This would set ${what}.` })
  const outcome = await context.call(SET, body)
  if (!outcome.ok) return fail(outcome.fault)
  const data = readJsonValueAt(outcome.value.data, 'data')
  const isConfirmed = readJsonValueAt(data, 'confirmed') === true
  return createSentenceAnswer(
    capitaliseSentence(isConfirmed ? `set ${what}, read back.` : `told ${what}, but it reads back differently.`),
    {
      id: context.traceId,
    },
  )
}
