/**
 * Bus definitions: the definitions that apply to one bus, and what its messages said last.
 *
 *   identification ▸ file of the device ▸ messages ▸ telegram ▸ values ▸ conditions ▸ more files
 *
 * Files are read when a device is known that they describe, as ebusd does with --scanconfig.
 *
 * Pure, but for what it remembers: files come through the catalog.
 */
import { areBytesEqual } from '../../core/bytes.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import type { BusDeviceIdentity } from '../registry/device-identity.ts'
import type { DecodedTelegram } from '../semantic/decoded-field.ts'
import type { MappedMessageValue } from '../semantic/mapped-plane.ts'
import type { MappedPlaneField, MessageSource } from '../semantic/message-map.ts'
import { MAPPED_PLANE_FIELDS } from '../semantic/message-map.ts'
import type { HeatingPlaneName } from '../semantic/planes.ts'
import { SECRET_VALUE_PLACEHOLDER } from '../semantic/register.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import { toCompanionInitiator } from '../wire/address.ts'
import { classifyTelegramForm } from '../wire/telegram.ts'
import type { MessageCondition } from './message-condition.ts'
import { isConditionMet } from './message-condition.ts'
import type { TelegramData } from './message-decoder.ts'
import { decodeField, decodeMessage, decodeRawFields, formatDecodedMessage } from './message-decoder.ts'
import type { DefinitionFileFault } from './definition-error.ts'
import { DefinitionPoll } from './definition-poll.ts'
import type { DefinitionSource } from './definition-set.ts'
import { DefinitionSet } from './definition-set.ts'
import { DefinitionIndex } from './definition-index.ts'
import type { MessageDefinition } from './message-definition.ts'
import { isSecretField } from './secret-field.ts'
import { isBrandFolder, namesIdentification, selectDefinitionFile, toManufacturerFolder } from './scan-selection.ts'

export interface DefinitionCatalog extends DefinitionSource {
  readonly templateFaults: readonly DefinitionFileFault[]
  list(folder: string): { readonly files: readonly string[]; readonly folders: readonly string[] }
}

export interface LastMessageData extends TelegramData {
  /** Wall clock. */
  readonly atMs: number
  /** From before the last start. */
  readonly isRemembered?: true
}

/** What a message said, as it is kept over a restart. */
export interface StoredMessageData {
  /** Circuit and name. */
  readonly message: string
  readonly command: Uint8Array
  readonly response: Uint8Array
  readonly atMs: number
}

export interface DefinedDevice {
  readonly address: number
  readonly deviceId: string
  /** `undefined` when no file describes it. */
  readonly file: string | undefined
}

/** `bus`: busy or noisy, which says nothing about the device. */
export type ReadFailure = 'refused' | 'no-answer' | 'bus'

interface FailedReads {
  readonly count: number
  readonly sinceMs: number
  /** Not asked for by a condition before this time. */
  readonly againMs: number
}

const ROOT = '.'

export class BusDefinitions {
  readonly #catalog: DefinitionCatalog
  readonly #set: DefinitionSet
  readonly #index = new DefinitionIndex()
  readonly #poll = new DefinitionPoll()
  #indexed = 0
  readonly #identities = new Map<number, BusDeviceIdentity>()
  readonly #devices = new Map<number, DefinedDevice>()
  readonly #commonRead = new Set<string>()
  readonly #last = new Map<MessageDefinition, LastMessageData>()
  /** What was heard of a chain so far. */
  readonly #parts = new Map<MessageDefinition, (LastMessageData | undefined)[]>()
  /** What conditions look at, and which do. */
  readonly #watched = new Map<MessageDefinition, Set<MessageCondition>>()
  readonly #byName = new Map<string, MessageDefinition[]>()
  /** Messages of the map, and the planes that they say something in. */
  readonly #mapped = new Map<MessageDefinition, ReadonlySet<HeatingPlaneName>>()
  /** What an earlier run knew of messages whose files are not read yet. */
  readonly #remembered = new Map<string, StoredMessageData>()
  /** Planes that may look different now. */
  readonly changedPlanes = new Set<HeatingPlaneName>()
  readonly #asked = new Set<MessageDefinition>()
  readonly #unanswered = new Set<MessageDefinition>()
  /** Reads of a message that failed since it was answered last. */
  readonly #failedReads = new Map<MessageDefinition, FailedReads>()
  readonly #evaluating = new Set<MessageCondition>()
  readonly #verdicts = new Map<MessageCondition, boolean | undefined>()

