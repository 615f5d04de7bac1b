/**
 * Bus definitions: the definitions that apply to one bus, and the last data of its messages.
 *
 *   identification ▸ file of the device ▸ messages ▸ telegram ▸ values ▸ conditions ▸ more files
 *
 * A file is read when a device that it describes is known, as ebusd does with --scanconfig.
 *
 * Pure, but for what it remembers: files come through the catalog.
 */
import { areBytesEqual } from '../../core/bytes.ts'
import { toCompanionInitiator } from '../wire/address.ts'
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import { isSameIdentity } from '../wire/device-identity.ts'
import type { TelegramExchange } from '../wire/telegram.ts'
import type { MessageReadFailure } from './message-read-retry-tracker.ts'
import { MessageReadRetryTracker } from './message-read-retry-tracker.ts'
import { ConditionEvaluator } from './condition-evaluator.ts'
import type { DecodedTelegram } from './decoded-telegram.ts'
import { decodeDefinedTelegram } from './decoded-telegram.ts'
import type { DefinitionFileFault } from './definition-error.ts'
import { TelegramDefinitionIndex } from './definition-index.ts'
import { PollMessageSelector } from './poll-message-selector.ts'
import type { DefinitionFileReader } from './definition-set.ts'
import { DefinitionSet } from './definition-set.ts'
import type { LastMessageData } from './message-chain.ts'
import { MessageChainAssembler } from './message-chain.ts'
import type { MessageCondition } from './message-condition.ts'
import type { TelegramData } from './message-decoder.ts'
import type { MessageDefinition } from './message-definition.ts'
import type { DefinitionFolderLister } from './definition-file-selection.ts'
import { ROOT_FOLDER, findDeviceDefinitionFile } from './definition-file-selection.ts'

export interface DefinitionFileSource extends DefinitionFileReader, DefinitionFolderLister {
  readonly templateFaults: readonly DefinitionFileFault[]
}

/** The data of a message, as it is stored over a restart. */
export interface StoredMessageData {
  /** The message's circuit and name. */
  readonly message: string
  readonly command: Uint8Array
  readonly response: Uint8Array
  readonly atMs: number
}

export interface DeviceDefinitionMatch {
  readonly address: number
  readonly deviceId: string
  /** The definition file; `undefined` when none describes the device. */
  readonly file: string | undefined
}

