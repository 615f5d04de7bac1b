/**
 * Heating installation: all that is known about one bus and the heating on it, fed with what happens there.
 *
 *   event ▸ observatory (traffic) ▸ registry (devices) ▸ shadow (values) ▸ topology (what there is)
 *     ▸ planes, when asked
 *
 * It has no clock and no I/O: a recorded day replays at the speed of the processor.
 *
 * Pure, but for the installation it is given.
 */
import { toHex } from '../core/bytes.ts'
import type { EbusEvent } from './adapter/ebus-connection.ts'
import type { BusDefinitions, StoredMessageData } from './definitions/bus-definitions.ts'
import type { RegisterDisagreement } from './semantic/register-disagreement.ts'
import { decodeFirstNumericField, findRegistersContradictingDefinitions } from './semantic/register-disagreement.ts'
import type { ClassifiedObservation } from './observe/observation-deduplicator.ts'
import { toExchangeObservation } from './observe/observation.ts'
import { BusObserver } from './observe/bus-observer.ts'
import type { BusEventContext } from './observe/bus-observer.ts'
import { SpecimenCollection } from './observe/unknown-telegram-specimen.ts'
import type { ObservationFeatureFlags } from './observe/bus-status.ts'
import type { WarmUpThresholds } from './observe/passive-warm-up.ts'
import { BusDeviceRegistry } from './registry/device-registry.ts'
import { findHeatingProduct } from './registry/heating-product.ts'
import type { DecodedTelegram } from './definitions/decoded-telegram.ts'
import type { TelegramTargetInfo } from './semantic/telegram-decoder.ts'
import { decodeTelegram, isKnownTelegram } from './semantic/telegram-decoder.ts'
import { readMappedPlaneField, listPlanesForMessage } from './semantic/mapped-message.ts'
import { addMappedValuesToPlane } from './semantic/mapped-plane.ts'
import type { SemanticPlane } from './semantic/plane-reader.ts'
import type { HeatingPlaneName } from './semantic/planes.ts'
import { listAffectedPlanes, buildPlaneByName } from './semantic/planes.ts'
import type { RegisterReadKey } from './semantic/read-key.ts'
import {
  READ_KEY_KINDS,
  decodeReadKeyBusAddress,
  decodeReadKeyBytes,
  decodeReadKeyKind,
  encodeReadRequest,
} from './semantic/read-key.ts'
import { interpretTelegram } from './semantic/telegram-meaning.ts'
import { findRegulatorRegister, HOT_WATER_REGISTERS, ZONE_REGISTERS } from './semantic/regulator-register-map.ts'
import type { ValueSource } from './semantic/register-shadow.ts'
import { RegisterShadow } from './semantic/register-shadow.ts'
import type { StartupState, StartupPlaneName } from './semantic/semantic-startup.ts'
import { newStartupState, markCacheLoaded, markPlaneLive, degradeOverdueStartup } from './semantic/semantic-startup.ts'
import { HeatingTopology } from './semantic/topology.ts'
import type { TelegramExchange } from './wire/telegram.ts'
import { createTelegramExchange } from './wire/telegram.ts'

export interface HeatingInstallationOptions {
  /** Monotonic time. */
  readonly nowMs: number
  readonly pollMs: number
  readonly listens: boolean
  readonly thresholds: WarmUpThresholds
  readonly flags: ObservationFeatureFlags
  /** Addresses that the owner configured. */
  readonly seeds: readonly number[]
}

/** What may have changed: a plane, the devices, the state of the bus, or its messages. */
export type ChangedInstallationPart = HeatingPlaneName | 'devices' | 'bus' | 'messages'

export class HeatingInstallation {
  readonly observatory: BusObserver
  readonly registry = new BusDeviceRegistry()
  readonly shadow = new RegisterShadow()
  readonly topology: HeatingTopology
  readonly specimens = new SpecimenCollection()
  readonly flags: ObservationFeatureFlags
  readonly pollMs: number
  /** Set once the owner's definition files are read, if there are any. */
  #definitions: BusDefinitions | undefined
  #remembered: readonly StoredMessageData[] = []
  /** Cached facts about the devices at these addresses; cleared when something new is known about any device. */
  readonly #targets = new Map<number, TelegramTargetInfo>()
  #targetsRevision = -1
  #messagesReported = 0
  #compared: { readonly stand: string; readonly found: ReadonlyMap<RegisterReadKey, RegisterDisagreement> } | undefined
  #startup: StartupState
  readonly #changes = new Set<ChangedInstallationPart>()
  /** Planes affected by changed values; the same few lists are used again and again. */
  readonly #planes = new Set<readonly HeatingPlaneName[]>()

  constructor({ nowMs, pollMs, listens, thresholds, flags, seeds }: HeatingInstallationOptions) {
    this.observatory = new BusObserver({ nowMs, listens, thresholds })
    this.topology = new HeatingTopology(this.registry)
    this.flags = flags
    this.pollMs = pollMs
    this.#startup = newStartupState(nowMs)
    this.registry.seed(seeds)
  }

