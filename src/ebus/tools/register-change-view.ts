/**
 * Register change view: what a telegram would change, for the approver.
 *
 *   15 B5 24 | 02 01 02 00 0F 00 00 00 80 3F     heating curve of circuit 1: 1.2 ▸ 1
 */
import type { JsonObject } from '../../core/json.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import type { HeatingInstallation } from '../heating-installation.ts'
import { findBoilerRegister } from '../semantic/boiler-register-map.ts'
import type { DecodedField, DecodedTelegram } from '../definitions/decoded-telegram.ts'
import { interpretTelegram } from '../semantic/telegram-meaning.ts'
import { fitsRegisterType } from '../semantic/register.ts'
import { findRegisterNameAndType } from '../semantic/register-name.ts'
import { createTelegramExchange } from '../wire/telegram.ts'

export interface RegisterChangeView {
  readonly label: string
  /** Missing if the bytes are not exactly the one value that could be shown. */
  readonly values: { readonly before: JsonObject; readonly after: JsonObject } | undefined
}

/**
 * Returns `undefined` if it is unknown what the telegram changes. `look` is the data of the telegram that reads the
 * same register.
 */
export function toRegisterChangeView(
  installation: HeatingInstallation,
  request: EbusRequest,
  look: Uint8Array | undefined,
): RegisterChangeView | undefined {
  const written = installation.decode(createTelegramExchange(request))
  if (written?.act !== 'write') return undefined
  const label = labelOf(written)
  if (!isExact(request)) return { label, values: undefined }
  const after = fieldsJson(written.fields)
  const known = look === undefined ? undefined : lastAnswer(installation, { ...request, data: look })
  const before = known === undefined ? {} : fieldsJson(known.fields)
  return { label, values: { before, after } }
}

/** The remembered value, because a person should not have to wait for the bus. */
function lastAnswer(installation: HeatingInstallation, request: EbusRequest): DecodedTelegram | undefined {
  const meaning = interpretTelegram(createTelegramExchange(request))
  const entry = meaning?.kind === 'value' ? installation.shadow.get(meaning.key) : undefined
  return entry?.state === 'present' ? installation.decode(createTelegramExchange(request, entry.payload)) : undefined
}

/** A decoder ignores bytes after the value; an approver has to see all of them. */
function isExact({ secondary, data }: EbusRequest): boolean {
  const [first = 0, second = 0, third = 0, , low = 0, high = 0] = data
  switch (secondary) {
    case 0x24: {
      const register =
        first === 0x02 || first === 0x06 ? findRegisterNameAndType(first, third, high * 256 + low) : undefined
      return register !== undefined && fitsRegisterType(register.type, data.subarray(6))
    }
    case 0x09:
      return findBoilerRegister(second * 256 + third)?.register.coding.length === data.length - 3
    case 0x55:
      return data.length === SLOT_WRITE
    default:
      return false
  }
}

/** A6 Z H D S N hh mm hh mm Tlo Thi. */
const SLOT_WRITE = 12

/** Things that may exist several times have a number, starting with 1. */
const PLACES: Readonly<Record<string, string>> = {
  zone: 'zone',
  circuit: 'circuit',
  cylinder: 'cylinder',
  remote: 'paired device',
  timer: 'zone',
}
const WHOLES: Readonly<Record<string, string>> = { dhw: 'the hot water', solar: 'the solar heating' }
const NO_ZONE = 0xff

function labelOf({ name, instance = 0 }: DecodedTelegram): string {
  const [group = '', what = ''] = name.split('.', 2)
  const place = PLACES[group]
  const of =
    place === undefined ? (WHOLES[group] ?? `the ${group}`) : instance === NO_ZONE ? '' : `${place} ${instance + 1}`
  const words = `${group === 'timer' ? 'timer ' : ''}${what.replaceAll('_', ' ')}`
  return of === '' ? words : `${words} of ${of}`
}

function fieldsJson(fields: readonly DecodedField[]): JsonObject {
  return Object.fromEntries(
    fields
      .filter(({ value }) => value !== undefined)
      .map(({ name, value = '', unit }) => [
        name.replaceAll('_', ' '),
        unit === undefined ? value : `${String(value)} ${unit}`,
      ]),
  )
}
