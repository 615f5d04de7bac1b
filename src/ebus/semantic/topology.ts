/**
 * Topology: which device is the regulator and which the boiler, which zones, circuits and slots there are.
 *
 * The regulator is whoever answers B524 with sense, 15 first; a product id alone proves nothing, and a new product has
 * one that nobody knows yet.
 */
import type { BusDevice, BusDeviceRegistry } from '../registry/device-registry.ts'
import type {
  HeatingProductKind,
  ProductRegisterTableName,
  WeeklyProgramProtocol,
} from '../registry/heating-product.ts'
import { findHeatingProduct } from '../registry/heating-product.ts'
import type { DebouncedPresence } from './instance-presence.ts'
import { stepPresence } from './instance-presence.ts'
import type { RegisterReadKey } from './read-key.ts'
import { READ_KEY_KINDS, decodeReadKeyBusAddress, decodeReadKeyBytes, decodeReadKeyKind } from './read-key.ts'
import { decodeRegisterValue, REGISTER_HEADER_BYTES, extractRegisterBytes } from './register.ts'
import {
  CIRCUIT_REGISTERS,
  MAX_INSTANCE_COUNT,
  FUNCTION_MODULE_REGISTER_GROUP,
  PAIRED_REGULATOR_REGISTER_GROUP,
  REMOTE_REGISTER_GROUP_NUMBERS,
  THERMOSTAT_REGISTER_GROUP,
  ZONE_REGISTERS,
} from './regulator-register-map.ts'

export interface KnownRegulator {
  readonly address: number
  readonly deviceId: string | undefined
  /** `undefined` while its product id is not known. */
  readonly timers: WeeklyProgramProtocol | undefined
}

export interface KnownHeatSource {
  readonly address: number
  readonly deviceId: string
  readonly registers: ProductRegisterTableName
}

const USUAL_REGULATOR = 0x15
/** A regulator that is silent for so long gives way to another one that is not. */
const GRACE_MS = 300_000
const ZONES_OF_INTEREST = 3

const PAIRED_GROUPS: ReadonlySet<number> = new Set([
  PAIRED_REGULATOR_REGISTER_GROUP,
  THERMOSTAT_REGISTER_GROUP,
  FUNCTION_MODULE_REGISTER_GROUP,
])

/** The type of circuit 9 is 0 even where it is the one for hot water. */
export const DHW_CIRCUIT_INSTANCE = 9

export class HeatingTopology {
  readonly #registry: BusDeviceRegistry
  #regulatorAddress: number | undefined
  /** When it last answered with sense. */
  #regulatorMs = -Infinity
  readonly #zones = new Map<number, DebouncedPresence>()
  /** Zones whose index register is not there at all. */
  readonly #withoutIndex = new Set<number>()
  readonly #circuitTypes = new Map<number, number>()
  readonly #slots = new Map<number, boolean>()
  #revision = 0

  constructor(registry: BusDeviceRegistry) {
    this.#registry = registry
  }

  /** Grows whenever something appears or goes. */
  get revision(): number {
    return this.#revision + this.#registry.revision
  }

  get regulator(): KnownRegulator | undefined {
    const address = this.#regulatorAddress
    if (address === undefined) return undefined
    const identity = this.#registry.slot(address)?.identity
    return {
      address,
      deviceId: identity?.deviceId,
      timers: identity === undefined ? undefined : findHeatingProduct(identity).timers,
    }
  }

  get boiler(): KnownHeatSource | undefined {
    return this.#heatSource('boiler') ?? this.#heatSource('heat-pump')
  }

  get heatPump(): KnownHeatSource | undefined {
    return this.#heatSource('heat-pump')
  }

