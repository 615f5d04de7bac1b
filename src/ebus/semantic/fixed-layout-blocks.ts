/**
 * Fixed layout blocks: what telegrams of fixed shape say, byte by byte, by service and by the bytes that choose among
 * its blocks.
 *
 *   10 08 B5 11 01 | 01  ▸  53 36 30 08 FF 5C 00 …      boiler_status: flow 41.5 °C, return 27 °C, outside 8.188 °C, …
 *
 * Field order and codings are those that a real ebusd reads on real buses; standard services are those of the eBUS
 * application layer. What nobody has documented is not in here.
 */
import { fromHex } from '../../core/bytes.ts'
import type { Datatype, DatatypeValue } from '../wire/datatype.ts'
import { parseDatatype } from '../wire/datatype-parser.ts'
import type { Telegram } from '../wire/telegram.ts'

export interface FixedLayoutField {
  readonly name: string
  readonly type: Datatype<DatatypeValue>
  readonly unit: string | undefined
  /** What its numbers stand for. */
  readonly words: Words | undefined
}

export interface FixedLayoutBlock {
  readonly name: string
  /** Where the fields are: behind the bytes that choose the block, or in the answer. */
  readonly part: 'command' | 'response'
  readonly writes: boolean
  readonly fields: readonly FixedLayoutField[]
}

type Words = Readonly<Record<number, string>>
type FieldRow = readonly [name: string, type: string, unitOrWords?: string | Words]

type BlockRow = readonly [place: number, block: FixedLayoutBlock]
/** `at` is PB SB and the first data bytes, in hex. */
type BlockRowBuilder = (at: string, name: string, fields: readonly FieldRow[]) => BlockRow

const LONGEST_CHOICE = 2

const commandBlock = createBlockBuilder({ part: 'command', writes: false })
const writeBlock = createBlockBuilder({ part: 'command', writes: true })
const responseBlock = createBlockBuilder({ part: 'response', writes: false })

function createBlockBuilder(kind: Pick<FixedLayoutBlock, 'part' | 'writes'>): BlockRowBuilder {
  return (at, name, fields) => {
    const [primary = 0, secondary = 0, ...choice] = fromHex(at)
    const place = placeOf(primary, secondary, { data: Uint8Array.from(choice), chosenBy: choice.length })
    return [place, { name, ...kind, fields: fields.map(fieldOf) }]
  }
}

const OFF_ON = { 0: 'off', 1: 'on' } as const
const IDENTITY: readonly FieldRow[] = [
  ['manufacturer', 'HEX:1'],
  ['device_id', 'STR:5'],
  ['software', 'HEX:2'],
  ['hardware', 'HEX:2'],
]
/** Empty places read FFFF. */
const FIVE_CODES: readonly FieldRow[] = [1, 2, 3, 4, 5].map((place) => [`code_${place}`, 'UIN'])
const sensors = (count: number, first: number): readonly FieldRow[] =>
  Array.from({ length: count }, (_, index) => [`sensor_${first + index}`, 'D2C', '°C'])

const relays = (count: number): readonly FieldRow[] =>
  Array.from({ length: count }, (_, index) => [`relay_${index + 1}`, 'UCH', { 0: 'off', 20: 'on' }])
/** What a heat pump says it does, B511 07. */
export const HEAT_PUMP_STATE_NAMES = { 1: 'ready', 9: 'heating', 11: 'error', 17: 'cooling', 129: 'hot water' } as const

