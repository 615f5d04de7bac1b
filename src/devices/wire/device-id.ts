/**
 * Device id: a device is identified by its MAC address, and proves it with the UUID that it generated at its first
 * boot.
 *
 *   a0:b1:c2:d3:e4:f5   as headers, stores and people write it
 *   a0_b1_c2_d3_e4_f5   as MQTT topics and client ids need it
 */
const MAC = /^[0-9a-f]{2}([:_-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Normalises to lower case with colons; `undefined` for anything that is not a MAC address. */
export function parseDeviceId(text: string): string | undefined {
  return MAC.test(text) ? text.toLowerCase().replaceAll(/[_-]/g, ':') : undefined
}

/**
 * The firmware keeps a UUIDv4 in NVS, which is the only part of an OTA request that others cannot guess. Some servers
 * put the MAC here as well, which can be guessed, so anything but a UUID is refused.
 */
export function parseClientUuid(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined
}

export function formatDeviceIdForTopic(deviceId: string): string {
  return deviceId.replaceAll(':', '_')
}
