/**
 * Many sensors: as many as a test of a large house wants.
 */
import { DEVICE_MISC_FLAGS } from '../../homeseer/wire/device.ts'
import {
  createSimulatedHomeseerDevice,
  createDisplayWithValueTexts,
  type SimulatedHomeseerDevice,
  type SimulatedHomeseerDeviceOptions,
} from './simulated-homeseer-device.ts'

const FIRST_REF = 10_000

/** Case 18: sensors in numbers, each with a name a person could have given it. */
export function createManySensors(count: number): readonly SimulatedHomeseerDevice[] {
  return Array.from({ length: count }, (_, index) => {
    const [kind, display, value] = SENSOR_KINDS[index % SENSOR_KINDS.length] ?? SENSOR_KINDS[0]
    const room = ROOMS[Math.floor(index / SENSOR_KINDS.length) % ROOMS.length] ?? ''
    const floor = FLOORS[Math.floor(index / (SENSOR_KINDS.length * ROOMS.length)) % FLOORS.length] ?? ''
    return createSimulatedHomeseerDevice({
      ref: FIRST_REF + index,
      name: `${kind} Sensor ${index + 1}`,
      location: room,
      location2: floor,
      typeString: `Z-Wave ${kind}`,
      interfaceName: 'Z-Wave',
      misc: DEVICE_MISC_FLAGS.statusOnly,
      display,
      value,
    })
  })
}

const SENSOR_KINDS: readonly [SensorKind, ...SensorKind[]] = [
  ['Temperature', { suffix: ' C', decimals: 1 }, 20.5],
  ['Humidity', { suffix: ' %' }, 45],
  ['Luminance', { suffix: ' Lux' }, 120],
  ['Motion', createDisplayWithValueTexts([0, 'No Motion'], [255, 'Motion']), 0],
  ['Battery', { suffix: '%' }, 90],
]
type SensorKind = readonly [kind: string, display: SimulatedHomeseerDeviceOptions['display'] & object, value: number]

const ROOMS = ['Kitchen', 'Hall', 'Bedroom', 'Bathroom', 'Office', 'Living Room', 'Cellar', 'Attic', 'Garage', 'Garden']
const FLOORS = ['Ground', 'First', 'Below', 'Top', 'Outside']