export class BusDefinitions {
  readonly #catalog: DefinitionFileSource
  readonly #set: DefinitionSet
  readonly #index = new TelegramDefinitionIndex()
  readonly #poll = new PollMessageSelector()
  #indexed = 0
  readonly #identities = new Map<number, BusDeviceIdentity>()
  readonly #devices = new Map<number, DeviceDefinitionMatch>()
  readonly #commonRead = new Set<string>()
  readonly #last = new Map<MessageDefinition, LastMessageData>()
  readonly #chains = new MessageChainAssembler()
  /** Messages that conditions depend on, with these conditions. */
  readonly #watched = new Map<MessageDefinition, Set<MessageCondition>>()
  readonly #byName = new Map<string, MessageDefinition[]>()
  /** Messages whose values are needed for something other than conditions. */
  readonly #wanted = new Set<MessageDefinition>()
  readonly #isWanted: (message: MessageDefinition) => boolean
  /** Data of an earlier run for messages whose files are not read yet. */
  readonly #remembered = new Map<string, StoredMessageData>()
  /** Wanted messages with new data since this was cleared. */
  readonly changedMessages = new Set<MessageDefinition>()
  readonly #reads = new MessageReadRetryTracker()
  readonly #verdicts = new ConditionEvaluator({
    findIdentity: (address) => this.#identities.get(address),
    findMessage: (condition) => this.#set.conditionMessage(condition),
    findData: (message) => this.#last.get(message),
    isGivenUp: (message) => this.#reads.isGivenUp(message),
  })

  constructor(
    catalog: DefinitionFileSource,
    language: string,
    isWanted: (message: MessageDefinition) => boolean = () => false,
  ) {
    this.#catalog = catalog
    this.#isWanted = isWanted
    this.#set = new DefinitionSet({
      source: catalog,
      mode: 'live',
      language,
      holds: (condition) => this.holds(condition),
    })
    this.#readCommon(ROOT_FOLDER)
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

  devices(): readonly DeviceDefinitionMatch[] {
    return [...this.#devices.values()]
  }

  /** A device has identified itself; its file is read once. */
  identify(address: number, identity: BusDeviceIdentity): void {
    const known = this.#identities.get(address)
    if (known !== undefined && isSameIdentity(known, identity)) return
    this.#identities.set(address, identity)
    this.#verdicts.clear()
    const file = findDeviceDefinitionFile(this.#catalog, address, identity)
    this.#devices.set(address, { address, deviceId: identity.deviceId, file })
    if (file !== undefined) {
      this.#readCommon(file.slice(0, file.lastIndexOf('/')))
      this.#set.load(file)
    }
    this.#advance()
  }

  /** Reads files that belong to no address: broadcasts, general messages. */
  #readCommon(folder: string): void {
    if (this.#commonRead.has(folder)) return
    this.#commonRead.add(folder)
    for (const file of this.#catalog.list(folder).files)
      if (file.slice(file.lastIndexOf('/') + 1).indexOf('.') !== 2) this.#set.load(file)
  }

  /** Handles a telegram on the bus, whoever sent it. Returns its message, if there is one. */
  handleExchange(exchange: TelegramExchange, atMs: number): MessageDefinition | undefined {
    const message = this.find(exchange)
    if (message !== undefined) this.store(message, exchange, atMs)
    return message
  }

  /** Stores the data of a known message. */
  store(message: MessageDefinition, { telegram, response }: TelegramExchange, atMs: number): void {
    const data = { command: telegram.data, response: response ?? NOTHING, atMs }
    const whole = message.chain.length === 0 ? data : this.#chains.join(message, data)
    if (whole === undefined) return
    this.#reads.noteAnswer(message)
    const before = this.#last.get(message)
    const watching = this.#watched.get(message)
    const mayDecide = watching !== undefined && (before === undefined || !sameData(before, whole))
    const verdicts = mayDecide ? Array.from(watching, (condition) => this.holds(condition)) : []
    this.#last.set(message, whole)
    if (this.#wanted.has(message)) this.changedMessages.add(message)
    if (mayDecide) this.#reconsider(watching, verdicts)
  }

  /** Most changes of values do not change the results of conditions, so these are compared. */
  #reconsider(conditions: ReadonlySet<MessageCondition>, before: readonly (boolean | undefined)[]): void {
    this.#verdicts.forget(conditions)
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

  /** Messages of one device: to its own addresses, and from the address that it sends with. */
  messagesFor(addresses: readonly number[]): readonly MessageDefinition[] {
    const own = new Set(addresses.flatMap((address) => [address, toCompanionInitiator(address) ?? address]))
    return this.#set.messages.filter((message) => own.has(message.zz ?? -1) && this.#isAvailable(message))
  }

  /** Finds a message by circuit and name, without regard to case; readable ones before passive ones. */
  named(circuit: string, name: string, kind: 'read' | 'write'): MessageDefinition | undefined {
    const found = this.messagesNamed(circuit, name).filter(
      (message) =>
        message.isWrite === (kind === 'write') &&
        !(kind === 'write' && message.isPassive) &&
        this.#isAvailable(message),
    )
    return found.find(({ isPassive }) => !isPassive) ?? found[0]
  }

  /** All messages with this circuit and name, without regard to case, whether they can be read now or not. */
  messagesNamed(circuit: string, name: string): readonly MessageDefinition[] {
    return this.#byName.get(nameKey(circuit, name)) ?? []
  }

  /** A telegram decoded; `undefined` when no definition can decode it. */
  decode(exchange: TelegramExchange): DecodedTelegram | undefined {
    const message = this.find(exchange)
    return message === undefined ? undefined : decodeDefinedTelegram(message, exchange)
  }

  /** Whether a condition holds at present; `undefined` while its message is not known. */
  holds(condition: MessageCondition): boolean | undefined {
    return this.#verdicts.holds(condition)
  }

  /** Reads the files that conditions allow now, until no more follow. */
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
        if (message.pollPriority === 0 && !message.isPassive) message.pollPriority = AWAITED_PRIORITY
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
      if (!this.#isWanted(message)) continue
      this.#wanted.add(message)
      if (message.pollPriority === 0 && canBeRequested(message)) message.pollPriority = AWAITED_PRIORITY
    }
    this.#indexed = this.#set.messages.length
  }

  /** Takes data of an earlier run, until this one has its own. */
  remember(messages: Iterable<StoredMessageData>): void {
    for (const each of messages) {
      this.#remembered.set(each.message, each)
      for (const message of this.#byName.get(each.message) ?? []) if (!message.isWrite) this.#recall(message, each)
    }
  }

  #recall(message: MessageDefinition, { command, response, atMs }: StoredMessageData): void {
    if (this.#last.has(message)) return
    this.#last.set(message, { command, response, atMs, isRemembered: true })
    if (this.#wanted.has(message)) this.changedMessages.add(message)
  }

  /** Data of the wanted messages in this run, to be stored. */
  *toRemember(): Iterable<StoredMessageData> {
    for (const message of this.#wanted) {
      const last = this.#last.get(message)
      if (last === undefined || last.isRemembered === true || message.isWrite) continue
      const { command, response, atMs } = last
      yield { message: nameKey(message.circuit, message.name), command, response, atMs }
    }
  }

  /** Wanted messages that can be read, and are not known in this run yet. */
  unreadMessages(): readonly MessageDefinition[] {
    return [...this.#wanted].filter((message) => this.#isUnread(message))
  }

  #isUnread(message: MessageDefinition): boolean {
    const last = this.#last.get(message)
    const isKnown = last !== undefined && last.isRemembered !== true
    return !isKnown && canBeRequested(message) && this.#reads.mayAnswer(message) && this.#isAvailable(message)
  }

  /** A message that a condition or another part needs, until it is answered or given up. */
  nextAwaited(nowMs: number): MessageDefinition | undefined {
    return this.#reads.takeDue(this.#awaited(), nowMs)
  }

  *#awaited(): Iterable<MessageDefinition> {
    for (const message of this.#watched.keys())
      if (!message.isPassive && message.zz !== undefined && !this.#last.has(message)) yield message
    for (const message of this.#wanted) if (this.#isUnread(message)) yield message
  }

  noteFailedRead(message: MessageDefinition, failure: MessageReadFailure, nowMs: number): void {
    if (this.#reads.noteFailure(message, failure, { nowMs, decides: this.#watched.has(message) })) this.giveUp(message)
  }

  /** No device answered: what depends on this message does not apply. */
  giveUp(message: MessageDefinition): void {
    const decides = this.#watched.has(message)
    if (this.#reads.isGivenUp(message) || !(decides || this.#wanted.has(message))) return
    this.#reads.giveUp(message)
    if (!decides) return
    this.#verdicts.clear()
    this.#advance()
  }

  /** The next message to read, by priority. */
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
/** The priority of messages for conditions and wanted messages, if the file gives none. */
const AWAITED_PRIORITY = 5

function nameKey(circuit: string, name: string): string {
  return `${circuit}\n${name}`.toLowerCase()
}

function canBeRequested({ isPassive, isWrite, zz }: MessageDefinition): boolean {
  return !isPassive && !isWrite && zz !== undefined
}

function sameData(left: TelegramData, right: TelegramData): boolean {
  return areBytesEqual(left.command, right.command) && areBytesEqual(left.response, right.response)
}