  get startup(): StartupState {
    return this.#startup
  }

  get definitions(): BusDefinitions | undefined {
    return this.#definitions
  }

  /** Devices that are known already get their definitions at once. */
  define(definitions: BusDefinitions): void {
    this.#definitions = definitions
    definitions.remember(this.#remembered)
    this.#remembered = []
    this.#identifyDevices()
    this.#changes.add('devices')
  }

  handleEvent(event: EbusEvent, situation: BusEventContext): void {
    const classified = this.observatory.handleEvent(event, situation)
    if (classified.length > 0) this.#takeIn(classified, situation)
    if (event.kind !== 'exchange' && event.kind !== 'broken') this.#changes.add('bus')
  }

  tick(situation: BusEventContext, atMs: number): void {
    const before = this.observatory.warmUp.state
    this.#takeIn(this.observatory.tick(situation, atMs), situation)
    this.#startup = degradeOverdueStartup(this.#startup, situation.nowMs)
    if (this.observatory.warmUp.state !== before) this.#changes.add('bus')
    // Once per tick, because telegrams come faster than anybody reads them.
    const { pushed } = this.observatory.messages
    if (pushed !== this.#messagesReported) this.#changes.add('messages')
    this.#messagesReported = pushed
  }

  /** Takes a value that was read, by us or another initiator; returns whether it is the newest. */
  learn(
    key: RegisterReadKey,
    payload: Uint8Array,
    how: { readonly atMs: number; readonly nowMs: number; readonly source: ValueSource; readonly requestedAt?: number },
  ): boolean {
    const verdict = this.shadow.apply(key, payload, how)
    if (verdict !== 'changed' && verdict !== 'same') return false
    this.topology.learn(key, payload, how.nowMs)
    if (how.source !== 'cache') this.#noteLive(key)
    if (verdict === 'changed') this.#planes.add(listAffectedPlanes(key))
    return true
  }

  /** Marks these values as no longer valid. */
  invalidate(keys: readonly RegisterReadKey[]): void {
    for (const key of keys) this.shadow.invalidate(key)
  }

  /** Takes the values of an earlier run, before anything is received. */
  remember(
    values: Iterable<{ readonly key: RegisterReadKey; readonly payload: Uint8Array; readonly atMs: number }>,
  ): void {
    let some = false
    // Devices come first, because the meaning of registers depends on the device.
    const known = [...values].toSorted((left, right) => Number(isIdentity(right.key)) - Number(isIdentity(left.key)))
    for (const { key, payload, atMs } of known) {
      if (isIdentity(key)) this.registry.remember(decodeReadKeyBusAddress(key), payload)
      this.learn(key, payload, { atMs, nowMs: 0, source: 'cache' })
      some = true
    }
    if (some) this.#startup = markCacheLoaded(this.#startup)
  }

  /** Takes messages of an earlier run, which wait for their definitions. */
  rememberMessages(messages: Iterable<StoredMessageData>): void {
    if (this.#definitions === undefined) this.#remembered = [...messages]
    else this.#definitions.remember(messages)
  }

  plane(name: HeatingPlaneName, nowMs: number): SemanticPlane {
    const plane = buildPlaneByName(name, this, nowMs)
    const definitions = this.#definitions
    return definitions === undefined
      ? plane
      : addMappedValuesToPlane(name, plane, (field) => readMappedPlaneField(definitions, field), nowMs)
  }

  /** A telegram decoded with what is known about its target; `undefined` if it cannot be. */
  decode(exchange: TelegramExchange): DecodedTelegram | undefined {
    return this.#definitions?.decode(exchange) ?? decodeTelegram(exchange, this.#targetAt(exchange.telegram.target))
  }

  /** Where the owner's definitions and our register map read the same bytes differently. */
  get disagreements(): ReadonlyMap<RegisterReadKey, RegisterDisagreement> {
    const definitions = this.#definitions
    if (definitions === undefined) return NO_DISAGREEMENTS
    const stand = `${definitions.messages.length}/${this.topology.revision}`
    if (this.#compared?.stand === stand) return this.#compared.found
    const { regulator, boiler } = this.topology
    const found = findRegistersContradictingDefinitions((exchange) => definitions.find(exchange), {
      regulator: regulator?.address,
      boiler: boiler?.registers === 'bai' ? boiler.address : undefined,
    })
    this.#compared = { stand, found: new Map(found.map((each) => [each.key, each])) }
    return this.#compared.found
  }

  /** The value by the owner's definition, if that differs from our own tables. */
  definedReading(key: RegisterReadKey, payload: Uint8Array): number | undefined {
    const disagreement = this.disagreements.get(key)
    if (disagreement === undefined) return undefined
    return decodeFirstNumericField(disagreement.message, encodeReadRequest(key, undefined).data, payload)
  }

  /** The message that a value was read with: its name by definition, else service and bytes. */
  messageName(key: RegisterReadKey): string | undefined {
    const request = encodeReadRequest(key, this.topology.regulator?.address)
    const message = this.#definitions?.find(createTelegramExchange(request))
    if (message !== undefined) return `${message.circuit}.${message.name}`
    const { target, primary, secondary, data } = request
    return `${toHex(Uint8Array.of(target))} ${toHex(Uint8Array.of(primary, secondary))} ${toHex(data)}`.trim()
  }

  /** Whether the device at this address is a regulator with B524, for which our register tables apply. */
  isRegulator(address: number): boolean {
    return this.#targetAt(address).extended
  }

  /** The changes since the last call. */
  takeChanges(): ReadonlySet<ChangedInstallationPart> {
    const changedMessages = this.#definitions?.changedMessages
    for (const message of changedMessages ?? []) this.#planes.add(listPlanesForMessage(message))
    changedMessages?.clear()
    if (this.#changes.size === 0 && this.#planes.size === 0) return NO_CHANGES
    const changes = new Set([...[...this.#planes].flat(), ...this.#changes])
    this.#changes.clear()
    this.#planes.clear()
    return changes
  }

  #takeIn(classified: readonly ClassifiedObservation[], { nowMs, address }: BusEventContext): void {
    for (const { event, disposition } of classified) {
      const own = disposition === 'own'
      const revision = this.registry.revision
      this.registry.handleExchange(event.exchange, own, event.atMs)
      if (this.registry.revision !== revision) {
        this.#changes.add('devices')
        this.#identifyDevices()
      }
      const defined = this.#definitions?.handleExchange(event.exchange, event.atMs)
      // Results of our own requests are handled by the requester, which knows more.
      if (own) continue
      this.#takeOver(event, nowMs)
      if (defined === undefined && !isKnownTelegram(event.exchange, this.#targetAt(event.exchange.telegram.target)))
        this.specimens.see(toExchangeObservation(event, address))
    }
  }

  #identifyDevices(): void {
    if (this.#definitions === undefined) return
    for (const { address, identity } of this.registry.slots())
      if (identity !== undefined) this.#definitions.identify(address, identity)
  }

  #targetAt(address: number): TelegramTargetInfo {
    if (this.#targetsRevision !== this.topology.revision) {
      this.#targetsRevision = this.topology.revision
      this.#targets.clear()
    }
    const known = this.#targets.get(address)
    if (known !== undefined) return known
    const { registers, extended } = findHeatingProduct(this.registry.slot(address)?.identity)
    const target = { registers, extended: extended || this.topology.regulator?.address === address }
    this.#targets.set(address, target)
    return target
  }

  #takeOver({ exchange, atMs }: ClassifiedObservation['event'], nowMs: number): void {
    if (!this.flags.observe_first_enabled) return
    const meaning = interpretTelegram(exchange)
    if (meaning === undefined) return
    if (meaning.kind === 'write') {
      if (this.flags.external_write_policy !== 'record_only') this.invalidate(meaning.keys)
      return
    }
    if (!this.#mayApply(meaning.key)) return
    const source = exchange.response === undefined ? 'broadcast' : 'passive'
    this.learn(meaning.key, meaning.payload, { atMs, nowMs, source })
  }

  #mayApply(key: RegisterReadKey): boolean {
    const { passive_state_direct_apply: state, passive_config_direct_apply: config } = this.flags
    if (state === config) return state
    if (decodeReadKeyKind(key) !== READ_KEY_KINDS.register) return state
    const [opcode, group, , high, low] = decodeReadKeyBytes(key)
    const freshness = findRegulatorRegister(opcode, group, high * 256 + low)?.freshness
    return freshness === 'config' || freshness === 'discovery' ? config : state
  }

  #noteLive(key: RegisterReadKey): void {
    if (this.#startup.phase === 'LIVE_READY' || decodeReadKeyKind(key) !== READ_KEY_KINDS.register) return
    const [opcode, group] = decodeReadKeyBytes(key)
    if (opcode !== 0x02) return
    const stream: StartupPlaneName | undefined =
      group === ZONE_REGISTERS.index.group ? 'zones' : group === HOT_WATER_REGISTERS.current.group ? 'dhw' : undefined
    if (stream === undefined) return
    const published: StartupPlaneName[] = [
      ...(this.topology.zones().length > 0 ? (['zones'] as const) : []),
      ...(this.#knowsHotWater() ? (['dhw'] as const) : []),
    ]
    this.#startup = markPlaneLive(this.#startup, stream, published)
  }

  #knowsHotWater(): boolean {
    return buildPlaneByName('dhw', this, 0).data !== null
  }
}

function isIdentity(key: RegisterReadKey): boolean {
  return decodeReadKeyKind(key) === READ_KEY_KINDS.identity
}

const NO_CHANGES: ReadonlySet<ChangedInstallationPart> = new Set()
const NO_DISAGREEMENTS: ReadonlyMap<RegisterReadKey, RegisterDisagreement> = new Map()
