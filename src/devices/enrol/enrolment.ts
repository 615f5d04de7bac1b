/**
 * Enrolment: how an unknown device is approved for this house, and how its approval ends.
 *
 *   unknown ──OTA──▶ pending (a code, no credentials) ──a person approves──▶ approved ──▶ revoked
 *
 * A device is identified by its MAC address together with the UUID that it generated at its first boot. The same MAC
 * with another UUID is an unknown device: anybody who knows an address can claim it, and gets a code that no person
 * reads off a screen.
 */
import type { Result } from '../../core/result.ts'
import type { DeviceAuthenticator, DeviceIdentity } from '../session/fleet.ts'
import type { DeviceTransport } from '../session/session.ts'
import type { ActivateRequest, OtaRequest, OtaSettings } from '../wire/ota.ts'

export interface EnrolledDevice extends DeviceIdentity {
  readonly state: 'approved' | 'revoked'
  readonly name: string
  readonly transport: DeviceTransport
  readonly board: string
  readonly firmware: string
  /** Raised by rotation and revocation; credentials of an earlier generation are invalid. */
  readonly generation: number
  readonly approvedAtMs: number
  readonly approvedBy: string
  /** When the device last sent its boot request. */
  readonly bootedAtMs: number | undefined
}

export interface PendingDevice extends DeviceIdentity {
  readonly code: string
  readonly board: string
  readonly firmware: string
  readonly remoteAddress: string
  readonly sinceMs: number
  readonly expiresAtMs: number
  /**
   * A device with this MAC address is enrolled with another UUID: it was erased or replaced, or another device imitates
   * it.
   */
  readonly replaces: boolean
}

export type EnrolmentFault =
  | { readonly kind: 'unknown-code'; readonly code: string }
  | { readonly kind: 'unknown-device'; readonly device: string }

export interface EnrolmentApprovalOptions {
  readonly by: string
  readonly name?: string
  readonly transport?: DeviceTransport
}

export interface DeviceRequestAddresses {
  readonly remoteAddress: string
  readonly localAddress: string | undefined
}

export interface DeviceEnrolmentService {
  /** The answer to a device's OTA request. The first request of an unknown device creates a code. */
  readonly ota: (request: OtaRequest, addresses: DeviceRequestAddresses) => Promise<OtaSettings>
  /** The answer without its consequences: no code is created, and credentials are left blank. */
  readonly preview: (request: OtaRequest, addresses: DeviceRequestAddresses) => OtaSettings
  readonly activate: (request: ActivateRequest) => 'activated' | 'not-yet' | 'nothing-to-activate'
  readonly admit: DeviceAuthenticator
  /** The identity of an approved device that is reached through the owner's broker. */
  readonly recognise: (deviceId: string) => DeviceIdentity | undefined
  readonly approve: (code: string, options: EnrolmentApprovalOptions) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  /** Invalidates every credential; an approved device gets new ones at its next boot. */
  readonly rotate: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  readonly revoke: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  /** Deletes the enrolment: after its next boot the device counts as unknown. */
  readonly forget: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  readonly devices: () => readonly EnrolledDevice[]
  readonly device: (deviceId: string) => EnrolledDevice | undefined
  readonly pending: () => readonly PendingDevice[]
}
