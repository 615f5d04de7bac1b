/**
 * Regulator, remote devices: devices that are plugged into it or paired with it.
 */
import type { DatatypeValue } from '../../ebus/wire/datatype.ts'
import type { SimulatedPlant } from './simulated-plant.ts'
import { F32, U16, U8, requireDatatype } from './register.ts'
import type { SimulatedRegisterAccessors, SimulatedRegisterRow } from './regulator-row-builders.ts'
import { createReadOnlyAccess } from './regulator-row-builders.ts'

interface RemoteSlot {
  readonly classAddress: number
  readonly firmware: string
  readonly hardware: number
  readonly address: number
  readonly reception: number
  readonly zone: number
  readonly room: number | undefined
}

/** The remote devices; every other slot reads as empty. */
const REMOTE: Readonly<Record<number, RemoteSlot>> = {
  0x09: { classAddress: 0x15, firmware: '05 07 00', hardware: 0x1704, address: 1, reception: 10, zone: 1, room: 0 },
  0x0a: { classAddress: 0x35, firmware: '04 0c 01', hardware: 0x5703, address: 2, reception: 8, zone: 2, room: 1 },
  0x0c: {
    classAddress: 0x26,
    firmware: '01 00 00',
    hardware: 0x5904,
    address: 3,
    reception: 0,
    zone: 0,
    room: undefined,
  },
}

/** Groups 09 regulators, 0A thermostats and 0C function modules, as the remote slots of opcode 06. */
export const SIMULATED_REMOTE_GROUP_NUMBERS: readonly number[] = [0x09, 0x0a, 0x0c]

export function createRemoteRegisterRows(group: number): readonly SimulatedRegisterRow[] {
  const slot = (
    read: (slot: RemoteSlot, plant: SimulatedPlant) => DatatypeValue | undefined,
    empty: DatatypeValue | undefined,
  ): SimulatedRegisterAccessors =>
    createReadOnlyAccess((plant, index) => {
      const found = index === 0 ? REMOTE[group] : undefined
      return found === undefined ? empty : read(found, plant)
    })
  // The empty value of each is that of an unpaired slot of a real regulator.
  return [
    [0x01, U8, 1, slot(() => 1, 0)], // connected
    [0x02, U8, 1, slot(({ classAddress }) => classAddress, 0xff)], // class address
    [0x03, U8, 1, slot(() => 0, 0xff)], // error
    [0x04, requireDatatype('HEX:3'), 1, slot(({ firmware }) => firmware, 'ff ff ff')], // firmware: major, minor, patch
    [
      0x07, // humidity, %
      F32,
      0,
      slot(({ room }, plant) => (room === undefined ? undefined : plant.house.zones[room]?.humidityPct), undefined),
    ],
    [
      0x0f, // room, °C
      F32,
      0,
      slot(({ room }, plant) => (room === undefined ? undefined : plant.house.zones[room]?.roomCelsius), undefined),
    ],
    [0x12, U8, 1, slot(() => 0, 0xff)], // status
    [0x19, U8, 1, slot(({ address }) => address, 0xff)], // remote address
    [0x1e, U8, 1, slot(() => 1, 0)], // paired
    [0x1f, U8, 0, slot(({ reception }) => reception, 0xff)], // reception, 0 to 10
    [0x23, U16, 1, slot(({ hardware }) => hardware, 0xffff)], // hardware id
    [0x25, U8, 3, slot(({ zone: assigned }) => assigned, 0xff)], // zone
  ]
}
