/**
 * Internet gateway: the device at F1/F6 that reads the regulator all day long for a telephone app.
 */
import type { Telegram } from '../../ebus/wire/telegram.ts'
import type { SimulatedBusDeviceIdentity } from './identity.ts'
import { answerIdentity } from './identity.ts'
import type { BusStationAnswer } from './bus-station.ts'

const IDENTITY: SimulatedBusDeviceIdentity = {
  id: 'NETX3',
  software: 0x0124,
  hardware: 0x0404,
  serial: '21213700202901020938007158N3',
}
const REGULATOR = 0x15
const BOILER = 0x08

/** It reads other devices and can only be asked for its identification. */
export function answerInternetGateway(telegram: Telegram): BusStationAnswer {
  const identity = answerIdentity(IDENTITY, telegram)
  if (identity !== undefined) return identity
  return telegram.primary === 0xb5 ? new Uint8Array() : undefined
}

/** Room and target temperatures of both zones, hot water, outside, pressure. */
const WATCHED: readonly (readonly [group: number, instance: number, register: number])[] = [
  [0x03, 0, 0x0f],
  [0x03, 0, 0x14],
  [0x03, 1, 0x0f],
  [0x03, 1, 0x14],
  [0x01, 0, 0x05],
  [0x00, 0, 0x73],
  [0x00, 0, 0x39],
]

/** Slower than the regulator's own interval, but enough that a listener gets most values without requests. */
export const INTERNET_GATEWAY_PERIODIC_TELEGRAMS: readonly {
  readonly everyMs: number
  readonly say: (turn: number) => Omit<Telegram, 'source'>
}[] = [
  {
    everyMs: 7_000,
    say: (turn) => {
      const [group, instance, register] = WATCHED[turn % WATCHED.length] ?? [0, 0, 0x73]
      return {
        target: REGULATOR,
        primary: 0xb5,
        secondary: 0x24,
        data: Uint8Array.of(0x02, 0x00, group, instance, register, 0x00),
      }
    },
  },
  { everyMs: 60_000, say: () => ({ target: BOILER, primary: 0xb5, secondary: 0x03, data: Uint8Array.of(0x00, 0x01) }) },
]
