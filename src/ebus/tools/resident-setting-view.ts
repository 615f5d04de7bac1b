/**
 * Resident setting view: residents' settings as clients see them, each with the call that sets it.
 */
import { z } from 'zod'
import { omitUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ResidentSetting } from '../semantic/resident-settings.ts'

export const SET_RESIDENT_SETTING_TOOL_NAME = 'ebus.v1.settings.set'

/** For descriptions and refusals of tools, because models read these instead of documents. */
export const RESIDENT_SETTING_TOOL_HINT =
  'ebus.v1.settings.set sets it in words, rooms by name; registry.methods.list of the regulator, plane system, lists under set_ext_register what can be set in this house (`settings`), each with its limits and an example call; ebus://<bus>/settings has the same'

export const residentSettingOutputSchema = z.object({
  name: z.string(),
  of: z.string().describe('The zone, the hot water, or the whole system.'),
  meaning: z.string(),
  unit: z.string().exactOptional(),
  minimum: z.number(),
  maximum: z.number(),
  values: z.record(z.string(), z.string()).exactOptional().describe('What the numbers stand for.'),
  now: z.number().exactOptional().describe('Left out until it was read.'),
  read_back: z
    .object({ tool: z.string(), path: z.string() })
    .exactOptional()
    .describe('The tool that shows it, and where in its data; zones by their id.'),
  example: z
    .object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) })
    .describe('The call that sets it: change the value.'),
})

/** `bus` only if there are several. */
export function toResidentSettingJson(setting: ResidentSetting, bus: string | undefined): JsonObject {
  const { limits, words, now, shown } = setting
  const [minimum, maximum] = limits
  return omitUndefined({
    name: setting.name,
    of: setting.of,
    meaning: setting.meaning,
    unit: setting.unit,
    minimum,
    maximum,
    values: words,
    now,
    read_back: shown === undefined ? undefined : { tool: `ebus.v1.semantic.${shown.plane}.get`, path: shown.path },
    example: { tool: SET_RESIDENT_SETTING_TOOL_NAME, arguments: omitUndefined({ ...exampleOf(setting), bus }) },
  })
}

/** Settings with dates or times instead of a number: a holiday and the weekly program, for each room. */
export function describeHolidayAndScheduleSettings(
  settings: readonly ResidentSetting[],
  bus: string | undefined,
): readonly JsonObject[] {
  const rooms = new Map(settings.flatMap(({ zone, of }) => (zone === undefined ? [] : [[zone, of] as const])))
  const hasHotWater = settings.some(({ name }) => name.startsWith('dhw.'))
  const week = { weekdays: ['monday', 'tuesday'], slots: [{ from: '06:00', to: '22:00' }] }
  const roomWeek = { ...week, slots: week.slots.map((slot) => ({ ...slot, temperature_c: 21 })) }
  const planned = (name: string, of: string, meaning: string, plane: string, call: JsonObject): JsonObject => ({
    name,
    of,
    meaning,
    read_back: { tool: `ebus.v1.semantic.${plane}.get` },
    example: { tool: SET_RESIDENT_SETTING_TOOL_NAME, arguments: omitUndefined({ ...call, bus }) },
  })
  return [
    ...Array.from(rooms, ([zone, of]) => [
      planned('zone.holiday', of, 'A holiday from one date to another; none ends it.', 'zones', {
        setting: 'holiday',
        zone,
        value: 'none',
      }),
      planned(
        'zone.schedule',
        of,
        'The weekly program: all slots of the days that are named. Without dryRun it is written.',
        'schedules',
        {
          setting: 'schedule',
          zone,
          value: roomWeek,
          dryRun: true,
        },
      ),
    ]).flat(),
    ...(hasHotWater
      ? [
          planned(
            'dhw.schedule',
            'Hot water',
            'The weekly program of the hot water. Without dryRun it is written.',
            'schedules',
            {
              setting: 'hot_water_schedule',
              value: week,
              dryRun: true,
            },
          ),
        ]
      : []),
  ]
}

const MODES = ['off', 'auto', 'manual'] as const

/** The present value: an example that is sent unchanged changes no value, although hours start a quick veto. */
function exampleOf({ name, zone, now, limits: [minimum, maximum] }: ResidentSetting): JsonObject {
  const number = now !== undefined && now >= minimum && now <= maximum ? now : minimum
  const of = zone === undefined ? {} : { zone }
  switch (name) {
    case 'zone.night_setpoint':
      return { setting: 'night_temperature', ...of, value: number }
    case 'zone.operating_mode':
      return { setting: 'mode', ...of, value: MODES[number] ?? 'auto' }
    case 'zone.quick_veto_setpoint':
    case 'zone.quick_veto_hours':
      return { setting: 'room_temperature', ...of, value: 21, hours: 2 }
    case 'zone.special_function':
      return { setting: 'quick_veto', ...of, value: 'off' }
    case 'zone.holiday_setpoint':
      return { setting: 'holiday_temperature', ...of, value: number }
    case 'dhw.target':
      return { setting: 'hot_water_temperature', value: number }
    case 'dhw.operating_mode':
      return { setting: 'hot_water_mode', value: MODES[number] ?? 'auto' }
    case 'dhw.special_function':
      return { setting: 'hot_water', value: number === 0 ? 'stop' : 'now' }
    case 'system.system_off':
      return { setting: 'heating', value: number === 0 ? 'on' : 'off' }
    default:
      return { setting: 'room_temperature', ...of, value: number }
  }
}