const BLOCKS: ReadonlyMap<number, FixedLayoutBlock> = new Map([
  commandBlock('0503 01', 'burner_operating_data', [
    ['status', 'UCH'],
    ['power', 'UCH'],
    ['reserved', 'IGN'],
    ['boiler_temperature', 'D1C', '°C'],
    ['return_temperature', 'UCH', '°C'],
    ['dhw_temperature', 'UCH', '°C'],
    ['outside_temperature', 'SCH', '°C'],
  ]),
  commandBlock('0700', 'date_and_time', [
    ['outside_temperature', 'D2B', '°C'],
    ['time', 'BTI'],
    ['date', 'BDA'],
  ]),
  responseBlock('0704', 'identification', IDENTITY),
  commandBlock('07fe', 'inquiry_of_existence', []),
  commandBlock('07ff', 'sign_of_life', []),
  commandBlock('0800', 'controller_setpoints', [
    ['flow_setpoint', 'D2B', '°C'],
    ['outside_temperature', 'D2B', '°C'],
    ['forced_power', 'SCH', '%'],
    ['dhw_active', 'BI0'],
    ['heating_active', 'BI1'],
    ['dhw_setpoint', 'D2B', '°C'],
  ]),
  commandBlock('0801', 'controller_values', [
    ['flow_temperature', 'D2B', '°C'],
    ['dhw_temperature', 'D2B', '°C'],
    ['emission_test', 'UCH'],
    ['dhw_active', 'BI0'],
    ['pump_active', 'BI1'],
    ['buffer_1_active', 'BI2'],
    ['buffer_2_active', 'BI3'],
    ['loading_pump_active', 'BI4'],
    ['dhw_loading_active', 'BI5'],
    ['dhw_pump_active', 'BI6'],
    ['return_temperature', 'D2B', '°C'],
  ]),
  commandBlock('0802', 'control_command', [
    ['flow_setpoint', 'D2B', '°C'],
    ['dhw_setpoint', 'D2B', '°C'],
    ['expected_power', 'SCH', '%'],
    ['device_with_error', 'UCH'],
    ['error', 'UCH'],
  ]),
  responseBlock('b503 0001', 'current_errors', FIVE_CODES),
  responseBlock('b503 0002', 'current_service_messages', FIVE_CODES),
  responseBlock('b504 00', 'date_and_time', [
    ['radio_clock', 'UCH', { 0: 'no signal', 1: 'ok', 2: 'synchronising', 3: 'valid' }],
    ['time', 'BTI'],
    ['date', 'BDA'],
    ['outside_temperature', 'D2B', '°C'],
  ]),
  responseBlock('b504 16', 'outside_temperature', [['outside_temperature', 'D2C', '°C']]),
  writeBlock('b505 06', 'dhw_boost', [['boost', 'UCH', OFF_ON]]),
  writeBlock('b505 27', 'dhw_status', [
    ['active', 'UCH', OFF_ON],
    ['flow_temperature', 'UCH', '°C'],
    ['pump', 'UCH', OFF_ON],
  ]),
  // 28 characters in pieces of 8, 9, 9 and 2; only the first has a status in front.
  ...[8, 9, 9, 2].map((length, chunk) =>
    responseBlock(`b509 2${4 + chunk}`, `serial_number_part_${chunk + 1}`, [
      ...(chunk === 0 ? [['status', 'UCH'] as const] : []),
      ['text', `STR:${length}`],
    ]),
  ),
  writeBlock('b510 00', 'boiler_set_mode', [
    ['mode', 'UCH', { 0: 'auto', 1: 'off', 2: 'heating', 3: 'hot water' }],
    ['flow_setpoint', 'D1C', '°C'],
    ['dhw_setpoint', 'D1C', '°C'],
    ['dhw_flow_setpoint', 'UCH', '°C'],
    ['reserved', 'IGN'],
    ['heating_off', 'BI0'],
    ['dhw_tapping_off', 'BI1'],
    ['dhw_charging_off', 'BI2'],
    ['reserved', 'IGN'],
    ['heating_pump_remote', 'BI0'],
    ['backup_released', 'BI1'],
    ['cooling_released', 'BI2'],
  ]),
  responseBlock('b511 01', 'boiler_status', [
    ['flow_temperature', 'D1C', '°C'],
    ['return_temperature', 'D1C', '°C'],
    ['outside_temperature', 'D2B', '°C'],
    ['dhw_temperature', 'D1C', '°C'],
    ['storage_temperature', 'D1C', '°C'],
    ['pump', 'UCH', { ...OFF_ON, 2: 'overrun', 4: 'hot water' }],
  ]),
  responseBlock('b511 02', 'boiler_limits', [
    ['dhw_mode', 'UCH', { 0: 'disabled', 1: 'on', 2: 'off', 3: 'auto' }],
    ['flow_limit', 'UCH', '°C'],
    ['flow_setpoint', 'D1C', '°C'],
    ['dhw_limit', 'UCH', '°C'],
    ['dhw_setpoint', 'D1C', '°C'],
  ]),
  responseBlock('b511 03', 'boiler_pressures', [
    ['temperature', 'D2C', '°C'],
    ['pressure', 'FLT', 'bar'],
    ['pressure_2', 'FLT', 'bar'],
    ['mode', 'UCH', { 0: 'off', 1: 'cooling', 3: 'heating', 4: 'hot water' }],
  ]),
  responseBlock('b511 07', 'heat_pump_status', [
    ['energy', 'UCH'],
    ['energy_2', 'UIN', 'kWh'],
    ['active', 'UCH', OFF_ON],
    ['state', 'UCH', HEAT_PUMP_STATE_NAMES],
  ]),
  ...['heating', 'dhw'].map((use, index) =>
    responseBlock(`b511 180${index + 1}`, `compressor_${use}`, [
      ['reserved', 'IGN'],
      ['running_time', 'ULG', 'min'],
      ['starts', 'ULG'],
    ]),
  ),
  writeBlock('b512 00', 'circulation_pump', [['power', 'UCH', '%']]),
  commandBlock('b516 00', 'date_and_time', [
    ['time', 'BTI'],
    ['date', 'BDA'],
  ]),
  commandBlock('b516 01', 'outside_temperature', [['outside_temperature', 'D2B', '°C']]),
  writeBlock('b523 01', 'module_relays', relays(7)),
  responseBlock('b523 03', 'module_sensors', sensors(6, 1)),
  ...[0, 1, 2].map((circuit) =>
    writeBlock(`b523 020${circuit}`, `mixer_${circuit + 1}`, [
      ['active', 'UCH', OFF_ON],
      ['flow_setpoint', 'D1C', '°C'],
    ]),
  ),
  writeBlock('b523 05', 'module_relays', relays(12)),
  responseBlock('b523 06', 'module_sensors', sensors(7, 1)),
  // The last two bytes but three are no sensor of the module's.
  responseBlock('b523 07', 'module_sensors', sensors(5, 8)),
  commandBlock('fe01', 'error_text', [['text', 'STR:10']]),
])

