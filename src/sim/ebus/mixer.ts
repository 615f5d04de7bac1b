/**
 * Mixer: the function module at 26 with the sensors of mixed circuit, cylinder and collector.
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { SimulatedBusDeviceIdentity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import type { BusStationAnswer } from './bus-station.ts'

const IDENTITY: SimulatedBusDeviceIdentity = {
  id: 'VR_71',
  software: 0x0100,
  hardware: 0x5904,
  serial: '21172300201848460938006271N9',
}
const d2c = requireNumberDatatype('D2C')

export function answerMixer({ house }: SimulatedPlant, telegram: Telegram): BusStationAnswer {
  const { primary, secondary, data } = telegram
  const identity = answerIdentity(IDENTITY, telegram)
  if (identity !== undefined) return identity
  if (primary !== 0xb5) return undefined
  if (secondary === 0x24 || secondary === 0x09) return new Uint8Array()
  // Five places for errors, all empty.
  if (secondary === 0x03) return new Uint8Array(10).fill(0xff)
  if (secondary !== 0x23) return 'refuse'
  const { boiler, circuits, dhw, solar } = house
  // Unconnected inputs read as replacement values. The last of the second block is not an input; a real module sends 0
  // degrees for the twelfth and 8 for that one if nothing is connected.
  if (data[0] === 0x06)
    return sensorBlock(
      [
        boiler.flowCelsius,
        circuits[1]?.flowCelsius,
        dhw.topCelsius,
        dhw.bottomCelsius,
        undefined,
        undefined,
        undefined,
      ],
      FIRST_TAIL,
    )
  if (data[0] === 0x07) return sensorBlock([solar.collectorCelsius, undefined, undefined, undefined, 0, 8], SECOND_TAIL)
  return data[0] === 0x02 ? Uint8Array.of(0x01, 0x00) : new Uint8Array()
}

/** The last bytes of the blocks: their meaning is unknown, and they are copied from a real module. */
const FIRST_TAIL = [0x40, 0x3d] as const
const SECOND_TAIL = [0x80, 0x57, 0x05] as const

function sensorBlock(celsius: readonly (number | undefined)[], tail: readonly number[]): Uint8Array {
  return Uint8Array.from([...celsius.flatMap((value) => [...d2c.encode(value)]), ...tail])
}
