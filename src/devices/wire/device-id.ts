/**
 * Device id: a device is its MAC address, and the UUID it made up at first boot is the proof that goes with it.
 *
 *   a0:b1:c2:d3:e4:f5   as headers, stores and people write it
 *   a0_b1_c2_d3_e4_f5   as MQTT topics and client ids need it
 */
const MAC = /^[0-9a-f]{2}([:_-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Lower case with colons, or `undefined` for anything that is not a MAC address. */
export function parseDeviceId(text: string): string | undefined {
  return MAC.test(text) ? text.toLowerCase().replaceAll(/[_-]/g, ':') : undefined
}

/**
 * The firmware keeps a UUIDv4 in NVS; it is the only thing in an OTA request that a stranger cannot guess.
 * Servers that put the MAC here too (as some do) would make it guessable, so nothing but a UUID is taken.
 */
export function parseClientId(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined
}

export function formatDeviceIdForTopic(deviceId: string): string {
  return deviceId.replaceAll(':', '_')
}
