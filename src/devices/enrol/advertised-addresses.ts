/**
 * Advertised addresses: the addresses that devices are told to connect to. By default the address at which they reached
 * us, since that one works.
 *
 * The firmware's URL parser expects a port behind the first `:`, so every address has one, and does not understand
 * IPv6.
 */
export interface AdvertisedAddressSettings {
  /**
   * Such as `http://192.168.1.2:7421`, if devices must be told another address than the one they used; always with a
   * port.
   */
  readonly publicUrl: string | undefined
  readonly httpPort: number
  /** The port of our own MQTT server; `undefined` when it is off. */
  readonly mqttPort: number | undefined
  readonly webSocketPath: string
  readonly visionPath: string
}

export const WEBSOCKET_PATH = '/xiaozhi/v1/'
export const OTA_PATH = '/xiaozhi/ota/'
export const VISION_PATH = '/xiaozhi/vision/explain'

/**
 * `undefined` when no address is configured and the device connected over IPv6, which its firmware does not understand.
 */
export function chooseHostForDevice(
  addresses: AdvertisedAddressSettings,
  localAddress: string | undefined,
): string | undefined {
  if (addresses.publicUrl !== undefined) return new URL(addresses.publicUrl).hostname
  const local = localAddress?.replace(/^::ffff:/, '')
  return local === undefined || local.includes(':') ? undefined : local
}

export function formatWebSocketUrl(
  addresses: AdvertisedAddressSettings,
  localAddress: string | undefined,
): string | undefined {
  const base = httpBase(addresses, localAddress)
  return base === undefined ? undefined : `${base.replace(/^http/, 'ws')}${addresses.webSocketPath}`
}

export function formatVisionUrl(
  addresses: AdvertisedAddressSettings,
  localAddress: string | undefined,
): string | undefined {
  const base = httpBase(addresses, localAddress)
  return base === undefined ? undefined : `${base}${addresses.visionPath}`
}

export function formatMqttEndpoint(
  addresses: AdvertisedAddressSettings,
  localAddress: string | undefined,
): string | undefined {
  const host = chooseHostForDevice(addresses, localAddress)
  return host === undefined || addresses.mqttPort === undefined ? undefined : `${host}:${addresses.mqttPort}`
}

function httpBase(addresses: AdvertisedAddressSettings, localAddress: string | undefined): string | undefined {
  if (addresses.publicUrl !== undefined) {
    const { protocol, hostname, port, pathname } = new URL(addresses.publicUrl)
    const explicit = port === '' ? (protocol === 'https:' ? '443' : '80') : port
    return `${protocol}//${hostname}:${explicit}${pathname.replace(/\/$/, '')}`
  }
  const host = chooseHostForDevice(addresses, localAddress)
  return host === undefined ? undefined : `http://${host}:${addresses.httpPort}`
}
