/**
 * House physics: simulates what the virtual regulator measures and controls: rooms, water, a boiler, the sun, and a clock.
 *
 *   weather ▸ what the regulator wants ▸ boiler ▸ circuits ▸ rooms and cylinder ▸ meters
 *
 * Lumped thermal masses, integrated in steps of at most ten seconds: rooms lose heat through their walls, radiators
 * give heat in proportion to how much warmer they are, a boiler cannot burn below its smallest flame and so it cycles.
 * Equal seeds and equal steps give equal houses.
 */
import { nextRandom } from './ebus/seeded-random.ts'
import { computeCircuitPumpAndFlow, isDhwDemanded, computeZoneTargetCelsius } from './house-control.ts'
import type { SimulatedEnergyMeter, SimulatedHouse } from './house-state.ts'

/** Short compared with every time constant in this file; the small water volume of the boiler has the shortest one. */
const STEP_S = 10
const WATER_J_PER_KG_K = 4_186
const DAY_MS = 86_400_000
const HOUR_S = 3_600

/** The house `seconds` later. */
export function advanceSimulatedHouse(house: SimulatedHouse, seconds: number): SimulatedHouse {
  let next = house
  for (let left = seconds; left > 0; left -= STEP_S) next = stepOnce(next, Math.min(left, STEP_S))
  return next
}

function stepOnce(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const clocked = rollOver({ ...house, timeMs: house.timeMs + seconds * 1_000 }, house.timeMs)
  return stepMeters(
    stepRooms(stepWater(stepBoiler(stepDemand(stepWeather(clocked, seconds)), seconds), seconds), seconds),
    seconds,
  )
}

/**
 * Computes the outside temperature: coldest before dawn and warmest in the afternoon, plus the season and a passing
 * front.
 */
function stepWeather(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const { weather } = house
  const hour = (house.timeMs % DAY_MS) / 3_600_000
  const yearFraction = ((house.timeMs / DAY_MS) % 365.25) / 365.25
  // The season is coldest about 18 January.
  const season = weather.yearMeanCelsius - 9.5 * Math.cos(2 * Math.PI * (yearFraction - 0.05))
  const dayCurve = 3.5 * Math.cos((2 * Math.PI * (hour - 15)) / 24)
  const drawn = nextRandom(house.chance)
  const pull = Math.sqrt(seconds / (12 * HOUR_S))
  const driftCelsius = weather.driftCelsius * (1 - seconds / (36 * HOUR_S)) + (drawn.value - 0.5) * 4 * pull
  const outsideCelsius = season + dayCurve + driftCelsius
  const height =
    Math.max(0, Math.sin((Math.PI * (hour - 6)) / 12)) * (0.55 - 0.3 * Math.cos(2 * Math.PI * yearFraction))
  // A clear sky at noon gives 900 W/m²; a cold front brings clouds.
  const sunWattsPerM2 = 900 * height * Math.max(0.15, Math.min(1, 0.6 + driftCelsius / 10))
  const blend = Math.min(1, seconds / (DAY_MS / 1_000))
  // A first-order average over a day, which the regulator compares with its summer limit.
  const averageCelsius = weather.averageCelsius + (outsideCelsius - weather.averageCelsius) * blend
  return {
    ...house,
    chance: drawn.state,
    weather: { ...weather, outsideCelsius, averageCelsius, driftCelsius, sunWattsPerM2 },
  }
}

/** Computes what the regulator demands of boiler and circuits at this moment. */
function stepDemand(house: SimulatedHouse): SimulatedHouse {
  const zones = house.zones.map((zone) => ({ ...zone, targetCelsius: computeZoneTargetCelsius(zone, house) }))
  const targeted = { ...house, zones }
  const circuits = house.circuits.map((circuit, index) => {
    const demand = computeCircuitPumpAndFlow(circuit, index, targeted)
    const started = demand.pumpOn && !circuit.pumpOn ? 1 : 0
    return { ...circuit, ...demand, pumpStarts: circuit.pumpStarts + started }
  })
  const valved = zones.map((zone) => ({
    ...zone,
    // The thermostatic valve closes a little above the target.
    heating: (circuits[zone.circuit]?.pumpOn ?? false) && zone.roomCelsius < zone.targetCelsius + 0.3,
  }))
  return { ...targeted, zones: valved, circuits, dhw: { ...house.dhw, charging: isDhwDemanded(targeted) } }
}

