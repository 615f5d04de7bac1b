/** House state: the complete state of the virtual house at one moment. */
export type ZoneOperatingMode = 'off' | 'auto' | 'manual'

/** Minutes since midnight; `endMinute` 1440 is the end of the day. */
export interface SimulatedTimerSlot {
  readonly startMinute: number
  readonly endMinute: number
  /** `undefined` where the program sets no temperature of its own, so that the zone's setpoint applies. */
  readonly celsius: number | undefined
}

/** The days of a week, Monday first. */
export type SimulatedWeekProgram = readonly (readonly SimulatedTimerSlot[])[]

interface Weather {
  readonly yearMeanCelsius: number
  readonly outsideCelsius: number
  /** The average over the last day. */
  readonly averageCelsius: number
  /** The passing weather front adds this to the temperature of season and hour. */
  readonly driftCelsius: number
  readonly sunWattsPerM2: number
}

interface Holiday {
  readonly startMs: number
  readonly endMs: number
  readonly celsius: number
}

export interface SimulatedZone {
  readonly name: string
  /** Index into the house's circuits. */
  readonly circuit: number
  readonly roomCelsius: number
  readonly humidityPct: number
  readonly mode: ZoneOperatingMode
  readonly dayCelsius: number
  readonly nightCelsius: number
  readonly quickVeto: { readonly celsius: number; readonly untilMs: number } | undefined
  /** The temperature that the next quick veto will set; kept while none is active. */
  readonly quickVetoCelsius: number
  readonly holiday: Holiday | undefined
  readonly program: SimulatedWeekProgram
  /** Computed: the target temperature of the room at this moment, and whether its valve is open. */
  readonly targetCelsius: number
  readonly heating: boolean
  /** Building physics: heat loss in watts per kelvin, heat capacity, radiator output per kelvin, heat from people. */
  readonly lossWPerK: number
  readonly capacityJPerK: number
  readonly emitterWPerK: number
  readonly gainsWatts: number
  readonly windowM2: number
}

export interface SimulatedCircuit {
  readonly hasMixer: boolean
  readonly curve: number
  readonly flowMinCelsius: number
  readonly flowMaxCelsius: number
  readonly summerLimitCelsius: number
  readonly frostCelsius: number
  readonly flowCelsius: number
  readonly flowSetCelsius: number
  readonly pumpOn: boolean
  readonly mixerPct: number
  readonly pumpHours: number
  readonly pumpStarts: number
  readonly waterKg: number
  readonly exchangeWPerK: number
}

interface HotWater {
  readonly mode: ZoneOperatingMode
  readonly targetCelsius: number
  readonly hysteresisK: number
  readonly topCelsius: number
  readonly bottomCelsius: number
  readonly charging: boolean
  /** A single charge on request, independent of the program. */
  readonly boost: boolean
  readonly drawLpm: number
  /** Seconds left of the water draw that is running. */
  readonly drawSeconds: number
  readonly litres: number
  readonly program: SimulatedWeekProgram
  readonly circulation: SimulatedWeekProgram
}

interface Boiler {
  readonly mode: 'standby' | 'heating' | 'dhw'
  readonly flame: boolean
  readonly modulationPct: number
  readonly minPct: number
  readonly maxKw: number
  readonly flowCelsius: number
  readonly returnCelsius: number
  readonly flowSetCelsius: number
  readonly flowMaxCelsius: number
  readonly pressureBar: number
  readonly pumpOn: boolean
  readonly fanRpm: number
  /** Seconds left until the boiler may ignite again (anti-cycling time). */
  readonly restSeconds: number
  readonly waterKg: number
  readonly heatingHours: number
  readonly dhwHours: number
  readonly heatingStarts: number
  readonly dhwStarts: number
  readonly pumpHours: number
}

interface Solar {
  readonly enabled: boolean
  readonly collectorCelsius: number
  readonly cylinderMaxCelsius: number
  readonly areaM2: number
  readonly pumpOn: boolean
  readonly yieldKwh: number
  readonly pumpHours: number
}

/** Energy in Wh, as a regulator shows it for each source and use. */
export interface SimulatedEnergyMeter {
  readonly todayWh: number
  readonly monthWh: number
  readonly lastMonthWh: number
  readonly yearWh: number
  readonly lastYearWh: number
  readonly totalWh: number
}

interface Energy {
  readonly gasHeating: SimulatedEnergyMeter
  readonly gasDhw: SimulatedEnergyMeter
  readonly electricHeating: SimulatedEnergyMeter
  readonly electricDhw: SimulatedEnergyMeter
}

export interface SimulatedHouse {
  /**
   * State of the house's random generator; weather and water draws are derived from it, so they repeat with the seed.
   */
  readonly chance: number
  /** The house's own wall clock, written as if it were UTC. */
  readonly timeMs: number
  readonly systemOff: boolean
  readonly weather: Weather
  readonly zones: readonly SimulatedZone[]
  readonly circuits: readonly SimulatedCircuit[]
  readonly dhw: HotWater
  readonly boiler: Boiler
  readonly solar: Solar
  readonly energy: Energy
}
