/**
 * MQTT identity: a device's MQTT credentials, which are signed so that they cannot be forged, and its topics.
 *
 *   client id   <group>@@@<mac_with_underscores>@@@<uuid>
 *   username    base64 of {"g":<generation>}
 *   password    base64 of HMAC-SHA256(key, client id + "|" + username)
 *
 * The generation is a number of ours: raising it in the store revokes every password that was signed before. The
 * two-part client id of older servers, which has no signature, is not accepted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { toBase64, fromBase64, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { formatDeviceIdForTopic, parseClientUuid, parseDeviceId } from './device-id.ts'
import { parseBoundedJsonObject } from './bounded-json.ts'

/** All stock devices publish to this topic; the connection, not the topic, identifies the device. */
export const UPLINK_TOPIC = 'device-server'

/** Stock devices accept a message on any topic; those that subscribe do so to this one. */
export function formatDownlinkTopic(deviceId: string): string {
  return `devices/p2p/${formatDeviceIdForTopic(deviceId)}`
}

export interface MqttIdentity {
  readonly deviceId: string
  readonly clientId: string
  readonly generation: number
}

export interface MqttCredentials {
  readonly clientId: string
  readonly username: string
  readonly password: string
}

export type MqttIdentityFault = { readonly kind: 'bad-client-id' | 'bad-username' | 'bad-signature' }

const GROUP = 'GID_hearthbus'
const MAX_PART = 256

export function signMqttIdentity(key: Uint8Array, identity: MqttIdentity): MqttCredentials {
  const clientId = formatMqttClientId(identity)
  const username = toBase64(toUtf8(JSON.stringify({ g: identity.generation })))
  return { clientId, username, password: toBase64(signature(key, clientId, username)) }
}

export function formatMqttClientId(identity: { readonly deviceId: string; readonly clientId: string }): string {
  return [GROUP, formatDeviceIdForTopic(identity.deviceId), identity.clientId].join('@@@')
}

/** Trusts nothing before the signature is verified; the store decides whether the generation is still valid. */
export function verifyMqttIdentity(
  key: Uint8Array,
  { clientId, username, password }: MqttCredentials,
): Result<MqttIdentity, MqttIdentityFault> {
  if (clientId.length > MAX_PART || username.length > MAX_PART || password.length > MAX_PART)
    return fail({ kind: 'bad-client-id' })
  const parts = clientId.split('@@@')
  const deviceId = parseDeviceId(parts[1] ?? '')
  const uuid = parseClientUuid(parts[2] ?? '')
  if (parts.length !== 3 || deviceId === undefined || uuid === undefined) return fail({ kind: 'bad-client-id' })
  const given = fromBase64(password)
  const expected = signature(key, clientId, username)
  if (given?.length !== expected.length || !timingSafeEqual(given, expected)) return fail({ kind: 'bad-signature' })
  const generation = readGeneration(username)
  if (generation === undefined) return fail({ kind: 'bad-username' })
  return ok({ deviceId, clientId: uuid, generation })
}

function signature(key: Uint8Array, clientId: string, username: string): Uint8Array {
  return new Uint8Array(createHmac('sha256', key).update(`${clientId}|${username}`).digest())
}

function readGeneration(username: string): number | undefined {
  const bytes = fromBase64(username)
  const text = bytes === undefined ? undefined : fromUtf8(bytes)
  const generation = text === undefined ? undefined : parseBoundedJsonObject(text)?.['g']
  return Number.isSafeInteger(generation) ? Number(generation) : undefined
}