/**
 * Simulates the boiler: hysteresis around the wanted flow temperature, and a modulation that follows the temperature
 * gap between smallest and full flame.
 */
function stepBoiler(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const { boiler, dhw, circuits } = house
  const heatingSet = Math.max(0, ...circuits.map(({ pumpOn, flowSetCelsius }) => (pumpOn ? flowSetCelsius : 0)))
  const mode = dhw.charging ? 'dhw' : heatingSet > 0 ? 'heating' : 'standby'
  const flowSetCelsius =
    mode === 'dhw'
      ? // Hotter than the water it heats, or the last degrees would take for ever.
        Math.min(dhw.targetCelsius + 18, boiler.flowMaxCelsius)
      : Math.min(heatingSet, boiler.flowMaxCelsius)
  const gap = flowSetCelsius - boiler.flowCelsius
  const restSeconds = Math.max(0, boiler.restSeconds - seconds)
  // The burner stops 5 K above the wanted temperature and starts again 4 K below it, after three minutes at the
  // earliest, because a real boiler does not cycle faster.
  const mayBurn = mode !== 'standby' && gap > -5 && boiler.flowCelsius < 85
  const flame = boiler.flame ? mayBurn : mayBurn && gap > 4 && restSeconds === 0
  const wanted = boiler.minPct + gap * 6
  const modulationPct = flame
    ? Math.max(
        boiler.minPct,
        Math.min(100, boiler.modulationPct + (wanted - boiler.modulationPct) * Math.min(1, seconds / 30)),
      )
    : 0
  return {
    ...house,
    boiler: {
      ...boiler,
      mode,
      flowSetCelsius,
      flame,
      modulationPct,
      restSeconds: boiler.flame && !flame ? 180 : restSeconds,
      pumpOn: mode !== 'standby' || boiler.flowCelsius > 45,
      // The fan follows the flame, and blows half a minute longer.
      fanRpm: flame ? Math.round(1_300 + modulationPct * 46) : restSeconds > 150 ? 1_300 : 0,
      heatingStarts: boiler.heatingStarts + (flame && !boiler.flame && mode === 'heating' ? 1 : 0),
      dhwStarts: boiler.dhwStarts + (flame && !boiler.flame && mode === 'dhw' ? 1 : 0),
      heatingHours: boiler.heatingHours + (flame && mode === 'heating' ? seconds / HOUR_S : 0),
      dhwHours: boiler.dhwHours + (flame && mode === 'dhw' ? seconds / HOUR_S : 0),
      pumpHours: boiler.pumpHours + (boiler.pumpOn ? seconds / HOUR_S : 0),
    },
  }
}

/** Simulates the primary water, the circuits, the cylinder and the collector. */
function stepWater(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const { boiler, weather } = house
  const burnerWatts = (boiler.modulationPct / 100) * boiler.maxKw * 1_000
  const heating = boiler.mode === 'heating'
  // Heat that the boiler loses through its own walls to the cellar.
  let takenWatts = (boiler.flowCelsius - 20) * 4
  const circuits = house.circuits.map((circuit, index) => {
    const rooms = house.zones.filter((zone) => zone.circuit === index)
    const roomCelsius = rooms.reduce((sum, zone) => sum + zone.roomCelsius, 0) / Math.max(1, rooms.length)
    const emittedWatts = rooms.reduce((sum, zone) => sum + emitted(circuit.flowCelsius, zone, circuit.pumpOn), 0)
    const mixerPct = mixer(circuit.hasMixer, circuit.flowSetCelsius, boiler.flowCelsius)
    const supplied =
      circuit.pumpOn && heating
        ? circuit.exchangeWPerK *
          (mixerPct / 100) *
          Math.max(0, Math.min(boiler.flowCelsius, circuit.flowMaxCelsius) - circuit.flowCelsius)
        : 0
    takenWatts += supplied
    const standing = (circuit.flowCelsius - roomCelsius) * 3
    const flowCelsius =
      circuit.flowCelsius + ((supplied - emittedWatts - standing) * seconds) / (circuit.waterKg * WATER_J_PER_KG_K)
    return { ...circuit, flowCelsius, mixerPct, pumpHours: circuit.pumpHours + (circuit.pumpOn ? seconds / HOUR_S : 0) }
  })
  const { dhw, solar, drawnWatts, chance } = stepCylinder(house, seconds)
  takenWatts += drawnWatts
  const flowCelsius =
    // Four percent of the burner's heat is lost through the chimney.
    boiler.flowCelsius + ((burnerWatts * 0.96 - takenWatts) * seconds) / (boiler.waterKg * WATER_J_PER_KG_K)
  const bounded = Math.max(weather.outsideCelsius, Math.min(95, flowCelsius))
  const returnCelsius = bounded - Math.min(20, Math.max(0, takenWatts / (WATER_J_PER_KG_K * 0.28)))
  // Warm water takes more room: about 0.3 bar between cold and hot.
  const pressureBar = 1.45 + (bounded - 20) * 0.006
  return {
    ...house,
    chance,
    circuits,
    dhw,
    solar,
    boiler: { ...boiler, flowCelsius: bounded, returnCelsius, pressureBar },
  }
}

