/**
 * Heating system: bus, devices and house put together, moved through virtual time by its caller.
 *
 * Pure, but for the system it is given.
 */
import { omitUndefined } from '../../core/json.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import { createInitialHouseState } from '../initial-house-state.ts'
import type { SimulatedHouse } from '../house-state.ts'
import { advanceSimulatedHouse } from '../house-physics.ts'
import { answerBoiler } from './boiler.ts'
import { createSeededRandomSource } from './seeded-random.ts'
import { SimulatedBusFaults } from './faults.ts'
import { answerHeatPump, answerHeatPumpModule } from './heat-pump.ts'
import { INTERNET_GATEWAY_PERIODIC_TELEGRAMS, answerInternetGateway } from './internet-gateway.ts'
import { answerMixer } from './mixer.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import type { SimulatedRegulatorFamily } from './regulator-registers.ts'
import { REGULATOR_PERIODIC_TELEGRAMS, answerRegulator } from './regulator.ts'
import type { BusStationAnswer } from './bus-station.ts'
import { BusStation } from './bus-station.ts'
import { VirtualTaskQueue } from './virtual-task-queue.ts'
import { VirtualBus } from './virtual-bus.ts'

export interface HeatingSystemOptions {
  readonly seed: number
  /** The house's wall clock at the start. */
  readonly startMs: number
  readonly regulator: SimulatedRegulatorFamily
  /** The heat source: a gas boiler, or a heat pump with its module. */
  readonly heatSource?: SimulatedHeatSource
  /** Seconds of the house per second of the bus. */
  readonly houseSpeed: number
  /** Whether devices exchange telegrams, or only answer. */
  readonly chatter: boolean
  readonly outsidePatienceMs: number
  /** Other devices instead of the built-in heating; they only answer. */
  readonly devices?: readonly CustomSimulatedBusDevice[]
}

/** A device that the caller describes. */
export interface CustomSimulatedBusDevice {
  readonly address: number
  /** Its initiator address, if it accepts commands from other initiators. */
  readonly initiator?: number | undefined
  /** `nowMs` is the house's wall clock, in milliseconds. */
  readonly answer: (telegram: Telegram, nowMs: number) => BusStationAnswer
  /** Telegrams that another device sends to it, one after another. */
  readonly overheard?: ((turn: number, nowMs: number) => Omit<Telegram, 'source'>) | undefined
}

export type SimulatedHeatSource = 'boiler' | 'heat-pump'

/** The address of a regulator that is not simulated itself, but whose telegrams are. */
const SPEAKER = 0xf1
const OVERHEARD_MS = 2_000

/** Rooms change slowly, so once a second is enough for every value that the devices send. */
const HOUSE_STEP_MS = 1_000

export class HeatingSystem {
  readonly bus: VirtualBus
  readonly faults: SimulatedBusFaults
  readonly timeline = new VirtualTaskQueue()
  readonly #plant: SimulatedPlant

  constructor(options: HeatingSystemOptions) {
    const chance = createSeededRandomSource(options.seed)
    this.faults = new SimulatedBusFaults(chance)
    this.bus = new VirtualBus({ disturbance: this.faults, outsidePatienceMs: options.outsidePatienceMs })
    this.#plant = { house: createInitialHouseState(options.seed, options.startMs) }
    const plant = this.#plant
    const hasHeatPump = options.heatSource === 'heat-pump'
    const delayMs = (): number => this.faults.responseDelayMs()
    this.timeline.every(HOUSE_STEP_MS, HOUSE_STEP_MS, () => {
      plant.house = advanceSimulatedHouse(plant.house, (HOUSE_STEP_MS / 1_000) * options.houseSpeed)
    })
    if (options.devices !== undefined) {
      this.#joinTargets(options.devices, { plant, delayMs, chatter: options.chatter })
      return
    }
    // Addresses as in a common installation: each device answers at five above its initiator address; the mixer has
    // none.
    const regulator = new BusStation({
      initiator: 0x10,
      targets: [0x15],
      answer: (telegram) => answerRegulator(plant, options.regulator, telegram),
      delayMs,
    })
    const boiler = new BusStation({
      initiator: 0x03,
      targets: [0x08],
      answer: (telegram) => (hasHeatPump ? answerHeatPump(plant, telegram) : answerBoiler(plant, telegram)),
      delayMs,
    })
    const inside = new BusStation({
      targets: [0x76],
      answer: (telegram) => answerHeatPumpModule(plant, telegram),
      delayMs,
    })
    const mixer = new BusStation({ targets: [0x26], answer: (telegram) => answerMixer(plant, telegram), delayMs })
    const gateway = new BusStation({ initiator: 0xf1, targets: [0xf6], answer: answerInternetGateway, delayMs })
    for (const station of [regulator, boiler, mixer, gateway, this.faults.rival]) this.bus.join(station)
    if (hasHeatPump) this.bus.join(inside)
    if (!options.chatter) return
    // Spread in time, so that not all devices start at once.
    for (const { everyMs, say } of REGULATOR_PERIODIC_TELEGRAMS) {
      let turn = 0
      this.timeline.every(everyMs, 200 + chance() * everyMs, () => regulator.say(say(plant.house, turn++)))
    }
    for (const { everyMs, say } of INTERNET_GATEWAY_PERIODIC_TELEGRAMS) {
      let turn = 0
      this.timeline.every(everyMs, 200 + chance() * everyMs, () => gateway.say(say(turn++)))
    }
  }

  /** Devices that only answer, and one that sends the telegrams that such devices receive. */
  #joinTargets(
    devices: readonly CustomSimulatedBusDevice[],
    {
      plant,
      delayMs,
      chatter,
    }: { readonly plant: SimulatedPlant; readonly delayMs: () => number; readonly chatter: boolean },
  ): void {
    for (const { address, initiator, answer } of devices)
      this.bus.join(
        new BusStation({
          ...omitUndefined({ initiator }),
          targets: [address],
          answer: (telegram) => answer(telegram, plant.house.timeMs),
          delayMs,
        }),
      )
    this.bus.join(this.faults.rival)
    const spoken = devices.flatMap(({ overheard }) => (overheard === undefined ? [] : [overheard]))
    if (!chatter || spoken.length === 0) return
    const speaker = new BusStation({ initiator: SPEAKER, targets: [], answer: () => undefined, delayMs })
    this.bus.join(speaker)
    for (const [index, overheard] of spoken.entries()) {
      let turn = 0
      this.timeline.every(OVERHEARD_MS, 500 + index * 300, () => speaker.say(overheard(turn++, plant.house.timeMs)))
    }
  }

  get house(): SimulatedHouse {
    return this.#plant.house
  }

  /** For tests and demos that need another day or another weather. */
  changeHouse(change: (house: SimulatedHouse) => SimulatedHouse): void {
    this.#plant.house = change(this.#plant.house)
  }

  nextMs(): number {
    return Math.min(this.bus.nextMs(), this.timeline.nextMs())
  }

  advance(nowMs: number): void {
    // Bus and timeline run in the order of their times, so that a telegram sees the house at its own moment.
    for (let taskMs = this.timeline.nextMs(); taskMs <= nowMs; taskMs = this.timeline.nextMs()) {
      this.bus.advance(taskMs)
      this.timeline.runNext()
    }
    this.bus.advance(nowMs)
  }
}
