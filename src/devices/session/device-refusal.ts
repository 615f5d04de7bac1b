/**
 * Device refusal: somebody who was not let in, where, why, and whom they claimed to be.
 *
 * Nothing in it is proved. It is for the owner to look at; whoever was refused hears no more than a status.
 */
import { parseDeviceId } from '../wire/device-id.ts'

export type DeviceRefusalReason =
  /** From a web page that the configuration does not name. */
  | 'foreign-origin'
  /** Says neither an address nor a UUID that could be one. */
  | 'no-identity'
  | 'no-credentials'
  /** Made up, somebody else's, spent, or from before a rotation or revocation. */
  | 'wrong-credentials'
  /** An activation that is over, or was never begun. */
  | 'no-activation'
  /** Of another device, or used before. */
  | 'wrong-picture-token'

export interface DeviceRefusal {
  readonly door: 'websocket' | 'mqtt' | 'http'
  readonly why: DeviceRefusalReason
  readonly deviceId: string | undefined
  readonly remoteAddress: string
}

export type DeviceRefusalListener = (refusal: DeviceRefusal) => void

/** Whom an MQTT client id names, signed or not, in two parts or three. */
export function parseDeviceIdFromClientId(clientId: string): string | undefined {
  return parseDeviceId(clientId.slice(0, 256).split('@@@')[1] ?? '')
}
