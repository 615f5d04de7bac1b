/**
 * Generated eBUS device: a simulated device that answers the messages that a definition file describes, with values
 * that change slowly and keep what was written to them.
 *
 *   08.bai  ▸  vaillant/08.bai.csv  ▸  identification BAI00 of Vaillant at 08, one answer for each message to 08
 *
 * Pure, given its definitions: each telegram comes with its time.
 */
import { toUtf8 } from '../core/bytes.ts'
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { MessageCondition } from '../ebus/definitions/message-condition.ts'
import { decodeMessage, listFieldKeys } from '../ebus/definitions/message-decoder.ts'
import type { DefinitionFileReader } from '../ebus/definitions/definition-set.ts'
import { DefinitionSet } from '../ebus/definitions/definition-set.ts'
import { encodeCommands, encodeDefinedResponse } from '../ebus/definitions/message-encoder.ts'
import type { DefinedField } from '../ebus/definitions/field.ts'
import { isIgnoredField, writeField } from '../ebus/definitions/field.ts'
import { parseDefinitionFileName } from '../ebus/definitions/definition-file-name.ts'
import { TelegramDefinitionIndex } from '../ebus/definitions/definition-index.ts'
import type { MessageDefinition } from '../ebus/definitions/message-definition.ts'
import { toCompanionInitiator } from '../ebus/wire/address.ts'
import type { Telegram } from '../ebus/wire/telegram.ts'

export interface SimulatedDefinitionDevice {
  readonly file: string
  readonly address: number
  readonly deviceId: string
  readonly messages: number
  /** The initiator address of the device, if the file describes one that accepts writes as well. */
  readonly initiator: number | undefined
  readonly answer: (telegram: Telegram, nowMs: number) => Uint8Array | 'refuse' | undefined
  /**
   * Telegrams that others send to the device, one after another; `undefined` when its file has no message that is only
   * heard.
   */
  readonly overheard: ((turn: number, nowMs: number) => Omit<Telegram, 'source'>) | undefined
}

export interface ListableDefinitionFiles extends DefinitionFileReader {
  files(): readonly string[]
}

/** Codes of the eBUS user group for the folders of the official tree. */
const MANUFACTURER_CODES: ReadonlyMap<string, number> = new Map([
  ['vaillant', 0xb5],
  ['wolf', 0x19],
  ['kromschroeder', 0x50],
  ['encon', 0x40],
  ['tem', 0x10],
  // A brand without a manufacturer code: its controllers use TEM's service 06 21.
  ['ochsner', 0x10],
  ['weishaupt', 0xc5],
  ['theben', 0xa5],
])
const ID_LENGTH = 5
const SOFTWARE = 506
const HARDWARE = 7_401

/** `spec` is the beginning of a file's name, or all of it. Returns a sentence when no file matches. */
export function simulateDeviceFromDefinitions(
  source: ListableDefinitionFiles,
  spec: string,
): Result<SimulatedDefinitionDevice, string> {
  const names = new Set([spec, `${spec}.csv`])
  const files = source.files().filter((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1)
    return names.has(name) || names.has(file) || name.startsWith(`${spec}.`) || file.startsWith(`${spec}.`)
  })
  const file = files.find((each) => each.endsWith(`${spec}.csv`)) ?? files[0]
  if (file === undefined) return fail(`no definition file begins with ${spec}`)
  const name = parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))
  const manufacturer = MANUFACTURER_CODES.get(file.split('/').at(-2) ?? '')
  if (name === undefined || manufacturer === undefined) return fail(`${file} describes no device of a known maker`)
  // All conditions are taken as met: of several files to load, the first is used, as a device is of one kind only.
  const set = new DefinitionSet({ source, mode: 'live', language: 'en', holds: () => true })
  for (const common of commonFiles(source, file)) set.load(common)
  set.load(file)
  const deviceId = (name.ident || 'SIM').toUpperCase().padEnd(ID_LENGTH, '0').slice(0, ID_LENGTH)
  const identification = Uint8Array.from([
    manufacturer,
    ...toUtf8(deviceId),
    ...bcdWord(name.software ?? SOFTWARE),
    ...bcdWord(name.hardware ?? HARDWARE),
  ])
  // Messages without an address of their own are also answered by this device.
  const own = set.messages.map((message) => (message.zz === undefined ? { ...message, zz: name.address } : message))
  const answers = new DeviceAnswers(own, set.conditions())
  const initiator = toCompanionInitiator(name.address)
  const passive = own.filter(
    ({ isPassive, zz, qq, chain, source: from }) =>
      isPassive && qq === undefined && chain.length === 0 && from === file && zz === name.address,
  )
  return ok({
    file,
    address: name.address,
    deviceId,
    messages: set.messages.length,
    initiator: initiator !== undefined && own.some(({ zz }) => zz === initiator) ? initiator : undefined,
    overheard:
      passive.length === 0 ? undefined : (turn, nowMs) => answers.command(passive[turn % passive.length], nowMs),
    answer: (telegram, nowMs) =>
      telegram.primary === 0x07 && telegram.secondary === 0x04 && telegram.data.length === 0
        ? identification
        : answers.answer(telegram, nowMs),
  })
}

