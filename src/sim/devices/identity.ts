/**
 * Identity: the identity of a simulated device, in the order and spelling of its firmware.
 */
import type { JsonObject } from '../../core/json.ts'
import type { AudioVersion } from '../../devices/wire/audio-frame.ts'
import type { FirmwareProfile } from './firmware-profile.ts'

export interface SimulatedIdentity {
  readonly deviceId: string
  readonly clientId: string
  /** 32 characters in the eFuse of some chips: these sign their activation. */
  readonly serialNumber: string | undefined
}

/** A MAC of the locally administered range and a UUID, both derived from a number, so that a fleet is repeatable. */
export function createNumberedIdentity(index: number): SimulatedIdentity {
  const digits = index.toString(16).padStart(8, '0')
  const mac = `02:5e:${digits.replaceAll(/(..)(?=.)/g, '$1:')}`
  const uuid = `${digits}-0000-4000-8000-${digits.padStart(12, '0')}`
  return { deviceId: mac, clientId: uuid, serialNumber: undefined }
}

export type HeaderLines = readonly (readonly [name: string, value: string])[]

/** Firmware sorts its headers and leaves the port out of `Host`. */
export function createUpgradeHeaders(
  { deviceId, clientId }: SimulatedIdentity,
  { profile, host, port, token, key, audioVersion }: UpgradeRequestOptions,
): HeaderLines {
  const py = profile.name === 'py'
  // A token with a blank is a whole header already.
  const authorization = token.includes(' ') ? token : `Bearer ${token}`
  return [
    ['Host', py ? `${host}:${port}` : host],
    ...(token === '' && !py ? [] : ([['Authorization', token === '' ? 'Bearer test-token' : authorization]] as const)),
    ['Client-Id', clientId],
    ['Connection', 'Upgrade'],
    ['Device-Id', deviceId],
    ['Protocol-Version', String(audioVersion)],
    ['Sec-WebSocket-Key', key],
    ['Sec-WebSocket-Version', '13'],
    ['Upgrade', 'websocket'],
    ...(py ? ([['User-Agent', 'Python/3.11 websockets/10.4']] as const) : []),
  ]
}

export interface UpgradeRequestOptions {
  readonly profile: FirmwareProfile
  readonly host: string
  readonly port: number
  readonly token: string
  readonly key: string
  readonly audioVersion: AudioVersion
}

/** Over WebSocket the version is that of its binary frames; over MQTT it is 3. */
export function createHelloText(profile: FirmwareProfile, over: AudioVersion | 'udp'): string {
  return JSON.stringify({
    type: 'hello',
    version: over === 'udp' ? 3 : over,
    features: { mcp: true, ...(profile.glyphPush ? { glyph_push: false } : {}) },
    transport: over === 'udp' ? 'udp' : 'websocket',
    audio_params: { format: 'opus', sample_rate: 16_000, channels: 1, frame_duration: profile.frameMs },
  })
}

/** Activation version 2 is for chips with a serial number, which sign a challenge. */
export function createOtaHeaders(identity: SimulatedIdentity, profile: FirmwareProfile, board: string): HeaderLines {
  const { deviceId, clientId, serialNumber } = identity
  return [
    ['Activation-Version', serialNumber === undefined ? '1' : '2'],
    ['Device-Id', deviceId],
    ['Client-Id', clientId],
    ...(serialNumber === undefined ? [] : ([['Serial-Number', serialNumber]] as const)),
    ['User-Agent', `${board}/${profile.firmware}`],
    ['Accept-Language', 'en-US'],
    ['Content-Type', 'application/json'],
  ]
}

/** The device's report about itself at boot, and when its owner requests it. */
export function createSystemInfo(identity: SimulatedIdentity, profile: FirmwareProfile, board: string): JsonObject {
  const { deviceId, clientId } = identity
  const where = { type: board, name: board, ip: '127.0.0.1', mac: deviceId }
  if (profile.name === 'py') return { application: { version: profile.firmware, elf_sha256: 'py' }, board: where }
  return {
    version: 2,
    language: 'en-US',
    flash_size: 16_777_216,
    minimum_free_heap_size: '8457848',
    mac_address: deviceId,
    uuid: clientId,
    chip_model_name: 'esp32s3',
    chip_info: { model: 9, cores: 2, revision: 2, features: 18 },
    application: {
      name: 'xiaozhi',
      version: profile.firmware,
      compile_time: '2026-08-08T10:00:00Z',
      idf_version: 'v5.5.1',
      elf_sha256: '0'.repeat(64),
    },
    partition_table: [{ label: 'nvs', type: 1, subtype: 2, address: 36_864, size: 16_384 }],
    ota: { label: 'ota_0' },
    display: { monochrome: false, width: 320, height: 240 },
    board: { ...where, ssid: 'hearth', rssi: -55, channel: 6 },
  }
}
