/**
 * Device admission refusal: a client that was refused, with the place, the reason and the identity that it claimed.
 *
 * None of it is proven. It is shown to the owner; the refused client only gets a status.
 */
import { parseDeviceId } from '../wire/device-id.ts'

export type DeviceAdmissionRefusalReason =
  /** The request came from a web page that the configuration does not allow. */
  | 'foreign-origin'
  /** The request contains no valid address, or no valid UUID. */
  | 'no-identity'
  | 'no-credentials'
  /** The credentials are made up, another device's, used up, or from before a rotation or revocation. */
  | 'wrong-credentials'
  /** An activation that has ended, or was never begun. */
  | 'no-activation'
  /** The token belongs to another device, or was used before. */
  | 'wrong-picture-token'

export interface DeviceAdmissionRefusal {
  readonly door: 'websocket' | 'mqtt' | 'http'
  readonly why: DeviceAdmissionRefusalReason
  readonly deviceId: string | undefined
  readonly remoteAddress: string
}

export type DeviceAdmissionRefusalListener = (refusal: DeviceAdmissionRefusal) => void

/** The device that an MQTT client id names, whether the id is signed or not, and has two parts or three. */
export function parseDeviceIdFromMqttClientId(clientId: string): string | undefined {
  return parseDeviceId(clientId.slice(0, 256).split('@@@')[1] ?? '')
}
