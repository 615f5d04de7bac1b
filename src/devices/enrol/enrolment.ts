/**
 * Enrolment: how a stranger becomes a device of this house, and stops being one.
 *
 *   unknown ──OTA──▶ pending (a code, no credentials) ──a person approves──▶ approved ──▶ revoked
 *
 * A device is a MAC address together with the UUID it made up at first boot. The same MAC with another UUID is a
 * stranger: whoever knows an address can say it, and gets a code of their own that nobody reads off a screen.
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
  /** Raised by rotation and revocation; credentials of an earlier one are void. */
  readonly generation: number
  readonly approvedAtMs: number
  readonly approvedBy: string
  /** The last time it asked where to connect. */
  readonly bootedAtMs: number | undefined
}

export interface PendingDevice extends DeviceIdentity {
  readonly code: string
  readonly board: string
  readonly firmware: string
  readonly remoteAddress: string
  readonly sinceMs: number
  readonly expiresAtMs: number
  /** A device of this MAC address is enrolled with another UUID: erased, replaced, or somebody pretends. */
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

export interface DeviceRegistrar {
  /** What this device is told; the first time a stranger asks, a code is made. */
  readonly ota: (request: OtaRequest, asked: DeviceRequestAddresses) => Promise<OtaSettings>
  /** The same without consequences: no code is made, and credentials are left blank. */
  readonly preview: (request: OtaRequest, asked: DeviceRequestAddresses) => OtaSettings
  readonly activate: (request: ActivateRequest) => 'activated' | 'not-yet' | 'nothing-to-activate'
  readonly admit: DeviceAuthenticator
  /** An approved device that lives behind somebody else's broker. */
  readonly recognise: (deviceId: string) => DeviceIdentity | undefined
  readonly approve: (code: string, options: EnrolmentApprovalOptions) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  /** Voids every credential; an approved device gets new ones at its next boot. */
  readonly rotate: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  readonly revoke: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  /** As if it had never been here: its next boot makes it a stranger. */
  readonly forget: (deviceId: string, by: string) => Promise<Result<EnrolledDevice, EnrolmentFault>>
  readonly devices: () => readonly EnrolledDevice[]
  readonly device: (deviceId: string) => EnrolledDevice | undefined
  readonly pending: () => readonly PendingDevice[]
}
