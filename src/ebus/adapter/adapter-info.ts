/**
 * Adapter info: the information of an enhanced adapter, one numbered request at a time.
 *
 *   00 version     01 hardware id   02 hardware configuration   03 temperature
 *   04 supply      05 bus voltage   06 reset cause              07 WiFi reception
 */
import { toHex } from '../../core/bytes.ts'

export type AdapterInfoId = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7

/** Read once per connection; the others are read repeatedly. */
export const IDENTITY_INFO_IDS: readonly AdapterInfoId[] = [0, 1, 2]
const TELEMETRY_IDS: readonly AdapterInfoId[] = [6, 3, 4, 5]
const RSSI_ID: AdapterInfoId = 7

type ResetCause =
  | 'power_on'
  | 'brown_out'
  | 'watchdog'
  | 'clear'
  | 'external_reset'
  | 'stack_overflow'
  | 'memory_failure'
  | 'unknown'

export interface AdapterInfo {
  /** `undefined` until INIT was answered; `false` means that the adapter answers no INFO request. */
  readonly infoSupported: boolean | undefined
  readonly versionLength: number | undefined
  readonly firmwareVersion: string | undefined
  readonly features: number | undefined
  readonly firmwareChecksum: string | undefined
  readonly jumpers: number | undefined
  readonly bootloaderVersion: string | undefined
  readonly bootloaderChecksum: string | undefined
  readonly hardwareId: string | undefined
  readonly hardwareConfig: string | undefined
  readonly celsius: number | undefined
  readonly supplyMillivolts: number | undefined
  readonly busMaxDecivolts: number | undefined
  readonly busMinDecivolts: number | undefined
  readonly resetCause: ResetCause | undefined
  readonly resetCauseCode: number | undefined
  readonly restartCount: number | undefined
  readonly rssiDbm: number | undefined
  /** Wall clock of the last answer of either kind. */
  readonly identityAtMs: number | undefined
  readonly telemetryAtMs: number | undefined
}

export const EMPTY_ADAPTER_INFO: AdapterInfo = {
  infoSupported: undefined,
  versionLength: undefined,
  firmwareVersion: undefined,
  features: undefined,
  firmwareChecksum: undefined,
  jumpers: undefined,
  bootloaderVersion: undefined,
  bootloaderChecksum: undefined,
  hardwareId: undefined,
  hardwareConfig: undefined,
  celsius: undefined,
  supplyMillivolts: undefined,
  busMaxDecivolts: undefined,
  busMinDecivolts: undefined,
  resetCause: undefined,
  resetCauseCode: undefined,
  restartCount: undefined,
  rssiDbm: undefined,
  identityAtMs: undefined,
  telemetryAtMs: undefined,
}

export const JUMPER_FLAG_NAMES: readonly (readonly [bit: number, name: string])[] = [
  [0x01, 'enhanced'],
  [0x02, 'high_speed'],
  [0x04, 'ethernet'],
  [0x08, 'wifi'],
  [0x10, 'v3_1'],
  [0x20, 'soft_config'],
]
export const WIFI_JUMPER_FLAG = 0x08

const RESET_CAUSES: readonly ResetCause[] = [
  'unknown',
  'power_on',
  'brown_out',
  'watchdog',
  'clear',
  'external_reset',
  'stack_overflow',
  'memory_failure',
]

/** The ids that can be read now: reception only if the version says that there is WiFi. */
export function listTelemetryInfoIds(info: AdapterInfo): readonly AdapterInfoId[] {
  return ((info.jumpers ?? 0) & WIFI_JUMPER_FLAG) === 0 ? TELEMETRY_IDS : [...TELEMETRY_IDS, RSSI_ID]
}

/** Adds one answer. An answer of an undocumented length changes only the time. */
export function applyInfoAnswer(info: AdapterInfo, id: AdapterInfoId, data: Uint8Array, atMs: number): AdapterInfo {
  const stamped = IDENTITY_INFO_IDS.includes(id) ? { ...info, identityAtMs: atMs } : { ...info, telemetryAtMs: atMs }
  const word = data.length === 2 ? ((data[0] ?? 0) << 8) | (data[1] ?? 0) : undefined
  switch (id) {
    case 0:
      return { ...stamped, ...readVersion(data) }
    case 1:
      return { ...stamped, hardwareId: toHex(data) }
    case 2:
      return { ...stamped, hardwareConfig: toHex(data) }
    case 3:
      // Whole degrees, as in ebusd and as a real adapter was seen to send it.
      return { ...stamped, celsius: word }
    case 4:
      return { ...stamped, supplyMillivolts: word === 0 ? undefined : word }
    case 5:
      return word === undefined ? stamped : { ...stamped, busMaxDecivolts: data[0], busMinDecivolts: data[1] }
    case 6:
      if (word === undefined) return stamped
      return {
        ...stamped,
        resetCause: RESET_CAUSES[data[0] ?? 0] ?? 'unknown',
        resetCauseCode: data[0],
        restartCount: data[1],
      }
    case 7:
      return data.length === 1 ? { ...stamped, rssiDbm: ((data[0] ?? 0) << 24) >> 24 } : stamped
  }
}

function readVersion(data: Uint8Array): Partial<AdapterInfo> {
  if (![2, 5, 8].includes(data.length)) return {}
  const at = (index: number): string => (data[index] ?? 0).toString(16).padStart(2, '0')
  return {
    versionLength: data.length,
    firmwareVersion: at(0),
    features: data[1],
    ...(data.length < 5 ? {} : { firmwareChecksum: at(2) + at(3), jumpers: data[4] }),
    ...(data.length < 8 ? {} : { bootloaderVersion: at(5), bootloaderChecksum: at(6) + at(7) }),
  }
}