  constructor(catalog: DefinitionCatalog, language: string) {
    this.#catalog = catalog
    this.#set = new DefinitionSet({
      source: catalog,
      mode: 'live',
      language,
      holds: (condition) => this.holds(condition),
    })
    this.#readCommon(ROOT)
    this.#indexNew()
  }

  get messages(): readonly MessageDefinition[] {
    return this.#set.messages
  }

  get faults(): readonly DefinitionFileFault[] {
    return [...this.#catalog.templateFaults, ...this.#set.faults]
  }

  get files(): readonly string[] {
    return this.#set.loadedFiles
  }

  devices(): readonly DefinedDevice[] {
    return [...this.#devices.values()]
  }

  /** A device said who it is; its file is read once. */
  identify(address: number, identity: BusDeviceIdentity): void {
    const known = this.#identities.get(address)
    if (known !== undefined && sameIdentity(known, identity)) return
    this.#identities.set(address, identity)
    this.#verdicts.clear()
    const file = this.#selectFile(address, identity)
    this.#devices.set(address, { address, deviceId: identity.deviceId, file })
    if (file !== undefined) {
      this.#readCommon(file.slice(0, file.lastIndexOf('/')))
      this.#set.load(file)
    }
    this.#advance()
  }

  /** One of the manufacturer's, as ebusd does it; of a brand's, where that is the one that names the device. */
  #selectFile(address: number, identity: BusDeviceIdentity): string | undefined {
    const { files } = this.#catalog.list(toManufacturerFolder(identity))
    const own = selectDefinitionFile(files, address, identity)
    if (own !== undefined && namesIdentification(own)) return own
    const brands = this.#catalog.list(ROOT).folders.filter(isBrandFolder)
    const named = brands.flatMap((folder) => this.#catalog.list(folder).files).filter(namesIdentification)
    return selectDefinitionFile(named, address, identity) ?? own
  }

  /** Files that belong to no address: broadcasts, general messages. */
  #readCommon(folder: string): void {
    if (this.#commonRead.has(folder)) return
    this.#commonRead.add(folder)
    for (const file of this.#catalog.list(folder).files)
      if (file.slice(file.lastIndexOf('/') + 1).indexOf('.') !== 2) this.#set.load(file)
  }

  /** A telegram on the bus, whoever asked. The message that it belongs to, if any. */
  hear(exchange: TelegramExchange, atMs: number): MessageDefinition | undefined {
    const message = this.find(exchange)
    if (message !== undefined) this.store(message, exchange, atMs)
    return message
  }

  /** What a message said, where it is known which one it was. */
  store(message: MessageDefinition, { telegram, response }: TelegramExchange, atMs: number): void {
    const data = { command: telegram.data, response: response ?? NOTHING, atMs }
    const whole = message.chain.length === 0 ? data : this.#joinParts(message, data)
    if (whole === undefined) return
    this.#failedReads.delete(message)
    const before = this.#last.get(message)
    const watching = this.#watched.get(message)
    const mayDecide = watching !== undefined && (before === undefined || !sameData(before, whole))
    const verdicts = mayDecide ? Array.from(watching, (condition) => this.holds(condition)) : []
    this.#last.set(message, whole)
    const planes = this.#mapped.get(message)
    if (planes !== undefined) for (const plane of planes) this.changedPlanes.add(plane)
    if (mayDecide) this.#reconsider(watching, verdicts)
  }

  /** Most values that conditions look at change without changing what the conditions say. */
  #reconsider(conditions: ReadonlySet<MessageCondition>, before: readonly (boolean | undefined)[]): void {
    for (const condition of conditions) this.#verdicts.delete(condition)
    if (Array.from(conditions, (condition) => this.holds(condition)).every((verdict, at) => verdict === before[at]))
      return
    this.#verdicts.clear()
    this.#advance()
  }

  /** The first definition whose conditions hold. */
  find({ telegram }: TelegramExchange): MessageDefinition | undefined {
    const { source, target, primary: pb, secondary: sb, data } = telegram
    return this.#index.find({ source, target, pb, sb }, data, this.#isAvailable)
  }

  last(message: MessageDefinition): LastMessageData | undefined {
    return this.#last.get(message)
  }

  isAvailable(message: MessageDefinition): boolean {
    return this.#isAvailable(message)
  }

  readonly #isAvailable = (message: MessageDefinition): boolean =>
    message.conditions.length === 0 || message.conditions.every((condition) => this.holds(condition) === true)

  /** What one device can be asked, told or heard to say: its own addresses, and the one that it speaks from. */
  messagesFor(addresses: readonly number[]): readonly MessageDefinition[] {
    const own = new Set(addresses.flatMap((address) => [address, toCompanionInitiator(address) ?? address]))
    return this.#set.messages.filter((message) => own.has(message.zz ?? -1) && this.#isAvailable(message))
  }

  /** By circuit and name, both in any case; reads before what is only heard. */
  named(circuit: string, name: string, kind: 'read' | 'write'): MessageDefinition | undefined {
    const found = (this.#byName.get(nameKey(circuit, name)) ?? []).filter(
      (message) =>
        message.isWrite === (kind === 'write') &&
        !(kind === 'write' && message.isPassive) &&
        this.#isAvailable(message),
    )
    return found.find(({ isPassive }) => !isPassive) ?? found[0]
  }

  /** What a telegram says, in words; `undefined` when no definition can read it. */
  decode(exchange: TelegramExchange): DecodedTelegram | undefined {
    const message = this.find(exchange)
    if (message === undefined) return undefined
    const isSecret = message.fields.some((field) => isSecretField(message, field))
    const name = `${message.circuit}.${message.name}`
    const hasNoAnswer = classifyTelegramForm(exchange.telegram.target) === 'broadcast'
    const act = hasNoAnswer ? 'broadcast' : message.isWrite ? 'write' : 'read'
    // Bytes that the definition cannot read may hold the secret as well.
    const unread: DecodedTelegram | undefined = isSecret ? { name, act, fields: [], secret: true } : undefined
    if (message.chain.length > 0) return unread
    const data = { command: exchange.telegram.data, response: exchange.response ?? NOTHING }
    const decoded = decodeMessage(message, data)
    if (!decoded.ok) return unread
    return {
      ...(isSecret ? { secret: true } : {}),
      name,
      act,
      fields: decoded.value.fields.map(({ key, field, reading }) => ({
        name: key,
        value: isSecretField(message, field) ? SECRET_VALUE_PLACEHOLDER : (reading.value ?? undefined),
        unit: field.attributes['unit'],
      })),
    }
  }

  /**
   * Whether a condition holds by what is known now; `undefined` while its message was not heard. One that depends on
   * itself does not hold.
   */
  holds(condition: MessageCondition): boolean | undefined {
    if (this.#verdicts.has(condition)) return this.#verdicts.get(condition)
    if (this.#evaluating.has(condition)) return false
    this.#evaluating.add(condition)
    const verdict = condition.message === '' ? this.#matchesIdentity(condition) : this.#matchesMessage(condition)
    this.#evaluating.delete(condition)
    this.#verdicts.set(condition, verdict)
    return verdict
  }

  #matchesIdentity({ target, field, values }: MessageCondition): boolean {
    const identity = this.#identities.get(target ?? -1)
    if (identity === undefined) return false
    const { manufacturerCode, manufacturer, deviceId, software, hardware } = identity
    switch (field.toUpperCase()) {
      case 'ID':
        return isConditionMet(values, { raw: undefined, text: deviceId })
      case 'SW':
        return isConditionMet(values, { raw: Number(software), text: software })
      case 'HW':
        return isConditionMet(values, { raw: Number(hardware), text: hardware })
      default:
        return isConditionMet(values, { raw: manufacturerCode, text: manufacturer })
    }
  }

  #matchesMessage(condition: MessageCondition): boolean | undefined {
    const message = this.#set.conditionMessage(condition)
    if (message === undefined) return false
    const data = this.#last.get(message)
    if (data === undefined) return this.#unanswered.has(message) || message.isPassive ? false : undefined
    const { field, values } = condition
    if (values.kind === 'numbers')
      return isConditionMet(values, { raw: decodeRawFields(message, field, data), text: undefined })
    if (field === '') {
      const decoded = decodeMessage(message, data)
      return isConditionMet(values, {
        raw: undefined,
        text: decoded.ok ? formatDecodedMessage(decoded.value) : undefined,
      })
    }
    const reading = decodeField(message, field, data)
    return isConditionMet(values, { raw: undefined, text: reading?.ok === true ? reading.value.text : undefined })
  }

  /** Parts of a chain belong together when all came within the time that ebusd allows; a new one replaces the older. */
  #joinParts(message: MessageDefinition, data: LastMessageData): LastMessageData | undefined {
    const at = message.chain.findIndex(({ id }) => id.every((byte, index) => data.command[index] === byte))
    if (at < 0) return undefined
    const parts = this.#parts.get(message) ?? message.chain.map(() => undefined)
    parts[at] = data
    this.#parts.set(message, parts)
    const maxAgeMs = parts.length * CHAIN_PART_MS
    const complete = parts
      .filter((part) => part !== undefined)
      .filter(({ atMs }) => Math.abs(data.atMs - atMs) <= maxAgeMs)
    const [first] = complete
    if (first === undefined || complete.length < parts.length) return undefined
    const idLength = message.chain[0]?.id.length ?? 0
    return {
      command: Uint8Array.from([
        ...first.command.subarray(0, idLength),
        ...complete.flatMap(({ command }) => [...command.subarray(idLength)]),
      ]),
      response: Uint8Array.from(complete.flatMap(({ response }) => [...response])),
      atMs: data.atMs,
    }
  }

  /** What conditions allow now is read, until nothing more follows. */
  #advance(): void {
    for (let before = -1; before !== this.#set.messages.length;) {
      before = this.#set.messages.length
      this.#set.advance()
      for (const condition of this.#set.conditions()) {
        const message = condition.message === '' ? undefined : this.#set.conditionMessage(condition)
        if (message === undefined) continue
        const watching = this.#watched.get(message)
        if (watching === undefined) this.#watched.set(message, new Set([condition]))
        else watching.add(condition)
        if (message.pollPriority === 0 && !message.isPassive) message.pollPriority = CONDITION_PRIORITY
      }
      this.#indexNew()
      this.#verdicts.clear()
    }
  }

  #indexNew(): void {
    for (const message of this.#set.messages.slice(this.#indexed)) {
      this.#index.add(message)
      const key = nameKey(message.circuit, message.name)
      const same = this.#byName.get(key)
      if (same === undefined) this.#byName.set(key, [message])
      else same.push(message)
      const remembered = this.#remembered.get(key)
      if (remembered !== undefined && !message.isWrite) this.#recall(message, remembered)
      const planes = MAPPED_PLANES.get(mappedKey(makerFolder(message), message.circuit, message.name))
      if (planes === undefined) continue
      this.#mapped.set(message, planes)
      if (message.pollPriority === 0 && canBeAsked(message)) message.pollPriority = MAPPED_PRIORITY
    }
    this.#indexed = this.#set.messages.length
  }

  /** What an earlier run knew, until this one has heard it. */
  remember(messages: Iterable<StoredMessageData>): void {
    for (const each of messages) {
      this.#remembered.set(each.message, each)
      for (const message of this.#byName.get(each.message) ?? []) if (!message.isWrite) this.#recall(message, each)
    }
  }

  #recall(message: MessageDefinition, { command, response, atMs }: StoredMessageData): void {
    if (this.#last.has(message)) return
    this.#last.set(message, { command, response, atMs, isRemembered: true })
    for (const plane of this.#mapped.get(message) ?? []) this.changedPlanes.add(plane)
  }

  /** What the messages of the map said in this run, to be kept. Secrets are not in the map. */
  *toRemember(): Iterable<StoredMessageData> {
    for (const message of this.#mapped.keys()) {
      const last = this.#last.get(message)
      if (last === undefined || last.isRemembered === true || message.isWrite) continue
      const { command, response, atMs } = last
      yield { message: nameKey(message.circuit, message.name), command, response, atMs }
    }
  }

  /** The value of a field of the map, from the first of its messages that said it. */
  mappedValue({ as, sources }: MappedPlaneField): MappedMessageValue | undefined {
    for (const source of sources) {
      const known = this.#byName.get(nameKey(source.circuit, source.message)) ?? []
      for (const message of known) {
        const last = this.#last.get(message)
        if (last === undefined || (makerFolder(message) ?? undefined) !== source.maker) continue
        if (!this.#isAvailable(message)) continue
        const value = valueFrom(message, { source, as, last })
        if (value === undefined) continue
        const how = message.isPassive || message.isWrite ? 'passive' : 'poll'
        return {
          value,
          message: `${message.circuit}.${message.name}`,
          atMs: last.atMs,
          source: last.isRemembered === true ? 'cache' : how,
        }
      }
    }
    return undefined
  }

  /** Messages of the map for these planes that can be asked for, and of which this run knows nothing yet. */
  unreadMessages(planes: readonly HeatingPlaneName[]): readonly MessageDefinition[] {
    return [...this.#mapped].flatMap(([message, own]) =>
      this.#isUnread(message) && planes.some((plane) => own.has(plane)) ? [message] : [],
    )
  }

  #isUnread(message: MessageDefinition): boolean {
    const last = this.#last.get(message)
    const isKnown = last !== undefined && last.isRemembered !== true
    const mayAnswer = !this.#unanswered.has(message) && (this.#failedReads.get(message)?.count ?? 0) < READ_ATTEMPTS
    return !isKnown && canBeAsked(message) && mayAnswer && this.#isAvailable(message)
  }

  /** What a condition or a plane waits for, until it was answered or given up: nobody may be there to answer. */
  nextAwaited(nowMs: number): MessageDefinition | undefined {
    const isDue = (message: MessageDefinition): boolean =>
      !this.#asked.has(message) && (this.#failedReads.get(message)?.againMs ?? nowMs) <= nowMs
    for (const message of this.#watched.keys())
      if (!message.isPassive && message.zz !== undefined && !this.#last.has(message) && isDue(message)) {
        this.#asked.add(message)
        return message
      }
    for (const message of this.#mapped.keys())
      if (this.#isUnread(message) && isDue(message)) {
        this.#asked.add(message)
        return message
      }
    return undefined
  }

  /**
   * A read failed. What a plane shows is asked for again by the poll. What a condition looks at may decide which file
   * is read for good, so a device must have refused it twice, or not have answered for a minute.
   */
  noteFailedRead(message: MessageDefinition, failure: ReadFailure, nowMs: number): void {
    const known = this.#failedReads.get(message)
    const count = (known?.count ?? 0) + 1
    const sinceMs = known?.sinceMs ?? nowMs
    const againMs = nowMs + (failure === 'no-answer' ? ASK_AGAIN_MS : 0)
    this.#failedReads.set(message, { count, sinceMs, againMs })
    if (isFinal(failure, { count, lastedMs: nowMs - sinceMs, decides: this.#watched.has(message) }))
      this.giveUp(message)
    else this.#asked.delete(message)
  }

  /** Nobody answered: what depends on it does not apply. */
  giveUp(message: MessageDefinition): void {
    if (this.#unanswered.has(message)) return
    if (this.#mapped.has(message)) this.#unanswered.add(message)
    if (!this.#watched.has(message)) return
    this.#unanswered.add(message)
    this.#verdicts.clear()
    this.#advance()
  }

  /** What to ask for next, by priority. */
  nextPoll(): MessageDefinition | undefined {
    return this.#poll.next(
      this.#set.messages.filter(
        (message) =>
          message.pollPriority > 0 && !message.isPassive && message.zz !== undefined && this.#isAvailable(message),
      ),
    )
  }
}

const NOTHING = new Uint8Array()
const READ_ATTEMPTS = 4
const REFUSALS = 2
/** A device that restarts is back within this time. */
const SILENCE_MS = 60_000
const ASK_AGAIN_MS = 10_000
/** ebusd joins parts that came within so long for each of them. */
const CHAIN_PART_MS = 15_000
const CONDITION_PRIORITY = 5
/** What planes are made of is asked as often as what conditions depend on. */
const MAPPED_PRIORITY = 5

const MAPPED_PLANES = mappedPlanes()

function mappedPlanes(): ReadonlyMap<string, ReadonlySet<HeatingPlaneName>> {
  const planes = new Map<string, Set<HeatingPlaneName>>()
  for (const { plane, sources } of MAPPED_PLANE_FIELDS)
    for (const { maker, circuit, message } of sources) {
      const key = mappedKey(maker, circuit, message)
      const known = planes.get(key) ?? new Set()
      planes.set(key, known.add(plane))
    }
  return planes
}

function mappedKey(maker: string | undefined, circuit: string, name: string): string {
  return `${maker ?? ''}\n${nameKey(circuit, name)}`
}

function nameKey(circuit: string, name: string): string {
  return `${circuit}\n${name}`.toLowerCase()
}

/** The folder that the file stands in; `undefined` for files of no maker. */
function makerFolder({ source }: MessageDefinition): string | undefined {
  return source.split('/').at(-2)
}

function isFinal(
  failure: ReadFailure,
  { count, lastedMs, decides }: { readonly count: number; readonly lastedMs: number; readonly decides: boolean },
): boolean {
  if (!decides) return failure !== 'bus' || count >= READ_ATTEMPTS
  return failure === 'refused' ? count >= REFUSALS : count >= READ_ATTEMPTS && lastedMs >= SILENCE_MS
}

function canBeAsked({ isPassive, isWrite, zz }: MessageDefinition): boolean {
  return !isPassive && !isWrite && zz !== undefined
}

function valueFrom(
  message: MessageDefinition,
  {
    source,
    as,
    last,
  }: { readonly source: MessageSource; readonly as: MappedPlaneField['as']; readonly last: LastMessageData },
): MappedMessageValue['value'] | undefined {
  const { field, factor = 1, plus, isTrueFor } = source
  const read = decodeField(message, field, last)
  const value = read?.ok === true ? read.value.value : null
  if (value === null) return undefined
  if (isTrueFor !== undefined) return isTrueFor.test(String(value))
  if (as === 'text') return sanitizeLine(String(value), MAX_WORD)
  if (as === 'flag') return typeof value === 'number' ? value > 0 : TRUE_WORDS.test(value)
  if (typeof value !== 'number') return undefined
  const added = plus === undefined ? undefined : decodeField(message, plus.field, last)
  const more = added?.ok === true && typeof added.value.value === 'number' ? added.value.value * (plus?.factor ?? 1) : 0
  return Number((value * factor + more).toFixed(4))
}

const MAX_WORD = 64
const TRUE_WORDS = /^(?:on|yes|true|active|1)$/i

function sameIdentity(left: BusDeviceIdentity, right: BusDeviceIdentity): boolean {
  return (
    left.manufacturerCode === right.manufacturerCode &&
    left.deviceId === right.deviceId &&
    left.software === right.software &&
    left.hardware === right.hardware
  )
}

function sameData(left: TelegramData, right: TelegramData): boolean {
  return areBytesEqual(left.command, right.command) && areBytesEqual(left.response, right.response)
}