  #heatSource(kind: HeatingProductKind): KnownHeatSource | undefined {
    for (const { address, identity } of this.#registry.devices()) {
      const product = findHeatingProduct(identity)
      if (identity !== undefined && product.kind === kind)
        return { address, deviceId: identity.deviceId, registers: product.registers }
    }
    return undefined
  }

  /** A function module on the bus itself, whatever the regulator knows of it. */
  get module(): BusDevice | undefined {
    return this.#registry.devices().find(({ identity }) => findHeatingProduct(identity).kind === 'module')
  }

  /** Who might be a regulator: asked until one answers with sense. */
  candidates(): readonly number[] {
    const known = this.#registry.devices().filter(({ identity }) => findHeatingProduct(identity).extended)
    return [...new Set([USUAL_REGULATOR, ...known.map(({ address }) => address)])]
  }

  zones(): readonly number[] {
    return [...this.#zones].filter(([, { present }]) => present).map(([instance]) => instance)
  }

  /** Whether the first zones were looked for: only then is an empty list an answer. */
  get zonesKnown(): boolean {
    return Array.from({ length: ZONES_OF_INTEREST }, (_, instance) => this.#zones.has(instance)).every(Boolean)
  }

  /** A regulator that has no index register in any zone: there the operating mode shows which zones there are. */
  get lacksZoneIndex(): boolean {
    // Asked for every value that is read: a loop that mostly ends at its first zone.
    for (let instance = 0; instance < ZONES_OF_INTEREST; instance++) if (!this.#withoutIndex.has(instance)) return false
    return true
  }

  circuits(): readonly number[] {
    return [...this.#circuitTypes]
      .filter(([instance, type]) => type !== 0 || instance === DHW_CIRCUIT_INSTANCE)
      .map(([instance]) => instance)
      .toSorted((left, right) => left - right)
  }

  get circuitsKnown(): boolean {
    return this.#circuitTypes.has(0) && this.#circuitTypes.has(1)
  }

  /** Whether a remote slot has something in it; `undefined` while nobody looked. */
  slotConnected(group: number, instance: number): boolean | undefined {
    return this.#slots.get(group * MAX_INSTANCE_COUNT + instance)
  }

  /**
   * Slots to look into: up to the third empty one after the last that is not, where things are paired and taken away
   * again; up to the first empty one where there is one thing or none.
   */
  slotsToLookInto(group: number): readonly number[] {
    const instances: number[] = []
    const enough = PAIRED_GROUPS.has(group) ? 3 : 1
    for (let instance = 0, empty = 0; instance < MAX_INSTANCE_COUNT && empty < enough; instance++) {
      instances.push(instance)
      empty = this.slotConnected(group, instance) === true ? 0 : empty + 1
    }
    return instances
  }

  /** Whether every group's first slots were looked into. */
  get slotsKnown(): boolean {
    return REMOTE_REGISTER_GROUP_NUMBERS.every((group) =>
      this.slotsToLookInto(group).every((instance) => this.slotConnected(group, instance) !== undefined),
    )
  }

  /** An answer was taken over into the shadow. */
  learn(key: RegisterReadKey, payload: Uint8Array, nowMs: number): void {
    if (decodeReadKeyKind(key) !== READ_KEY_KINDS.register) return
    const address = decodeReadKeyBusAddress(key)
    if (payload.length > REGISTER_HEADER_BYTES) this.#noteRegulator(address, nowMs)
    if (address !== this.#regulatorAddress) return
    const [opcode, group, instance, high, low] = decodeReadKeyBytes(key)
    const number = high * 256 + low
    const value = (): Uint8Array => extractRegisterBytes(payload)
    if (
      opcode === ZONE_REGISTERS.index.opcode &&
      group === ZONE_REGISTERS.index.group &&
      number === ZONE_REGISTERS.index.number
    )
      this.#noteZoneIndex(instance, value())
    else if (this.lacksZoneIndex && opcode === ZONE_REGISTERS.index.opcode && group === ZONE_REGISTERS.index.group) {
      if (number === ZONE_REGISTERS.operatingMode.number)
        this.#lookAtZone(instance, decodeRegisterValue(ZONE_REGISTERS.operatingMode.type, value()) !== undefined)
    } else if (
      opcode === CIRCUIT_REGISTERS.type.opcode &&
      group === CIRCUIT_REGISTERS.type.group &&
      number === CIRCUIT_REGISTERS.type.number
    )
      this.#note(this.#circuitTypes, instance, Number(decodeRegisterValue('u16', value()) ?? 0))
    else if (opcode === 0x06 && number === 0x01 && REMOTE_REGISTER_GROUP_NUMBERS.includes(group))
      this.#note(this.#slots, group * MAX_INSTANCE_COUNT + instance, decodeRegisterValue('flag', value()) === true)
  }

  #noteRegulator(address: number, nowMs: number): void {
    if (this.#regulatorAddress === address) {
      this.#regulatorMs = nowMs
      return
    }
    if (nowMs - this.#regulatorMs < GRACE_MS && address !== USUAL_REGULATOR) return
    this.#regulatorAddress = address
    this.#regulatorMs = nowMs
    // Another regulator's zones are other zones.
    for (const known of [this.#zones, this.#withoutIndex, this.#circuitTypes, this.#slots]) known.clear()
    this.#revision++
  }

  #noteZoneIndex(instance: number, value: Uint8Array): void {
    if (value.length > 0) this.#withoutIndex.delete(instance)
    else if (!this.lacksZoneIndex) {
      this.#withoutIndex.add(instance)
      if (!this.lacksZoneIndex) return this.#lookAtZone(instance, false)
      this.#zones.clear()
      this.#revision++
    }
    if (!this.lacksZoneIndex) this.#lookAtZone(instance, decodeRegisterValue('u8', value) !== undefined)
  }

  #lookAtZone(instance: number, found: boolean): void {
    const before = this.#zones.get(instance)
    const after = stepPresence(before, found)
    this.#zones.set(instance, after)
    if (before?.present !== after.present) this.#revision++
  }

  #note<Value>(map: Map<number, Value>, at: number, value: Value): void {
    if (map.get(at) === value) return
    map.set(at, value)
    this.#revision++
  }
}