function mixer(hasMixer: boolean, setCelsius: number, sourceCelsius: number): number {
  if (!hasMixer) return 100
  return Math.max(0, Math.min(100, ((setCelsius - 20) / Math.max(1, sourceCelsius - 20)) * 100))
}

/** Two layers: cold water enters below, the tap takes from above, boiler and sun heat from below. */
function stepCylinder(
  house: SimulatedHouse,
  seconds: number,
): Pick<SimulatedHouse, 'dhw' | 'solar' | 'chance'> & { readonly drawnWatts: number } {
  const { dhw, boiler, solar, weather } = house
  const hour = (house.timeMs % DAY_MS) / 3_600_000
  const drawn = nextRandom(house.chance)
  const sized = nextRandom(drawn.state)
  // About a dozen draws of warm water a day, most of them in the morning and in the evening.
  const perHour = (hour >= 6 && hour < 9) || (hour >= 18 && hour < 22) ? 1.6 : hour >= 9 && hour < 18 ? 0.35 : 0.03
  const begins = dhw.drawSeconds <= 0 && drawn.value < (perHour * seconds) / HOUR_S
  const drawSeconds = begins ? 40 + sized.value ** 2 * 420 : Math.max(0, dhw.drawSeconds - seconds)
  const drawLpm = drawSeconds > 0 ? (begins ? 5 + sized.value * 5 : dhw.drawLpm) : 0
  const layerKg = dhw.litres / 2
  const moved = Math.min(0.5, ((drawLpm / 60) * seconds) / layerKg)
  const chargeWatts =
    dhw.charging && boiler.mode === 'dhw'
      ? Math.max(0, Math.min(24_000, (boiler.flowCelsius - dhw.bottomCelsius) * 620))
      : 0
  const collectorOn =
    solar.enabled &&
    // The usual differential control of a solar pump: on at 8 K difference, off at 3 K.
    solar.collectorCelsius > dhw.bottomCelsius + (solar.pumpOn ? 3 : 8) &&
    dhw.bottomCelsius < solar.cylinderMaxCelsius
  const sunWatts = collectorOn ? Math.max(0, (solar.collectorCelsius - dhw.bottomCelsius) * 160) : 0
  const loss = (celsius: number): number => (celsius - 18) * 1.1
  const perLayer = (watts: number): number => (watts * seconds) / (layerKg * WATER_J_PER_KG_K)
  const bottom =
    // Mains water comes in at 10 °C.
    dhw.bottomCelsius * (1 - moved) + 10 * moved + perLayer(chargeWatts + sunWatts - loss(dhw.bottomCelsius))
  const top = dhw.topCelsius * (1 - moved) + dhw.bottomCelsius * moved - perLayer(loss(dhw.topCelsius))
  // Warm water rises, so the lower layer does not stay warmer than the upper one: the two are mixed.
  const mixed = bottom > top ? (bottom + top) / 2 : undefined
  const gained =
    solar.areaM2 * weather.sunWattsPerM2 * 0.72 - (solar.collectorCelsius - weather.outsideCelsius) * 14 - sunWatts
  const collectorCelsius = Math.max(-30, Math.min(140, solar.collectorCelsius + (gained * seconds) / 36_000))
  return {
    chance: sized.state,
    drawnWatts: chargeWatts,
    dhw: { ...dhw, topCelsius: mixed ?? top, bottomCelsius: mixed ?? bottom, drawSeconds, drawLpm },
    solar: {
      ...solar,
      collectorCelsius,
      pumpOn: collectorOn,
      yieldKwh: solar.yieldKwh + (sunWatts * seconds) / 3_600_000,
      pumpHours: solar.pumpHours + (collectorOn ? seconds / HOUR_S : 0),
    },
  }
}