function bcdWord(number: number): readonly number[] {
  const pair = (value: number): number => (Math.floor(value / 10) << 4) | (value % 10)
  return [pair(Math.floor(number / 100)), pair(number % 100)]
}

class DeviceAnswers {
  readonly #reads = new TelegramDefinitionIndex()
  readonly #writes = new TelegramDefinitionIndex()
  /** Written values, by circuit, name and field. */
  readonly #written = new Map<string, string>()

  /**
   * The first condition on a value decides what the value is, so that the device is of the kind that its file loads.
   */
  constructor(messages: readonly MessageDefinition[], conditions: readonly MessageCondition[]) {
    for (const message of messages) (message.isWrite ? this.#writes : this.#reads).add({ ...message, isPassive: false })
    for (const { circuit, message: name, field, values } of conditions) {
      const key = `${circuit}\n${name}\n${field}`.toLowerCase()
      if (name === '' || values.kind === 'seen' || this.#written.has(key)) continue
      const text = values.kind === 'texts' ? values.texts[0] : values.ranges[0]?.[0]
      if (text !== undefined) this.#written.set(key, String(text))
    }
  }

  answer({ source, target, primary: pb, secondary: sb, data }: Telegram, nowMs: number): Uint8Array | 'refuse' {
    const header = { source, target, pb, sb }
    const read = this.#reads.find(header, data)
    const write = this.#writes.find(header, data)
    // One id may both query and report; the telegram that carries a value reports it.
    if (
      write !== undefined &&
      (read === undefined || write.id.length > read.id.length || data.length > read.id.length)
    ) {
      this.#store(write, data)
      return encodedValues(write, 's', (field, key) => this.#text(write, field, key, nowMs)) ?? new Uint8Array()
    }
    if (read === undefined) return 'refuse'
    const whole = encodedValues(read, 's', (field, key) => this.#text(read, field, key, nowMs)) ?? new Uint8Array()
    if (read.chain.length === 0) return whole
    const part = read.chain.findIndex(({ id }) => id.every((byte, index) => data[index] === byte))
    const size = Math.ceil(whole.length / read.chain.length)
    return whole.subarray(part * size, (part + 1) * size)
  }

  /** Encodes a message with values in its command, as another device would send it. */
  command(message: MessageDefinition | undefined, nowMs: number): Omit<Telegram, 'source'> {
    if (message === undefined) throw new Error('no message to be said')
    const active = { ...message, isPassive: false }
    const keys = listFieldKeys(message.fields)
    const texts = message.fields.flatMap((field, index) =>
      field.part === 'm' && !isIgnoredField(field) ? [this.#text(message, field, keys[index] ?? '', nowMs)] : [],
    )
    const encoded = encodeCommands(active, texts.join(';'))
    const data = encoded.ok ? encoded.value[0]?.data : undefined
    return { target: message.zz ?? 0, primary: message.pb, secondary: message.sb, data: data ?? message.id }
  }

  #store(message: MessageDefinition, data: Uint8Array): void {
    const own = { ...message, fields: message.fields.filter(({ part }) => part === 'm') }
    const decoded = decodeMessage(own, { command: data, response: new Uint8Array() })
    if (!decoded.ok) return
    for (const { key, field, reading } of decoded.value.fields)
      if (field.constant === undefined) this.#written.set(valueKey(message, key), reading.printed)
  }

  #text(message: MessageDefinition, field: DefinedField, key: string, nowMs: number): string {
    const written = this.#written.get(valueKey(message, key)) ?? this.#written.get(valueKey(message, '0'))
    const candidates = [
      ...(written === undefined ? [] : [written]),
      ...movingTexts(field, { seed: seedOf(message.name, key), message }, nowMs),
    ]
    return candidates.find((text) => typeof writeField(field, text, { data: [], offset: 0 }) === 'number') ?? '0'
  }
}

function valueKey({ circuit, name }: MessageDefinition, key: string): string {
  return `${circuit}\n${name}\n${key}`.toLowerCase()
}

/** The files of the same manufacturer that belong to no address. */
function commonFiles(source: ListableDefinitionFiles, file: string): readonly string[] {
  const folder = file.slice(0, file.lastIndexOf('/') + 1)
  return source
    .files()
    .filter(
      (each) =>
        each.startsWith(folder) &&
        each.slice(folder.length).indexOf('.') !== 2 &&
        !each.slice(folder.length).includes('/'),
    )
}

/** All encoded values of a part; `undefined` when one of them cannot be encoded. */
function encodedValues(
  message: MessageDefinition,
  part: 's',
  textOf: (field: DefinedField, key: string) => string,
): Uint8Array | undefined {
  const keys = listFieldKeys(message.fields)
  const texts = message.fields.flatMap((field, index) =>
    field.part === part && !isIgnoredField(field) ? [textOf(field, keys[index] ?? '')] : [],
  )
  const encoded = encodeDefinedResponse({ ...message, isWrite: false }, texts.join(';'))
  return encoded.ok ? encoded.value : undefined
}

const MINUTE_MS = 60_000

/** Plausible texts for a field, the best first, because some do not fit the field's type. */
function movingTexts(
  field: DefinedField,
  { seed, message }: { readonly seed: number; readonly message: MessageDefinition },
  nowMs: number,
): readonly string[] {
  const { type, values, attributes } = field
  if (values !== undefined) {
    const names = [...values.values()]
    return [names[(seed + Math.floor(nowMs / (10 * MINUTE_MS))) % names.length] ?? '', ...names]
  }
  const wave = Math.sin((nowMs / MINUTE_MS + seed) / 5)
  const middle = attributes['unit'] === '°C' ? celsiusFor(`${message.name} ${field.name}`, seed) : 10 + (seed % 40)
  const date = new Date(nowMs)
  const pad = (value: number): string => String(value).padStart(2, '0')
  const day = `${pad(date.getUTCDate())}.${pad(date.getUTCMonth() + 1)}.${date.getUTCFullYear()}`
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`
  // Begins with the address, so that no two devices have the same serial number.
  if (type.kind === 'text') return [type.isHex ? '00' : `${(message.zz ?? 0).toString(16).padStart(2, '0')}SIM`]
  if (type.kind === 'calendar')
    return type.holds === 'moment' ? [`${day} ${time}`] : type.holds === 'date' ? [day] : [`${time}:00`, time]
  return [(middle + wave).toFixed(type.digits), String(1 + (seed % 3)), '1', '0', '01-001', '-']
}

/** A typical value for such a temperature, chosen by the words in its name. */
function celsiusFor(words: string, seed: number): number {
  if (/outs|aussen|^at\b|airin|source|wq_/i.test(words)) return 3 + (seed % 6)
  if (/room|raum|inside|^z\d|daytemp|nighttemp|veto/i.test(words)) return 19 + (seed % 4)
  return 30 + (seed % 25)
}

function seedOf(...words: readonly string[]): number {
  let seed = 0
  for (const character of words.join('\n')) seed = (seed * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  return seed
}