/** The block that the first two, one or no data bytes choose, and how many they were. */
export function findFixedLayoutBlock({
  primary,
  secondary,
  data,
}: Omit<Telegram, 'source' | 'target'>): { readonly block: FixedLayoutBlock; readonly chosenBy: number } | undefined {
  for (let chosenBy = Math.min(LONGEST_CHOICE, data.length); chosenBy >= 0; chosenBy--) {
    const block = BLOCKS.get(placeOf(primary, secondary, { data, chosenBy }))
    if (block !== undefined) return { block, chosenBy }
  }
  return undefined
}

/** A service and the bytes that choose within it, as one number. */
function placeOf(
  primary: number,
  secondary: number,
  { data, chosenBy }: { readonly data: Uint8Array; readonly chosenBy: number },
): number {
  const choice = (chosenBy > 0 ? (data[0] ?? 0) : 0) * 256 + (chosenBy > 1 ? (data[1] ?? 0) : 0)
  return ((primary * 256 + secondary) * (LONGEST_CHOICE + 1) + chosenBy) * 65_536 + choice
}

/** Throws for a type that is none: it is written above. */
function fieldOf([name, spec, unitOrWords]: FieldRow): FixedLayoutField {
  const type = parseDatatype(spec)
  if (type === undefined) throw new RangeError(`${spec} is not a type`)
  return typeof unitOrWords === 'string'
    ? { name, type, unit: unitOrWords, words: undefined }
    : { name, type, unit: undefined, words: unitOrWords }
}
