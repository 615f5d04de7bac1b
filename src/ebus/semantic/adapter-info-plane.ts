/**
 * Adapter info plane: the adapter's information in the contract's form.
 */
import { omitUndefined } from '../../core/json.ts'
import type { Json } from '../../core/json.ts'
import type { AdapterInfo } from '../adapter/adapter-info.ts'
import { JUMPER_FLAG_NAMES } from '../adapter/adapter-info.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

const ETHERNET = 0x04
const WIFI = 0x08

/** Returns `null` without an adapter, or with one that does not answer. */
export function toAdapterInfoJson(info: AdapterInfo | undefined): Json {
  if (info?.infoSupported === undefined) return null
  const { jumpers } = info
  return omitUndefined({
    firmware_version: info.firmwareVersion,
    firmware_checksum: info.firmwareChecksum,
    bootloader_version: info.bootloaderVersion,
    bootloader_checksum: info.bootloaderChecksum,
    hardware_id: info.hardwareId,
    hardware_config: info.hardwareConfig,
    features: info.features,
    jumpers,
    jumper_flags:
      jumpers === undefined
        ? undefined
        : JUMPER_FLAG_NAMES.filter(([bit]) => (jumpers & bit) !== 0).map(([, name]) => name),
    is_wifi: jumpers === undefined ? undefined : (jumpers & WIFI) !== 0,
    is_ethernet: jumpers === undefined ? undefined : (jumpers & ETHERNET) !== 0,
    temperature_c: info.celsius,
    supply_voltage_mv: info.supplyMillivolts,
    bus_voltage_max_dv: info.busMaxDecivolts,
    bus_voltage_min_dv: info.busMinDecivolts,
    reset_cause: info.resetCause,
    reset_cause_code: info.resetCauseCode,
    restart_count: info.restartCount,
    wifi_rssi_dbm: info.rssiDbm,
    last_identity_query: timeText(info.identityAtMs),
    last_telemetry_query: timeText(info.telemetryAtMs),
    version_response_len: info.versionLength,
    info_supported: info.infoSupported,
  })
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatIsoTime(ms)
}
