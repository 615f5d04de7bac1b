/**
 * Mixer: the function module at 26 with the sensors of mixed circuit, cylinder and collector.
 *
 * Pure.
 */
import { numeric } from '../../ebus/wire/datatypes.ts'
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { Identity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { Plant } from './plant.ts'
import type { Answer } from './station.ts'

const IDENTITY: Identity = { id: 'VR_71', software: 0x0100, hardware: 0x5904, serial: '21172300201848460938006271N9' }
const d2c = numeric('D2C')

export function answerMixer({ house }: Plant, telegram: Telegram): Answer {
  const { primary, secondary, data } = telegram
  const identity = answerIdentity(IDENTITY, telegram)
  if (identity !== undefined) return identity
  if (primary !== 0xb5) return undefined
  if (secondary === 0x24 || secondary === 0x09) return new Uint8Array()
  if (secondary !== 0x23) return 'refuse'
  const { boiler, circuits, dhw, solar } = house
  // Two blocks of sensors; inputs with nothing on them read as replacement values.
  const blocks = new Map<number, readonly (number | undefined)[]>([
    [
      0x06,
      [
        boiler.flowCelsius,
        circuits[1]?.flowCelsius,
        dhw.topCelsius,
        dhw.bottomCelsius,
        undefined,
        undefined,
        undefined,
      ],
    ],
    [0x07, [solar.collectorCelsius, undefined, undefined, undefined, circuits[1]?.mixerPct, undefined]],
  ])
  const block = blocks.get(data[0] ?? 0)
  if (block === undefined) return data[0] === 0x02 ? Uint8Array.of(0x01, 0x00) : new Uint8Array()
  // Two bytes of state close each block; their meaning is not known, their values are a real module's.
  return Uint8Array.from([...block.flatMap((value) => [...d2c.encode(value)]), 0x40, 0x3d])
}
