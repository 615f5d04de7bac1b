/**
 * Open house: what the fleet's tools work with, once the doors are open.
 *
 * Pure.
 */
import type { Caller, Outcome } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import { fail } from '../../core/result.ts'
import type { Gateway } from '../enrol/gateway-server.ts'
import type { DeviceCalls } from './device-call.ts'
import type { RefusedVisitor } from './door-log.ts'
import type { EventLog } from './event-log.ts'
import type { PinStore } from './pin-store.ts'
import type { Roster, RosterDevice } from './roster.ts'
import { targetOf } from './slug.ts'
import { seesDevice } from './standing.ts'

export interface OpenHouse {
  readonly gateway: Pick<Gateway, 'fleet' | 'registrar' | 'httpPort' | 'mqttPort' | 'brokerConnected' | 'voice'>
  readonly roster: Roster
  readonly calls: DeviceCalls
  readonly store: PinStore
  readonly events: EventLog
  /** Who was turned away lately, newest first. */
  readonly refused: () => readonly RefusedVisitor[]
  readonly otaUrl: string
  /** Nothing but this machine can reach the listener. */
  readonly localOnly: boolean
  /** The address is the owner's, not one of this machine. */
  readonly publicUrl: boolean
}

export interface ToolParts {
  /** `undefined` while the doors are closed. */
  readonly house: () => OpenHouse | undefined
}

/** The work, while there is somebody to do it with. */
export async function inHouse(
  { house }: Pick<ToolParts, 'house'>,
  work: (house: OpenHouse) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const open = house()
  return open === undefined ? fail(CLOSED) : work(open)
}

export const CLOSED: Fault = {
  kind: 'offline',
  code: 'devices_closed',
  message: 'The listener for devices is not open. `hearthbus doctor` says why.',
  retryAfterMs: 5_000,
}

/** Only devices that this caller may know of; the others are as unknown as those that do not exist. */
export function findDevice({ roster }: OpenHouse, name: string, caller: Caller): RosterDevice | undefined {
  const device = roster.find(name)
  return device !== undefined && seesDevice(caller, targetOf(device.slug)) ? device : undefined
}

/** In the order asked. A device that is named twice, by short name and by address, is still one device. */
export function eachOnce(house: OpenHouse, names: readonly string[], caller: Caller): readonly string[] {
  const first = new Map<string, string>()
  for (const name of names) {
    const who = findDevice(house, name, caller)?.slug ?? name
    if (!first.has(who)) first.set(who, name)
  }
  return [...first.values()]
}

export function unknownDevice(name: string): Fault {
  return {
    kind: 'not-found',
    code: 'unknown_device',
    message: `There is no device ${JSON.stringify(name.slice(0, 64))}. devices.list says which there are.`,
  }
}
