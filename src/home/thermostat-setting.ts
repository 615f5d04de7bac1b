/** Thermostat setting: rooms whose temperature is set by a thermostat of another family than the heating's own. */
import type { Outcome } from '../bus/call.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { fail } from '../core/result.ts'
import { previewCallAsAnswer } from './call-preview.ts'
import { createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { quoteForSentence, formatDegrees, formatList } from './sentence-text.ts'
import { isChangeReadBack, addHomeseerGuardArguments } from './change-call-and-read-back.ts'
import type { Thing } from './thing.ts'
import { chooseThingControl } from './thing-control-choice.ts'
import { findRoomsByName } from './place-search.ts'

function thermostats({ things }: HomeSnapshot): readonly Thing[] {
  return things.filter(
    ({ kind, controls }) => kind === 'thermostat' && controls.some(({ wish }) => wish === 'temperature'),
  )
}

/** Rooms that are heated by a thermostat of another family than the heating's own. */
export function listThermostatRooms(picture: HomeSnapshot): readonly string[] {
  return thermostats(picture).flatMap(({ room }) => (room === undefined ? [] : (picture.rooms.get(room)?.name ?? [])))
}

/** Chooses a thermostat if the text names no zone of the heating. */
export function chooseThermostat(picture: HomeSnapshot, name: string | undefined): Thing | undefined {
  const able = thermostats(picture)
  if (name === undefined) return able.length === 1 && (picture.heating?.zones ?? []).length === 0 ? able[0] : undefined
  const keys = new Set(findRoomsByName(name, picture.rooms.all()).map(({ key }) => key))
  if (picture.heating?.zones.some(({ room }) => room !== undefined && keys.has(room)) === true) return undefined
  const meant = able.filter(({ handle, room }) => handle === name || (room !== undefined && keys.has(room)))
  return meant.length === 1 ? meant[0] : undefined
}

export interface ThermostatChangeRequest {
  readonly wish: {
    readonly to?: number
    readonly by?: number
    readonly hours?: number
    readonly until?: string
    readonly mode?: string
    readonly why: string
    readonly preview: boolean
  }
  readonly context: HandlerContext
}

export async function setThermostat(
  parts: HomeDependencies,
  one: Thing,
  { wish, context }: ThermostatChangeRequest,
): Promise<Outcome> {
  if (wish.hours !== undefined || wish.until !== undefined || wish.mode !== undefined)
    return createSentenceAnswer(
      `${quoteForSentence(one.name)} can only be set for good: set it now, and with \`later\` set it back. Nothing was done.`,
      { next: { tool: 'home_state', arguments: { of: [one.handle], detail: true } } },
    )
  const celsius = wish.to ?? (wish.by === undefined || one.level === undefined ? undefined : one.level + wish.by)
  if (celsius === undefined)
    return createSentenceAnswer('Say how warm it shall be: `to` in °C, or `by`. Nothing was done.')
  const control = chooseThingControl(one, celsius)
  if (!control.ok)
    return createSentenceAnswer(
      `${quoteForSentence(one.name)} takes ${formatList(control.fault.slice(0, 4).map(quoteForSentence))}. Nothing was done.`,
    )
  const call = addHomeseerGuardArguments(control.value.call, wish)
  const sentence = `This would set ${quoteForSentence(one.name)} to ${formatDegrees(celsius)}.`
  if (wish.preview) return previewCallAsAnswer(parts, call, { context, sentence })
  const outcome = await context.call(call.tool, call.arguments)
  if (!outcome.ok) return fail(outcome.fault)
  const isSeen = isChangeReadBack(outcome.value.data)
  return createSentenceAnswer(
    `${isSeen ? 'Set' : 'Told'} ${quoteForSentence(one.name)} to ${formatDegrees(celsius)}${isSeen ? ', read back' : ''}.`,
    {
      id: context.traceId,
    },
  )
}
