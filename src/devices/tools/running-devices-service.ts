/**
 * Running devices service: the parts that the fleet's tools use once the listeners are open.
 */
import type { Caller, Outcome } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import { fail } from '../../core/result.ts'
import type { DeviceGateway } from '../enrol/device-gateway-server.ts'
import type { DeviceToolCaller } from './device-tool-caller.ts'
import type { CountedDeviceAdmissionRefusal } from './device-admission-refusal-log.ts'
import type { DeviceEventLog } from './event-log.ts'
import type { ToolPinStore } from './tool-pin-store.ts'
import type { DeviceRoster, RosterDevice } from './device-roster.ts'
import { formatDeviceTarget } from './device-slug.ts'
import { maySeeDevice } from './visibility.ts'

export interface RunningDevicesService {
  readonly gateway: Pick<DeviceGateway, 'fleet' | 'registrar' | 'httpPort' | 'mqttPort' | 'brokerConnected' | 'voice'>
  readonly roster: DeviceRoster
  readonly calls: DeviceToolCaller
  readonly store: ToolPinStore
  readonly events: DeviceEventLog
  /** Refusals, newest first. */
  readonly refused: () => readonly CountedDeviceAdmissionRefusal[]
  readonly otaUrl: string
  /** Whether only this machine can reach the listener. */
  readonly localOnly: boolean
  /** Whether the owner configured the address, so that it is not one of this machine. */
  readonly publicUrl: boolean
}

export interface RunningDevicesAccess {
  /** Returns `undefined` while the listeners are closed. */
  readonly service: () => RunningDevicesService | undefined
}

/** Runs `work` with the service, or fails while the listeners are closed. */
export async function withRunningDevicesService(
  { service }: Pick<RunningDevicesAccess, 'service'>,
  work: (service: RunningDevicesService) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const open = service()
  return open === undefined ? fail(DEVICES_CLOSED_FAULT) : work(open)
}

export const DEVICES_CLOSED_FAULT: Fault = {
  kind: 'offline',
  code: 'devices_closed',
  message: 'The listener for devices is not open. `hearthbus doctor` says why.',
  retryAfterMs: 5_000,
}

/** Finds a device that this caller may know of; others are answered like devices that do not exist. */
export function findVisibleDevice(
  { roster }: RunningDevicesService,
  name: string,
  caller: Caller,
): RosterDevice | undefined {
  const device = roster.find(name)
  return device !== undefined && maySeeDevice(caller, formatDeviceTarget(device.slug)) ? device : undefined
}

/** Runs `work` on one device that this caller may know of. */
export function withVisibleDevice(
  parts: RunningDevicesAccess,
  { name, caller }: { readonly name: string; readonly caller: Caller },
  work: (service: RunningDevicesService, device: RosterDevice) => Outcome,
): Promise<Outcome> {
  return withRunningDevicesService(parts, (service) => {
    const device = findVisibleDevice(service, name, caller)
    return device === undefined ? fail(createUnknownDeviceFault(name)) : work(service, device)
  })
}

/** Devices in the given order. A device that is named twice, by slug and by address, is used once. */
export function removeRepeatedDevices(
  service: RunningDevicesService,
  names: readonly string[],
  caller: Caller,
): readonly string[] {
  const first = new Map<string, string>()
  for (const name of names) {
    const who = findVisibleDevice(service, name, caller)?.slug ?? name
    if (!first.has(who)) first.set(who, name)
  }
  return [...first.values()]
}

export function createUnknownDeviceFault(name: string): Fault {
  return {
    kind: 'not-found',
    code: 'unknown_device',
    message: `There is no device ${JSON.stringify(name.slice(0, 64))}. devices.list says which there are.`,
  }
}
