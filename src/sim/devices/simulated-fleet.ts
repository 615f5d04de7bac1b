/**
 * Simulated fleet: many simulated devices at once, of mixed kinds and firmware, each with an identity of its own.
 */
import type { SimulatedBoardKind } from './simulated-board.ts'
import { startDeviceSimulator } from './device-client.ts'
import type { SimulatedIdentity } from './identity.ts'
import { createNumberedIdentity } from './identity.ts'
import type { FirmwareProfileName } from './firmware-profile.ts'
import type { SimulatedDevice, DeviceSimulatorOptions } from './simulated-device.ts'

export interface SimulatedFleetOptions extends Omit<Partial<DeviceSimulatorOptions>, 'identity'> {
  readonly count: number
  /** The number of the first device. */
  readonly first?: number
  /** How many boot at the same time. */
  readonly parallel?: number
  /** Settings that differ for each device: where it connects, if not through OTA, or its own tools. */
  readonly settings?: (identity: SimulatedIdentity, index: number) => Partial<DeviceSimulatorOptions>
  readonly onDeviceCode?: (identity: SimulatedIdentity, code: string) => void
}

export interface SimulatedFleet {
  readonly devices: readonly SimulatedDevice[]
  readonly stop: () => void
}

/** In rotation, so that every fleet of four or more has all kinds and generations of firmware. */
const KINDS: readonly SimulatedBoardKind[] = ['speaker', 'lamp', 'camera', 'robot']
const PROFILE_NAMES: readonly FirmwareProfileName[] = ['fw-2.4', 'fw-next', 'fw-1.9', 'py']

export async function startSimulatedFleet(options: SimulatedFleetOptions): Promise<SimulatedFleet> {
  const { count, first = 1, parallel = 50, settings, onDeviceCode, ...shared } = options
  const devices: SimulatedDevice[] = []
  let next = 0
  // Each worker takes the next number, so that a thousand devices do not open a thousand sockets at once.
  const worker = async () => {
    while (next < count) {
      const index = next++
      const identity = createNumberedIdentity(first + index)
      devices[index] = await startDeviceSimulator({
        profile: PROFILE_NAMES[index % PROFILE_NAMES.length] ?? 'fw-2.4',
        kind: KINDS[index % KINDS.length] ?? 'speaker',
        ...shared,
        identity,
        ...settings?.(identity, index),
        onCode: (code) => onDeviceCode?.(identity, code),
      })
    }
  }
  const stop = () => {
    for (const device of devices) device?.stop()
  }
  try {
    await Promise.all(Array.from({ length: Math.min(parallel, count) }, worker))
  } catch (error) {
    stop()
    throw error
  }
  return { devices, stop }
}