function emitted(flowCelsius: number, zone: SimulatedHouse['zones'][number], pumpOn: boolean): number {
  return pumpOn && zone.heating ? zone.emitterWPerK * Math.max(0, flowCelsius - zone.roomCelsius) : 0
}

function stepRooms(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const { outsideCelsius, sunWattsPerM2 } = house.weather
  const zones = house.zones.map((zone) => {
    const circuit = house.circuits[zone.circuit]
    const heat = circuit === undefined ? 0 : emitted(circuit.flowCelsius, zone, circuit.pumpOn)
    const lost = zone.lossWPerK * (zone.roomCelsius - outsideCelsius)
    const gains = zone.gainsWatts + zone.windowM2 * sunWattsPerM2 * 0.4
    const roomCelsius = zone.roomCelsius + ((heat + gains - lost) * seconds) / zone.capacityJPerK
    // Warmer air holds more water, so heating dries it.
    const humidityPct = Math.max(25, Math.min(75, 48 - (roomCelsius - 20) * 2 + outsideCelsius * 0.4))
    return { ...zone, roomCelsius, humidityPct }
  })
  return { ...house, zones }
}

function stepMeters(house: SimulatedHouse, seconds: number): SimulatedHouse {
  const { boiler, energy } = house
  const gasWh = ((boiler.modulationPct / 100) * boiler.maxKw * 1_000 * seconds) / HOUR_S
  // Electricity for pump and standby, and for the fan while the burner is on.
  const electricWh = ((boiler.pumpOn ? 42 : 3) + (boiler.flame ? 35 : 0)) * (seconds / HOUR_S)
  const dhw = boiler.mode === 'dhw'
  return {
    ...house,
    energy: {
      gasHeating: add(energy.gasHeating, dhw ? 0 : gasWh),
      gasDhw: add(energy.gasDhw, dhw ? gasWh : 0),
      electricHeating: add(energy.electricHeating, dhw ? 0 : electricWh),
      electricDhw: add(energy.electricDhw, dhw ? electricWh : 0),
    },
  }
}

function add(meter: SimulatedEnergyMeter, wh: number): SimulatedEnergyMeter {
  return {
    ...meter,
    todayWh: meter.todayWh + wh,
    monthWh: meter.monthWh + wh,
    yearWh: meter.yearWh + wh,
    totalWh: meter.totalWh + wh,
  }
}

/** Moves the meters on at midnight, on the first of a month and at New Year. */
function rollOver(house: SimulatedHouse, beforeMs: number): SimulatedHouse {
  const before = new Date(beforeMs)
  const after = new Date(house.timeMs)
  if (before.getUTCDate() === after.getUTCDate()) return house
  const month = before.getUTCMonth() !== after.getUTCMonth()
  const year = before.getUTCFullYear() !== after.getUTCFullYear()
  const roll = (meter: SimulatedEnergyMeter): SimulatedEnergyMeter => ({
    ...meter,
    todayWh: 0,
    ...(month ? { lastMonthWh: meter.monthWh, monthWh: 0 } : {}),
    ...(year ? { lastYearWh: meter.yearWh, yearWh: 0 } : {}),
  })
  const { gasHeating, gasDhw, electricHeating, electricDhw } = house.energy
  return {
    ...house,
    energy: {
      gasHeating: roll(gasHeating),
      gasDhw: roll(gasDhw),
      electricHeating: roll(electricHeating),
      electricDhw: roll(electricDhw),
    },
  }
}
