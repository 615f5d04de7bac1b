/**
 * House state: everything the virtual house is at one moment.
 */
export type ZoneOperatingMode = 'off' | 'auto' | 'manual'

/** Minutes since midnight; `endMinute` 1440 is the end of the day. */
export interface SimulatedTimerSlot {
  readonly startMinute: number
  readonly endMinute: number
  /** `undefined` where the program has no temperature of its own and the setpoint counts. */
  readonly celsius: number | undefined
}

/** Monday first. */
export type SimulatedWeekProgram = readonly (readonly SimulatedTimerSlot[])[]

interface Weather {
  readonly yearMeanCelsius: number
  readonly outsideCelsius: number
  /** Over the last day. */
  readonly averageCelsius: number
  /** What the front passing through adds to season and hour. */
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
  /** What the next quick veto will ask for; kept when none runs. */
  readonly quickVetoCelsius: number
  readonly holiday: Holiday | undefined
  readonly program: SimulatedWeekProgram
  /** Computed: what the room should be now, and whether its valve is open. */
  readonly targetCelsius: number
  readonly heating: boolean
  /** Building physics: heat lost outwards per kelvin, heat stored, heat given by the radiator per kelvin, people. */
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
  /** A single charge on request, whatever the program says. */
  readonly boost: boolean
  readonly drawLpm: number
  /** Left of the draw that runs. */
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
  /** Anti-cycling time left. */
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

/** Wh; what a regulator shows for each source and use. */
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
  /** State of the house's own chance: weather and taps are part of what repeats. */
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
