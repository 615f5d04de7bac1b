/** Initial house state: builds the state in which the virtual house begins. */
import type {
  SimulatedEnergyMeter,
  SimulatedHouse,
  SimulatedTimerSlot,
  SimulatedWeekProgram,
  SimulatedZone,
} from './house-state.ts'

/** Minutes since midnight. */
const at = (hour: number, minute = 0): number => hour * 60 + minute
const everyDay = (slots: readonly SimulatedTimerSlot[]): SimulatedWeekProgram => Array.from({ length: 7 }, () => slots)
const workdays = (week: readonly SimulatedTimerSlot[], weekend: readonly SimulatedTimerSlot[]): SimulatedWeekProgram =>
  Array.from({ length: 7 }, (_, day) => (day < 5 ? week : weekend))
/**
 * The meters of last month and last year are a little higher than the current ones, so that no two figures are equal by
 * accident.
 */
const meter = (totalKwh: number, yearKwh: number, monthKwh: number): SimulatedEnergyMeter => ({
  todayWh: 0,
  monthWh: monthKwh * 1_000,
  lastMonthWh: monthKwh * 1_450,
  yearWh: yearKwh * 1_000,
  lastYearWh: yearKwh * 1_180,
  totalWh: totalKwh * 1_000,
})

/**
 * Builds a family house with radiators downstairs, floor heating upstairs, a 150 l cylinder and 4 m² of solar
 * collector.
 */
export function createInitialHouseState(seed: number, startMs: number): SimulatedHouse {
  const zone = {
    humidityPct: 46,
    mode: 'auto',
    quickVeto: undefined,
    quickVetoCelsius: 21,
    holiday: undefined,
    heating: false,
  } as const
  const downstairs: SimulatedZone = {
    ...zone,
    name: 'Living',
    circuit: 0,
    roomCelsius: 20.3,
    dayCelsius: 21,
    nightCelsius: 17,
    targetCelsius: 21,
    program: workdays(
      [
        { startMinute: at(6), endMinute: at(8, 30), celsius: 21 },
        { startMinute: at(16), endMinute: at(22), celsius: 21.5 },
      ],
      [{ startMinute: at(7, 30), endMinute: at(23), celsius: 21 }],
    ),
    lossWPerK: 130,
    capacityJPerK: 9e6,
    emitterWPerK: 260,
    gainsWatts: 320,
    windowM2: 6,
  }
  const upstairs: SimulatedZone = {
    ...zone,
    name: 'Upstairs',
    circuit: 1,
    roomCelsius: 19.4,
    dayCelsius: 20,
    nightCelsius: 17.5,
    targetCelsius: 20,
    program: everyDay([{ startMinute: at(5, 30), endMinute: at(21, 30), celsius: 20 }]),
    lossWPerK: 95,
    capacityJPerK: 12e6,
    emitterWPerK: 330,
    gainsWatts: 180,
    windowM2: 4,
  }
  const circuit = { flowCelsius: 30, flowSetCelsius: 0, pumpOn: false, mixerPct: 0, frostCelsius: 5 }
  return {
    chance: seed | 0,
    timeMs: startMs,
    systemOff: false,
    weather: { yearMeanCelsius: 9.5, outsideCelsius: 4, averageCelsius: 4.5, driftCelsius: 0, sunWattsPerM2: 0 },
    zones: [downstairs, upstairs],
    circuits: [
      {
        ...circuit,
        hasMixer: false,
        curve: 1.2,
        flowMinCelsius: 15,
        flowMaxCelsius: 70,
        summerLimitCelsius: 18,
        pumpHours: 9_214,
        pumpStarts: 15_702,
        waterKg: 60,
        exchangeWPerK: 1_100,
      },
      {
        ...circuit,
        hasMixer: true,
        curve: 0.6,
        flowMinCelsius: 15,
        flowMaxCelsius: 42,
        summerLimitCelsius: 17,
        pumpHours: 12_480,
        pumpStarts: 6_031,
        waterKg: 90,
        exchangeWPerK: 900,
      },
    ],
    dhw: {
      mode: 'auto',
      targetCelsius: 50,
      hysteresisK: 5,
      topCelsius: 49,
      bottomCelsius: 44,
      charging: false,
      boost: false,
      drawLpm: 0,
      drawSeconds: 0,
      litres: 150,
      program: everyDay([
        { startMinute: at(5), endMinute: at(9), celsius: undefined },
        { startMinute: at(16, 30), endMinute: at(22), celsius: undefined },
      ]),
      circulation: everyDay([{ startMinute: at(6), endMinute: at(8), celsius: undefined }]),
    },
    boiler: {
      mode: 'standby',
      flame: false,
      modulationPct: 0,
      minPct: 21,
      maxKw: 24,
      flowCelsius: 38,
      returnCelsius: 34,
      flowSetCelsius: 0,
      flowMaxCelsius: 75,
      pressureBar: 1.6,
      pumpOn: false,
      fanRpm: 0,
      restSeconds: 0,
      waterKg: 28,
      heatingHours: 11_530,
      dhwHours: 2_206,
      heatingStarts: 48_200,
      dhwStarts: 13_900,
      pumpHours: 20_877,
    },
    solar: {
      enabled: true,
      collectorCelsius: 6,
      cylinderMaxCelsius: 75,
      areaM2: 4,
      pumpOn: false,
      yieldKwh: 4_811,
      pumpHours: 5_402,
    },
    energy: {
      gasHeating: meter(98_214, 7_120, 640),
      gasDhw: meter(21_630, 1_480, 96),
      electricHeating: meter(2_140, 182, 14),
      electricDhw: meter(602, 41, 3),
    },
  }
}
